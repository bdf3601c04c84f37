"""What an approver ticks is kept, counted and approved, and nobody rejects work alone."""

from __future__ import annotations

import uuid
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import LedgerEntry, PayoutBatch, PayoutLine, Rejection, User
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.selectors.proposals import count_outcomes, proposals
from crowdqc.errors import NotAllowed
from evaluation.payouts.selectors.evidence import uncounted_note
from evaluation.payouts.selectors.proposals import PayoutPage, Person, payout_page
from tests.support import factories
from tests.support.factories import REJECTION, World

pytestmark = [pytest.mark.django_db, pytest.mark.db]
REJECT = {"decision": "reject", "reason_code": "not_followed", "reason": REJECTION}
PAY = Decimal("1.80")


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def client(user: User) -> Client:
    found = Client()
    found.force_login(user)
    return found


def propose(world: World, *decisions: str, by: User | None = None) -> PayoutBatch:
    lines = [
        ProposedLine(
            factories.claim_and_submit(world.task).pk,
            **(REJECT if decision == "reject" else {"decision": decision}),
        )
        for decision in decisions
    ]
    return payouts.propose_payout(
        by=by or world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )


def lines_of(batch: PayoutBatch) -> list[PayoutLine]:
    return list(batch.lines.order_by("pk"))


def shown(world: World, batch: PayoutBatch, query: str = "") -> PayoutPage:
    url = reverse("payout", args=[world.project.pk, batch.number])
    answer = client(world.manager).get(f"{url}?{query.removeprefix('?')}")
    assert answer.status_code == 200
    page: PayoutPage = answer.context["page"]
    return page


def going(page: PayoutPage) -> set[int]:
    return {line.pk for person in page.people if person.goes for line in person.lines}


def reject(world: World, batch: PayoutBatch, line: PayoutLine, **fields: Any) -> str:
    url = reverse("payout_line_reject", args=[world.project.pk, batch.number, line.pk])
    sent = {"reason_code": "not_followed", "reason": REJECTION, **fields}
    answer = client(world.manager).post(url, sent)
    assert answer.status_code == 302
    return str(answer["Location"])


def test_ticks_survive_a_rejection_of_somebody_else(world: World) -> None:
    batch = propose(world, "approve", "approve", "hold", "reject")
    one, two, held, bad = lines_of(batch)
    query = f"counting=1&pay={one.pk}&reject={bad.pk}"
    assert going(shown(world, batch)) == {one.pk, two.pk, bad.pk}
    assert going(shown(world, batch, query)) == {one.pk, bad.pk}
    back = reject(world, batch, held, choices=f"?{query}")
    page = shown(world, batch, back.split("?")[1])
    assert (going(page), page.going.pay, page.going.rejected) == ({one.pk, bad.pk}, PAY, 1)
    # Every way on from the page carries the choices; a line not ticked there is not approved.
    assert page.query == query and all(
        query in url for check in page.checks for url, _ in check.links if "line=" in url
    )


def test_a_line_that_became_a_rejection_is_not_approved_by_a_tick_to_pay_it(world: World) -> None:
    batch = propose(world, "approve", "hold")
    one, held = lines_of(batch)
    payouts.reject_held_lines(
        by=world.requester, lines=[held], reason_code="no_answer", reason=REJECTION
    )
    assert going(shown(world, batch, f"counting=1&pay={one.pk},{held.pk}")) == {one.pk}
    url = reverse("payout_approve", args=[world.project.pk, batch.number])
    sent = {"pay": f"{one.pk},{held.pk}", "expected_total": "3.60"}
    assert client(world.manager).post(url, sent).status_code == 409
    assert not LedgerEntry.objects.exists() and not Rejection.objects.exists()


def test_every_row_stands_under_its_decision_and_none_is_hidden(world: World) -> None:
    batch = propose(world, "approve", "hold", "approve", "reject")
    groups = shown(world, batch).groups
    assert [(group.decision, group.assignments) for group in groups] == [
        ("hold", 1),
        ("reject", 1),
        ("approve", 2),
    ]
    assert [p for group in groups for p in group.people if p.goes] != []


@pytest.mark.parametrize("approved", [False, True])
def test_held_is_one_count_on_the_page_in_the_list_and_in_the_notice(
    world: World, approved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = propose(world, "approve", "approve", "hold")
    # Flags ask for a look; they change no decision and no count.
    monkeypatch.setattr("evaluation.payouts.selectors.evidence.Evidence.look_first", True)
    if approved:
        one = lines_of(batch)[0]
        payouts.approve_payout(by=world.manager, batch=batch, expected_total=PAY, line_ids=[one.pk])
        batch.refresh_from_db()
    row: Any = proposals(world.project).get(pk=batch.pk)
    page = payout_page(batch, world.manager)
    counts = {group.decision: group.assignments for group in page.groups}
    assert counts == {"hold": row.held, "approve": row.approved}
    assert {k: n for k, n in count_outcomes([batch]).items() if n} == counts
    assert row.held == (2 if approved else 1)
    if approved:
        assert {p.word for g in page.groups for p in g.people if g.decision == "approve"} == {
            "Approved"
        }


def test_a_rejection_by_the_approver_waits_for_another_person(world: World) -> None:
    batch = propose(world, "approve", "hold")
    one, held = lines_of(batch)
    for _ in range(2):  # a double click
        reject(world, batch, held)
    own = PayoutBatch.objects.exclude(pk=batch.pk).get()
    held.refresh_from_db()
    assert (held.batch, held.decision, held.live, own.proposed_by) == (
        own, "reject", True, world.manager,
    )  # fmt: skip
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=PAY)
    assert not Rejection.objects.exists()
    with pytest.raises(NotAllowed):
        payouts.approve_payout(by=world.manager, batch=own, expected_total=Decimal(0), rejections=1)
    second = factories.make_member(world.project).user
    assert second is not None
    payouts.approve_payout(by=second, batch=own, expected_total=Decimal(0), rejections=1)
    rejection = Rejection.objects.get()
    assert (rejection.assignment_id, rejection.rejected_by) == (held.assignment_id, second)
    assert [row.assignment_id for row in LedgerEntry.objects.all()] == [one.assignment_id]


def test_a_proposal_left_without_lines_is_closed(world: World) -> None:
    batch = propose(world, "hold")
    reject(world, batch, lines_of(batch)[0])
    batch.refresh_from_db()
    assert (batch.state, batch.decided_by) == (PayoutBatch.State.SENT_BACK, world.manager)
    assert PayoutBatch.objects.filter(state="proposed").count() == 1
    assert shown(world, batch).people == []


def test_where_one_person_may_approve_their_own_rejection_is_marked(world: World) -> None:
    world.project.single_approval = True
    world.project.save()
    batch = propose(world, "hold")
    reject(world, batch, lines_of(batch)[0])
    own = PayoutBatch.objects.get(state="proposed")
    own = payouts.approve_payout(
        by=world.manager, batch=own, expected_total=Decimal(0), rejections=1
    )
    assert own.single_approval and Rejection.objects.count() == 1


@pytest.fixture
def overturned(world: World) -> int:
    """An assignment whose rejection was overturned; it waits anew."""
    batch = propose(world, "reject")
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    rejection = Rejection.objects.get()
    payouts.decide_reply(by=world.manager, rejection=rejection, overturn=True, note="Our mistake.")
    return rejection.assignment_id


def test_no_second_rejection_is_offered_and_the_row_says_why(world: World, overturned: int) -> None:
    other = factories.claim_and_submit(world.task).pk
    requester, args = client(world.requester), [world.project.pk, world.task.pk]
    queue = requester.get(reverse("review", args=args)).context["queue"]
    notes = {row.assignment.pk: [n.kind for n in row.notes] for row, _ in queue.rows}
    assert "Overturned" in notes[overturned] and "Overturned" not in notes[other]
    url = reverse("payout_new", args=args)
    form = requester.get(url, {"assignment": [overturned, other], "decision": "reject"}).context
    assert {d.evidence.assignment.pk: (d.decision, d.may_be_rejected) for d in form["lines"]} == {
        overturned: ("hold", False),
        other: ("reject", True),
    }
    sent = {"key": uuid.uuid4(), "assignment": overturned, "do": "propose",
            f"decision_{overturned}": "reject", f"code_{overturned}": "other",
            f"reason_{overturned}": REJECTION}  # fmt: skip
    answer = requester.post(url, sent)
    assert answer.status_code == 422 and list(answer.context["lines"][0].errors) == ["decision"]
    shared = {**sent, f"decision_{overturned}": "hold", "do": "share",
              "shared_decision": "reject", "shared_reason": REJECTION}  # fmt: skip
    assert requester.post(url, shared).context["lines"][0].decision == "hold"
    held = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(overturned, "hold")],
    )
    [person] = shown(world, held).people
    assert not person.may_be_rejected


def test_a_form_names_the_fields_that_are_still_wrong(world: World) -> None:
    one, two = (factories.claim_and_submit(world.task).pk for _ in range(2))
    sent = {"key": uuid.uuid4(), "assignment": [one, two]}
    for pk in (one, two):
        sent |= {f"decision_{pk}": "reject", f"reason_{pk}": REJECTION}
    sent[f"code_{one}"] = "other"
    url = reverse("payout_new", args=[world.project.pk, world.task.pk])
    htmx = {"HX-Request": "true"}
    totals = client(world.requester).post(url, sent, headers=htmx).context["totals"]
    assert (totals.wrong, totals.faults) == (1, [f"code_{two}"])


def test_the_page_of_answers_says_what_was_decided(world: World) -> None:
    batch = propose(world, "approve", "reject", "hold")
    payouts.approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=PAY,
        rejections=payouts.count_rejections(batch),
    )
    said = []
    for line in lines_of(batch):
        args = [world.project.pk, world.task.pk, line.assignment_id]
        answer = client(world.manager).get(reverse("review_answers", args=args))
        said.append(answer.context["decision"].value)
    assert said == ["approved", "rejected", "waiting"]


def test_the_button_and_the_notice_name_rejections_beside_the_pay(world: World) -> None:
    batch = propose(world, "approve", "reject")
    manager, args = client(world.manager), [world.project.pk, batch.number]
    body = manager.get(reverse("payout", args=args)).content.decode()
    assert "Approve 1 person, €1.80; reject 1 assignment" in " ".join(body.split())
    one, bad = lines_of(batch)
    sent = {"pay": one.pk, "reject": bad.pk, "expected_total": PAY}
    after = manager.post(reverse("payout_approve", args=args), sent, follow=True)
    assert "1 rejection" in " ".join(str(m) for m in after.context["messages"])


def test_a_skipped_proposal_is_linked_from_the_page_that_skips_it(world: World) -> None:
    batch = propose(world, "reject")
    url = reverse("payout_list", args=[world.project.pk])
    asked = client(world.manager).post(url, {"do": "approve", "pick": batch.pk})
    [(_, n, [(_, link)])] = asked.context["skipped"]
    assert (n, link) == (1, reverse("payout", args=[world.project.pk, batch.number]))
    assert f'href="{link}"' in asked.content.decode()


def test_an_approver_whom_nobody_could_second_is_told_before_they_write(world: World) -> None:
    batch = propose(world, "hold")
    url = reverse("payout", args=[world.project.pk, batch.number])
    assert client(world.manager).get(url).context["nobody_else"]
    factories.make_member(world.project)
    assert not client(world.manager).get(url).context["nobody_else"]


def test_a_row_of_two_assignments_says_of_how_many_answers_some_do_not_count() -> None:
    found: Any = tuple(
        SimpleNamespace(
            notes=[uncounted_note(10, 10)], facts=SimpleNamespace(uncounted=10, answers=10)
        )
        for _ in range(2)
    )
    person = Person(lines=(), evidence=found, decision="approve", of=2, goes=True)
    assert [note.text for note in person.notes] == ["20 of 20 answers do not count"]
