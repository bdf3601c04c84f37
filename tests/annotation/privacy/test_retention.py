"""Interaction logs go after the days agreed to, or when asked for; answers and payments stay."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import jobs
from annotation.accounts.projects import actions as people
from annotation.models import (
    Answer,
    Assignment,
    AuditEntry,
    Consent,
    ConsentText,
    EventBatch,
    EventStream,
    User,
)
from annotation.privacy.actions import retention
from annotation.privacy.selectors import retention as reads
from annotation.work.actions import events
from annotation.work.selectors import log
from crowdqc import settings as product
from crowdqc.errors import Conflict, NotAllowed
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of

pytestmark = [pytest.mark.django_db, pytest.mark.db]
TYPED = [
    {"method": "open", "time": 0},
    {
        "method": "input",
        "time": 5,
        "name": "run",
        "delta": [5, 0, 0, "ab"],
        "ms": [0, 90],
        "keys": 2,
    },
]


@pytest.fixture
def world() -> World:
    made = factories.make_world(2, redundancy=9)
    ConsentText.objects.update(number=10**6)  # room for earlier versions
    return made


def written(
    world: World, *, days_ago: float, agreed_to: int = 30, settled: bool = False
) -> Assignment:
    """Submitted work with a log, of a worker who agreed to so many days."""
    worker = factories.make_worker(world.project)
    assignment = factories.claim_and_submit(world.task, worker)
    factories.make_log(assignment, TYPED)
    then = timezone.now() - dt.timedelta(days=days_ago)
    text = ConsentText.objects.create(
        project=world.project, number=worker.pk, text="As before.", retention_days=agreed_to
    )
    Consent.objects.filter(membership=worker).update(
        text=text, given_at=then - dt.timedelta(hours=1)
    )
    Assignment.objects.filter(pk=assignment.pk).update(
        submitted_at=then, settled_at=then if settled else None
    )
    assignment.refresh_from_db()
    return assignment


def has_log(assignment: Assignment) -> bool:
    return EventStream.objects.filter(assignment=assignment).exists()


def posted(user: User | None, name: str, *args: Any) -> Any:
    client = Client()
    assert user is not None
    client.force_login(user)
    return client.post(reverse(name, args=args))


def page(user: User | None, name: str, *args: Any) -> str:
    client = Client()
    assert user is not None
    client.force_login(user)
    return html_of(client.get(reverse(name, args=args)))


def test_a_log_goes_after_the_days_its_own_worker_agreed_to(world: World) -> None:
    old, fresh = written(world, days_ago=31), written(world, days_ago=29)
    longer = written(world, days_ago=31, agreed_to=60)
    scheduled = [entry["task"] for entry in product.CELERY_BEAT_SCHEDULE.values()]
    assert jobs.erase_due_logs.name in scheduled
    assert jobs.erase_due_logs() == 1
    assert jobs.erase_due_logs() == 0
    assert [has_log(one) for one in (old, fresh, longer)] == [False, True, True]
    old.refresh_from_db()
    assert old.log_erased_at is not None
    entry = AuditEntry.objects.get(action="log.erase")
    assert (entry.actor, entry.object_id, entry.project) == (None, old.pk, world.project)
    assert {key: entry.detail[key] for key in ("why", "streams", "events")} == {
        "why": "due",
        "streams": 1,
        "events": 2,
    }
    assert entry.detail["bytes"] > 0
    assert Answer.objects.filter(assignment=old).count() == 2


def test_what_was_summed_up_from_a_log_goes_with_it(
    world: World, django_capture_on_commit_callbacks: Any
) -> None:
    old = written(world, days_ago=31)
    assert log.log_summaries([old.pk])[old.pk].typed_chars == 2
    (key,) = log.summary_keys([old.pk]).values()
    assert cache.get(key) is not None
    with django_capture_on_commit_callbacks(execute=True):
        retention.erase_due_logs()
    assert cache.get(key) is None
    assert log.log_summaries([old.pk])[old.pk] == log.EMPTY


def test_an_imported_log_and_one_of_work_that_goes_on_stay(world: World) -> None:
    imported = written(world, days_ago=4000)
    Consent.objects.filter(membership=imported.worker).delete()
    going = factories.claim(world.task, world.worker)
    factories.make_log(going, TYPED)
    Assignment.objects.filter(pk=going.pk).update(
        leased_at="2001-01-01T00:00Z", expires_at="2001-01-02T00:00Z"
    )
    assert retention.erase_due_logs() == 0
    kept = reads.kept_of_project(world.project)
    assert (kept.number, kept.in_work, kept.undated, kept.first_until) == (2, 1, 1, None)
    assert retention.erase_logs_of_project(by=world.requester, project=world.project) == 1
    assert [has_log(imported), has_log(going)] == [False, True]


def test_nothing_is_recorded_after_the_log_was_erased(world: World) -> None:
    old = written(world, days_ago=31)
    stream = EventStream.objects.get(assignment=old)
    factories.make_consent(old.worker)  # to the text in force now
    assert retention.erase_due_logs() == 1
    # A decision closes the log, too; one that was overturned opens it no more.
    Assignment.objects.filter(pk=old.pk).update(settled_at=None, submitted_at=timezone.now())
    old.refresh_from_db()
    send = {"by": old.worker.user, "assignment": old, "first_seq": 2, "events": TYPED}
    with pytest.raises(Exception, match="no such stream"):
        events.append_events(**send, stream_key=stream.key)  # type: ignore[arg-type]
    for key in (stream.key, uuid.uuid4()):
        with pytest.raises(Conflict, match="was erased"):
            events.open_stream(by=old.worker.user, assignment=old, key=key)  # type: ignore[arg-type]
    client = Client()
    client.force_login(old.worker.user)  # type: ignore[arg-type]
    body = {"stream": str(stream.key), "first_seq": 2, "events": TYPED}
    late = client.post(
        reverse("work_events", args=[old.pk]),
        body,
        "application/json",
        headers={"Accept": "application/json"},
    )
    assert late.status_code == 409  # the page drops what it still holds
    assert not EventBatch.objects.exists()


def test_staff_erase_one_worker_s_logs_and_only_those(world: World) -> None:
    one, other = written(world, days_ago=1), written(world, days_ago=1)
    card = page(world.manager, "worker_card", world.project.pk, one.worker_id)
    assert "1 log, " in card
    assert "Erase this worker’s logs" in card
    done = posted(world.manager, "worker_logs_erase", world.project.pk, one.worker_id)
    assert done.status_code == 302
    assert [has_log(one), has_log(other)] == [False, True]
    entry = AuditEntry.objects.get(action="log.erase")
    assert (entry.actor, entry.detail["why"]) == (world.manager, "worker")
    card = page(world.manager, "worker_card", world.project.pk, one.worker_id)
    assert "1 log was erased" in card
    assert "log erased" in card  # where the share of pasted text stood


def test_a_worker_erases_what_nobody_needs_for_a_decision_any_more(world: World) -> None:
    decided = written(world, days_ago=1, settled=True)
    with pytest.raises(NotAllowed):
        retention.erase_own_logs(by=world.requester, worker=decided.worker)
    waiting = written(world, days_ago=1)
    told = page(waiting.worker.user, "work_record")
    assert "1 log belongs to work awaiting review" in told
    assert "Erase my logs" not in told
    posted(waiting.worker.user, "own_logs_erase", world.project.pk)
    assert has_log(waiting)
    assert "Erase my logs" in page(decided.worker.user, "work_record")
    people.withdraw_consent(by=decided.worker.user, member=decided.worker)  # type: ignore[arg-type]
    posted(decided.worker.user, "own_logs_erase", world.project.pk)
    assert not has_log(decided)
    assert "The log was erased on" in page(
        decided.worker.user, "work_record_assignment", decided.pk
    )


def test_the_settings_say_how_many_logs_are_kept_and_until_when(world: World) -> None:
    for days in (1, 10):
        written(world, days_ago=days)
    kept = reads.kept_of_project(world.project)
    now = timezone.now()
    assert kept.number == kept.erasable == kept.unsettled == 2
    assert kept.first_until is not None
    assert kept.last_until is not None
    assert abs((kept.first_until - now).total_seconds() - 20 * 86400) < 60
    assert abs((kept.last_until - now).total_seconds() - 29 * 86400) < 60
    assert kept.stored_bytes > 0
    told = page(world.requester, "project_settings", world.project.pk)
    assert "2 logs, " in told
    assert "Erase all logs of finished work" in told
    assert "Erase all logs" not in page(world.manager, "project_settings", world.project.pk)
    posted(world.requester, "project_logs_erase", world.project.pk)
    assert "2 logs were erased" in page(world.requester, "project_settings", world.project.pk)
    assert not EventBatch.objects.exists()
