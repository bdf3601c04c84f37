"""Leases: who gets what, how long, and that a slot is never given twice."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.models import Assignment, AssignmentItem, AuditEntry, Item, Task
from annotation.work.actions import assignments, leases, slots
from crowdqc.errors import Conflict, Invalid, LimitExceeded, Missing, NotAllowed
from tests.evaluation.corpora.labels import make_task as make_labelled_task
from tests.support import factories
from tests.support.studies import ratings

pytestmark = [pytest.mark.django_db, pytest.mark.db]


def run_out(assignment: Assignment) -> None:
    """Put the end of a lease into the past."""
    past = timezone.now() - dt.timedelta(minutes=1)
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=past)


def slots_agree(task: Task) -> None:
    """Every item's counter is the number of entries that hold it, and within the redundancy."""
    for item in task.items.all():
        holding = AssignmentItem.objects.filter(item=item, holds=True).count()
        assert item.held == holding <= item.redundancy, item.key


def keys(assignment: Assignment) -> list[str]:
    return [entry.item.key for entry in assignment.entries.select_related("item")]


def test_a_second_click_gives_the_same_lease() -> None:
    world = factories.make_world(6, items_per_assignment=2)
    first = factories.claim(world.task, world.worker)
    again = factories.claim(world.task, world.worker)
    assert first.pk == again.pk
    assert Assignment.objects.count() == 1
    slots_agree(world.task)


def test_nobody_gets_a_question_twice_and_everything_is_reached() -> None:
    world = factories.make_world(7, items_per_assignment=3, redundancy=1)
    seen: list[str] = []
    for _ in range(3):
        assignment = factories.claim(world.task, world.worker)
        seen += keys(assignment)
        factories.submit(assignment)
    assert sorted(seen) == [f"q-{n:03d}" for n in range(1, 8)]
    with pytest.raises(Conflict, match="nothing left"):
        factories.claim(world.task, world.worker)


def test_the_redundancy_is_the_most_people_a_question_gets() -> None:
    world = factories.make_world(2, redundancy=2)
    for _ in range(2):
        factories.claim(world.task, factories.make_worker(world.project))
    with pytest.raises(Conflict, match="nothing left"):
        factories.claim(world.task, factories.make_worker(world.project))
    slots_agree(world.task)


def test_a_question_marked_urgent_comes_first() -> None:
    world = factories.make_world(9, items_per_assignment=2)
    urgent = world.task.items.get(key="q-008")
    tasks.set_priority(by=None, item=urgent, priority=5)
    assert "q-008" in keys(factories.claim(world.task, world.worker))


def test_without_agreement_or_when_paused_nothing_can_be_claimed() -> None:
    world = factories.make_world()
    stranger = factories.make_worker(world.project, consent=False)
    with pytest.raises(NotAllowed):
        factories.claim(world.task, stranger)
    tasks.move(by=world.requester, task=world.task, to="pause")
    with pytest.raises(Conflict, match="not open"):
        factories.claim(world.task, world.worker)
    assert not Assignment.objects.exists()


def test_a_new_text_of_agreement_is_asked_for_before_the_next_claim() -> None:
    world = factories.make_world()
    people.change_consent_text(
        by=world.requester, project=world.project, text="New.", retention_days=30
    )
    with pytest.raises(NotAllowed):
        factories.claim(world.task, world.worker)
    factories.make_consent(world.worker)
    assert factories.claim(world.task, world.worker)


def test_a_lease_that_ran_out_frees_its_slots_for_others_at_once() -> None:
    world = factories.make_world(3, redundancy=1)
    late = factories.claim(world.task, world.worker)
    run_out(late)
    other = factories.make_worker(world.project)
    assert len(keys(factories.claim(world.task, other))) == 3
    late.refresh_from_db()
    assert late.state == "expired"
    slots_agree(world.task)


def test_two_leases_of_one_question_that_ran_out_free_both_slots() -> None:
    world = factories.make_world(3, redundancy=2)
    for held in [factories.claim(world.task, factories.make_worker(world.project)) for _ in "ab"]:
        run_out(held)
    assert leases.release_expired() == 2
    assert not world.task.items.filter(held__gt=0).exists()
    slots_agree(world.task)


def test_ones_own_lease_that_ran_out_is_replaced_by_a_new_one() -> None:
    world = factories.make_world(3, redundancy=1)
    old = factories.claim(world.task, world.worker)
    run_out(old)
    new = factories.claim(world.task, world.worker)
    assert new.pk != old.pk
    slots_agree(world.task)


def test_a_returned_assignment_leaves_no_trace_on_the_slots() -> None:
    world = factories.make_world(3)
    assignment = factories.claim(world.task, world.worker)
    for _ in range(2):  # a double click
        leases.return_assignment(by=world.worker.user, assignment=assignment)
    assert not world.task.items.filter(held__gt=0).exists()
    with pytest.raises(Conflict):
        assignments.save_draft(
            by=world.worker.user,
            assignment=assignment,
            draft={"text": "x"},
            seq=1,
            item_id=assignment.entries.first().item_id,
        )


def test_time_can_be_extended_three_times_and_not_once_it_is_over() -> None:
    world = factories.make_world(lease_minutes=10)
    assignment = factories.claim(world.task, world.worker)
    for _ in range(3):
        extended = leases.extend_lease(by=world.worker.user, assignment=assignment)
    assert extended.expires_at > timezone.now() + dt.timedelta(minutes=9)
    with pytest.raises(Conflict, match="the most"):
        leases.extend_lease(by=world.worker.user, assignment=assignment)
    run_out(assignment)
    with pytest.raises(Conflict, match="run out"):
        leases.extend_lease(by=world.worker.user, assignment=assignment)


def test_the_order_is_random_over_texts_and_then_within_them() -> None:
    world = factories.make_world(12, groups=3, order="random", redundancy=9)
    orders = set()
    for _ in range(6):
        assignment = factories.claim(world.task, factories.make_worker(world.project))
        groups = list(assignment.entries.values_list("item__group_id", flat=True))
        assert len([g for i, g in enumerate(groups) if i == 0 or groups[i - 1] != g]) == 3
        orders.add(tuple(keys(assignment)))
    assert len(orders) > 1


def test_labels_in_random_order_bring_neighbours_of_the_file_together_by_chance_alone() -> None:
    task = make_labelled_task(items=30, redundancy=300, items_per_assignment=5, order="random")
    assert task.current is not None

    def neighbours(places: list[int]) -> int:
        return sum(b - a == 1 for a, b in pairwise(sorted(places)))

    claimed = 0
    for _ in range(8):
        assignment = factories.claim(task, factories.make_worker(task.project))
        claimed += neighbours(list(assignment.entries.values_list("item__position", flat=True)))
    assert claimed < 16  # by chance 5.3, of 32 where they are taken in turn
    worker = factories.make_worker(task.project)
    drawn = [
        [one.position for one in slots.pick_items(task, task.current, worker, None, wait=False)]
        for _ in range(200)
    ]
    by_chance = 10 * 29 / 435  # 10 pairs of an assignment, each next to each other in 29 of 435
    assert sum(map(neighbours, drawn)) / 200 == pytest.approx(by_chance, abs=0.25)
    met = Counter(place for places in drawn for place in places)
    assert len(met) == 30 and min(met.values()) > 10  # 33 on average


def test_a_newer_draft_stands_against_an_older_one_that_arrives_late() -> None:
    world = factories.make_world()
    assignment = factories.claim(world.task, world.worker)
    item = assignment.entries.first().item_id
    save: Any = {"by": world.worker.user, "assignment": assignment, "item_id": item}
    assignments.save_draft(**save, draft={"text": "second"}, seq=20)
    kept = assignments.save_draft(**save, draft={"text": "first"}, seq=10)
    assert (kept.draft["text"], kept.draft_seq) == ("second", 20)
    with pytest.raises(Invalid):
        assignments.save_draft(**{**save, "item_id": 10**9}, draft={"text": "x"}, seq=30)
    with pytest.raises(Invalid):
        assignments.save_draft(**save, draft={"text": 7}, seq=30)


def test_a_draft_may_hold_any_text_a_keyboard_makes() -> None:
    world = factories.make_world()
    assignment = factories.claim(world.task, world.worker)
    item = assignment.entries.first().item_id
    text = "Ärger 👩‍🔬\x00 \ud83d end\r\nnext"
    kept = assignments.save_draft(
        by=world.worker.user, assignment=assignment, item_id=item, draft={"text": text}, seq=1
    )
    kept.refresh_from_db()
    assert kept.draft["text"] == "Ärger 👩‍🔬 � end\nnext"


def test_somebody_elses_assignment_cannot_be_touched() -> None:
    world = factories.make_world()
    assignment = factories.claim(world.task, world.worker)
    other = factories.make_worker(world.project).user
    for act in (leases.extend_lease, leases.return_assignment, assignments.open_assignment):
        with pytest.raises((NotAllowed, Missing)):
            act(by=other, assignment=assignment)
    assert not Item.objects.filter(held__gt=F("redundancy")).exists()


# Bundles that come back, and draws ----------------------------------------------------------------


def with_known(items: int = 12, known: int = 4, **fields: Any) -> Task:
    """A task of which some questions have a known answer, one of them in each assignment."""
    rules = {"items_per_assignment": 3, "order": "random", "redundancy": 1, **fields}
    settings = {"gold_per_assignment": 1}
    task = factories.make_task(
        factories.make_project(), items, settings=settings, publish=False, **rules
    )
    for number in range(1, known + 1):
        set_known(by=task.project.owner, task=task, key=f"q-{number:03d}", given={"answer": "x"})
    tasks.publish(by=task.project.owner, task=task)
    task.refresh_from_db()
    return task


def shown(assignment: Assignment) -> list[tuple[Any, ...]]:
    return list(assignment.entries.order_by("position").values_list("item", "holds", "flipped"))


def hidden(assignment: Assignment) -> set[int]:
    rows = assignment.entries.filter(item__expected__isnull=False)
    return set(rows.values_list("item", flat=True))


def test_a_returned_bundle_comes_back_as_it_was() -> None:
    task = with_known()
    worker = factories.make_worker(task.project)
    first = factories.claim(task, worker)
    before = shown(first)
    leases.return_assignment(by=worker.user, assignment=first)
    again = factories.claim(task, worker)
    assert again.pk != first.pk and again.seed == first.seed
    assert shown(again) == before and len(before) == 4
    slots_agree(task)


def test_of_a_returned_bundle_that_others_took_of_no_known_item_is_seen_again() -> None:
    task = with_known(items=7, known=4)
    worker, other = (factories.make_worker(task.project) for _ in range(2))
    first = factories.claim(task, worker)
    leases.return_assignment(by=worker.user, assignment=first)
    taken = factories.claim(task, other)
    with pytest.raises(Conflict, match="nothing left"):
        factories.claim(task, worker)
    leases.return_assignment(by=other.user, assignment=taken)
    run_out(factories.claim(task, worker))
    leases.release_expired()
    assert not hidden(factories.claim(task, worker)) & hidden(first)
    slots_agree(task)


def test_a_task_is_taken_again_so_often_an_hour_and_others_are_as_free_as_before(
    settings: Any,
) -> None:
    settings.CROWDQC_RETURNS_AN_HOUR = 2
    task = with_known()
    worker = factories.make_worker(task.project)
    for _ in range(3):
        leases.return_assignment(by=worker.user, assignment=factories.claim(task, worker))
    with pytest.raises(LimitExceeded):
        factories.claim(task, worker)
    assert AuditEntry.objects.filter(action__startswith="assignment.").count() == 6
    assert factories.claim(task, factories.make_worker(task.project))
    assert factories.claim(factories.make_task(task.project), worker)


def test_known_items_are_drawn_for_no_more_workers_than_others_while_there_are_enough() -> None:
    """Workers who compare their bundles find none by how often it was given."""
    task = with_known(items=16, known=4, redundancy=4)
    given: Counter[int] = Counter()
    for _ in range(16):  # all that the other items ask for
        given.update(hidden(factories.claim(task, factories.make_worker(task.project))))
    assert sorted(given.values()) == [4, 4, 4, 4]
    slots_agree(task)


def test_where_known_items_stand_does_not_follow_from_the_address() -> None:
    task = with_known(items=44, known=20, redundancy=20)
    places = []
    for _ in range(40):
        held = factories.claim(task, factories.make_worker(task.project), opened=False)
        entry = held.entries.get(item__expected__isnull=False)
        places.append((entry.position, random.Random(f"{held.pk}").randrange(4)))
    # Of 40 drawn places, 24 are right by chance once in 100,000.
    assert sum(place == guess for place, guess in places) < 24
    assert set(place for place, _ in places) == set(range(4))


def test_a_known_answer_to_a_document_is_asked_among_the_others_of_that_document() -> None:
    project = factories.make_project()
    task = ratings.make_documents(project, 3, 4, items_per_assignment=4, order="random")
    known = task.groups.order_by("pk")[0].items.get(key__endswith="a3")
    set_known(by=project.owner, task=task, key=known.key, given={"completeness": "70"})
    tasks.edit_draft(
        by=project.owner,
        task=task,
        fields={"settings": {**ratings.SETTINGS, "gold_per_assignment": 1}},
    )
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    sizes = []
    for _ in range(6):
        held = factories.claim(task, factories.make_worker(project))
        groups = set(held.entries.values_list("item__group", flat=True))
        assert len(groups) == 1
        sizes.append((groups == {known.group_id}, held.entries.count()))
    assert {size for size in sizes} <= {(True, 4), (False, 4)}
