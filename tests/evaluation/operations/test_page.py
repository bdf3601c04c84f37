"""The operations page: who sees it, what it says, and what can be done there."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import ssl
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import jobs
from annotation.models import AuditEntry, ExportFile, HookDelivery, Notice, User
from annotation.notifications.actions import webhooks
from crowdqc.deployment.backup import recovery
from crowdqc.deployment.backup.records import BackupState
from crowdqc.deployment.backup.recovery import RecoveryState
from crowdqc.errors import Invalid
from crowdqc.jobs import worker
from crowdqc.jobs.broker import default_conninfo, install_queue
from crowdqc.jobs.queues import ROLES
from crowdqc.proxy import certificate
from evaluation.models import JobFailure, Run, RunState, Sample
from evaluation.operations import actions, recording
from evaluation.operations.selectors import failures, figures, page, samples
from evaluation.operations.selectors.database import Load, SlowQuery
from tests.support import factories as make
from tests.support.processes import empty_queue

pytestmark = [pytest.mark.db, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _queue() -> None:
    install_queue(default_conninfo())
    empty_queue()


@pytest.fixture
def owner(client: Client) -> User:
    person = User.objects.create_superuser("owner", "owner@example.org", "a long password 1")
    client.force_login(person)
    return person


def failed_run(project: Any = None) -> Run:
    task = make.make_task(project or make.make_project(), 1)
    return Run.objects.create(
        project=task.project,
        task=task,
        number=1,
        method="aqer",
        version="1",
        state=RunState.FAILED,
        error="Out of memory",
        finished_at=timezone.now(),
        attempts=2,
    )


def failed_file(project: Any) -> ExportFile:
    return ExportFile.objects.create(
        project=project,
        what="answers",
        form="csv",
        state=ExportFile.State.FAILED,
        error="No space is left.",
        done_at=timezone.now(),
        by=project.owner,
        attempts=3,
    )


def failed_delivery(project: Any) -> HookDelivery:
    hook = webhooks.add_hook(by=project.owner, project=project, url="https://tell.example/in")[0]
    delivery = webhooks.ping(by=project.owner, hook=hook)
    HookDelivery.objects.filter(pk=delivery.pk).update(
        state=HookDelivery.State.FAILED, error="The address answered 500.", attempts=10
    )
    return delivery


def text_of(client: Client) -> str:
    answer = client.get("/operations/")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@pytest.mark.parametrize("path", ["/operations/", "/operations/report.json"])
def test_nobody_but_the_owner_of_the_installation_learns_of_the_page(
    client: Client, path: str
) -> None:
    assert client.get(path).status_code == 302  # to sign in
    client.force_login(make.make_project().owner)
    assert client.get(path).status_code == 404
    assert client.post("/operations/retry/").status_code == 404
    assert client.post("/operations/failures/run/1/").status_code == 404


def test_all_well_says_so(client: Client, owner: User) -> None:
    worker.record_heartbeats(*map(worker.worker_name, ROLES))
    with patch.object(figures, "last_backup", return_value=BackupState(made_at=timezone.now())):
        text = text_of(client)
    assert "Nothing needs attention." in text and "6</b> of 6 queues served" in text
    assert "No failed job in the past 7 days." in text
    assert 'hx-trigger="every 10s"' in text


def test_an_archive_that_is_behind_needs_attention(
    client: Client, owner: User, settings: Any
) -> None:
    settings.CROWDQC_RECOVERY_FOLDER = "/srv/recovery"
    now = timezone.now()
    late = RecoveryState(now - dt.timedelta(hours=1), None, now)
    with patch.object(recovery, "recovery_state", return_value=late):
        levels = [(one["level"], one["head"]) for one in page.attention(page.gather())]
        assert ("bad", "The database’s log is not archived.") in levels
    good = RecoveryState(now - dt.timedelta(seconds=50), None, now)
    backup = BackupState(made_at=now)
    with (
        patch.object(recovery, "recovery_state", return_value=good),
        patch.object(figures, "last_backup", return_value=backup),
    ):
        facts = page.gather()
        assert not [one for one in page.attention(facts) if "archived" in one["head"]]
        assert "log archived" in text_of(client)


def test_without_a_worker_the_page_says_what_waits(client: Client, owner: User) -> None:
    text = text_of(client)
    assert "No background worker is running." in text
    assert "Runs and mail wait until one starts." in text
    worker.record_heartbeats(*(worker.worker_name(role) for role in ROLES if role != "models"))
    assert "No worker of the queue models is running." in text_of(client)


def test_a_figure_that_cannot_be_read_is_not_known_and_never_0(client: Client, owner: User) -> None:
    with (
        patch.object(figures, "queue_states", side_effect=ConnectionError("redis at 10.0.0.7")),
        patch.object(figures, "database_bytes", side_effect=OperationalError("secret host")),
        patch.object(figures, "mail", side_effect=OperationalError("secret host")),
    ):
        text = text_of(client)
    assert "The job queue does not answer." in text and "The database does not answer." in text
    shown = text.partition("Jobs waiting</dt>")[2].partition("</div>")[0]
    assert "not known" in shown and "<b>0</b>" not in shown
    assert "10.0.0.7" not in text and "secret host" not in text
    assert "No backup is recorded." in text
    mail = text.partition("Mail waiting")[2].partition("</tr>")[0]
    assert "not known" in mail and ">0<" not in mail


def test_each_kind_of_failure_is_listed_and_can_be_done_again(client: Client, owner: User) -> None:
    project = make.make_project()
    run, file, delivery = failed_run(project), failed_file(project), failed_delivery(project)
    actions.note_failure(
        job="annotation.jobs.look_after_files", error="OSError", queue_role="default", args=[]
    )
    text = text_of(client)
    for said in ("Out of memory", "No space is left.", "answered 500", "Job look_after_files"):
        assert said in text
    assert "4 jobs failed." in text and project.name in text
    client.post("/operations/retry/")
    assert failures.failures() == []
    assert Run.objects.filter(task=run.task, state=RunState.QUEUED).count() == 1
    file.refresh_from_db()
    delivery.refresh_from_db()
    assert (file.state, delivery.state) == ("queued", "waiting")
    assert not JobFailure.objects.exists()
    done = set(AuditEntry.objects.filter(actor=owner).values_list("action", flat=True))
    assert {"run.start", "export.retry", "hook.redeliver", "failure.retry"} <= done
    # A second click finds nothing to do, and says so.
    answer = client.post(f"/operations/failures/file/{file.pk}/", {"do": "retry"}, follow=True)
    assert "This file is not failed any more." in answer.content.decode()


def test_a_discarded_failure_is_off_the_list_and_stays_in_its_project(
    client: Client, owner: User
) -> None:
    run = failed_run()
    actions.note_failure(
        job="annotation.jobs.sweep", error="OSError", queue_role="default", args=[]
    )
    job = JobFailure.objects.get()
    for kind, row in (("run", run.pk), ("job", job.pk)):
        client.post(f"/operations/failures/{kind}/{row}/", {"do": "discard"})
        client.post(f"/operations/failures/{kind}/{row}/", {"do": "discard"})  # twice, no harm
    assert failures.failures() == []
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert AuditEntry.objects.filter(actor=owner, action="failure.discard").exists()


def test_a_run_that_nobody_works_on_is_shown_as_stuck(client: Client, owner: User) -> None:
    run = failed_run()
    silent = timezone.now() - dt.timedelta(hours=1)
    Run.objects.update(state=RunState.RUNNING, started_at=silent, heartbeat_at=silent)
    text = text_of(client)
    assert "Stuck runs" in text and "no sign of life" in text
    Run.objects.update(heartbeat_at=timezone.now())
    assert "Stuck runs" not in text_of(client)
    assert run.project.name


def test_mail_webhooks_payments_and_sign_ins_are_counted(client: Client, owner: User) -> None:
    late = timezone.now() - dt.timedelta(hours=1)
    Notice.objects.create(user=owner, kind="run.failed", text="x", key="a", mail_at=late)
    text = text_of(client)
    assert "Mail is 1" in text and "late." in text
    assert "Signed in" in text and "Wrong password" in text


def test_samples_make_lines_and_old_ones_go(client: Client, owner: User) -> None:
    now = timezone.now()
    old = now - dt.timedelta(days=3)
    on_the_hour = old.replace(minute=0, second=0, microsecond=0)
    Sample.objects.create(name="waiting:runs", at=on_the_hour, value=9)
    Sample.objects.create(name="waiting:runs", at=on_the_hour + dt.timedelta(minutes=5), value=9)
    Sample.objects.create(name="waiting:runs", at=now - dt.timedelta(days=61), value=9)
    Sample.objects.create(name="waiting:runs", at=now - dt.timedelta(hours=2), value=7)
    actions.take_samples()
    actions.take_samples()  # delivered twice, written once
    kept = Sample.objects.filter(name="waiting:runs").order_by("at").values_list("value", flat=True)
    assert list(kept) == [9, 7, 0]
    line = samples.lines("waiting")["runs"]
    assert line.count(7) == 1 and line[-1] == 0 and line[0] is None
    assert "7 at most" in text_of(client)


def test_a_job_that_ends_with_an_error_is_noted_once_without_its_message() -> None:
    class Sender:
        name = "annotation.jobs.send_mail"
        request = None

    def fail() -> None:
        figures.size_of_nothing  # type: ignore[attr-defined]  # noqa: B018

    for _ in range(3):
        try:
            fail()
        except AttributeError as error:
            recording._failed(
                sender=Sender, exception=error, args=[7], traceback=error.__traceback__
            )
    row = JobFailure.objects.get()
    assert (row.job, row.count, row.args, row.queue) == (Sender.name, 3, [7], "default")
    assert row.error == "AttributeError"
    assert samples.last_day("failed")["default"] == 3


def test_the_page_costs_the_same_number_of_queries_at_any_size(client: Client, owner: User) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            text_of(client)
        return len(queries)

    worker.record_heartbeats(*map(worker.worker_name, ROLES))
    project = make.make_project()
    failed_run(project), failed_file(project), failed_delivery(project)
    text_of(client)
    few = cost()
    for _ in range(4):
        other = make.make_project()
        failed_run(other), failed_file(other), failed_delivery(other)
    assert cost() == few
    assert few < 106  # with Redis as the broker two more than with PostgreSQL


def test_the_report_holds_figures_and_no_name(client: Client, owner: User) -> None:
    run = failed_run()
    body = client.get("/operations/report.json")
    assert body.json()["figures"]["Last backup"] == "not known"
    assert body.json()["failed_jobs"][0]["job"].startswith("Run 1")
    assert run.project.name not in body.content.decode()
    assert page.UNKNOWN == "not known"


def test_the_owner_asks_for_a_backup_which_a_job_of_its_own_queue_makes(
    client: Client, owner: User, settings: Any, tmp_path: Path
) -> None:
    assert "Back up now" not in client.get("/operations/").content.decode()
    assert (
        "Set CROWDQC_BACKUP_FOLDER first"
        in client.post("/operations/backup/", follow=True).content.decode()
    )
    settings.CROWDQC_BACKUP_FOLDER, settings.CROWDQC_BACKUP_TEST_DAYS = str(tmp_path), 0.0
    assert "Back up now" in client.get("/operations/").content.decode()
    with patch("crowdqc.queue.enqueue") as enqueued:
        client.post("/operations/backup/")
    enqueued.assert_called_once_with("annotation.jobs.back_up_now")
    assert AuditEntry.objects.filter(action="backup.request", actor=owner).exists()
    assert settings.CROWDQC_JOB_QUEUES["annotation.jobs.back_up_now"] == "backups"
    name = jobs.back_up_now()
    assert (tmp_path / name).exists()
    page = client.get("/operations/").content.decode()
    assert "not tested" in page and "No backup is known" not in page
    settings.CROWDQC_BACKUP_FOLDER = "/proc/none"
    with pytest.raises(Invalid):
        jobs.back_up_now()
    assert "The last backup failed." in client.get("/operations/").content.decode()


def test_the_page_shows_what_the_deployment_checks_say_now(
    client: Client, owner: User, settings: Any, tmp_path: Path
) -> None:
    """As ``check --deploy --database default``: also what only the database knows."""
    settings.PRODUCTION = True
    assert {"crowdqc.W011", "crowdqc.W015"} <= {one["id"] for one in page.system_checks()}
    settings.CROWDQC_BACKUP_FOLDER = str(tmp_path)
    assert "crowdqc.W015" not in {one["id"] for one in page.system_checks()}


def test_near_limits_and_late_webhooks_need_attention_and_slow_queries_are_listed(
    client: Client, owner: User
) -> None:
    soon = timezone.now() + dt.timedelta(days=3)
    query = SlowQuery("SELECT a FROM b WHERE c = $1", 12, 1234.5, 2000.0, 0.5)
    hooks = {"waiting": 1, "oldest": 7200.0, "failed": 0}
    with (
        patch.object(page, "read_load", return_value=Load({"idle": 95}, 100, 0.0, 0.0)),
        patch.object(page, "slow_queries", return_value=[query]),
        patch.object(figures, "certificate_end", return_value=soon),
        patch.object(figures, "hooks", return_value=hooks),
    ):
        text = client.get("/operations/").content.decode()
    assert "95 of 100 connections" in text and "The certificate ends soon." in text
    assert "Webhooks are 2" in text
    assert "c = $1" in text and "1234.5" in text
    assert "pg_stat_statements" in client.get("/operations/").content.decode()


def test_a_certificate_is_read_as_a_browser_meets_it(settings: Any, tmp_path: Path) -> None:
    certificate.write(tmp_path / "own.pem", tmp_path / "own.key", ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "own.pem", tmp_path / "own.key")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.CROWDQC_BASE_URL = f"https://127.0.0.1:{listener.getsockname()[1]}"
        answer = threading.Thread(target=_shake_hands, args=(listener, context))
        answer.start()
        assert actions.read_certificate()
        answer.join()
    ends = figures.certificate_end()
    assert ends is not None and 390 < (ends - timezone.now()).days < 398
    settings.CROWDQC_BASE_URL = "http://127.0.0.1:1"
    assert not actions.read_certificate()


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    with contextlib.suppress(OSError), context.wrap_socket(listener.accept()[0], server_side=True):
        pass
