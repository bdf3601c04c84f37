"""Records of this site's backups: one row each, in a table that no backup holds."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from crowdqc.deployment.backup.write import WrittenBackup

KEPT = 200  # rows; the oldest go


@dataclass(frozen=True)
class BackupState:
    """The last backup, its last test, and the last failure.

    Parameters
    ----------
    size
        Bytes of the file.
    tested_at
        When a backup was last restored beside the tables in use and compared; None: never.
    test_error
        Why that failed; empty where it passed.
    failed_at, failure
        A try to make one after the last that succeeded.
    """

    made_at: dt.datetime | None = None
    name: str = ""
    size: int = 0
    rows: int = 0
    seconds: float = 0.0
    encrypted: bool = False
    tested_at: dt.datetime | None = None
    test_error: str = ""
    failed_at: dt.datetime | None = None
    failure: str = ""


def _rows(query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def record_backup(made: WrittenBackup) -> None:
    """Record a backup that was written and read back."""
    _rows(
        "INSERT INTO crowdqc_backup (at, name, size, rows, seconds, encrypted) "
        "VALUES (%s, %s, %s, %s, %s, %s)",
        *(made.made_at, made.name, made.size, made.rows, made.seconds, made.encrypted),
    )
    _rows("DELETE FROM crowdqc_backup WHERE id <= (SELECT max(id) FROM crowdqc_backup) - %s", KEPT)


def record_failure(why: str) -> None:
    """Record that a backup failed."""
    _rows("INSERT INTO crowdqc_backup (at, error) VALUES (now(), %s)", why[:500])


def record_test(name: str, error: str = "") -> None:
    """Record that a backup was restored and compared, or why that failed.

    A spare database that is empty takes no note: it is no site's.
    """
    if _rows("SELECT to_regclass('crowdqc_backup')") == [(None,)]:
        return
    _rows(
        "INSERT INTO crowdqc_backup (at, name, tested, error) VALUES (now(), %s, true, %s)",
        *(name, error[:500]),
    )


@dataclass(frozen=True)
class BackupRow:
    """A backup and when it was last restored and compared (None: never)."""

    at: dt.datetime
    name: str
    size: int
    tested_at: dt.datetime | None


def recent_backups(number: int) -> list[BackupRow]:
    """Return the newest backups."""
    rows = _rows(
        "SELECT at, name, size, (SELECT max(at) FROM crowdqc_backup AS test WHERE test.tested "
        "AND test.name = made.name AND test.error = '') FROM crowdqc_backup AS made "
        "WHERE NOT tested AND error = '' ORDER BY id DESC LIMIT %s",
        number,
    )
    return [BackupRow(*row) for row in rows]


def backup_state() -> BackupState:
    """Return the state of backups for pages, checks and the scheduler."""
    made = _rows(
        "SELECT at, name, size, rows, seconds, encrypted FROM crowdqc_backup "
        "WHERE NOT tested AND error = '' ORDER BY id DESC LIMIT 1"
    )
    tested = _rows("SELECT at, error FROM crowdqc_backup WHERE tested ORDER BY id DESC LIMIT 1")
    failed = _rows(
        "SELECT at, error FROM crowdqc_backup WHERE NOT tested AND id > coalesce("
        "(SELECT max(id) FROM crowdqc_backup WHERE NOT tested AND error = ''), 0) "
        "ORDER BY id DESC LIMIT 1"
    )
    state = BackupState(*made[0]) if made else BackupState()
    if tested:
        state = replace(state, tested_at=tested[0][0], test_error=tested[0][1])
    if failed:
        state = replace(state, failed_at=failed[0][0], failure=failed[0][1])
    return state
