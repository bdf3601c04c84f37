"""Installations beside the tests: a database each, on which processes of their own work."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from crowdqc.deployment.backup import tables
from tests.support.processes import ROOT, test_database_url

MakeSite = Callable[..., "Site"]
STRUCTURE = """
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '' AS rights
FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
UNION ALL SELECT 'index', tablename, indexname, indexdef, ''
FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(t.oid),
    tgenabled::text
FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = tgrelid
WHERE NOT tgisinternal AND c.relnamespace = 'public'::regnamespace
UNION ALL SELECT 'function', '', proname, prosrc, '' FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'table', '', relname, relkind::text || relpersistence::text, relacl::text
FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT 'column', table_name, column_name, coalesce(column_default, '') || is_nullable,
    is_identity || data_type
FROM information_schema.columns WHERE table_schema = 'public'
ORDER BY 1, 2, 3, 4, 5
"""


@dataclass(frozen=True)
class Site:
    """A database of its own, with what a process needs to work on it."""

    url: str
    secret: str
    more: tuple[tuple[str, str], ...] = ()
    acts: str = "tests.backup.site"  # the module whose acts it does

    def run(self, *arguments: str, fails: bool = False) -> str:
        """What a command of manage.py or a module prints, or says where it has to fail."""
        environment = os.environ | {
            "DATABASE_URL": self.url,
            "SECRET_KEY": self.secret,
            "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
            "LOG_LEVEL": "ERROR",
            # Once read by every process: it made a restore see its own pool as other users.
            "CROWDQC_POOL": "true",
            **dict(self.more),
        }
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    def manage(self, *arguments: str, fails: bool = False) -> str:
        return self.run("manage.py", *arguments, fails=fails)

    def act(self, *words: str) -> Any:
        """Return what an act of this module gives."""
        return json.loads(self.run("-m", self.acts, *words).splitlines()[-1])

    def digests(self) -> dict[str, Any]:
        """Number and checksum of the rows of each table."""
        with psycopg.connect(self.url) as connection:
            tables.set_text_form(connection)
            return {
                name: tables.digest_table(connection, "public", name, held)
                for name, held in tables.kept_columns(connection, "public").items()
            }

    def structure(self) -> list[tuple[Any, ...]]:
        """Constraints, indexes, triggers, functions and rights."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(STRUCTURE).fetchall()


@contextmanager
def scratch_sites(unblock: Callable[[], AbstractContextManager[Any]]) -> Iterator[MakeSite]:
    """Give a function that makes sites, on the server of the tests or another.

    They are dropped at the end.
    """
    with ExitStack() as stack:
        with unblock():
            here = test_database_url()

        def make(server: str = "", like: str = "", **more: str) -> Site:
            parts, name = urlsplit(server or here), f"crowdqc_site_{secrets.token_hex(4)}"
            admin = psycopg.connect(urlunsplit(parts._replace(path="/postgres")), autocommit=True)
            stack.callback(admin.close)
            template = sql.Identifier(like or "template1")
            admin.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), template)
            )
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            stack.callback(admin.execute, drop)
            url = urlunsplit(parts._replace(path=f"/{name}"))
            return Site(url, secrets.token_urlsafe(48), tuple(more.items()))

        yield make
