"""Submitting: once, completely, and counted by the rules of the slots."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, Assignment, AuditEntry
from annotation.payouts.selectors.proposals import work_facts
from annotation.work.actions import answers, assignments, leases
from annotation.work.actions.drafts import Version
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.annotation.work.test_claims import run_out, slots_agree
from tests.support import factories

pytestmark = [pytest.mark.django_db, pytest.mark.db]


def drafts_of(assignment: Assignment, text: str = "They nest on poles.") -> dict[int, Any]:
    return {entry.item_id: {"text": text} for entry in assignment.entries.all()}


def test_the_same_submit_sent_again_stores_nothing_more() -> None:
    world = factories.make_world(3)
    assignment, key = factories.claim(world.task, world.worker), uuid.uuid4()
    for _ in range(3):
        done = answers.submit_assignment(
            by=world.worker.user, assignment=assignment, key=key, drafts=drafts_of(assignment)
        )
    assert done.state == "submitted"
    assert Answer.objects.count() == 3
    assert AuditEntry.objects.filter(action="assignment.submit").count() == 1
    slots_agree(world.task)


def test_another_submit_of_the_same_assignment_is_refused() -> None:
    world = factories.make_world(3)
    assignment = factories.claim_and_submit(world.task, world.worker)
    with pytest.raises(Conflict, match="already"):
        factories.submit(assignment, "Something else entirely.")
    assert set(Answer.objects.values_list("texts__text", flat=True)) == {
        "They build nests on chimneys."
    }


def test_a_key_belongs_to_one_assignment() -> None:
    world = factories.make_world(2)
    key = uuid.uuid4()
    for worker, fine in ((world.worker, True), (factories.make_worker(world.project), False)):
        assignment = factories.claim(world.task, worker)
        act: Any = {"assignment": assignment, "key": key, "drafts": drafts_of(assignment)}
        if fine:
            answers.submit_assignment(by=worker.user, **act)
        else:
            with pytest.raises(Conflict, match="another submit"):
                answers.submit_assignment(by=worker.user, **act)
    assert Answer.objects.count() == 2


def test_open_and_unfit_questions_are_named_and_nothing_is_stored() -> None:
    world = factories.make_world(3, settings={"min_words": 3, "max_words": 6})
    assignment = factories.claim(world.task, world.worker)
    first, second, third = (entry.item_id for entry in assignment.entries.all())
    drafts = {
        first: {"text": "three words here"},
        second: {"text": "too short"},
        third: {"text": "far too many words stand in this one"},
    }
    with pytest.raises(Invalid) as refused:
        answers.submit_assignment(
            by=world.worker.user, assignment=assignment, key=uuid.uuid4(), drafts=drafts
        )
    assert refused.value.fields.keys() == {"2", "3"}
    assert "at least 3" in refused.value.fields["2"]
    assert not Answer.objects.exists()
    assignment.refresh_from_db()
    assert assignment.state == "leased"


def test_i_dont_know_is_an_answer_and_a_permitted_skip_is_none() -> None:
    world = factories.make_world(3, settings={"skippable": True})
    assignment = factories.claim(world.task, world.worker)
    first, second, third = (entry.item_id for entry in assignment.entries.all())
    drafts = {first: {"text": "Yes."}, second: {"declined": True}, third: {"skipped": True}}
    answers.submit_assignment(
        by=world.worker.user, assignment=assignment, key=uuid.uuid4(), drafts=drafts
    )
    stored = dict(Answer.objects.values_list("item_id", "texts__text"))
    assert stored == {first: "Yes.", second: "I don't know"}
    assert Answer.objects.get(item=second).choices.get().code == "dont_know"
    slots_agree(world.task)  # the skipped question is free again


def test_a_draft_saved_later_elsewhere_is_not_overwritten_by_an_older_page() -> None:
    world = factories.make_world(1)
    assignment = factories.claim(world.task, world.worker)
    item = assignment.entries.get().item_id
    assignments.save_draft(
        by=world.worker.user, assignment=assignment, item_id=item, draft={"text": "new"}, seq=50
    )
    answers.submit_assignment(
        by=world.worker.user,
        assignment=assignment,
        key=uuid.uuid4(),
        drafts={item: {"text": "old"}},
        versions={item: Version(40)},
    )
    assert Answer.objects.get().texts.get().text == "new"


@pytest.mark.parametrize("opened", [-61, 590])  # the clock was ten minutes fast, and is right now
def test_the_least_time_is_kept_by_the_server(opened: int) -> None:
    world = factories.make_world(1, min_seconds=60)
    assignment = factories.claim(world.task, world.worker)
    with pytest.raises(Invalid, match="at least 60 seconds"):
        factories.submit(assignment)
    Assignment.objects.update(opened_at=timezone.now() + dt.timedelta(seconds=opened))
    assert factories.submit(assignment).state == "submitted"


def test_a_late_submit_counts_while_its_slot_is_free() -> None:
    world = factories.make_world(2, redundancy=1)
    late = factories.claim(world.task, world.worker)
    run_out(late)
    leases.release_expired()
    factories.submit(late)
    assert Answer.objects.filter(counts=True).count() == 2
    slots_agree(world.task)


def test_a_late_submit_of_which_a_part_has_a_place_counts_and_is_paid_as_one_in_time() -> None:
    """Whoever was late in good faith is told before the submit what cannot count, and is paid."""
    world = factories.make_world(4, redundancy=1, items_per_assignment=4)
    late = factories.claim(world.task, world.worker)
    for entry in late.entries.all():
        draft = {"text": "Yes."}
        assignments.save_draft(
            by=world.worker.user, assignment=late, item_id=entry.item_id, draft=draft, seq=1
        )
    run_out(late)
    leases.release_expired()
    client = Client()
    client.force_login(world.worker.user)
    review = reverse("work_assignment", args=[late.pk])
    assert "cannot count" not in client.get(review).content.decode()
    gone = world.task.items.filter(key__in=["q-001", "q-003"])
    gone.update(held=F("redundancy"))  # as claims of others leave it
    assert "2 answers cannot count any more" in client.get(review).content.decode()
    answers.submit_assignment(by=world.worker.user, assignment=late, key=uuid.uuid4())
    gone.update(held=0)
    kept = Answer.objects.filter(assignment=late)
    assert set(kept.filter(counts=True).values_list("item__key", flat=True)) == {"q-002", "q-004"}
    uncounted = kept.filter(counts=False).values_list("uncounted_reason", flat=True)
    assert set(uncounted) == {answers.SLOT_GONE} and kept.count() == 4
    # The pay is the assignment's: the proposer sees what does not count, and decides.
    late.refresh_from_db()
    assert (late.state, late.pay) == ("submitted", late.version.pay)
    assert work_facts([late.pk])[late.pk].uncounted == 2


def test_a_late_submit_is_kept_uncounted_when_the_slot_is_gone() -> None:
    world = factories.make_world(3, redundancy=1)
    late = factories.claim(world.task, world.worker)
    run_out(late)
    leases.release_expired()
    tight = world.task.items.first()
    tight.priority = 1
    tight.save()
    other = factories.claim(world.task, factories.make_worker(world.project))
    factories.submit(other)
    factories.submit(late)
    kept = Answer.objects.filter(worker=world.worker)
    assert kept.count() == 3
    assert not kept.filter(counts=True).exists()
    assert all(answer.uncounted_reason for answer in kept)
    slots_agree(world.task)


def test_of_one_person_only_one_answer_to_a_question_counts() -> None:
    world = factories.make_world(3, redundancy=3)
    late = factories.claim(world.task, world.worker)
    run_out(late)
    leases.release_expired()
    others = world.task.items.exclude(key="q-001")
    others.update(since=99)  # so that only the first question is claimed anew
    factories.claim_and_submit(world.task, world.worker)
    others.update(since=1)
    factories.submit(late)
    assert Answer.objects.filter(counts=True).count() == 3
    uncounted = Answer.objects.get(counts=False)
    with pytest.raises(Conflict, match="counts already"):
        answers.set_counts(by=world.manager, answer=uncounted, counts=True)
    slots_agree(world.task)


def test_a_lease_that_ran_out_and_was_taken_again_is_handed_in_once() -> None:
    world = factories.make_world(3, redundancy=3)
    first = factories.claim(world.task, world.worker)
    run_out(first)
    second = factories.claim(world.task, world.worker)
    run_out(second)
    third = factories.claim(world.task, world.worker)
    for late in (first, second):  # while the third is in work
        with pytest.raises(Conflict) as refused:
            factories.submit(late)
        assert refused.value.code == "taken-again"
    leases.return_assignment(by=world.worker.user, assignment=third)
    assert factories.submit(first).state == "submitted"
    with pytest.raises(Conflict):
        factories.submit(second)
    second.refresh_from_db()
    assert second.state == "expired" and not second.answers.exists()
    assert Answer.objects.filter(counts=True).count() == Answer.objects.count() == 3
    slots_agree(world.task)


def test_an_answer_that_does_not_count_reopens_its_slot() -> None:
    world = factories.make_world(1, redundancy=1)
    factories.claim_and_submit(world.task, world.worker)
    answer = Answer.objects.get()
    with pytest.raises(Invalid):
        answers.set_counts(by=world.manager, answer=answer, counts=False)
    answers.set_counts(by=world.manager, answer=answer, counts=False, reason="Copied.")
    slots_agree(world.task)
    other = factories.claim_and_submit(world.task, factories.make_worker(world.project))
    assert other.state == "submitted"
    with pytest.raises(Conflict, match="somebody else"):
        answers.set_counts(by=world.manager, answer=answer, counts=True)
    slots_agree(world.task)


def test_only_its_own_worker_submits() -> None:
    world = factories.make_world(1)
    assignment = factories.claim(world.task, world.worker)
    with pytest.raises(NotAllowed):
        answers.submit_assignment(
            by=world.manager, assignment=assignment, key=uuid.uuid4(), drafts=drafts_of(assignment)
        )


def test_importing_twice_adds_nothing() -> None:
    world = factories.make_world(2)
    given = {"w1": {"q-001": "a", "q-002": "b"}, "w2": {"q-001": "c"}, "w3": {"q-001": "d"}}
    assert len(factories.make_answers(world.task, given)) == 4
    assert len(factories.make_answers(world.task, given)) == 4
    by_system = {("m", "plain"): {"q-001": "x"}, "n": {"q-001": "y"}}
    assert len(factories.make_system_answers(world.task, by_system)) == 2
    assert len(factories.make_system_answers(world.task, by_system)) == 2
    slots_agree(world.task)
