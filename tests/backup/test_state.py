"""What is known of backups, and what a check says of it."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.core.management import CommandError, call_command
from django.utils import timezone

from crowdqc.deployment.backup import records
from crowdqc.deployment.backup.schedule import is_due, is_test_due, make_due_backup
from crowdqc.deployment.backup.write import WrittenBackup
from crowdqc.errors import Invalid
from tests.support.processes import ROOT, test_database_url

pytestmark = pytest.mark.django_db


def make(hours: float) -> None:
    at = timezone.now() - dt.timedelta(hours=hours)
    name = "crowdqc-1.backup"
    records.record_backup(
        WrittenBackup(f"/b/{name}", name, at, 5_000_000, 700, 3.5, True, True, [])
    )


def ids() -> list[str]:
    found = checks.run_checks(
        tags=[checks.Tags.database], include_deployment_checks=True, databases=["default"]
    )
    return [one.id for one in found if (one.id or "").startswith("crowdqc.W01")]


def test_no_backup_an_old_one_and_none_scheduled_are_told(settings: Any) -> None:
    assert ids() == ["crowdqc.W011", "crowdqc.W015"]
    settings.CROWDQC_BACKUP_FOLDER = "/b"
    make(49)
    assert ids() == ["crowdqc.W012"]
    make(47)
    assert ids() == []


def test_a_failure_and_a_failed_test_are_told_until_one_succeeds(settings: Any) -> None:
    settings.CROWDQC_BACKUP_FOLDER = "/b"
    make(1)
    records.record_failure("No space left on device")
    records.record_test("crowdqc-1.backup", "Table annotation_answer came out differently.")
    assert ids() == ["crowdqc.W013", "crowdqc.W014"]
    state = records.backup_state()
    assert (state.failure, state.size, state.rows) == ("No space left on device", 5_000_000, 700)
    make(0)
    records.record_test("crowdqc-1.backup")
    assert ids() == []


def test_a_backup_is_due_by_its_hours_and_a_test_by_its_days(settings: Any) -> None:
    settings.CROWDQC_BACKUP_HOURS, settings.CROWDQC_BACKUP_TEST_DAYS = 24, 7
    assert is_due(records.backup_state()) and is_test_due(records.backup_state())
    make(23)
    records.record_test("crowdqc-1.backup")
    assert not is_due(records.backup_state()) and not is_test_due(records.backup_state())
    make(25)
    assert is_due(records.backup_state())


def test_without_a_folder_nothing_is_scheduled(settings: Any) -> None:
    settings.CROWDQC_BACKUP_FOLDER = ""
    assert make_due_backup() == ""
    with pytest.raises(CommandError, match="CROWDQC_BACKUP_FOLDER"):
        call_command("backup")


def test_a_passphrase_that_cannot_be_read_is_noted_and_no_readable_backup_made(
    settings: Any, tmp_path: Path
) -> None:
    settings.CROWDQC_BACKUP_FOLDER = str(tmp_path)
    settings.CROWDQC_BACKUP_PASSPHRASE_FILE = str(tmp_path / "none")
    with pytest.raises(Invalid):
        make_due_backup()
    assert "none" in records.backup_state().failure
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_not_made_and_noted(tmp_path: Path) -> None:
    """It may be a disk that is not mounted."""
    with pytest.raises(CommandError, match="is not there"):
        call_command("backup", to=tmp_path / "unmounted")
    assert not (tmp_path / "unmounted").exists()
    assert "is not there" in records.backup_state().failure


FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))  # as a disk with so much left
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "backup", "--to", sys.argv[1]])
"""


@pytest.mark.django_db(transaction=True)
def test_a_full_disk_ends_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        cwd=ROOT,
        env=os.environ
        | {"DATABASE_URL": test_database_url(), "DJANGO_SETTINGS_MODULE": "crowdqc.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("CommandError: No backup was made.") and "large" in line
    assert list(tmp_path.iterdir()) == []
    assert records.backup_state().failure
