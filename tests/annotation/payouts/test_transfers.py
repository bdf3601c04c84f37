"""One transfer pays several payments, or a payment again: a statement's rows match the books."""

from __future__ import annotations

import csv
import io
import uuid
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, LedgerEntry, Membership, Payment, Statement, Task
from annotation.payouts.actions import payments, statements
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.selectors.accounts import sum_accounts, worker_accounts
from annotation.payouts.selectors.payable import payable
from annotation.payouts.selectors.proposals import proposals
from annotation.payouts.selectors.statements import page_of, statements_of
from crowdqc.errors import Conflict, Invalid
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    found = factories.make_world(1, redundancy=40)
    found.project.correction_limit = Decimal(9000)
    found.project.save()
    return found


def euros(text: str) -> Decimal:
    return Decimal(text)


def approve(world: World, task: Task, work: Assignment, bonus: str = "0") -> list[Payment]:
    """The payments of a submission that is approved."""
    line = ProposedLine(work.pk, bonus=Decimal(bonus))
    batch = payouts.propose_payout(by=world.requester, task=task, key=uuid.uuid4(), lines=[line])
    total = payouts.total(batch)
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=total)
    return list(Payment.objects.filter(assignment=work).order_by("pk"))


def mark_paid(world: World) -> None:
    open_ = Payment.objects.exclude(state="done")
    payments.mark_sent(by=world.manager, payments=open_)
    chosen = {one.pk: one.amount for one in payable(world.project).corrections}
    payments.pay_corrections(by=world.manager, project=world.project, chosen=chosen)


def read(world: World, text: str, task: Task | None = None) -> Statement:
    return statements.import_statement(
        by=world.manager, task=task or world.task, recruitment=None,
        name=f"{uuid.uuid4()}.csv", content=text.encode(),
    )[0]  # fmt: skip


def outcomes(statement: Statement) -> list[str]:
    return [row["outcome"] for row in statement.rows]


def book(world: World, statement: Statement) -> int:
    return sum(
        bool(statements.book_difference(by=world.manager, statement=statement, place=place))
        for place, row in enumerate(statement.rows)
        if row["books"]
    )


def owed(world: World) -> Decimal:
    return sum((one.closing for one in worker_accounts(world.project).values()), Decimal(0))


@pytest.fixture
def worker(world: World) -> Membership:
    return factories.make_worker(world.project, pseudonym="heron-05")


@pytest.fixture
def several(world: World, worker: Membership) -> list[Payment]:
    """1.80 and 0.50 of one task, 2.80 of another, all approved."""
    other = factories.make_task(world.project, 1, title="Another", pay=euros("2.80"))
    own = factories.claim_and_submit(world.task, worker)
    found = approve(world, world.task, own, bonus="0.50")
    return found + approve(world, other, factories.claim_and_submit(other, worker))


@pytest.mark.parametrize("kind", ["", "base"])
def test_one_transfer_for_payments_of_several_tasks_is_as_here(
    world: World, several: list[Payment], kind: str
) -> None:
    mark_paid(world)
    row = f'heron-05,{kind},"5,10",30.11.2999\n'
    statement = read(world, f"worker,kind,amount,paid_at\n{row}")
    assert outcomes(statement) == ["matched"]
    assert [part["payment"] for part in statement.rows[0]["parts"]] == [one.pk for one in several]
    assert statement.rows[0]["paid_at"] == "2999-11-30T00:00:00"
    other = several[2].assignment.task
    assert outcomes(read(world, f"worker,kind,amount,paid_at\n{row}", other)) == ["matched"]
    again = read(world, f"worker,kind,amount,paid_at\n{row}{row}")
    assert outcomes(again) == ["matched", "twice"]  # the first is the same transfer


@pytest.mark.parametrize("marked", [True, False])
def test_the_apps_own_file_of_transfers_is_as_here(
    world: World, several: list[Payment], marked: bool
) -> None:
    numbers = " ".join(str(one.pk) for one in several)
    header = "name,iban,amount,currency,purpose,worker,payments\n"
    text = f"{header}H,DE1,5.10,EUR,Birds,heron-05,{numbers}\n"
    if marked:
        mark_paid(world)
    statement = read(world, text)
    assert [row["books"] for row in statement.rows] == [not marked]
    if not marked:  # the file was paid, and nobody said so here yet
        assert set(payable(world.project).held) == {one.pk for one in several}
        with pytest.raises(Conflict):
            payments.mark_sent(by=world.manager, payments=several[2:])
        assert statements.book_matching(by=world.manager, statement=statement) == (1, 0)
        entries = LedgerEntry.objects.filter(kind="payment").order_by("pk")
        amounts = list(entries.values_list("amount", flat=True))
        assert amounts == [euros("1.80"), euros("0.50"), euros("2.80")]
        assert page_of(statement, show="", number=1)["open"] == 0
    assert not LedgerEntry.objects.filter(kind="correction").exists()
    assert owed(world) == 0


def test_a_row_pays_what_it_names_though_another_choice_has_its_amount(
    world: World, worker: Membership
) -> None:
    one = approve(world, world.task, factories.claim_and_submit(world.task, worker), bonus="1.80")
    mark_paid(world)
    text = f"worker,amount,payments\nheron-05,1.80,{one[1].pk}\nheron-05,2.00,{one[0].pk}\n"
    first, second = read(world, text).rows
    assert (first["outcome"], first["payment"]) == ("matched", one[1].pk)
    assert (second["outcome"], second["payment"], second["more"]) == (
        "different", one[0].pk, "0.20",
    )  # fmt: skip
    stranger = approve(world, world.task, factories.claim_and_submit(world.task))[0]
    row = read(world, f"worker,amount,payments\nheron-05,1.80,{stranger.pk}\n").rows[0]
    assert (row["outcome"], row["payment"]) == ("unknown", None)
    with pytest.raises(Invalid):
        read(world, "worker,amount,payments\nheron-05,1.80,all\n")


def test_two_of_three_payments_are_matched_where_only_one_choice_comes_to_the_amount(
    world: World, worker: Membership
) -> None:
    own = []
    for bonus in ("0", "0.40", "0.90"):
        task = factories.make_task(world.project, 1, title=f"With {bonus}")
        own += approve(world, task, factories.claim_and_submit(task, worker), bonus=bonus)
    mark_paid(world)
    row = read(world, "worker,kind,amount\nheron-05,base,3.60\n").rows[0]
    assert [part["payment"] for part in row["parts"]] == [own[0].pk, own[1].pk]
    row = read(world, "worker,amount\nheron-05,1.30\n").rows[0]
    assert [part["ours"] for part in row["parts"]] == ["0.40", "0.90"]


@pytest.fixture
def taken_back(world: World, worker: Membership) -> Payment:
    """A payment that a bank's file lacked, and that was booked back."""
    lacks = approve(world, world.task, factories.claim_and_submit(world.task, worker))[0]
    there = approve(world, world.task, factories.claim_and_submit(world.task))[0]
    mark_paid(world)
    text = f"submission,kind,amount,paid_at\n{there.assignment_id},base,1.80,2999-01-01\n"
    statement = read(world, text)
    assert outcomes(statement) == ["matched", "missing"]
    book(world, statement)
    assert owed(world) == euros("1.80")
    return lacks


def test_paying_again_what_the_bank_had_not_paid_is_matched_and_not_overpaid(
    world: World, taken_back: Payment
) -> None:
    mark_paid(world)  # the correction
    assert owed(world) == 0
    row = 'heron-05,base,"1,80",2999-01-05\n'
    statement = read(world, f"worker,kind,amount,paid_at\n{row}")
    assert outcomes(statement)[0] == "matched"
    assert book(world, statement) == 0 and owed(world) == 0
    # A second repayment is too much, and so is the first transfer where it arrives after all.
    late = read(world, f"worker,kind,amount,paid_at\n{row}heron-05,base,1.80,2999-01-09\n")
    assert outcomes(late)[:2] == ["matched", "different"]
    book(world, late)
    assert owed(world) == euros("-1.80")


def test_a_payment_that_was_booked_back_returns_in_no_later_statement(
    world: World, taken_back: Payment
) -> None:
    later = read(world, "worker,kind,amount,paid_at\nnobody,base,7.00,2999-01-07\n")
    assert outcomes(later) == ["unknown"]


def test_a_correction_is_read_by_its_kind_and_beside_payments(
    world: World, taken_back: Payment
) -> None:
    other = factories.make_task(world.project, 1, title="Another", pay=euros("2.80"))
    work = factories.claim_and_submit(other, taken_back.worker)
    pay = approve(world, other, work)[0]
    mark_paid(world)
    row = read(world, "worker,kind,amount\nheron-05,correction,1.80\n").rows[0]
    assert (row["outcome"], row["payment"], row["parts"][0]["payment"]) == ("matched", None, None)
    text = f"worker,amount,payments\nheron-05,4.60,{pay.pk} correction\n"
    row = read(world, text).rows[0]  # the correction is taken
    assert (row["outcome"], row["more"]) == ("different", "1.80")


def test_list_and_page_count_the_same_differences(world: World, worker: Membership) -> None:
    first = approve(world, world.task, factories.claim_and_submit(world.task, worker))[0]
    statement = read(world, "worker,kind,amount\nheron-05,base,1.80\n")
    client = Client()
    client.force_login(world.manager)

    def counts() -> tuple[int, int]:
        page = client.get(reverse("statement", args=[world.project.pk, statement.pk]))
        rows = client.get(reverse("statement_list", args=[world.project.pk])).context["rows"]
        return page.context["open"], next(n for one, _, n in rows if one == statement)

    assert counts() == (1, 1)
    payments.confirm(payment=first, by=world.manager)  # it came true another way
    assert counts() == (0, 0)


def test_a_missing_payment_that_another_file_booked_back_is_booked_in_both(world: World) -> None:
    there, _lacks = (
        approve(world, world.task, factories.claim_and_submit(world.task))[0] for _ in range(2)
    )
    mark_paid(world)
    text = f"submission,kind,amount,paid_at\n{there.assignment_id},base,1.80,2999-01-01\n"
    first, second = read(world, text), read(world, f"{text}\n")
    assert book(world, first) == 1
    assert page_of(second, show="", number=1)["open"] == 0
    assert [n for _, _, n in statements_of(world.project)] == [0, 0]


def test_rows_of_payments_and_exported_entries_add_up_to_what_was_paid(
    world: World, worker: Membership
) -> None:
    """A bonus that the bank paid tenfold, a payment that it lacked and that was paid again."""
    base, bonus = approve(
        world, world.task, factories.claim_and_submit(world.task, worker), bonus="0.90"
    )
    lacks = approve(world, world.task, factories.claim_and_submit(world.task))[0]
    mark_paid(world)
    text = "worker,kind,amount,paid_at\nheron-05,bonus,9.00,2999-01-01\n"
    book(world, read(world, f"{text}heron-05,base,1.80,2999-01-01\n"))
    mark_paid(world)
    [accounts] = sum_accounts(worker_accounts(world.project).values())
    client = Client()
    client.force_login(world.manager)
    page = client.get(reverse("payment_list", args=[world.project.pk]), {"view": "done"}).context
    shown = {row.pk: row.shown for row in page["page"]}
    assert shown == {base.pk: euros("1.80"), bonus.pk: euros("9.00"), lacks.pk: 0}
    assert [row.pk for row in page["page"] if row.is_taken_back] == [lacks.pk]
    besides = sum(entry.shown for entry in page["besides"])
    assert sum(shown.values()) + besides == page["totals"][0].paid == accounts.paid
    month = f"{timezone.localdate():%Y-%m}"
    url = reverse("month_export", args=[world.project.pk, month])
    entries = rows_of(client.get(url, {"entries": "1"}))
    workers = rows_of(client.get(url))
    for column, figure, sign in (
        ("paid", accounts.paid, -1),
        ("corrections", accounts.corrected, 1),
    ):
        own = [Decimal(row["amount"]) for row in entries if row["counted_in"] == column]
        assert sign * sum(own) == sum(Decimal(row[column]) for row in workers) == figure


def rows_of(answer: object) -> list[dict[str, str]]:
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


def test_a_refused_approval_leads_back_to_the_proposal_with_its_ticks(
    world: World, worker: Membership
) -> None:
    works = [factories.claim_and_submit(world.task) for _ in range(2)]
    lines = [ProposedLine(one.pk) for one in works]
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )
    client = Client()
    client.force_login(world.manager)
    ticked = batch.lines.first()
    url = reverse("payout_approve", args=[world.project.pk, batch.number])
    refused = client.post(url, {"expected_total": "3.60", "pay": ticked.pk})
    assert refused.status_code == 409
    page = client.get(refused.context["error"].link[1]).context["page"]
    assert [line.pk for one in page.people if one.goes for line in one.lines] == [ticked.pk]
    # Sent back, list and page show the amounts that were proposed.
    payouts.send_back(by=world.manager, batch=batch, note="Look again, please.")
    shown = client.get(reverse("payout", args=[world.project.pk, batch.number])).context["page"]
    [listed] = proposals(world.project)
    assert (shown.going.pay, listed.held) == (listed.to_pay, 0) == (euros("3.60"), 0)


@pytest.mark.parametrize(
    ("date", "read_as"),
    [
        ("30.11.2026", "2026-11-30T00:00:00"), ("30.11.26", "2026-11-30T00:00:00"),
        ("1.2.2026", "2026-02-01T00:00:00"),
        ("30.11.2026 14:05", "2026-11-30T14:05:00"), ("31.11.2026", None), ("11/12/2026", None),
        ("30/11/2026", None),
    ],
)  # fmt: skip
def test_german_dates_are_read_and_ambiguous_ones_are_refused(
    world: World, date: str, read_as: str | None
) -> None:
    text = f"worker,amount,paid_at\nnobody,1.80,{date}\n"
    if read_as is not None:
        assert read(world, text).rows[0]["paid_at"] == read_as
        return
    with pytest.raises(Invalid) as refused:
        read(world, text)
    assert [row["column"] for row in refused.value.rows] == ["paid_at"]


def test_the_largest_file_of_one_worker_is_matched_in_time(
    world: World, worker: Membership
) -> None:
    own = []
    for cents in range(40):
        task = factories.make_task(world.project, 1, title=f"T{cents}", pay=euros("1.01") + cents)
        own += approve(world, task, factories.claim_and_submit(task, worker))
    mark_paid(world)
    rows = "".join(f"heron-05,base,{n}.07,\n" for n in range(1, 2000))
    started = timezone.now()
    read(world, f"worker,kind,amount,paid_at\n{rows}")
    assert (timezone.now() - started).total_seconds() < 10
