"""A database with all tables, migrated once a run: others begin as a copy of it.

Migrating takes seconds of a processor, and a run has a database for each of its processes and
several of single tests. A copy takes a fraction of a second.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db import connection
from psycopg import sql


def migrated() -> str:
    """The name of that database, on the server of the tests; whoever asks first makes it."""
    note = _note()
    with open(note.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            note.write_text(_make())
    return note.read_text()


def _note() -> Path:
    """Where its name stands once it was made in this run."""
    return Path(os.environ["CROWDQC_TEST_HOME"]) / "migrated"


def _make() -> str:
    settings = connection.settings_dict
    before, own = settings["NAME"], settings["TEST"]["NAME"]
    name: str = f"test_{before}_migrated"
    settings["TEST"]["NAME"] = name
    try:
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        connection.close()  # nobody may be connected to what is copied
        settings["NAME"], settings["TEST"]["NAME"] = before, own
    return name


def drop(url: str) -> None:
    """Remove it from a server that goes on after the run."""
    if not _note().exists():
        return
    with psycopg.connect(
        urlunsplit(urlsplit(url)._replace(path="/postgres")), autocommit=True
    ) as admin:
        name = sql.Identifier(_note().read_text())
        admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(name))
