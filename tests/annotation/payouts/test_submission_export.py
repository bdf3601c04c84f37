"""Prolific's own export of submissions, held against the books and booked at once."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import LedgerEntry, Payment, Recruitment, Rejection, Statement, Visit
from annotation.payouts.actions.payments import mark_sent
from annotation.payouts.actions.proposals import ProposedLine, approve_payout, propose_payout, total
from annotation.payouts.actions.rejections import decide_reply
from annotation.payouts.actions.statements import (
    book_difference,
    book_matching,
    import_statement,
)
from annotation.payouts.selectors.balance import trial_balances
from annotation.payouts.selectors.statements import page_of
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
    approve_payout(by=world.manager, batch=batch, expected_total=total(batch))


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
    differences = [row["difference"] for row in page_of(statement, show="", number=1)["rows"]]
    assert differences == [0, 0, Decimal("1.80"), 0, 0]
    # Once it is approved here too, the next export matches.
    approve(world, [early])
    later = read(world, study, text.replace("2999-01-01T10:08:01Z", "2999-01-01T10:08:02Z"))
    assert outcomes(later)[2] == "different" and later.rows[2]["waits"]
    assert book_matching(by=world.manager, statement=later) == (1, 0)


def test_what_was_paid_although_rejected_is_shown_as_a_difference(
    world: World, study: Recruitment
) -> None:
    [one] = prolific.make_visited(study)
    approve(world, [one], decision="reject", reason_code="other", reason=REJECTION)
    statement = read(world, study, export((one, "APPROVED")))
    [row] = page_of(statement, show="", number=1)["rows"]
    assert (row["outcome"], row["difference"], row["books"]) == (
        "different",
        Decimal("1.80"),
        False,
    )


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
    assert not any(row["books"] for row in statement.rows)
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
