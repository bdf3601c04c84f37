"""Automatic backups: when one is due, how many are kept, and restore tests."""

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
from crowdqc.deployment.backup.places import open_location
from crowdqc.deployment.backup.write import WrittenBackup, write_backup
from crowdqc.errors import DomainError

logger = logging.getLogger(__name__)


def create_backup(to: Path | str, *, passphrase: str = "", keys: bool = True) -> WrittenBackup:
    """Make a backup and record it, or record why it failed."""
    try:
        made = write_backup(to, passphrase=passphrase, keys=keys)
    except (DomainError, OSError) as error:
        _note_failure(str(error))
        raise
    records.record_backup(made)
    return made


def _note_failure(why: str) -> None:
    """Record a failure if possible: the full disk may be the database's too."""
    try:
        records.record_failure(why)
    except DatabaseError as error:
        logger.warning("the failed backup is not noted: %s", type(error).__name__)


def is_due(state: records.BackupState) -> bool:
    """Whether the last backup is older than the configured interval."""
    hours = dt.timedelta(hours=settings.CROWDQC_BACKUP_HOURS)
    return state.made_at is None or state.made_at + hours <= timezone.now()


def is_test_due(state: records.BackupState) -> bool:
    """Whether a backup should be restored as a test."""
    days = settings.CROWDQC_BACKUP_TEST_DAYS
    if not days:
        return False
    return state.tested_at is None or state.tested_at + dt.timedelta(days=days) <= timezone.now()


def prune(where: Path | str, keep: int) -> list[str]:
    """Delete the oldest backups beyond ``keep`` and partial files; return names.

    Only files that are named like backups; their names sort by time.
    """
    place = open_location(where)
    gone = place.names()[: -max(keep, 1)]
    for name in gone:
        place.delete(name)
    return gone + place.delete_partial()


def make_due_backup() -> str:
    """Make a backup if one is due and return its name; runs every ten minutes."""
    return create_requested_backup() if is_due(records.backup_state()) else ""


def create_requested_backup() -> str:
    """Make a backup even if none is due and return its name."""
    to, file = settings.CROWDQC_BACKUP_FOLDER, settings.CROWDQC_BACKUP_PASSPHRASE_FILE
    if not to:
        return ""
    try:
        passphrase = read_passphrase(file) if file else ""
    except DomainError as error:
        records.record_failure(str(error))
        raise
    made = create_backup(to, passphrase=passphrase)
    prune(to, settings.CROWDQC_BACKUP_KEEP)
    if is_test_due(records.backup_state()):
        _test(made)
    return made.name


def _test(made: WrittenBackup) -> None:
    """Test the backup in a process of its own, as a restore redirects the whole connection."""
    command = [sys.executable, "-m", "django", "restore", made.address, "--test"]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "crowdqc.settings"}
    done = subprocess.run(  # noqa: S603 - our own argument list
        command, check=False, capture_output=True, text=True, cwd=settings.BASE_DIR, env=environment
    )
    if done.returncode and records.backup_state().test_error == "":
        records.record_test(made.name, done.stderr.strip()[-500:] or f"status {done.returncode}")
