"""What is known of backups, and what a check says of it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.core.management import CommandError, call_command
from django.utils import timezone

from crowdqc.deployment.backup import records
from crowdqc.deployment.backup.schedule import is_due, is_test_due, make_due_backup
from crowdqc.deployment.backup.write import Made
from crowdqc.errors import Invalid

pytestmark = pytest.mark.django_db


def make(hours: float) -> None:
    at = timezone.now() - dt.timedelta(hours=hours)
    name = "crowdqc-1.backup"
    records.add_made(Made(f"/b/{name}", name, at, 5_000_000, 700, 3.5, True, True, []))


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
    records.add_failure("No space left on device")
    records.add_test("crowdqc-1.backup", "Table annotation_answer came out differently.")
    assert ids() == ["crowdqc.W013", "crowdqc.W014"]
    state = records.last_backup()
    assert (state.failure, state.size, state.rows) == ("No space left on device", 5_000_000, 700)
    make(0)
    records.add_test("crowdqc-1.backup")
    assert ids() == []


def test_a_backup_is_due_by_its_hours_and_a_test_by_its_days(settings: Any) -> None:
    settings.CROWDQC_BACKUP_HOURS, settings.CROWDQC_BACKUP_TEST_DAYS = 24, 7
    assert is_due(records.last_backup()) and is_test_due(records.last_backup())
    make(23)
    records.add_test("crowdqc-1.backup")
    assert not is_due(records.last_backup()) and not is_test_due(records.last_backup())
    make(25)
    assert is_due(records.last_backup())


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
    assert "none" in records.last_backup().failure
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_noted(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError):
        call_command("backup", to=tmp_path / "file")
    assert records.last_backup().failure
