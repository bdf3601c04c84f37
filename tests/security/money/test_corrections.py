"""What is booked by hand: little by one manager, more by two, nothing in halves."""

from __future__ import annotations

import threading
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection
from django.urls import reverse

from annotation.models import (
    AuditEntry,
    Correction,
    LedgerEntry,
    Notice,
    Payment,
    Role,
    RoleGrant,
)
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions import statements
from annotation.payouts.corrections.actions import decide
from crowdqc.errors import NotAllowed
from tests.security.money.people import JSON, MEMO, browser, correct, person, program, propose
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=20)


def test_one_manager_books_little_alone_and_splitting_gains_nothing(world: World) -> None:
    """(A4) What is beyond the limit within a day waits, whoever of the managers booked the rest."""
    second = factories.make_member(world.project).user
    assert isinstance(correct(world, "30.00"), LedgerEntry)
    assert isinstance(correct(world, "20.00", by=second), LedgerEntry)
    for by in (world.manager, second):
        assert isinstance(correct(world, "0.01", by=by), Correction)
    Correction.objects.filter(state="alone").update(decided_at="2020-01-01T00:00Z")
    assert isinstance(correct(world, "50.00"), LedgerEntry)
    assert LedgerEntry.objects.count() == 3


def test_a_large_correction_is_booked_once_by_a_second_manager(world: World) -> None:
    """(A4) Over the API: proposed with 202, refused to its proposer and to who they let in."""
    second = factories.make_member(world.project).user
    tied = person("tied@example.org")
    factories.make_member(world.project, Role.MANAGER, tied)
    RoleGrant.objects.create(
        project=world.project, user=tied, role="manager", given_by=world.manager, state="given"
    )
    worker = factories.make_worker(world.project)
    body = {
        "task": world.task.pk,
        "debit": books.payable_account(worker.pk),
        "amount": "1000.00",
        "credit": books.work(world.task.pk),
        "memo": MEMO,
    }
    base = f"/api/projects/{world.project.pk}/"
    key = {"Idempotency-Key": "one"}
    sent = program(world.manager, "read", "pay").post(f"{base}ledger/", body, JSON, headers=key)
    assert sent.status_code == 202 and sent.json()["state"] == "proposed"
    path = f"{base}corrections/{sent.json()['id']}/approve/"
    for user, status in ((world.manager, 403), (tied, 403), (world.requester, 403), (second, 200)):
        answer = program(user, "read", "pay").post(path, headers={"Idempotency-Key": "two"})
        assert answer.status_code == status, answer.content
    [entry] = LedgerEntry.objects.all()
    assert (entry.amount, entry.by) == (Decimal(1000), second)
    assert AuditEntry.objects.filter(action="correction.approve", actor=second).count() == 1
    assert Notice.objects.filter(user=world.manager, kind="correction.decided").exists()


def test_the_ledger_shows_what_awaits_a_second_manager(world: World) -> None:
    """(A4) On the page: approve for who may, withdraw for the proposer, decline with a note."""
    second = factories.make_member(world.project).user
    assert second is not None
    factories.make_task(world.project, 1)
    payouts.approve_payout(
        by=world.manager,
        batch=(batch := propose(world.requester, world.task)),
        expected_total=payouts.total(batch),
    )
    form = {
        "task": world.task.pk,
        "debit": books.work(world.task.pk),
        "credit": "paid:hand",
        "amount": "75.00",
        "memo": MEMO,
        "key": str(uuid4()),
        "checked": "1",
    }
    url = reverse("ledger_correct", args=[world.project.pk])
    ledger = reverse("ledger", args=[world.project.pk])
    assert browser(world.manager).post(url, form)["Location"] == f"{ledger}#corrections"
    made = Correction.objects.get()
    own, other = (browser(one).get(ledger).content.decode() for one in (world.manager, second))
    assert "Withdraw correction" in own and "Approve correction" not in own
    assert "Approve correction" in other and "Decline correction" in other
    here = [world.project.pk, made.pk]
    browser(second).post(reverse("correction_decline", args=here), {"note": ""})
    made.refresh_from_db()
    assert made.state == "proposed"  # the proposer is owed a note
    browser(second).post(reverse("correction_approve", args=here))
    made.refresh_from_db()
    assert made.state == "approved" and made.entry is not None
    assert browser(world.manager).get(ledger).content.decode().count("75.00") >= 1


def test_rows_of_a_statement_count_towards_the_same_limit(world: World) -> None:
    """(A4) A forged file books nothing large by one person: not as a row, not as a payment."""
    second = factories.make_member(world.project).user
    assert second is not None
    batch = propose(world.requester, world.task)
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    work = batch.lines.get().assignment_id
    content = (
        f"submission,kind,amount,currency,paid_at\n{work},base,1000000.00,EUR,2999-01-01\n"
        "elsewhere,bonus,40.00,EUR,2999-01-02\nelsewhere2,bonus,40.00,EUR,2999-01-03\n"
    )
    statement, _ = statements.import_statement(
        by=world.manager,
        task=world.task,
        recruitment=None,
        name="bank.csv",
        content=content.encode(),
    )
    book = {
        place: statements.book_difference(by=world.manager, statement=statement, place=place)
        for place in (0, 1, 2)
    }
    settled, small, beyond = book.values()
    assert isinstance(settled, Correction) and small is True and isinstance(beyond, Correction)
    again = statements.book_difference(by=world.manager, statement=statement, place=0)
    assert again == settled
    assert not Payment.objects.filter(state="done").exists()
    page = browser(world.manager).get(reverse("statement", args=[world.project.pk, statement.pk]))
    assert page.content.decode().count("Awaiting approval") == 2
    decide.approve_correction(by=second, correction=beyond)
    with pytest.raises(NotAllowed):
        decide.approve_correction(by=world.manager, correction=settled)
    assert LedgerEntry.objects.filter(kind="correction").count() == 2
    decide.decline_correction(by=second, correction=settled, note="No such transfer.")
    assert not LedgerEntry.objects.filter(amount__gt=1000).exists()


def test_only_the_owner_moves_the_limit(world: World) -> None:
    """(A4) Whoever books does not say how much they may book alone."""
    other = factories.make_member(world.project, Role.REQUESTER).user
    assert other is not None
    path = f"/api/projects/{world.project.pk}/"
    asked = {"correction_limit": "9000.00"}
    assert program(other, "write", "pay").patch(path, asked, JSON).status_code == 403
    api = program(world.requester, "read", "write", "pay")
    assert api.patch(path, asked, JSON).status_code == 200
    world.project.refresh_from_db()
    assert world.project.correction_limit == 9000
    assert isinstance(correct(world, "9000.00"), LedgerEntry)


@pytest.mark.django_db(transaction=True)
def test_two_corrections_at_once_do_not_stay_under_the_limit_together() -> None:
    """(A4) Of six at the same moment, one may book what is under the limit alone."""
    world = factories.make_world(1)
    worker = factories.make_worker(world.project)
    start, made = threading.Barrier(6), []

    def book() -> None:
        try:
            start.wait()
            made.append(
                books.book_correction(
                    by=world.manager,
                    task=world.task,
                    debit=books.payable_account(worker.pk),
                    memo=MEMO,
                    credit=books.work(world.task.pk),
                    amount=Decimal("30.00"),
                    key=uuid4(),
                )
            )
        finally:
            connection.close()

    threads = [threading.Thread(target=book) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    assert LedgerEntry.objects.count() == sum(isinstance(one, LedgerEntry) for one in made) == 1
