"""Backups by themselves: when one is due, how many are kept, and whether they can be restored."""

from __future__ import annotations

import datetime as dt
import logging
import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from crowdqc.deployment.backup import records
from crowdqc.deployment.backup.envelope import read_passphrase
from crowdqc.deployment.backup.places import place_at
from crowdqc.deployment.backup.write import Made, make_backup
from crowdqc.errors import DomainError

logger = logging.getLogger(__name__)


def back_up(to: Path | str, *, passphrase: str = "", keys: bool = True) -> Made:
    """Make a backup and note it, or why it failed."""
    try:
        made = make_backup(to, passphrase=passphrase, keys=keys)
    except (DomainError, OSError) as error:
        _note_failure(str(error))
        raise
    records.add_made(made)
    return made


def _note_failure(why: str) -> None:
    """Note it where that can be written: the disk that is full may be the database's as well."""
    try:
        records.add_failure(why)
    except DatabaseError as error:
        logger.warning("the failed backup is not noted: %s", type(error).__name__)


def is_due(state: records.BackupState) -> bool:
    """Whether the last backup is older than the hours between two."""
    hours = dt.timedelta(hours=settings.CROWDQC_BACKUP_HOURS)
    return state.made_at is None or state.made_at + hours <= timezone.now()


def is_test_due(state: records.BackupState) -> bool:
    """Whether a backup should be restored to see that it can be."""
    days = settings.CROWDQC_BACKUP_TEST_DAYS
    if not days:
        return False
    return state.tested_at is None or state.tested_at + dt.timedelta(days=days) <= timezone.now()


def prune(where: Path | str, keep: int) -> list[str]:
    """Delete the oldest backups beyond ``keep``, and files given up; gives their names.

    Only files that are named like backups; their names sort by time.
    """
    place = place_at(where)
    gone = place.names()[: -max(keep, 1)]
    for name in gone:
        place.delete(name)
    return gone + place.delete_partial()


def make_due_backup() -> str:
    """What the scheduler asks for every ten minutes: a backup where one is due; gives its name."""
    return back_up_now() if is_due(records.last_backup()) else ""


def back_up_now() -> str:
    """A backup where the settings want them, whether or not one is due; gives its name."""
    to, file = settings.CROWDQC_BACKUP_FOLDER, settings.CROWDQC_BACKUP_PASSPHRASE_FILE
    if not to:
        return ""
    try:
        passphrase = read_passphrase(file) if file else ""
    except DomainError as error:
        records.add_failure(str(error))
        raise
    made = back_up(to, passphrase=passphrase)
    prune(to, settings.CROWDQC_BACKUP_KEEP)
    if is_test_due(records.last_backup()):
        _test(made)
    return made.name


def _test(made: Made) -> None:
    """In a process of its own, as a restore turns the whole connection to other tables."""
    command = [sys.executable, "-m", "django", "restore", made.address, "--test"]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "crowdqc.settings"}
    done = subprocess.run(  # noqa: S603 - our own argument list
        command, check=False, capture_output=True, text=True, cwd=settings.BASE_DIR, env=environment
    )
    if done.returncode and records.last_backup().test_error == "":
        records.add_test(made.name, done.stderr.strip()[-500:] or f"status {done.returncode}")
