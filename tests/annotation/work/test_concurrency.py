"""Fifty people at once: no question over its redundancy, no answer lost or doubled."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from annotation.authoring.actions.known import set_known
from annotation.authoring.actions.tasks import create_task, edit_draft, publish
from annotation.models import Answer, Assignment, EventBatch, Membership, Task
from annotation.work.actions import answers, assignments, events, leases
from crowdqc.errors import Conflict
from tests.annotation.work.test_claims import run_out
from tests.support import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.db]
PEOPLE = 50

WRONG_SLOTS = """
SELECT i.key, i.held, i.redundancy, count(e.id) FROM annotation_item i
LEFT JOIN annotation_assignmentitem e ON e.item_id = i.id AND e.holds
GROUP BY i.id HAVING i.held <> count(e.id) OR i.held > i.redundancy
"""
# A slot is held by a live lease or by an answer that counts, and by nothing else.
WRONG_HOLDERS = """
SELECT e.id FROM annotation_assignmentitem e
JOIN annotation_assignment a ON a.id = e.assignment_id
LEFT JOIN annotation_answer r ON r.assignment_id = a.id AND r.item_id = e.item_id
WHERE e.holds <> (a.state = 'leased' OR (a.state = 'submitted' AND coalesce(r.counts, false)))
"""
COUNTED_TWICE = """
SELECT worker_id, item_id FROM annotation_answer WHERE counts
GROUP BY worker_id, item_id HAVING count(*) > 1
"""


def at_once(act: Callable[[int], Any], number: int = PEOPLE) -> list[Any]:
    """Run ``act`` in so many threads that start together; re-raises what any of them raised."""
    start = threading.Barrier(number)

    def run(index: int) -> Any:
        try:
            connection.ensure_connection()
            start.wait(timeout=60)
            return act(index)
        finally:
            connection.close()

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(run, range(number)))


def books_are_right() -> None:
    with connection.cursor() as cursor:
        for question in (WRONG_SLOTS, WRONG_HOLDERS, COUNTED_TWICE):
            cursor.execute(question)
            assert cursor.fetchall() == [], question


def people_of(task: Task, number: int = PEOPLE) -> list[Membership]:
    return [factories.make_worker(task.project) for _ in range(number)]


def submit(assignment: Assignment, key: uuid.UUID) -> Assignment:
    drafts = {e.item_id: {"text": f"By {assignment.pk}."} for e in assignment.entries.all()}
    return answers.submit_assignment(
        by=assignment.worker.user, assignment=assignment, key=key, drafts=drafts
    )


def test_fifty_people_fill_a_task_exactly() -> None:
    task = factories.make_task(None, 40, redundancy=3, items_per_assignment=4, order="random")
    workers = people_of(task)

    def work(index: int) -> int:
        done = 0
        rng = random.Random(index)
        while True:
            try:
                held = assignments.claim_assignment(
                    by=workers[index].user, task=task, worker=workers[index]
                )
            except Conflict:
                return done
            held = Assignment.objects.select_related("worker__user").get(pk=held.pk)
            if rng.random() < 0.2:
                leases.return_assignment(by=held.worker.user, assignment=held)
                continue
            key = uuid.uuid4()
            submit(held, key)
            submit(held, key)  # the answer to the first was lost on its way
            done += held.entries.count()

    acknowledged = sum(at_once(work))
    books_are_right()
    assert Answer.objects.count() == acknowledged
    # Whoever stopped while others still held something may have left some: they can be taken.
    for worker in people_of(task, 6):
        try:
            while True:
                factories.claim_and_submit(task, worker)
        except Conflict:
            continue
    books_are_right()
    assert Answer.objects.filter(counts=True).count() == 40 * 3


def test_one_person_in_many_tabs_gets_one_lease() -> None:
    task = factories.make_task(None, 8, items_per_assignment=2)
    worker = factories.make_worker(task.project)
    leases = at_once(
        lambda _: assignments.claim_assignment(by=worker.user, task=task, worker=worker).pk, 16
    )
    assert len(set(leases)) == 1
    books_are_right()


def test_one_submit_sent_many_times_at_once_is_one_submit() -> None:
    task = factories.make_task(None, 5)
    held = factories.claim(task, factories.make_worker(task.project))
    held = Assignment.objects.select_related("worker__user").get(pk=held.pk)
    key = uuid.uuid4()
    assert {done.state for done in at_once(lambda _: submit(held, key), 16)} == {"submitted"}
    assert Answer.objects.count() == 5
    books_are_right()


def test_one_form_of_a_task_sent_many_times_at_once_makes_one_task() -> None:
    project, key = factories.make_project(), uuid.uuid4()

    def click(_: int) -> int:
        made = create_task(
            by=project.owner, project=project, type="free_text", title="Birds", key=key
        )
        return int(made.pk)

    assert len(set(at_once(click, 8))) == 1 == Task.objects.count()


def test_leases_that_run_out_amid_the_work_keep_the_books_right() -> None:
    task = factories.make_task(None, 12, redundancy=2, items_per_assignment=3)
    workers = people_of(task)

    def work(index: int) -> int:
        rng, kept = random.Random(index), 0
        for _ in range(3):
            try:
                held = assignments.claim_assignment(
                    by=workers[index].user, task=task, worker=workers[index]
                )
            except Conflict:
                leases.release_expired()
                continue
            held = Assignment.objects.select_related("worker__user").get(pk=held.pk)
            chance = rng.random()
            if chance < 0.6:
                run_out(held)
            if chance < 0.3:
                leases.release_expired(task=task)
            if chance < 0.2:
                continue  # never comes back
            submit(held, uuid.uuid4())
            kept += held.entries.count()
        return kept

    kept = sum(at_once(work))
    leases.release_expired()
    books_are_right()
    assert Answer.objects.count() == kept
    assert Answer.objects.filter(counts=True).count() <= 24
    assert not Answer.objects.filter(counts=False, uncounted_reason="").exists()


def test_a_log_sent_by_many_at_once_is_stored_once_and_in_order() -> None:
    task = factories.make_task(None, 2)
    held = factories.claim(task, factories.make_worker(task.project))
    held = Assignment.objects.select_related("worker__user").get(pk=held.pk)
    key = uuid.uuid4()
    log = [{"method": "click", "time": n} for n in range(300)]
    user = held.worker.user

    def send(index: int) -> None:
        events.open_stream(by=user, assignment=held, key=key)
        rng, at = random.Random(index), 0
        while at < len(log):
            size = rng.randint(1, 40)
            at = events.append_events(
                by=user,
                assignment=held,
                stream_key=key,
                first_seq=at,
                events=log[at : at + size],
            )

    at_once(send, 12)
    batches = EventBatch.objects.order_by("first_seq").values_list("events", flat=True)
    assert [event for batch in batches for event in batch] == log


def test_tries_of_a_quiz_taken_at_once_give_no_third_one() -> None:
    task = factories.make_task(factories.make_project(), 4, publish=False)
    by = task.project.owner
    for key in ("q-001", "q-002"):
        set_known(by=by, task=task, key=key, given={"answer": "a heron"})
    edit_draft(by=by, task=task, fields={"settings": {"quiz_items": 2, "quiz_pass": 2}})
    publish(by=by, task=task)
    worker = factories.make_worker(task.project)

    def try_often(number: int) -> None:
        for _ in range(3):
            try:
                held = assignments.claim_assignment(by=worker.user, task=task, worker=worker)
                factories.submit(held, "a nest")
            except Conflict:
                continue

    at_once(try_often, 8)
    tries = Assignment.objects.filter(worker=worker)
    assert list(tries.order_by("quiz").values_list("quiz", "quiz_passed", "state")) == [
        (1, False, "submitted"),
        (2, False, "submitted"),
    ]
