"""Prolific's own export of submissions, held against the books and booked at once."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import (
    LedgerEntry,
    Payment,
    Recruitment,
    Rejection,
    Role,
    Statement,
    Visit,
)
from annotation.payouts.actions.payments import mark_sent
from annotation.payouts.actions.proposals import (
    ProposedLine,
    approve_payout,
    count_rejections,
    propose_payout,
    total,
)
from annotation.payouts.actions.rejections import decide_reply
from annotation.payouts.actions.statements import (
    book_difference,
    book_matching,
    import_statement,
)
from annotation.payouts.selectors.balance import hand_payments, trial_balances
from annotation.payouts.selectors.payments import approve_lines
from annotation.payouts.selectors.statements import open_rows, page_of
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.support import factories
from tests.support.factories import REJECTION, World
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db
# The first columns of the file that Prolific's page offers; there is no amount in it.
HEADER = (
    "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,"
    "Reviewed at,Archived at,Time taken,Completion code,Total approvals,Age"
)


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


@pytest.fixture
def study(world: World) -> Recruitment:
    return prolific.make_recruitment(world.task)  # no token: paid on Prolific's pages


def export(*rows: tuple[Visit, str]) -> str:
    lines = []
    for one, status in rows:
        reviewed = "2999-01-02T09:00:00.000000Z" if status == "APPROVED" else ""
        lines.append(
            f"{one.session},{one.participant},{status},Not Applicable,2999-01-01T10:00:00.000000Z,"
            f"2999-01-01T10:08:00.000000Z,{reviewed},2999-01-01T10:08:01Z,480.1,DONE1,210,31"
        )
    return "\n".join([HEADER, *lines, ""])


def read(world: World, study: Recruitment, text: str) -> Statement:
    return import_statement(
        by=world.manager, task=world.task, recruitment=study,
        name="prolific_export_s1.csv", content=text.encode(),
    )[0]  # fmt: skip


def approve(world: World, visits: Sequence[Visit], **line: Any) -> None:
    lines = [ProposedLine(one.assignment_id, **line) for one in visits]  # type: ignore[arg-type]
    batch = propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)
    approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=total(batch),
        rejections=count_rejections(batch),
    )


def outcomes(statement: Statement) -> list[str]:
    return [row["outcome"] for row in statement.rows]


def test_the_export_is_read_as_it_is_and_matching_rows_are_booked_at_once(
    world: World, study: Recruitment
) -> None:
    visits = prolific.make_visited(study, n=3)
    approve(world, visits, bonus=Decimal("0.50"))
    statement = read(world, study, export(*((one, "APPROVED") for one in visits)))
    page = page_of(statement, show="", number=1)
    assert page["matching"] == 3 and [row["difference"] for row in page["rows"]] == [0, 0, 0]
    assert not LedgerEntry.objects.filter(kind="payment").exists()  # reading books nothing
    client = Client()
    url = reverse("statement_book_matching", args=[world.project.pk, statement.pk])
    client.force_login(world.requester)
    assert client.post(url).status_code == 403
    client.force_login(world.manager)
    for _ in range(2):  # a double click
        assert client.post(url).status_code == 302
    assert LedgerEntry.objects.filter(kind="payment").count() == 3
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.owed) == (Decimal("5.40"), Decimal("1.50"))  # bonuses stay open
    assert set(Payment.objects.filter(what="bonus").values_list("state", flat=True)) == {"by_hand"}
    assert book_matching(by=world.manager, statement=statement) == (0, 0)


def test_differences_of_decisions_are_shown_and_nothing_is_booked_for_them(
    world: World, study: Recruitment
) -> None:
    rejected, undecided, early, returned, waits = prolific.make_visited(study, n=5)
    approve(world, [rejected], decision="reject", reason_code="other", reason=REJECTION)
    text = export(
        (rejected, "REJECTED"), (undecided, "REJECTED"), (early, "APPROVED"),
        (returned, "RETURNED"), (waits, "AWAITING REVIEW"),
    )  # fmt: skip
    statement = read(world, study, text)
    assert outcomes(statement) == ["matched", "different", "different", "different", "matched"]
    assert not any(row["books"] for row in statement.rows)
    assert len(open_rows(statement)) == 3  # nothing to book is no "nothing is left"
    rows = page_of(statement, show="", number=1)["rows"]
    assert [row["difference"] for row in rows] == [0, 0, Decimal("1.80"), 0, 0]
    assert [row["is_undecided"] for row in rows] == [False, False, True, False, False]
    # Once it is approved here too, what was paid there is booked as its payment.
    approve(world, [early])
    assert [row.pk for row in hand_payments(world.project) if row.what == "base"] == []
    assert list(approve_lines(world.project)) == []  # it is approved there
    later = read(world, study, text.replace("2999-01-01T10:08:01Z", "2999-01-01T10:08:02Z"))
    assert len(open_rows(later)) == 3
    assert book_matching(by=world.manager, statement=later) == (1, 0)
    # What the later file says of the others stands for what the earlier one said.
    assert (len(open_rows(statement)), len(open_rows(later))) == (0, 2)
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.owed) == (Decimal("1.80"), 0)


def unapproved(world: World) -> Decimal:
    """What the books hold as paid without an approval."""
    [trial] = trial_balances(world.project)
    return -sum((one.balance for one in trial.accounts if one.kind == "unknown"), Decimal(0))


def test_what_was_paid_although_rejected_is_booked_as_paid_without_an_approval(
    world: World, study: Recruitment
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one], decision="reject", reason_code="other", reason=REJECTION)
    statement = read(world, study, export((one, "APPROVED")))
    page = page_of(statement, show="", number=1)
    [row] = page["rows"]
    assert (row["outcome"], row["difference"], row["books"]) == ("different", Decimal("1.80"), True)
    assert (page["open"], page["matching"]) == (1, 0)
    assert book_difference(by=world.manager, statement=statement, place=0) is True
    assert book_difference(by=world.manager, statement=statement, place=0) is False
    assert unapproved(world) == Decimal("1.80")
    page = page_of(statement, show="", number=1)
    assert page["open"] == 0 and page["rows"][0]["booked"] and not page["rows"][0]["books"]
    # Once it is approved here, it is this payment that left, and no second one.
    decide_reply(
        by=world.manager, rejection=Rejection.objects.get(), overturn=True, note="It was right."
    )
    approve(world, [one])
    later = read(world, study, export((one, "APPROVED")) + "\n")
    assert outcomes(later) == ["different"] and len(open_rows(later)) == 1
    book_all(world, later, statement)
    [trial] = trial_balances(world.project)
    assert unapproved(world) == 0 and trial.balances
    assert (trial.paid, trial.owed, trial.overpaid) == (Decimal("1.80"), 0, 0)
    assert open_rows(later) == open_rows(statement) == []


def test_nobody_books_what_was_paid_to_themself_without_an_approval(
    world: World, study: Recruitment
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one], decision="reject", reason_code="other", reason=REJECTION)
    statement = read(world, study, export((one, "APPROVED")))
    own = factories.make_member(world.project, Role.MANAGER, one.worker.user)
    with pytest.raises(NotAllowed):
        book_difference(by=own.user, statement=statement, place=0)


def test_an_export_with_all_earlier_submissions_leaves_only_new_ones_open(
    world: World, study: Recruitment
) -> None:
    one, two, rejected, new = prolific.make_visited(study, n=4)
    approve(world, [one, two])
    approve(world, [rejected], decision="reject", reason_code="other", reason=REJECTION)
    unknown = "sub9,who9,APPROVED,,,,,,,,,\n"
    text = export((one, "APPROVED"), (two, "APPROVED"), (rejected, "APPROVED")) + unknown
    first = read(world, study, text)
    waits = read(world, study, text + "\n")  # of which nothing is booked yet
    assert len(open_rows(first)) == len(open_rows(waits)) == 4
    assert page_of(waits, show="", number=1)["matching"] == 2
    for place in (0, 2, 3):
        assert book_difference(by=world.manager, statement=waits, place=place) is True
        assert book_difference(by=world.manager, statement=first, place=place) is False
    assert open_rows(first) == open_rows(waits) == [1]
    assert page_of(waits, show="", number=1)["outcomes"][0][3] == 3  # as here
    assert book_matching(by=world.manager, statement=first) == (1, 0)
    approve(world, [new])
    # Reviewed anew, or at another time: the submission says which it is.
    later = export((one, "APPROVED"), (two, "APPROVED"), (rejected, "APPROVED"), (new, "APPROVED"))
    third = read(world, study, later.replace("01-02T09", "01-03T11") + unknown)
    assert outcomes(third) == ["matched"] * 3 + ["different", "matched"]
    assert open_rows(third) == [3]
    book_all(world, first, waits, third)
    [trial] = trial_balances(world.project)
    assert (trial.paid, unapproved(world), trial.owed) == (Decimal("5.40"), Decimal("3.60"), 0)


@pytest.mark.parametrize("order", ["amounts first", "export first"])
@pytest.mark.parametrize("books_first", [True, False])
def test_what_two_kinds_of_files_tell_of_unknown_work_is_booked_once(
    world: World, study: Recruitment, order: str, *, books_first: bool
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one], decision="reject", reason_code="other", reason=REJECTION)
    told = export((one, "APPROVED")) + "sub9,who9,APPROVED,,,,,,,,,\n"
    amounts = f"submission,amount,paid_at\n{one.session},1.80,2999-01-02\nsub9,1.90,2999-01-02\n"
    files = [amounts, told] if order == "amounts first" else [told, amounts]
    first = read(world, study, files[0])
    if books_first:
        book_all(world, first)
    second = read(world, study, files[1])
    book_all(world, first, second)
    assert unapproved(world) == Decimal("3.70")
    assert open_rows(first) == open_rows(second) == []


def test_a_payment_that_was_booked_back_may_be_told_of_anew(
    world: World, study: Recruitment
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one])
    there, waits = export((one, "APPROVED")), export((one, "AWAITING REVIEW"))
    for text in (there, waits):
        book_all(world, read(world, study, text))
    [trial] = trial_balances(world.project)
    assert trial.paid == 0
    later, last = read(world, study, there + "\n"), read(world, study, there + "\n\n")
    assert len(open_rows(later)) == 1
    book_all(world, later, last)
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.owed) == (Decimal("1.80"), 0) and not open_rows(last)


def test_what_is_booked_here_and_not_approved_there_can_be_booked_back(
    world: World, study: Recruitment
) -> None:
    one, two = prolific.make_visited(study, n=2)
    approve(world, [one, two])
    mark_sent(by=world.manager, payments=Payment.objects.all())
    statement = read(world, study, export((one, "AWAITING REVIEW"), (two, "APPROVED")))
    assert outcomes(statement) == ["missing", "matched"]
    assert statement.rows[0]["status"] == "AWAITING REVIEW" and statement.rows[0]["books"]
    assert page_of(statement, show="", number=1)["matching"] == 0


def test_a_partial_base_differs_from_the_whole_reward_that_prolific_pays(
    world: World, study: Recruitment
) -> None:
    [one] = prolific.make_visited(study, n=1)
    approve(world, [one], base=Decimal("1.00"), reason="Half of the answers are missing.")
    statement = read(world, study, export((one, "APPROVED")))
    [row] = page_of(statement, show="", number=1)["rows"]
    assert row["difference"] == Decimal("0.80")
    assert book_matching(by=world.manager, statement=statement) == (0, 0)


def test_unknown_submissions_and_bad_rows_are_named(world: World, study: Recruitment) -> None:
    text = f"{HEADER}\nsub9,who9,APPROVED,,,,,,,,,\nsub8,who8,TIMED-OUT,,,,,,,,,\n"
    statement = read(world, study, text)
    assert outcomes(statement) == ["unknown", "matched"]
    page = page_of(statement, show="", number=1)
    assert [row["difference"] for row in page["rows"]] == [Decimal("1.80"), 0]
    assert page["open"] == 1
    book_all(world, statement)
    assert unapproved(world) == Decimal("1.80") and not open_rows(statement)
    with pytest.raises(Invalid) as refused:
        read(world, study, f"{HEADER}\nsub9,who9,,,,,,,,,,\n")
    assert [row["line"] for row in refused.value.rows] == [2]
    with pytest.raises(NotAllowed):
        book_matching(by=world.requester, statement=statement)


def test_rows_of_any_statement_that_match_are_booked_at_once(
    world: World, study: Recruitment
) -> None:
    one, two, three = prolific.make_visited(study, n=3)
    approve(world, [one, two, three])
    text = "submission,amount,fee\n"
    text += f"{one.session},1.8,0.10\n{two.session},1.90,\n{three.session},1.80,\n"
    statement = read(world, study, text)
    page = page_of(statement, show="", number=1)
    assert page["matching"] == 2
    assert [row["difference"] for row in page["rows"]] == [0, Decimal("0.10"), 0]
    assert book_matching(by=world.manager, statement=statement) == (2, 0)
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.fees) == (Decimal("3.60"), Decimal("0.10"))
    assert trial.owed == Decimal("1.80")


def book_all(world: World, *statements: Statement) -> None:
    """Book whatever the pages of these statements offer."""
    for statement in statements:
        for place, row in enumerate(page_of(statement, show="", number=1)["rows"]):
            if row["books"] and not row["booked"]:
                book_difference(by=world.manager, statement=statement, place=place)


@pytest.mark.parametrize("order", ["amounts first", "export first", "two exports", "twice in one"])
def test_a_payment_told_of_in_two_ways_is_booked_once(
    world: World, study: Recruitment, order: str
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one])
    told = export((one, "APPROVED"))
    amounts = f"submission,amount,paid_at\n{one.session},1.80,2999-01-02\n"
    files = {
        "amounts first": (amounts, told),
        "export first": (told, amounts),
        "two exports": (told, told.replace("2999-01-02T09", "2999-01-02T10")),
        "twice in one": (export((one, "APPROVED"), (one, "APPROVED")),),
    }[order]
    book_all(world, *[read(world, study, text) for text in files])
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.owed, trial.overpaid) == (Decimal("1.80"), 0, 0)


def test_a_payment_is_booked_back_once_whatever_was_read_in_between(
    world: World, study: Recruitment
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one])
    mark_sent(by=world.manager, payments=Payment.objects.filter(what="base"))
    waits = export((one, "AWAITING REVIEW"))
    book_all(world, read(world, study, waits))
    read(world, study, export((one, "APPROVED")))  # and not booked
    again = read(world, study, f"{waits}\n")
    book_all(world, again)  # the page offers nothing
    with pytest.raises(Conflict):
        book_difference(by=world.manager, statement=again, place=0)
    [trial] = trial_balances(world.project)
    assert trial.paid == 0


def test_work_that_was_rejected_when_an_earlier_file_was_read_is_not_missing(
    world: World, study: Recruitment
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one], decision="reject", reason_code="other", reason=REJECTION)
    text = f"submission,amount\n{one.session},1.80\n"
    assert outcomes(read(world, study, text)) == ["unknown"]
    decide_reply(
        by=world.manager, rejection=Rejection.objects.get(), overturn=True, note="It was right."
    )
    approve(world, [one])
    mark_sent(by=world.manager, payments=Payment.objects.filter(what="base"))
    assert "missing" not in outcomes(read(world, study, f"{text}gone,1.00\n"))


def test_a_payment_is_compared_with_what_is_booked_of_it(world: World, study: Recruitment) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one], base=Decimal("1.00"), reason="Half of the answers are missing.")
    book_all(world, read(world, study, export((one, "APPROVED"))))
    book_all(world, read(world, study, f"submission,amount\n{one.session},1.80\n"))
    [trial] = trial_balances(world.project)
    assert trial.paid == Decimal("1.80")


class Study:
    """Submissions as the platform has them, and what was decided and read here."""

    def __init__(self, world: World, study: Recruitment, seed: int) -> None:
        self.world, self.study, self.chance = world, study, random.Random(seed)
        self.visits = prolific.make_visited(study, n=5)
        self.there = dict.fromkeys((one.pk for one in self.visits), "AWAITING REVIEW")
        self.here = dict.fromkeys((one.pk for one in self.visits), "")
        self.unknown = ""
        self.statements: list[Statement] = []

    def approve_there(self) -> None:
        self.there[self.chance.choice(self.visits).pk] = "APPROVED"

    def decide_any(self) -> None:
        self.decide(self.chance.choice(self.visits))

    def decide(self, one: Visit) -> None:
        state = self.here[one.pk]
        if state == "rejected":
            rejection = Rejection.objects.get(assignment=one.assignment)
            decide_reply(
                by=self.world.manager, rejection=rejection, overturn=True, note="It was right."
            )
            self.here[one.pk] = "overturned"
        elif not state and self.chance.random() < 0.5:
            approve(self.world, [one], decision="reject", reason_code="other", reason=REJECTION)
            self.here[one.pk] = "rejected"
        elif state != "approved":
            approve(self.world, [one])
            self.here[one.pk] = "approved"

    def read(self) -> None:
        text = export(*((one, self.there[one.pk]) for one in self.visits)) + self.unknown
        self.statements.append(read(self.world, self.study, text + "\n" * len(self.statements)))

    def book(self) -> None:
        for statement in self.statements[-1:]:
            book_matching(by=self.world.manager, statement=statement)
        if self.statements:
            book_all(self.world, self.chance.choice(self.statements))

    def pay_by_hand(self) -> None:
        """Somebody approves there what is asked for, and one whom nobody knows is approved."""
        self.unknown = "sub9,who9,APPROVED,,,,,,,,,\n"
        for row in hand_payments(self.world.project):
            if row.what == "base" and self.chance.random() < 0.3:
                mark_sent(by=self.world.manager, payments=[row])
                self.there[row.assignment.visit.pk] = "APPROVED"

    def count(self, here: str) -> int:
        """Submissions approved there, of which this was decided here."""
        return sum(
            state == here and self.there[pk] == "APPROVED" for pk, state in self.here.items()
        )


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_decided_and_read_in_between_each_approval_there_is_booked_once(
    world: World, study: Recruitment, seed: int
) -> None:
    """What left through the study is its reward for each submission that is approved there."""
    one = Study(world, study, seed)
    steps = (one.approve_there, one.decide_any, one.read, one.book, one.pay_by_hand)
    for _ in range(25):
        one.chance.choice(steps)()
    for visit in one.visits:
        if one.here[visit.pk] not in ("approved", "rejected"):
            one.decide(visit)
    one.read()
    book_all(world, *one.statements)
    [trial] = trial_balances(world.project)
    reward, others = Decimal("1.80"), bool(one.unknown)
    assert (trial.paid, trial.overpaid) == (one.count("approved") * reward, 0)
    assert unapproved(world) == (one.count("rejected") + others) * reward
    # What is left open is a rejection here that the study does not know of.
    last = one.statements[-1]
    assert {last.rows[at]["status"] for at in open_rows(last)} <= {"AWAITING REVIEW"}
