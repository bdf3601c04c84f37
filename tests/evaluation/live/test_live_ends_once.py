"""Claims beside each other keep to the limits, and a killed process ends nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import connection, connections
from django.db.models import Sum

from annotation.authoring.actions import tasks
from annotation.models import Assignment, AuditEntry, HookDelivery, Item, Task
from annotation.models.tasks import TaskState
from annotation.notifications.actions import webhooks
from annotation.work.actions import assignments
from crowdqc.errors import Conflict
from evaluation.live import actions as live
from evaluation.models import LiveEvaluation
from tests.annotation.work.test_concurrency import at_once
from tests.support import factories
from tests.support.processes import killed
from tests.support.studies.live import judge, make_live, make_task, outputs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.db]


def add(evaluation: LiveEvaluation, prompts: int, start: int = 0) -> bool:
    task = evaluation.task
    try:
        live.add_outputs(
            by=task.project.owner, task=task, key=f"{start}", rows=outputs(prompts, start=start)
        )
    except Conflict:
        return False
    return True


def claims_of(task: Task, people: int) -> Callable[[int], bool]:
    """One person's claim, which says whether there was something for them."""
    workers = [factories.make_worker(task.project) for _ in range(people)]

    def claim(index: int) -> bool:
        worker = workers[index]
        assert worker.user is not None
        try:
            assignments.claim_assignment(
                by=worker.user, task=Task.objects.get(pk=task.pk), worker=worker
            )
        except Conflict:
            return False
        return True

    return claim


def test_thirty_claims_at_once_take_no_more_money_than_there_is() -> None:
    evaluation = make_live(max_judgments=500, budget=Decimal("11.50"))
    add(evaluation, 200)
    got = at_once(claims_of(evaluation.task, 30), 30)
    assert sum(got) == 11
    assert Assignment.objects.aggregate(s=Sum("pay"))["s"] == Decimal("11.00")


def test_outputs_and_claims_beside_each_other_never_exceed_the_judgments() -> None:
    evaluation = make_live(make_task(bundle=2), max_judgments=45)
    add(evaluation, 10)
    claim = claims_of(evaluation.task, 30)

    def act(index: int) -> bool:
        if index % 3 == 0:
            return add(evaluation, 10, start=100 * (index + 1))
        return claim(index)

    got = at_once(act, 30)
    assert sum(got[::3]) == 3  # 10 more fit three times
    at_once(claim, 30)
    taken = Item.objects.filter(task=evaluation.task).aggregate(
        held=Sum("held"), wanted=Sum("redundancy")
    )
    assert taken["wanted"] == 40 and 30 <= taken["held"] <= 40


def ready_to_end() -> LiveEvaluation:
    """An evaluation that the next look ends, in a project with one address that wants all."""
    evaluation = make_live(half_width=0.02, max_judgments=30)
    project = evaluation.task.project
    webhooks.add_hook(by=project.owner, project=project, url="https://a.example/in")
    add(evaluation, 30)
    rng = random.Random(5)
    for _ in range(6):
        assert judge(evaluation.task, factories.make_worker(project), rng)
    HookDelivery.objects.all().delete()
    return evaluation


def is_whole(evaluation: LiveEvaluation) -> bool:
    """Whether it has ended; everything of the end is there once, or nothing of it."""
    evaluation.refresh_from_db()
    ended = evaluation.state == LiveEvaluation.State.ENDED
    assert (evaluation.result is not None) == ended
    assert HookDelivery.objects.filter(event="live.ended").count() == ended
    assert AuditEntry.objects.filter(action="live.end").count() == ended
    closed = Task.objects.get(pk=evaluation.task_id).state == TaskState.CLOSED
    assert closed == ended
    return ended


@pytest.mark.parametrize(
    ("module", "name"), [(live, "_look"), (tasks, "move"), (live, "record"), (live, "emit")]
)
def test_killed_within_the_end_nothing_has_happened_and_the_next_look_ends_it_once(
    module: object, name: str
) -> None:
    evaluation = ready_to_end()

    def act() -> None:
        real = getattr(module, name)

        def die(*args: object, **named: object) -> None:
            real(*args, **named)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(module, name, die)
        live.check_all()

    assert killed(act) == signal.SIGKILL
    assert not is_whole(evaluation)
    assert live.check_all() == 1
    assert is_whole(evaluation) and evaluation.reason == "judgments"
    assert live.check_all() == 0
    assert is_whole(evaluation)


def test_killed_at_random_moments_it_ends_once_with_one_message() -> None:
    evaluation = ready_to_end()
    rng = random.Random(11)
    for _ in range(25):
        killed(live.check_all, after=rng.uniform(0.0, 0.12))
        is_whole(evaluation)
    live.check_all()
    assert is_whole(evaluation)


def test_many_who_look_at_once_end_it_once() -> None:
    evaluation = ready_to_end()
    assert sum(at_once(lambda _: live.check_all(), 12)) == 1
    assert is_whole(evaluation)


def test_a_process_of_its_own_shares_no_connection_with_where_a_browser_was_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Playwright's loop runs in the thread of the tests, which then has connections of its own."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

    def backend() -> int:
        with connection.cursor() as cursor:
            return int(cursor.execute("SELECT pg_backend_pid()").fetchone()[0])

    usual, loop = asyncio.events._get_running_loop(), asyncio.new_event_loop()
    asyncio.events._set_running_loop(None)
    before = backend()  # as of the first tests of a session, before its first browser
    asyncio.events._set_running_loop(loop)
    try:
        reader, writer = os.pipe()
        killed(lambda: os.write(writer, str(backend()).encode()))
        assert int(os.read(reader, 20)) not in (before, backend())
        connections.close_all()
        asyncio.events._set_running_loop(None)
        assert backend() == before
    finally:
        asyncio.events._set_running_loop(usual)  # of a browser that another test began
        loop.close()
        os.close(reader), os.close(writer)
