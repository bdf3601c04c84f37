"""The books: both sides always balance, nothing is booked twice, corrections are added."""

from __future__ import annotations

import datetime as dt
import io
import random
import uuid
from collections.abc import Sequence
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    Assignment,
    AuditEntry,
    LedgerEntry,
    Notice,
    Payment,
    PayoutBatch,
    Project,
    Rejection,
    Role,
    Statement,
)
from annotation.payouts import statement_file
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import payments, rejections, statements
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.selectors.balance import hand_payments, trial_balances
from annotation.payouts.statement_file import LIMITS
from crowdqc.errors import Conflict, DomainError, Invalid, NotAllowed
from tests.support import factories
from tests.support.factories import REJECTION, World

pytestmark = pytest.mark.django_db
LESS = "Two of the four answers are missing."


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def propose(world: World, *lines: ProposedLine) -> PayoutBatch:
    return payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )


def approved(world: World, *lines: ProposedLine) -> PayoutBatch:
    batch = propose(world, *lines)
    return payouts.approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=payouts.total(batch),
        rejections=payouts.count_rejections(batch),
    )


def done(world: World, n: int) -> list[Assignment]:
    return [factories.claim_and_submit(world.task) for _ in range(n)]


def pay(world: World, batch: PayoutBatch) -> int:
    rows = list(hand_payments(world.project, batch.number))
    return payments.mark_sent(by=world.manager, payments=rows)


def told(user: object) -> list[str]:
    return list(Notice.objects.filter(user=user).order_by("pk").values_list("kind", flat=True))


# What is owed and what is paid -------------------------------------------------------------------


def test_what_is_paid_by_hand_is_booked_once_and_told(world: World) -> None:
    one, two = done(world, 2)
    batch = approved(
        world,
        ProposedLine(one.pk, bonus=Decimal("0.50"), bonus_note="rank 1"),
        ProposedLine(two.pk),
    )
    [before] = trial_balances(world.project)
    assert (before.cost, before.owed, before.paid) == (Decimal("4.10"), Decimal("4.10"), 0)
    assert pay(world, batch) == 3 and pay(world, batch) == 0
    [after] = trial_balances(world.project)
    assert (after.owed, after.paid, after.balances) == (0, Decimal("4.10"), True)
    assert after.debit == after.credit == Decimal("8.20")
    assert LedgerEntry.objects.filter(kind="payment").count() == 3
    assert told(one.worker.user).count("payment.done") == 2
    assert told(world.manager) == ["payout.waits"] and told(world.requester) == ["payout.decided"]


def test_nobody_notes_a_payment_to_themself_as_paid(world: World) -> None:
    own = factories.make_worker(world.project, world.manager)
    other = factories.make_member(world.project).user
    batch = propose(world, ProposedLine(factories.claim_and_submit(world.task, own).pk))
    payouts.approve_payout(by=other, batch=batch, expected_total=Decimal("1.80"))
    with pytest.raises(NotAllowed):
        pay(world, batch)
    client = Client()
    client.force_login(world.requester)
    url = reverse("payment_by_hand_done", args=[world.project.pk, batch.number])
    assert client.post(url, {"expected_total": "1.80"}).status_code == 403
    client.force_login(other)
    sent = {"payment": Payment.objects.get().pk, "expected_total": "1.80"}
    assert client.post(url, {**sent, "expected_total": "1.70"}).status_code == 409
    for _ in range(2):  # a double click
        assert client.post(url, sent).status_code == 302
    assert LedgerEntry.objects.filter(kind="payment").count() == 1


def test_one_payment_of_a_proposal_is_booked_by_itself_with_its_day_and_reference(
    world: World,
) -> None:
    one, two = done(world, 2)
    batch = approved(world, ProposedLine(one.pk), ProposedLine(two.pk))
    client = Client()
    client.force_login(world.manager)
    url = reverse("payment_by_hand_done", args=[world.project.pk, batch.number])
    today = timezone.localdate().isoformat()
    shown = client.get(url).context
    payment = Payment.objects.get(assignment=one)
    assert len(shown["rows"]) == 2 and shown["ticked"] == {row.pk for row in shown["rows"]}
    assert client.get(url, {"payment": payment.pk}).context["ticked"] == {payment.pk}
    sent = {"payment": payment.pk, "paid_on": today, "reference": "TRX-7"}
    summary = client.post(url, sent)
    assert summary.context["checked"] and summary.context["amount"] == Decimal("1.80")
    assert not LedgerEntry.objects.filter(kind="payment").exists()  # looked at, not booked
    early = (timezone.localdate() - dt.timedelta(days=1)).isoformat()  # approved today
    assert shown["earliest"] == today
    wrong = ({"payment": []}, {"paid_on": early}, {"paid_on": "2999-01-01"}, {"paid_on": "soon"})
    for change in wrong:
        refused = client.post(url, {**sent, "expected_total": "1.80", **change})
        assert refused.status_code == 422, change
    for _ in range(2):  # a double click
        assert client.post(url, {**sent, "expected_total": "1.80"}).status_code == 302
    [entry] = LedgerEntry.objects.filter(kind="payment")
    assert (entry.assignment_id, entry.memo) == (one.pk, f"by hand, {today}, TRX-7")
    assert Payment.objects.get(assignment=two).state == "by_hand"


def test_nobody_approves_their_own_through_the_api_either(world: World) -> None:
    """One person with both roles, and one whom the proposal pays."""
    factories.make_member(world.project, Role.MANAGER, world.requester)
    own = factories.make_worker(world.project, world.manager)
    batch = propose(world, ProposedLine(factories.claim_and_submit(world.task, own).pk))
    url = reverse("api_payout_approve", args=[world.project.pk, batch.number])
    for person in (world.requester, world.manager):
        headers = {
            "Authorization": f"Token {factories.api_token(person)}",
            "Idempotency-Key": str(uuid.uuid4()),
        }
        sent = Client().post(
            url, {"total": "1.80"}, headers=headers, content_type="application/json"
        )
        assert sent.status_code == 403, sent.content
    assert not LedgerEntry.objects.exists()


def test_less_than_agreed_needs_a_reason_that_the_worker_reads(world: World) -> None:
    [one] = done(world, 1)
    with pytest.raises(Invalid) as refused:
        propose(world, ProposedLine(one.pk, base=Decimal("1.00"), reason="Short."))
    assert "reason" in refused.value.fields
    with pytest.raises(Invalid, match="Paying nothing is a rejection"):
        propose(world, ProposedLine(one.pk, base=Decimal(0), reason=LESS))
    approved(world, ProposedLine(one.pk, base=Decimal("1.00"), reason=LESS))
    client = Client()
    client.force_login(one.worker.user)
    page = client.get(reverse("work_earnings")).content.decode()
    assert LESS in page and "Less than the agreed" in page


def test_a_correction_moves_an_amount_once_and_changes_no_entry(world: World) -> None:
    [one] = done(world, 1)
    approved(world, ProposedLine(one.pk))
    key, account = uuid.uuid4(), books.payable_account(one.worker_id)
    change = {
        "task": world.task,
        "debit": account,
        "credit": books.work(world.task.pk),
        "amount": Decimal("0.30"),
        "memo": "Agreed with the worker on the telephone.",
    }
    before = list(LedgerEntry.objects.values())
    for _ in range(2):
        books.book_correction(by=world.manager, key=key, **change)
    assert list(LedgerEntry.objects.values())[:-1] == before
    [trial] = trial_balances(world.project)
    assert trial.owed == Decimal("1.50") and trial.balances
    assert AuditEntry.objects.filter(action="ledger.correct").count() == 1
    with pytest.raises(Conflict):
        books.book_correction(by=world.manager, key=key, **{**change, "amount": Decimal(1)})
    for wrong in (
        {"credit": "worker:999999"},
        {"credit": account},
        {"memo": "no"},
        {"debit": "paid:elsewhere"},
        {"amount": Decimal(0)},
    ):
        with pytest.raises(Invalid):
            books.book_correction(by=world.manager, key=uuid.uuid4(), **{**change, **wrong})
    with pytest.raises(NotAllowed):
        books.book_correction(by=world.requester, key=uuid.uuid4(), **change)
    own = factories.make_worker(world.project, world.manager)
    with pytest.raises(NotAllowed, match="account of yours"):
        mine = {**change, "credit": books.payable_account(own.pk)}
        books.book_correction(by=world.manager, key=uuid.uuid4(), **mine)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_the_books_balance(world: World, seed: int) -> None:
    """Random proposals, approvals, refusals, payments, corrections and statements."""
    chance = random.Random(seed)
    world.task.budget = Decimal("25.00")
    world.task.save()
    workers = [factories.make_worker(world.project) for _ in range(12)]
    open_ = [factories.claim_and_submit(world.task, one).pk for one in workers]
    for _ in range(25):
        _step(world, chance, open_)
        for trial in trial_balances(world.project):
            assert trial.balances and trial.debit == trial.credit
        assert sum(LedgerEntry.objects.owed().values_list("amount", flat=True)) <= 25


def _step(world: World, chance: random.Random, ids: Sequence[int]) -> None:
    cents = Decimal(chance.randint(1, 180)) / 100
    act = chance.choice(("propose", "approve", "back", "pay", "correct", "file", "overturn"))
    batch = world.task.payout_batches.order_by("?").first()
    try:
        if act == "propose":
            picked = chance.sample(list(ids), 3)
            propose(
                world,
                ProposedLine(picked[0], base=cents, reason=LESS),
                ProposedLine(picked[1], bonus=cents),
                ProposedLine(picked[2], "reject", reason_code="other", reason=REJECTION),
            )
        elif act == "approve" and batch:
            total = payouts.total(batch)
            payouts.approve_payout(by=world.manager, batch=batch, expected_total=total)
        elif act == "back" and batch and chance.random() < 0.3:
            payouts.send_back(by=world.manager, batch=batch, note="Look again.")
        elif act == "pay" and batch:
            pay(world, batch)
        elif act == "correct":
            worker = Assignment.objects.get(pk=chance.choice(ids)).worker_id
            books.book_correction(
                by=world.manager,
                task=world.task,
                debit=books.payable_account(worker),
                credit="paid:hand",
                amount=cents,
                memo="A transfer of its own.",
                key=uuid.uuid4(),
            )
        elif act == "file":
            text = f"submission,kind,amount,fee\n{chance.choice(ids)},base,{cents},0.05\n"
            statement, _ = statements.import_statement(
                by=world.manager, task=world.task, recruitment=None, name="f", content=text.encode()
            )
            for place in range(len(statement.rows)):
                statements.book_difference(by=world.manager, statement=statement, place=place)
        elif rejection := Rejection.objects.filter(outcome="").first():
            rejections.decide_reply(by=world.manager, rejection=rejection, overturn=True, note="So")
    except DomainError:
        pass  # refused is fine; half-written is not


# Statements --------------------------------------------------------------------------------------


def read(world: World, text: str, **more: object) -> Statement:
    wanted = {"by": world.manager, "task": world.task, "recruitment": None, "name": "bank.csv"}
    return statements.import_statement(**{**wanted, **more}, content=text.encode())[0]


def outcomes(statement: Statement) -> list[str]:
    return [row["outcome"] for row in statement.rows]


def test_every_row_of_a_statement_gets_its_outcome_and_what_lacks_is_named(world: World) -> None:
    same, more, lacks, waits = done(world, 4)
    pay(
        world, approved(world, ProposedLine(same.pk), ProposedLine(more.pk), ProposedLine(lacks.pk))
    )
    approved(world, ProposedLine(waits.pk))
    text = (
        "submission,participant,kind,amount,currency,fee,paid_at\n"
        f"{same.pk},,base,1.80,EUR,,2999-01-01\n"
        f",{more.worker.pseudonym},base,2.00,EUR,0.60,2999-01-02\n"
        f"{same.pk},,base,1.80,EUR,,2999-01-03\n"
        "elsewhere,,bonus,0.70,EUR,,2999-01-04\n"
        f"{waits.pk},,base,1.80,EUR,,2999-01-05\n"
    )
    statement = read(world, text)
    assert outcomes(statement) == [
        "matched",
        "different",
        "twice",
        "unknown",
        "different",
        "missing",
    ]
    assert statement.rows[5]["worker"] == lacks.worker.pseudonym
    assert LedgerEntry.objects.filter(kind="correction").count() == 0  # reading books nothing
    assert read(world, text) == statement and Statement.objects.count() == 1
    for place in (1, 2, 3, 4, 5):
        assert statements.book_difference(by=world.manager, statement=statement, place=place)
        assert not statements.book_difference(by=world.manager, statement=statement, place=place)
    with pytest.raises(Conflict):
        statements.book_difference(by=world.manager, statement=statement, place=0)
    [trial] = trial_balances(world.project)
    # 1.80 + 2.00 + 1.80 again + 1.80 that had waited; 0.70 went to nobody known.
    assert (trial.paid, trial.fees) == (Decimal("7.40"), Decimal("0.60")) and trial.balances
    assert trial.owed == Decimal("1.80")  # what the file lacked
    assert trial.overpaid == Decimal("2.00")
    waited = Payment.objects.get(assignment=waits)
    assert waited.state == "done"  # and so it is not paid a second time
    # The next file tells of the old payments again, and of the one that had lacked.
    later = read(world, text + f"{lacks.pk},,base,1.80,EUR,,2999-01-06\n")
    assert outcomes(later) == ["matched"] * 5 + ["different"]
    assert [row["books"] for row in later.rows] == [False] * 5 + [True]


@pytest.mark.parametrize("code", ["EURO", "EU", "€", "ZZZ"])
def test_a_currency_that_is_none_is_refused_with_its_row_and_field(world: World, code: str) -> None:
    """ "EURO" is not cut to "EUR": whoever wrote the file meant something."""
    text = f"submission,amount,currency\n1,1.80,eur\n2,1.80,{code}\n"
    with pytest.raises(Invalid) as refused:
        read(world, text)
    assert [(row["line"], row["column"], row["value"]) for row in refused.value.rows] == [
        (3, "currency", code)
    ]
    assert not Statement.objects.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("submission,amount\n" + "1,1.80\n" * (LIMITS.rows + 1), "10,000 is the most"),
        ("submission,amount\n" + "1," + "8" * LIMITS.size, "2 MB is the most"),
    ],
)
def test_a_statement_that_a_page_cannot_wait_for_is_refused_before_its_rows_are_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setattr(statement_file, "_row", lambda *_: pytest.fail("A row was looked at."))
    with pytest.raises(Invalid, match=says):
        read(world, text)
    url = reverse("statement_list", args=[world.project.pk])
    client = Client()
    client.force_login(world.manager)
    file = SimpleUploadedFile("bank.csv", text.encode())
    page = client.post(url, {"way": str(world.task.pk), "file": file})
    assert page.status_code == 422


def test_of_a_file_of_bad_rows_no_more_are_looked_at_than_help(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    row = statement_file._row
    monkeypatch.setattr(statement_file, "_row", lambda *given: looked.append(1) or row(*given))
    with pytest.raises(Invalid):
        read(world, "submission,amount\n" + "1,none\n" * 5000)
    assert len(looked) == statement_file.MOST_BAD


def test_a_payment_that_two_files_lack_is_booked_back_once(world: World) -> None:
    there, lacks = done(world, 2)
    pay(world, approved(world, ProposedLine(there.pk), ProposedLine(lacks.pk)))
    text = f"submission,kind,amount,paid_at\n{there.pk},base,1.80,2999-01-01\n"
    first = read(world, text)
    second = read(world, text.replace("2999-01-01", "2999-01-02"), name="again.csv")
    places = [outcomes(one).index("missing") for one in (first, second)]
    assert statements.book_difference(by=world.manager, statement=first, place=places[0])
    with pytest.raises(Conflict, match="booked back already, since bank"):
        statements.book_difference(by=world.manager, statement=second, place=places[1])
    [trial] = trial_balances(world.project)
    assert trial.owed == Decimal("1.80")


def test_a_file_with_one_bad_row_leaves_nothing_behind(world: World) -> None:
    text = "submission,kind,amount,paid_at\n1,base,1.80,\n2,tip,-3,\n3,base,1.80,soon\n"
    with pytest.raises(Invalid) as refused:
        read(world, text)
    assert {(row["line"], row["column"]) for row in refused.value.rows} == {
        (3, "kind"),
        (3, "amount"),
        (4, "paid_at"),
    }
    for wrong in ("", "amount\n1.80\n", "submission\n1\n", "\x00\x01\xff"):
        with pytest.raises(Invalid):
            read(world, wrong)
    with pytest.raises(NotAllowed):
        read(world, "submission,amount\n1,1.00\n", by=world.requester)
    assert not Statement.objects.exists()


def test_the_pages_of_money_show_what_is_there(world: World) -> None:
    one, two = done(world, 2)
    batch = approved(world, ProposedLine(one.pk), ProposedLine(two.pk))
    client = Client()
    client.force_login(world.manager)

    def page(name: str, *args: object) -> str:
        return client.get(reverse(name, args=[world.project.pk, *args])).content.decode()

    assert "€3.60" in page("payment_by_hand")
    file = client.get(reverse("payment_by_hand_export", args=[world.project.pk]))
    rows = b"".join(file.streaming_content).decode().splitlines()
    assert len(rows) == 3 and one.worker.pseudonym in "".join(rows)
    pay(world, batch)
    url = reverse("statement_list", args=[world.project.pk])
    told_ = io.BytesIO(f"submission,amount\n{one.pk},1.90\n".encode())
    told_.name = "bank.csv"
    sent = client.post(url, {"way": str(world.task.pk), "file": told_})
    assert sent.status_code == 302 and "bank.csv" in page("statement_list")
    shown = page("statement", Statement.objects.get().pk)
    assert "ours is €1.80" in shown and "Book it" in shown and two.worker.pseudonym in shown
    bad = io.BytesIO(b"submission,amount\n1,x\n")
    bad.name = "bad.csv"
    refused = client.post(url, {"way": str(world.task.pk), "file": bad})
    assert refused.status_code == 422 and "This is no amount" in refused.content.decode()
    ledger = page("ledger")
    assert "Trial balance, EUR" in ledger and "equal" in ledger and "Paid by hand" in ledger
    sent = {
        "task": world.task.pk,
        "debit": books.payable_account(one.worker_id),
        "credit": "paid:hand",
        "amount": "0,10",
        "memo": "Bank charge that the worker bore.",
        "key": str(uuid.uuid4()),
    }
    correct = reverse("ledger_correct", args=[world.project.pk])
    assert client.post(correct, {**sent, "memo": ""}).status_code == 422
    before = LedgerEntry.objects.count()
    effects = client.post(correct, sent).context["effects"]
    assert [(one.before, one.after) for one in effects.accounts] == [
        (Decimal("0.00"), Decimal("-0.10")), (Decimal("3.60"), Decimal("3.70")),
    ]  # fmt: skip
    assert effects.is_less and effects.is_alone and LedgerEntry.objects.count() == before
    assert client.post(correct, {**sent, "change": "1"}).context["sent"]["amount"] == "0,10"
    assert client.post(correct, {**sent, "checked": "1"}).status_code == 302
    assert "Bank charge that the worker bore." in page("ledger")


def test_a_correction_belongs_to_the_task_of_its_account(world: World) -> None:
    """The task follows from the account; another is refused, and none is assumed."""
    other = factories.make_task(world.project, title="Hard pairs")
    [one] = done(world, 1)
    approved(world, ProposedLine(one.pk))
    client = Client()
    client.force_login(world.manager)
    url = reverse("ledger_correct", args=[world.project.pk])
    sent = {
        "debit": books.work(world.task.pk),
        "credit": books.payable_account(one.worker_id),
        "amount": "0.40",
        "memo": "Half of a bonus was lost.",
        "key": str(uuid.uuid4()),
        "checked": "1",
    }
    assert client.post(url, {**sent, "task": other.pk}).status_code == 422
    two_workers = {"debit": books.payable_account(one.worker_id), "credit": "paid:hand"}
    assert client.post(url, {**sent, **two_workers, "task": ""}).status_code == 422
    assert client.post(url, {**sent, "task": ""}).status_code == 302
    entry = LedgerEntry.objects.get(kind="correction")
    assert (entry.task_id, entry.amount) == (world.task.pk, Decimal("0.40"))
    # It costs this task, and no other.
    costs = LedgerEntry.objects.cost_by_task([world.task, other])
    assert costs == {world.task.pk: Decimal("2.20"), other.pk: 0}
    between = {**sent, "debit": books.work(other.pk), "credit": books.work(world.task.pk)}
    fresh = {**between, "key": str(uuid.uuid4()), "task": other.pk}
    assert client.post(url, fresh).status_code == 302
    costs = LedgerEntry.objects.cost_by_task([world.task, other])
    assert costs == {world.task.pk: Decimal("1.80"), other.pk: Decimal("0.40")}
    # The budget is of what the tasks cost, not of what was approved.
    Project.objects.filter(pk=world.project.pk).update(budget=Decimal("3.80"))
    [second] = done(world, 1)
    with pytest.raises(Conflict) as refused:
        approved(world, ProposedLine(second.pk))
    assert refused.value.code == "over-budget"
