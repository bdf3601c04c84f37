"""A database of every released version, with one of each thing, keeps its rows in this one.

``make studies`` upgrades each release with its demo, too.

``releases.txt`` names them with their commits; CROWDQC_UPGRADE_FROM names other commits instead,
separated by commas. Each is unpacked, makes and fills a database with its own code, and then this
code migrates it, while the old version serves and is then replaced: no request fails. A row that a
migration changes on purpose is named in ``CHANGED``.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from crowdqc.deployment.backup import tables
from tests.support.processes import test_database_url, until
from tests.support.web_load import Load, answered, load_new_program, serving
from tests.upgrade import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.db]
FILL = "tests/upgrade/fill.py"
# What the framework itself adds to when it migrates.
GROWS = {"django_migrations", "django_content_type", "auth_permission"}
# (table, column) that a migration after a release changes on purpose, with the reason.
CHANGED: dict[tuple[str, str], str] = {}


def releases() -> list[Any]:
    """The commits of the released versions, or those that were named."""
    if named := os.environ.get("CROWDQC_UPGRADE_FROM"):
        return named.split(",")
    text = Path(__file__).with_name("releases.txt").read_text()
    lines = [line.split() for line in text.splitlines() if line[:1] != "#"]
    # A state before a release is upgraded in `make studies` alone.
    return [
        pytest.param(commit, marks=pytest.mark.long) if ".dev" in version else commit
        for version, commit in lines
    ]


def is_here(commit: str) -> bool:
    """Whether this clone reaches back so far, and is one at all."""
    asked = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0


@pytest.fixture
def url(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """An empty database."""
    with django_db_blocker.unblock():
        parts = urlsplit(test_database_url())
    name = f"crowdqc_upgrade_{secrets.token_hex(4)}"
    with psycopg.connect(urlunsplit(parts._replace(path="/postgres")), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield urlunsplit(parts._replace(path=f"/{name}"))
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        admin.execute(drop)


def unpack(commit: str, folder: Path) -> Path:
    """The code of a version."""
    made = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    if not (own := folder / FILL).exists():
        shutil.copy(ROOT / FILL, own)
    return folder


def upgrade_under_load(old: Path, url: str, cookie: str, pages: list[str]) -> list[str]:
    """Migrate and replace a version that serves, as docs/admin/upgrade.md says; failed requests."""
    site, file = old.with_name("site"), old.with_name("gunicorn.pid")
    site.symlink_to(old)
    with serving(site, url, file) as port, Load(port, pages, {"Cookie": cookie}) as load:
        until(answered(load, 40), 90, "the old version to be in use")
        run(ROOT, url, "manage.py", "migrate", "--verbosity", "0")
        until(answered(load, 40), 90, "the old version to serve beside the new tables")
        site.unlink()
        site.symlink_to(ROOT)
        load_new_program(file, load)
    print(f"{load.answered} requests, the longest {load.longest:.2f} s, failed: {load.failures}")
    return load.failures


def run(code: Path, url: str, *arguments: str) -> str:
    """Run a program of some version on the database; what it prints."""
    environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "crowdqc.settings"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=code,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def columns(url: str) -> dict[str, list[str]]:
    """The columns of each table of ours."""
    with psycopg.connect(url) as connection:
        return tables.kept_columns(connection, "public")


def rows(url: str, held: dict[str, list[str]]) -> dict[str, Any]:
    """Number and checksum of the rows of these columns, by table."""
    with psycopg.connect(url) as connection:
        tables.set_text_form(connection)
        return {
            name: tables.digest_table(connection, "public", name, names)
            for name, names in held.items()
            if names
        }


@pytest.mark.parametrize("what", ["each", pytest.param("demo", marks=pytest.mark.long)])
@pytest.mark.parametrize("commit", releases())
def test_the_books_and_scores_of_a_release_are_the_same_after_an_upgrade(
    commit: str, what: str, url: str, tmp_path: Path
) -> None:
    if not is_here(commit):
        pytest.skip(f"this clone does not reach back to {commit[:12]}")
    old = unpack(commit, tmp_path / "old")
    filled = run(old, url, "-m", "tests.upgrade.fill", what)
    cookie, pages = json.loads(filled.splitlines()[-1])
    before = columns(url)
    whole = rows(url, before)
    failures = upgrade_under_load(old, url, cookie, pages)
    after = columns(url)
    for name, held in before.items():
        if name in GROWS or name not in after:
            continue
        kept = [one for one in held if one in after[name] and (name, one) not in CHANGED]
        now = rows(url, {name: kept})[name]
        if kept == held:
            assert now == whole[name], name
        else:  # a column went or was changed on purpose: the rest is counted
            assert now["rows"] == whole[name]["rows"], name
    assert failures == []
