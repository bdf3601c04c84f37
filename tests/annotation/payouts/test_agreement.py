"""What a worker was paid and is owed is the same on all pages, and is asked for once."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import io
import random
import uuid
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.access import get_access
from annotation.accounts.projects.list_views import worker_list
from annotation.models import (
    Assignment,
    Invitation,
    LedgerEntry,
    Notice,
    Payment,
    PayoutBatch,
    Role,
    Statement,
)
from annotation.models.decisions import with_decision
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import payments, statements
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.selectors.accounts import sum_accounts, worker_accounts
from annotation.payouts.selectors.balance import (
    by_hand,
    hand_payments,
    hand_sums,
    hand_totals,
    trial_balances,
)
from annotation.payouts.selectors.monthly import month_statement
from annotation.payouts.selectors.payable import payable
from annotation.payouts.selectors.statements import open_rows
from crowdqc.errors import Conflict, DomainError, Invalid
from evaluation.people.selectors.facts import money_of
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
ZERO = Decimal(0)


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=60)


def euros(text: str) -> Decimal:
    return Decimal(text)


def approved(world: World, *works: Assignment, bonus: str = "0") -> PayoutBatch:
    lines = [ProposedLine(one.pk, bonus=Decimal(bonus)) for one in works]
    batch = payouts.propose_payout(
        by=world.requester, task=works[0].task, key=uuid.uuid4(), lines=lines
    )
    total = payouts.total(batch)
    return payouts.approve_payout(by=world.manager, batch=batch, expected_total=total)


def correct(world: World, worker: int, amount: str) -> None:
    """Owe a worker more, or less."""
    accounts = books.work(world.task.pk), books.payable_account(worker)
    debit, credit = accounts if Decimal(amount) > 0 else accounts[::-1]
    payments.correct_accounts(
        by=world.manager, task=world.task, debit=debit, credit=credit,
        amount=abs(Decimal(amount)), memo="Counted an answer twice", key=uuid.uuid4(),
    )  # fmt: skip


def read(world: World, *rows: str) -> Statement:
    return import_text(world, "\n".join(("submission,kind,amount,fee,paid_at", *rows)) + "\n")


def import_text(world: World, text: str) -> Statement:
    return statements.import_statement(
        by=world.manager, task=world.task, recruitment=None, name=f"{uuid.uuid4()}.csv",
        content=text.encode(),
    )[0]  # fmt: skip


def client_of(world: World) -> Client:
    client = Client()
    client.force_login(world.manager)
    return client


def file_of(client: Client, world: World) -> list[dict[str, str]]:
    answer = client.get(reverse("payment_by_hand_export", args=[world.project.pk]))
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


def asked_of(world: World) -> dict[int, Decimal]:
    """By worker, what payments by hand, sent ones and held ones come to, less what is overpaid."""
    due = payable(world.project)
    found: dict[int, Decimal] = {}
    rows = Payment.objects.filter(what__in=("base", "bonus")).exclude(state="done")
    for row in rows:
        found[row.worker_id] = found.get(row.worker_id, ZERO) + due.amount_due(row)
    for one in due.corrections:
        found[one.worker.pk] = found.get(one.worker.pk, ZERO) + one.amount
    for left in due.overpaid:
        found[left.worker.pk] = found.get(left.worker.pk, ZERO) - left.amount
    return {worker: amount for worker, amount in found.items() if amount}


def require_agreement(world: World) -> None:
    """All that pages say of a worker, and in sum, is the same."""
    accounts = worker_accounts(world.project)
    owed = {worker: one.closing for (worker, _), one in accounts.items() if one.closing}
    assert asked_of(world) == owed
    assert all(amount >= 0 for amount in map(payable(world.project).amount_due, _open()))
    trials = trial_balances(world.project)
    month = month_statement(world.project, f"{timezone.localdate():%Y-%m}")
    assert {row.worker.pk: row.closing for row in month.rows if row.closing} == owed
    if not accounts:
        return
    [trial], [sums] = trials, sum_accounts(accounts.values())
    assert {int(one.code[7:]): one.balance for one in trial.open} == owed
    assert month.sums() == [sums] == [trial.sums]
    listed = worker_list(get_access(_Request(world), world.project.pk, Role.MANAGER)).rows  # type: ignore[arg-type]
    for row in listed:
        account = accounts.get((row.pk, "EUR"))
        own = money_of(row)
        pays = (account.closing, account.paid) if account else (ZERO, ZERO)
        assert (row.unpaid, row.paid) == (own.owed, own.left) == pays
    client = client_of(world)
    page = client.get(reverse("payment_list", args=[world.project.pk])).context
    assert page["totals"] == [sums]
    shown = client.get(reverse("payment_by_hand", args=[world.project.pk])).context
    to_pay = sum((amount for _, amount, _ in shown["totals"]), ZERO)
    held = sum((amount for _, _, amount in shown["totals"]), ZERO)
    over = sum((one.amount for one in shown["overpaid"]), ZERO)
    assert to_pay + held - over == sums.owed - sums.overpaid
    assert sum((Decimal(row["amount"]) for row in file_of(client, world)), ZERO) == to_pay


def _open() -> Iterable[Payment]:
    return Payment.objects.filter(what__in=("base", "bonus")).exclude(state="done")


class _Request:
    def __init__(self, world: World) -> None:
        self.user = world.manager


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_booked_all_pages_agree_for_each_worker_and_in_sum(
    world: World, seed: int
) -> None:
    """Random approvals, payments by hand, statements with other amounts, corrections and fees."""
    chance = random.Random(seed)
    world.project.correction_limit = Decimal(9000)
    world.project.save()
    works = [factories.claim_and_submit(world.task) for _ in range(8)]
    other = factories.make_task(world.project, 1, title="Another", redundancy=60)
    works += [factories.claim_and_submit(other, one.worker) for one in works[:3]]
    for step in range(24):
        with contextlib.suppress(DomainError):
            _step(world, chance, works)
        if step % 4 == 3:
            require_agreement(world)
    # Whatever came before: after everything was paid nobody is owed anything.
    for statement in Statement.objects.all():
        _book(world, statement)
    due = payable(world.project)
    payments.mark_sent(by=world.manager, payments=_open())
    chosen = {one.pk: one.amount for one in due.corrections}
    payments.pay_corrections(by=world.manager, project=world.project, chosen=chosen)
    require_agreement(world)
    assert all(one.closing <= 0 for one in worker_accounts(world.project).values())


def _step(world: World, chance: random.Random, works: list[Assignment]) -> None:
    one = chance.choice(works)
    cents = Decimal(chance.randint(1, 250)) / 100
    acts = (
        "approve",
        "approve",
        "pay",
        "corrections",
        "correct",
        "move",
        "file",
        "transfer",
        "repay",
    )
    act = chance.choice(acts)
    if act == "approve":
        approved(world, one, bonus=str(cents))
    elif act == "pay":
        rows = list(_open())
        payments.mark_sent(by=world.manager, payments=chance.sample(rows, min(2, len(rows))))
    elif act == "corrections":
        chosen = {one.pk: one.amount for one in payable(world.project).corrections}
        payments.pay_corrections(by=world.manager, project=world.project, chosen=chosen)
    elif act == "correct":
        correct(world, one.worker_id, str(chance.choice((1, -1)) * cents))
    elif act == "move":
        debit, credit = (books.payable_account(each.worker_id) for each in (one, works[0]))
        books.book_correction(
            by=world.manager, task=world.task, debit=debit, credit=credit, amount=cents,
            memo="Paid to the wrong person", key=uuid.uuid4(),
        )  # fmt: skip
    elif act == "transfer":
        _transfer(world, chance, one)
    elif act == "repay":
        _repay(world, one)
    else:
        statement = read(world, f"{one.pk},base,{cents},0.10,2999-01-01")
        if chance.random() < 0.5:
            _book(world, statement)


def _transfer(world: World, chance: random.Random, one: Assignment) -> None:
    """One transfer of everything open to a worker: nothing is left to book, however it is read."""
    due = payable(world.project)
    held = set(due.held)
    rows = [row for row in _open() if row.worker_id == one.worker_id and row.pk not in held]
    amount = sum((due.amount_due(row) for row in rows), ZERO)
    if not amount:
        return
    if chance.random() < 0.5:
        payments.mark_sent(by=world.manager, payments=rows)
    name, day = one.worker.pseudonym, f"2999-02-{chance.randint(1, 28)}"
    numbers = " ".join(str(row.pk) for row in rows)
    text = f"worker,amount,paid_at,payments\n{name},{amount},{day},{numbers}\n"
    before = worker_accounts(world.project)
    first = import_text(world, text)
    assert [part["payment"] for part in first.rows[0]["parts"]] == [row.pk for row in rows]
    assert import_text(world, text) == first
    statements.book_matching(by=world.manager, statement=first)
    left = [at for at, row in enumerate(first.rows) if row["outcome"] != "missing" and row["books"]]
    assert not set(left) & set(open_rows(first))
    # The same row beside another one is the same transfer.
    again = import_text(world, f"{text}nobody,0.01,{uuid.uuid4().int % 28 + 1}.3.2999,\n")
    assert again.rows[0]["outcome"] in ("matched", "different") and not again.rows[0]["books"]
    paid = {key: one.paid for key, one in worker_accounts(world.project).items()}
    moved = sum(paid.values()) - sum(one.paid for one in before.values())
    assert moved == (
        0 if before[one.worker_id, "EUR"].paid == paid[one.worker_id, "EUR"] else amount
    )


def _repay(world: World, one: Assignment) -> None:
    """A bank lacked everything to a worker; what is paid again is not too much."""
    lacks = read(world, f"elsewhere,base,0.01,,2999-04-{uuid.uuid4().int % 28 + 1}")
    for place, row in enumerate(lacks.rows):
        if row["outcome"] == "missing" and row["worker"] == one.worker.pseudonym:
            statements.book_difference(by=world.manager, statement=lacks, place=place)
    corrections = [row for row in payable(world.project).corrections if row.worker == one.worker]
    if not corrections:
        return
    payments.pay_corrections(
        by=world.manager, project=world.project,
        chosen={row.pk: row.amount for row in corrections},
    )  # fmt: skip
    amount = corrections[0].amount
    row = f"{one.worker.pseudonym},correction,{amount},2999-05-01 {uuid.uuid4().int % 24:02}:00"
    text = f"worker,kind,amount,paid_at\n{row}\n"
    assert import_text(world, text).rows[0]["outcome"] == "matched"


def _book(world: World, statement: Statement) -> None:
    for place, row in enumerate(statement.rows):
        if row["books"]:
            with contextlib.suppress(DomainError):
                statements.book_difference(by=world.manager, statement=statement, place=place)


def test_a_statement_with_another_amount_is_deducted_once_and_its_fee_is_apart(
    world: World,
) -> None:
    one = factories.claim_and_submit(world.task)
    approved(world, one, bonus="0.50")
    statement = read(world, f"{one.pk},base,2.00,0.10,2999-01-01")
    statements.book_difference(by=world.manager, statement=statement, place=0)
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.fees, trial.owed) == (euros("2.00"), euros("0.10"), euros("0.30"))
    [row] = by_hand(world.project)
    assert (row.amount, row.deducted) == (euros("0.30"), euros("0.20"))
    assert [row["amount"] for row in file_of(client_of(world), world)] == ["0.30"]
    for _ in range(2):
        payments.mark_sent(by=world.manager, payments=Payment.objects.all())
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.owed, trial.overpaid) == (euros("2.30"), 0, 0)
    assert by_hand(world.project) == []


@pytest.mark.parametrize("corrected_first", [False, True])
def test_a_payment_that_is_wholly_deducted_is_settled_by_itself(
    world: World, corrected_first: bool
) -> None:
    one, other = (factories.claim_and_submit(world.task) for _ in range(2))
    if corrected_first:
        approved(world, other)
        correct(world, one.worker_id, "-1.80")
    approved(world, one)
    if not corrected_first:
        approved(world, other)
        correct(world, one.worker_id, "-1.80")
    assert Payment.objects.get(assignment=one).state == Payment.State.DONE
    assert [(row.n, row.amount) for row in by_hand(world.project)] == [(1, euros("1.80"))]
    assert [row["assignment"] for row in file_of(client_of(world), world)] == [str(other.pk)]
    [trial] = trial_balances(world.project)
    assert (trial.paid, trial.owed, trial.overpaid) == (0, euros("1.80"), 0)


def two_works(world: World) -> tuple[Assignment, Assignment]:
    """Two approved assignments of one worker, of 1.80 each."""
    one = factories.claim_and_submit(world.task)
    task = factories.make_task(world.project, 1, title="Another", redundancy=60)
    other = factories.claim_and_submit(task, one.worker)
    approved(world, one)
    approved(world, other)
    return one, other


def test_an_overpayment_settles_what_it_leaves_nothing_of(world: World) -> None:
    one, other = two_works(world)
    statement = read(world, f"{one.pk},base,3.70,,2999-01-01")
    statements.book_difference(by=world.manager, statement=statement, place=0)
    assert by_hand(world.project) == [] == hand_sums(world.project)
    decided = with_decision(Assignment.objects.filter(pk=other.pk)).get()
    assert decided.decision == "paid"
    [left] = payable(world.project).overpaid
    assert left.amount == euros("0.10")
    page = client_of(world).get(reverse("payout", args=[world.project.pk, 2])).content.decode()
    assert "Pay them" not in page


def test_payments_of_nothing_are_not_to_be_paid(world: World) -> None:
    one, other = two_works(world)
    statement = read(world, f"{one.pk},base,3.70,,2999-01-01")
    statements.book_difference(by=world.manager, statement=statement, place=0)
    # As earlier versions left it.
    Payment.objects.filter(assignment=other).update(state="by_hand", done_at=None)
    LedgerEntry.objects.filter(assignment=other, kind="payment").delete()
    assert by_hand(world.project) == [] == hand_sums(world.project)
    assert not hand_payments(world.project)
    page = client_of(world).get(reverse("payout", args=[world.project.pk, 2])).content.decode()
    assert "Pay them" not in page


def test_a_transfer_for_several_payments_is_compared_with_their_sum(world: World) -> None:
    one, _other = two_works(world)
    text = f"worker,amount,paid_at\n{one.worker.pseudonym},3.70,2999-01-01\n"
    statement = import_text(world, text)
    row = statement.rows[0]
    assert (row["ours"], len(row["parts"])) == ("3.60", 2)
    statements.book_difference(by=world.manager, statement=statement, place=0)
    assert by_hand(world.project) == [] and not _open()
    [left] = payable(world.project).overpaid
    assert left.amount == euros("0.10")
    # Less than both and nearer to one of them is a payment of that one.
    alone = import_text(world, text.replace("3.70", "1.90").replace("-01-01", "-01-02"))
    assert len(alone.rows[0].get("parts") or ()) < 2


def test_a_lab_of_two_sees_the_ways_out_where_its_proposal_is() -> None:
    owner = factories.make_user()
    project = factories.make_project(owner=owner)
    task = factories.make_task(project, 1)
    done = factories.claim_and_submit(task)
    batch = payouts.propose_payout(
        by=owner, task=task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )
    client = Client()
    client.force_login(owner)

    def nobody() -> str:
        page = html_of(client.get(reverse("payout", args=[project.pk, batch.number])))
        assert page.count("Allow approval by one person") == 1
        return page

    assert "A second manager must be invited, and confirmed on the server" in nobody()
    Invitation.objects.create(
        project=project,
        role="manager",
        created_by=owner,
        bound_to="ana@example.org",
        expires_at=timezone.now() + dt.timedelta(days=1),
    )
    assert "The invited manager has not joined yet." in nobody()


def test_what_nothing_is_left_to_deduct_from_is_named_and_deducted_from_the_next_pay(
    world: World,
) -> None:
    one = factories.claim_and_submit(world.task)
    approved(world, one)
    statement = read(world, f"{one.pk},base,2.00,,2999-01-01")
    statements.book_difference(by=world.manager, statement=statement, place=0)
    page = client_of(world).get(reverse("payment_by_hand", args=[world.project.pk])).context
    assert [(row.worker, row.amount) for row in page["overpaid"]] == [(one.worker, euros("0.20"))]
    task = factories.make_task(world.project, 1)
    approved_task = World(**{**vars(world), "task": task})
    approved(approved_task, factories.claim_and_submit(task, one.worker))
    [row] = by_hand(world.project)
    assert row.amount == euros("1.60") and not payable(world.project).overpaid


def test_a_payment_that_a_statement_says_was_made_is_offered_nowhere_until_it_is_settled(
    world: World,
) -> None:
    there, open_ = (factories.claim_and_submit(world.task) for _ in range(2))
    batch = approved(world, there, open_)
    statement = read(world, f"{there.pk},base,1.80,,2999-01-01")
    client, pk = client_of(world), world.project.pk
    assert [row["assignment"] for row in file_of(client, world)] == [str(open_.pk)]
    done = reverse("payment_by_hand_done", args=[pk, batch.number])
    assert [row.assignment_id for row in client.get(done).context["rows"]] == [open_.pk]
    url = reverse("statement", args=[pk, statement.pk])
    for name in ("payment_by_hand", "payout_list", "payment_list"):
        assert url in client.get(reverse(name, args=[pk])).content.decode(), name
    [asked, held] = by_hand(world.project)
    assert (asked.n, asked.held_by) == (1, None)
    assert held.held_by is not None and held.held_by.pk == statement.pk
    assert hand_totals([asked, held]) == [("EUR", euros("1.80"), euros("1.80"))]
    payment = Payment.objects.get(assignment=there)
    with pytest.raises(Conflict, match="says that payment"):
        payments.mark_sent(by=world.manager, payments=[payment])
    assert not LedgerEntry.objects.filter(kind="payment").exists()
    statements.book_difference(by=world.manager, statement=statement, place=0)
    assert [row.n for row in by_hand(world.project)] == [1]
    assert LedgerEntry.objects.get(kind="payment").amount == euros("1.80")


def test_a_correction_in_a_workers_favour_is_paid_once_by_the_same_ways(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    batch = approved(world, one)
    payments.mark_sent(by=world.manager, payments=Payment.objects.all())
    correct(world, one.worker_id, "5.00")
    [row] = by_hand(world.project)
    assert (row.number, row.people, row.amount, row.is_correction) == (0, 1, euros("5.00"), True)
    client, pk = client_of(world), world.project.pk
    [told] = file_of(client, world)
    assert (told["worker"], told["kind"], told["amount"]) == (
        one.worker.pseudonym, "correction", "5.00",
    )  # fmt: skip
    url = reverse("payment_by_hand_done", args=[pk, 0])
    [shown] = client.get(url).context["rows"]
    sent = {"way": row.way, "payment": shown.pk, "expected_total": "5.00", "reference": "TRX-9"}
    assert client.post(url, {**sent, "expected_total": "4.00"}).status_code == 409
    assert client.post(url, {**sent, "paid_on": "2025-01-05"}).status_code == 422
    for _ in range(2):  # a double click
        assert client.post(url, sent).status_code == 302
    entry = LedgerEntry.objects.exclude(assignment=one).get(kind="payment")
    assert (entry.amount, entry.credit, entry.memo) == (
        euros("5.00"), "paid:hand", "by hand, TRX-9",
    )  # fmt: skip
    assert by_hand(world.project) == []
    with pytest.raises(Conflict):  # what is owed has changed since it was looked at
        correct(world, one.worker_id, "1.00")
        payments.pay_corrections(
            by=world.manager, project=world.project, chosen={shown.pk: euros("5.00")}
        )
    assert Notice.objects.filter(user=one.worker.user, kind="payment.done").count() == 2
    # The bank tells of both payments: nothing is left to book.
    rows = f"{one.pk},base,1.80,,2999-01-01", f"{one.pk},base,5.00,,2999-01-02"
    assert [row["outcome"] for row in read(world, *rows).rows] == ["matched", "matched"]
    third = read(world, *rows, f"{one.pk},base,5.00,,2999-01-03")
    assert [row["outcome"] for row in third.rows] == ["matched", "matched", "twice"]
    assert batch.lines.aggregate(s=Sum("base"))["s"] == euros("1.80")


def test_a_correction_between_two_workers_is_owed_and_deducted(world: World) -> None:
    less, more = (factories.claim_and_submit(world.task) for _ in range(2))
    approved(world, less, more)
    accounts = [books.payable_account(one.worker_id) for one in (less, more)]
    wanted: dict[str, Any] = {
        "by": world.manager, "task": world.task, "debit": accounts[0], "credit": accounts[1],
        "amount": euros("0.30"), "memo": "Paid to the wrong person", "key": uuid.uuid4(),
    }  # fmt: skip
    for _ in range(2):
        books.book_correction(**wanted)
    assert asked_of(world) == {less.worker_id: euros("1.50"), more.worker_id: euros("2.10")}
    workers = LedgerEntry.objects.filter(kind="correction").values_list("worker", flat=True)
    assert list(workers) == [less.worker_id, more.worker_id]


def test_pay_was_not_made_before_it_was_approved() -> None:
    today = timezone.localdate()
    with pytest.raises(Invalid) as refused:
        payments.describe_hand_payment(way="", paid_on="2025-01-05", reference="", earliest=today)
    assert today.isoformat() in refused.value.fields["paid_on"]
