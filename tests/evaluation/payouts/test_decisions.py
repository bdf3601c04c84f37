"""Page, file, API and books say the same of decided work, whatever was decided before (164)."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from annotation.authoring.selectors.tasks import task_row
from annotation.formats.exports.work import assignment_table
from annotation.models import Assignment, LedgerEntry, Payment, PayoutBatch, Rejection
from annotation.models.payouts import PAID_OUT
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.ledger import payable_account
from annotation.payouts.actions.payments import mark_sent
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.export import PAYOUT, payout_rows
from annotation.payouts.selectors.proposals import proposals
from evaluation.payouts.selectors.proposals import payout_page
from evaluation.people.selectors.card import worker_card
from evaluation.people.selectors.facts import money_of
from tests.security.money.people import correct, program
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db
N = 5
EXAMPLES = int(os.environ.get("CROWDQC_HISTORIES", "6"))
STATUS = {"approved": "Approved", "paid": "Approved", "rejected": "Rejected"}


class History:
    """What people decide, and what must stand afterwards: the state of each assignment."""

    def __init__(self, world: World, assignments: list[Assignment]) -> None:
        self.world, self.rows = world, {one.pk: one for one in assignments}
        self.state = dict.fromkeys(self.rows, "waiting")
        self.lines: dict[int, dict[int, str]] = {}  # outcome by proposal and assignment
        self.open: list[PayoutBatch] = []
        self.refused: set[int] = set()  # a rejection is not repeated

    def propose(self, seed: int) -> None:
        free = [pk for pk, state in self.state.items() if state in ("waiting", "overturned")]
        chosen = [pk for n, pk in enumerate(free) if seed >> n & 1]
        if not chosen:
            return
        lines = {}
        for n, pk in enumerate(chosen):
            decision = ("approve", "hold", "reject")[(seed >> 5) // 3**n % 3]
            lines[pk] = "hold" if decision == "reject" and pk in self.refused else decision
        why = {"reason_code": "other", "reason": factories.REJECTION}
        batch = payouts.propose_payout(
            by=self.world.requester,
            task=self.world.task,
            key=uuid.uuid4(),
            lines=[
                ProposedLine(pk, d, **(why if d == "reject" else {})) for pk, d in lines.items()
            ],
        )
        self.open.append(batch)
        self.lines[batch.pk] = lines
        self.state |= dict.fromkeys(lines, "proposed")

    def approve(self, seed: int) -> None:
        if not self.open:
            return
        batch = self.open[seed % len(self.open)]
        own = list(batch.lines.order_by("pk"))
        going = [one for n, one in enumerate(own) if seed >> n & 1] or own
        paid = [one for one in going if one.decision != "reject"]
        payouts.approve_payout(
            by=self.world.manager,
            batch=batch,
            expected_total=sum((one.base + one.bonus for one in paid), Decimal(0)),
            rejections=len(going) - len(paid),
            line_ids=[one.pk for one in going],
        )
        self.open.remove(batch)
        for line in own:
            pk = line.assignment_id
            outcome = "hold" if line not in going else "approve" if line in paid else "reject"
            self.lines[batch.pk][pk] = outcome
            waits = "overturned" if pk in self.refused else "waiting"
            self.state[pk] = {"hold": waits, "approve": "approved", "reject": "rejected"}[outcome]
            self.refused |= {pk} if outcome == "reject" else set()

    def send_back(self, seed: int) -> None:
        if self.open:
            batch = self.open.pop(seed % len(self.open))
            payouts.send_back(by=self.world.manager, batch=batch, note="Look at them again.")
            for pk in self.lines[batch.pk]:
                self.state[pk] = "overturned" if pk in self.refused else "waiting"

    def overturn(self, seed: int) -> None:
        refused = [pk for pk, state in self.state.items() if state == "rejected"]
        if refused:
            pk = refused[seed % len(refused)]
            rejection = Rejection.objects.get(assignment=pk)
            payouts.decide_reply(
                by=self.world.manager, rejection=rejection, overturn=True, note="A mistake of ours."
            )
            self.state[pk] = "overturned"
            self.lines[rejection.line.batch_id][pk] = "overturned"

    def pay(self, seed: int) -> None:
        owed = [pk for pk, state in self.state.items() if state == "approved"]
        if owed:
            pk = owed[seed % len(owed)]
            rows = Payment.objects.filter(assignment=pk, amount__gt=0)
            mark_sent(by=self.world.manager, payments=list(rows))
            self.state[pk] = "paid"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["propose", "propose", "approve", "approve", "send_back", "overturn", "pay"]
        ),
        st.integers(0, 2**13 - 1),
    ),
    min_size=6,
    max_size=16,
)


@pytest.fixture
def work() -> tuple[World, list[Assignment]]:
    world = factories.make_world(2, redundancy=30)
    done = factories.took(factories.claim_and_submit(world.task, world.worker))
    same = ("task", "version", "worker", "pay", "leased_at", "expires_at", "submitted_at")
    Assignment.objects.bulk_create(
        Assignment(state="submitted", **{name: getattr(done, name) for name in same})
        for _ in range(N - 1)
    )
    return world, list(world.task.assignments.order_by("pk"))


def said_by_all(world: World, api: Any) -> dict[str, dict[int, str]]:
    card = worker_card(world.worker, page=1, work_page=1)
    address = f"/api/tasks/{world.task.pk}/assignments/"
    return {
        "page": {one.evidence.assignment.pk: one.state for one in card.work_rows},
        "api": {row["id"]: row["decision"] for row in api.get(address).json()["results"]},
        "file": {
            int(row["AssignmentId"]): row["AssignmentStatus"]
            for row in assignment_table(world.task, "csv").rows
        },
    }


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.generate],  # each example writes for half a second: shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_page_file_api_and_books_agree_after_any_decisions(
    work: tuple[World, list[Assignment]], steps: list[tuple[str, int]]
) -> None:
    world, assignments = work
    with transaction.atomic():
        history = History(world, assignments)
        for step, seed in steps:
            getattr(history, step)(seed)
        agree(world, history)
        transaction.set_rollback(True)


def agree(world: World, history: History) -> None:
    state = history.state
    said = said_by_all(world, program(world.manager, "read"))
    assert said["page"] == said["api"] == state
    assert said["file"] == {pk: STATUS.get(one, "Submitted") for pk, one in state.items()}
    books = LedgerEntry.objects.filter(assignment__in=state).order_by().values_list("assignment")
    owed = set(LedgerEntry.objects.owed().values_list("assignment", flat=True))
    assert owed == {pk for pk, one in state.items() if one in ("approved", "paid")}
    left = {pk for pk, paid in books.annotate(paid=PAID_OUT) if paid}
    assert left == {pk for pk, one in state.items() if one == "paid"}
    for batch in proposals(world.project):
        outcomes = history.lines[batch.pk]
        rows = [dict(zip(PAYOUT, row, strict=True)) for row in payout_rows(batch)]
        assert {row["assignment"]: row["decision"] for row in rows} == outcomes
        shown = Counter[str]()
        for person in payout_page(batch, world.manager).people:
            shown[person.decision] += len(person.lines)
        counted = {
            "approve": batch.approved,  # type: ignore[attr-defined]
            "hold": batch.held,  # type: ignore[attr-defined]
            "reject": batch.rejected,  # type: ignore[attr-defined]
            "overturned": batch.overturned,  # type: ignore[attr-defined]
        }
        assert Counter(counted) == shown == Counter(outcomes.values())
        assert sum(counted.values()) == batch.line_count == len(outcomes)  # type: ignore[attr-defined]


def test_paid_is_what_left_and_not_what_was_approved(
    work: tuple[World, list[Assignment]],
) -> None:
    """(165) On the task's page and on the worker's card; a correction pays nobody either."""
    world, assignments = work
    history, pay = History(world, assignments), assignments[0].pay

    def figures() -> tuple[Decimal, ...]:
        task, card = task_row(world.task), money_of(world.worker)
        return task.approved, task.paid_out, card.approved, card.left

    history.propose(1)
    history.approve(1)
    assert figures() == (pay, 0, pay, 0)
    correct(world, "0.50", debit=payable_account(world.worker.pk))
    assert figures() == (pay, 0, pay, 0)
    history.pay(0)
    left = pay - Decimal("0.50")  # the correction was taken off
    assert figures() == (pay, left, pay, left)
