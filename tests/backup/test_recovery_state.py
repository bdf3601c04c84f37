"""Configuration of recovery, the state of the archive, and the timeline that holds payments."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from annotation.models import Payment, PayoutLine
from annotation.payouts.actions import proposals
from annotation.payouts.actions.sending import send_due
from crowdqc.deployment.backup import recovery, schema
from crowdqc.deployment.backup.recovery import RecoveryState, ServerPlace, recovery_problems
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.servers import prolific

PLACE = ServerPlace("/data")
S3 = {
    "endpoint_url": "https://s3.example.org:9000",
    "region_name": "eu-1",
    "access_key": "an-access-key",
    "secret_key": "a-secret-key",
}


def options_of(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_a_folder_and_a_bucket_are_encrypted_and_no_secret_is_written(settings: Any) -> None:
    settings.CROWDQC_RECOVERY_FOLDER = "/srv/recovery"
    folder = options_of(recovery.pgbackrest_config(PLACE))
    assert (folder["repo1-type"], folder["repo1-path"]) == ("posix", "/srv/recovery")
    settings.CROWDQC_RECOVERY_FOLDER = "s3://backups/crowdqc/recovery"
    settings.CROWDQC_S3_OPTIONS = S3
    text = recovery.pgbackrest_config(PLACE)
    assert "a-secret-key" not in text and "an-access-key" not in text
    bucket = options_of(text)
    assert bucket["repo1-cipher-type"] == folder["repo1-cipher-type"] == "aes-256-cbc"
    assert bucket["repo1-path"] == "/crowdqc/recovery"
    assert bucket["repo1-s3-bucket"] == "backups"
    assert bucket["repo1-s3-endpoint"] == "s3.example.org"
    assert bucket["repo1-storage-port"] == "9000"
    assert bucket["repo1-s3-region"] == "eu-1"
    assert len(recovery.secret_names()) == 3
    settings.CROWDQC_S3_OPTIONS = {"region_name": "eu-1"}
    amazon = options_of(recovery.pgbackrest_config(PLACE))
    assert amazon["repo1-s3-endpoint"] == "s3.eu-1.amazonaws.com"
    assert amazon["repo1-s3-key-type"] == "auto"


@pytest.mark.parametrize(
    ("folder", "options"),
    [
        ("", {}),
        ("recovery", {}),
        ("s3://", {}),
        ("s3://bucket/folder", {"endpoint_url": "http://s3.example.org"}),
        ("/srv/recovery\nrepo1-cipher-type=none", {}),
    ],
)
def test_a_place_that_would_not_do_is_refused(
    settings: Any, folder: str, options: dict[str, str]
) -> None:
    settings.CROWDQC_RECOVERY_FOLDER, settings.CROWDQC_S3_OPTIONS = folder, options
    with pytest.raises(Invalid):
        recovery.pgbackrest_config(PLACE)


def test_the_log_is_closed_before_the_seconds_that_may_be_lost(settings: Any) -> None:
    settings.CROWDQC_RECOVERY_SECONDS = 60
    assert recovery.archive_timeout() == 42
    settings.CROWDQC_RECOVERY_SECONDS = 3
    with pytest.raises(Invalid):
        recovery.server_config()


def test_the_command_writes_the_configuration_readable_by_the_server(
    settings: Any, tmp_path: Path
) -> None:
    settings.CROWDQC_RECOVERY_FOLDER = "/srv/recovery"
    file = tmp_path / "pgbackrest.conf"
    call_command("crowdqc_recovery", "config", to=file, data="/data")
    assert options_of(file.read_text())["pg1-path"] == "/data"
    assert file.stat().st_mode & 0o777 == 0o644
    assert [one.name for one in tmp_path.iterdir()] == ["pgbackrest.conf"]


def test_an_archive_that_is_behind_is_a_problem_where_one_is_configured(settings: Any) -> None:
    now = timezone.now()
    old = RecoveryState(now - dt.timedelta(minutes=7), None, now - dt.timedelta(hours=27))
    assert recovery_problems(old) == []
    settings.CROWDQC_RECOVERY_FOLDER, settings.CROWDQC_RECOVERY_SECONDS = "/srv/recovery", 60
    assert [number for number, _ in recovery_problems(old)] == ["W016", "W017"]
    assert [number for number, _ in recovery_problems(RecoveryState())] == ["W016", "W017"]
    good = RecoveryState(now - dt.timedelta(minutes=5), None, now - dt.timedelta(hours=25))
    assert recovery_problems(good) == []


def execute(query: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query)


def planned_bonus(platform: prolific.Platform) -> Payment:
    world = factories.make_world(n=1)
    study = prolific.make_recruitment(world.task, platform)
    (visit,) = prolific.make_visited(study, platform)
    lines = [proposals.ProposedLine(visit.assignment_id, bonus=Decimal("0.50"))]
    batch = proposals.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=lines)
    proposals.approve_payout(by=world.manager, batch=batch, expected_total=proposals.total(batch))
    return Payment.objects.get(what="bonus", line__in=PayoutLine.objects.filter(batch=batch))


@pytest.mark.db
@pytest.mark.django_db(transaction=True)
def test_a_new_timeline_holds_bonuses_once_and_only_where_recovery_is_configured(
    settings: Any,
) -> None:
    with prolific.serving() as platform:
        bonus = planned_bonus(platform)
        execute("INSERT INTO crowdqc_recovery (timeline) VALUES ('0000BEEF')")
        settings.CROWDQC_RECOVERY_FOLDER = "/srv/recovery"
        assert recovery.hold_if_recovered() != []
        bonus.refresh_from_db()
        assert bonus.state == Payment.State.UNCLEAR
        Payment.objects.filter(pk=bonus.pk).update(state="planned")
        assert recovery.hold_if_recovered() == []
        execute("UPDATE crowdqc_recovery SET timeline = '0000BEEF'")
        settings.CROWDQC_RECOVERY_FOLDER = ""
        assert recovery.hold_if_recovered() == []


@pytest.mark.db
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("restored", [True, False])
def test_a_bonus_that_may_have_been_paid_before_a_restore_waits_for_a_person(
    restored: bool,
) -> None:
    with prolific.serving() as platform:
        bonus = planned_bonus(platform)
        if restored:
            recovery.record_restored()
        session = bonus.assignment.visit.session
        platform.submissions[session].bonuses.append((50, 0.0))
        send_due(seconds=5)
        bonus.refresh_from_db()
        assert (bonus.state == Payment.State.UNCLEAR) == restored
        assert platform.books()[session][1] == ([50] if restored else [50, 50])


@pytest.mark.db
@pytest.mark.django_db(transaction=True)
def test_the_step_after_a_recovery_ends_sessions_and_needs_no_file() -> None:
    execute("INSERT INTO django_session VALUES ('key', 'data', now() + interval '1 day')")
    with pytest.raises(CommandError):
        call_command("restore")
    with pytest.raises(CommandError):
        call_command("restore", "/srv/backups/a.backup", after_recovery=True)
    with patch.object(schema, "count_other_sessions", return_value=1), pytest.raises(CommandError):
        call_command("restore", after_recovery=True)
    with patch.object(schema, "count_other_sessions", return_value=0):
        call_command("restore", after_recovery=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_session")
        assert cursor.fetchone() == (0,)
