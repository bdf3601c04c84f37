"""The job queue on the broker at hand: quick, not lost, not doubled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from crowdqc.celery import app
from crowdqc.devstack.program import SHARES
from crowdqc.jobs import worker as heartbeat
from crowdqc.jobs.broker import (
    broker_settings,
    check_broker,
    default_conninfo,
    install_queue,
    queue_states,
)
from crowdqc.jobs.queues import ROLES, queue_name
from crowdqc.jobs.workers import PROCESSES, SCHEDULER
from tests.support.jobs import note
from tests.support.processes import ROOT, Worker, empty_queue, processes_with, queue_worker, until

pytestmark = [pytest.mark.db, pytest.mark.queue, pytest.mark.django_db(transaction=True)]
VISIBILITY = 2
KUBERNETES = "docs/admin/kubernetes/workers.yaml"


def words(path: Path) -> list[str]:
    return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture(scope="module")
def hasty_worker(
    django_db_setup: None, django_db_blocker: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    """A worker whose deliveries come back after few seconds instead of twenty."""
    log = tmp_path_factory.mktemp("queue") / "worker.log"
    with (
        django_db_blocker.unblock(),  # type: ignore[attr-defined]
        queue_worker(log, VISIBILITY, role="default") as running,
    ):
        yield running


def test_a_job_is_done_at_once_and_the_worker_reports_itself(
    hasty_worker: Worker, tmp_path: Path
) -> None:
    note.delay(str(tmp_path / "done"))
    until(lambda: words(tmp_path / "done") == ["begin", "end"], 5, "the job to be done")
    until(lambda: heartbeat.heartbeat_age(heartbeat.WORKER) is not None, 30, "a sign of life")
    age = heartbeat.heartbeat_age(heartbeat.WORKER)
    assert age is not None and age < 10
    check_broker(app)
    # (B8) One that goes on and on is asked to end; the next one has its process.
    note.apply_async((str(tmp_path / "endless"), 60), soft_time_limit=1, time_limit=2)
    note.delay(str(tmp_path / "next"))
    until(lambda: words(tmp_path / "next") == ["begin", "end"], 20, "the next job to be done")
    assert words(tmp_path / "endless") == ["begin"]


def test_every_job_has_an_end_and_those_of_other_systems_a_queue_of_their_own() -> None:
    """(B8) Soft and hard limits for all, the hard one later; the table names jobs that exist."""
    app.loader.import_default_modules()  # as a worker does
    ours = {
        name: job
        for name, job in app.tasks.items()
        if name.split(".")[0] in ("annotation", "evaluation")
    }
    for name, job in ours.items():
        soft = job.soft_time_limit or app.conf.task_soft_time_limit
        hard = job.time_limit or app.conf.task_time_limit
        # A backup and its test read everything, however much that is.
        backs_up = app.amqp.router.route({}, name)["queue"].name == queue_name("backups")
        assert 0 < soft < hard <= (6 * 3600 + 60 if backs_up else 4000), name
    assert set(settings.CROWDQC_JOB_QUEUES) <= set(ours)
    for name, role in {
        "annotation.jobs.send_payments": "platforms",
        "evaluation.jobs.probe_model": "platforms",
        "annotation.jobs.process_upload": "files",
        "annotation.jobs.write_export": "files",
        "annotation.jobs.send_mail": "default",
    }.items():
        assert app.amqp.router.route({}, name)["queue"].name == queue_name(role)


def test_every_queue_has_a_worker_in_each_way_to_run_the_app() -> None:
    every = set(ROLES)
    assert set(SHARES) == {*every, SCHEDULER} and set(PROCESSES) == every
    for name in ("docker-compose.yml", "docker-compose.scale.yml", KUBERNETES):
        commands = re.findall(r"crowdqc\.jobs\.workers,.*", (ROOT / name).read_text())
        assert every <= set(re.findall(r"(\w+)=", " ".join(commands))), name


def test_a_killed_worker_leaves_no_process_its_job_is_delivered_again_and_a_long_one_not_doubled(
    hasty_worker: Worker, tmp_path: Path
) -> None:
    done, later = tmp_path / "done", tmp_path / "later"
    note.delay(str(done), VISIBILITY + 0.7)  # longer than a delivery stays invisible unrenewed
    until(lambda: words(done) == ["begin"], 10, "the job to begin")
    pool_process = int(done.read_text().split()[1])
    hasty_worker.kill()
    until(
        lambda: pool_process not in processes_with("celery"), 5, "the pool process to end as well"
    )
    hasty_worker.start()
    until(lambda: words(done) == ["begin", "begin"], VISIBILITY + 12, "the second delivery")
    until(lambda: "end" in words(done), VISIBILITY + 10, "the job to end")
    note.delay(str(later))  # a third delivery would be served before it
    until(lambda: words(later) == ["begin", "end"], 20, "a later job to be done")
    assert words(done) == ["begin", "begin", "end"]


def test_a_job_that_was_given_back_is_kept_from_nobody() -> None:
    """As that of a process which the kernel ended, while no other job comes to its worker."""
    empty_queue()
    note.apply_async(("unused",), queue=queue_name("files"))
    with app.connection_for_read() as connection:
        channel = connection.channel()
        consumer = SimpleNamespace(task_consumer=SimpleNamespace(channel=channel))
        message = channel.basic_get(queue_name("files"))
        assert heartbeat.renew_deliveries(consumer) == 1
        assert queue_states(app)["files"].running == 1
        message.reject(requeue=True)
        assert heartbeat.renew_deliveries(consumer) == 0
        assert queue_states(app)["files"].waiting == 1
    empty_queue()


def test_installing_the_queue_twice_changes_nothing() -> None:
    conninfo = default_conninfo()
    for _ in range(2):
        install_queue(conninfo)
        from crowdqc.jobs import broker

        broker._installed.clear()
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("SELECT to_regclass('pgmq.meta')::text").fetchone()
    assert row == ("pgmq.meta",)


@pytest.mark.parametrize("url", ["amqp://localhost", "memory://", "sqs://"])
def test_a_broker_that_crowdqc_does_not_run_on_is_named(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="BROKER_URL"):
        broker_settings(url)
