"""Money under double clicks: real threads on a real database, and what the database refuses."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import LedgerEntry, PayoutBatch, Project
from annotation.payouts.actions import payments, statements
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.selectors.balance import hand_payments, trial_balances
from crowdqc.errors import Conflict, DomainError
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.db]


def together(works: list[Callable[[], object]]) -> list[object]:
    """Run all at once, each on its own connection; returns results and refusals in order."""
    gate, results = threading.Barrier(len(works)), [None] * len(works)

    def one(index: int) -> None:
        try:
            gate.wait(timeout=20)
            results[index] = works[index]()
        except DomainError as error:
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(index,)) for index in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=40)


def propose(world: World, ids: list[int], key: uuid.UUID | None = None) -> PayoutBatch:
    return payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=key or uuid.uuid4(),
        lines=[ProposedLine(pk, bonus=Decimal("0.20")) for pk in ids],
    )


def test_twenty_approvals_at_once_write_each_line_once(world: World) -> None:
    ids = [factories.claim_and_submit(world.task).pk for _ in range(3)]
    batch = propose(world, ids)

    def approve() -> PayoutBatch:
        return payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("6.00"))

    results = together([approve] * 20)
    assert all(isinstance(result, PayoutBatch) for result in results)
    written = sorted(LedgerEntry.objects.values_list("assignment_id", "kind"))
    assert written == sorted((pk, kind) for pk in ids for kind in ("base", "bonus"))


def test_one_form_sent_ten_times_at_once_is_one_proposal(world: World) -> None:
    ids, key = [factories.claim_and_submit(world.task).pk], uuid.uuid4()
    results = together([lambda: propose(world, ids, key)] * 10)
    assert {getattr(result, "pk", result) for result in results} == {PayoutBatch.objects.get().pk}


def test_two_forms_for_one_assignment_make_one_proposal(world: World) -> None:
    ids = [factories.claim_and_submit(world.task).pk]
    results = together([lambda: propose(world, ids)] * 8)
    assert sum(isinstance(result, PayoutBatch) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 7


def test_two_approvals_at_once_do_not_both_fit_under_one_budget(world: World) -> None:
    batches = [propose(world, [factories.claim_and_submit(world.task).pk]) for _ in range(6)]
    world.project.budget = Decimal("5.00")  # two of 2.00 fit, six do not
    world.project.save()

    def approving(batch: PayoutBatch) -> Callable[[], object]:
        return lambda: payouts.approve_payout(
            by=world.manager, batch=batch, expected_total=Decimal("2.00")
        )

    results = together([approving(batch) for batch in batches])
    assert sum(isinstance(result, PayoutBatch) for result in results) == 2
    assert sum(getattr(result, "code", "") == "over-budget" for result in results) == 4
    assert sum(LedgerEntry.objects.values_list("amount", flat=True)) == Decimal("4.00")


def test_approving_and_sending_back_at_once_do_one_of_both(world: World) -> None:
    batch = propose(world, [factories.claim_and_submit(world.task).pk])
    results = together(
        [
            lambda: payouts.approve_payout(
                by=world.manager, batch=batch, expected_total=Decimal("2.00")
            ),
            lambda: payouts.send_back(by=world.manager, batch=batch, note="Wait."),
        ]
    )
    assert sum(isinstance(result, Conflict) for result in results) == 1
    batch.refresh_from_db()
    assert LedgerEntry.objects.count() == (2 if batch.state == "approved" else 0)


def test_the_database_itself_keeps_the_ledger(world: World) -> None:
    batch = propose(world, [factories.claim_and_submit(world.task).pk])
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("2.00"))
    entry = LedgerEntry.objects.first()
    assert entry is not None
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        LedgerEntry.objects.filter(pk=entry.pk).update(amount=Decimal("20.00"))
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        LedgerEntry.objects.filter(pk=entry.pk).delete()
    entry.pk, entry.key = None, "again"
    with pytest.raises(IntegrityError, match="paid_once"), transaction.atomic():
        entry.save(force_insert=True)
    with pytest.raises(IntegrityError, match="nobody_approves"), transaction.atomic():
        PayoutBatch.objects.filter(pk=batch.pk).update(decided_by=batch.proposed_by)


def test_people_go_on_answering_while_money_is_decided(world: World) -> None:
    """A proposal locks its project's row; claims and submits name that row in the audit log."""
    ids = [factories.claim_and_submit(world.task).pk for _ in range(4)]
    workers = [factories.make_worker(world.project) for _ in range(6)]
    works: list[Callable[[], object]] = [
        lambda w=w: factories.claim_and_submit(world.task, w) for w in workers
    ]
    works += [lambda pk=pk: propose(world, [pk]) for pk in ids]
    results = together(works)
    assert not [result for result in results if result is None or isinstance(result, DomainError)]


def test_what_many_note_as_paid_and_what_many_read_is_booked_once(world: World) -> None:
    """Clicks on "was paid", the same statement and its differences, all at once."""
    ids = [factories.claim_and_submit(world.task).pk for _ in range(2)]
    batch = propose(world, ids)
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("4.00"))

    def pay() -> int:
        rows = list(hand_payments(world.project, batch.number))
        return payments.mark_sent(by=world.manager, payments=rows)

    file = f"submission,amount\n{ids[0]},1.90\nelsewhere,0.50\n".encode()

    def read() -> int:
        statement, _ = statements.import_statement(
            by=world.manager, task=world.task, recruitment=None, name="bank.csv", content=file
        )
        return sum(
            statements.book_difference(by=world.manager, statement=statement, place=place)
            for place in (0, 1)
        )

    results = together([pay] * 5 + [read] * 5)
    # Between reading and booking it nobody pays what the file says was paid.
    refused = {result.code for result in results if isinstance(result, DomainError)}
    assert refused <= {"paid-there"}
    pay()
    kinds = list(LedgerEntry.objects.filter(kind="payment").values_list("assignment", "key"))
    assert len(kinds) == 4 == len({key for _, key in kinds})
    [trial] = trial_balances(world.project)
    assert trial.balances and trial.owed == 0
    # What the file says more is booked whichever came first, and taken off what was still open.
    assert trial.paid - trial.overpaid == Decimal("4.00")
    assert trial.overpaid in (0, Decimal("0.10"))
    assert [one.balance for one in trial.accounts if one.kind == "unknown"] == [Decimal("-0.50")]


def wait_for_a_lock() -> None:
    """Until some other connection waits for a row that this one holds."""
    waits = "SELECT pg_backend_pid() = ANY(pg_blocking_pids(pid)) FROM pg_locks WHERE NOT granted"
    for _ in range(400):
        with connection.cursor() as cursor:
            cursor.execute(waits)
            if (True,) in cursor.fetchall():
                return
        time.sleep(0.05)
    raise AssertionError("Nobody waits.")


def test_a_program_that_renames_a_project_brings_no_earlier_budget_back(world: World) -> None:
    token = factories.api_token(world.requester, ["read", "write"])
    rows = Project.objects.filter(pk=world.project.pk)
    status = []

    def rename() -> None:
        try:
            address = reverse("api_project", args=[world.project.pk])
            headers = {"Authorization": f"Token {token}"}
            body = {"name": "New"}
            answer = Client().patch(address, body, "application/json", headers=headers)
            status.append(answer.status_code)
        finally:
            connection.close()

    rows.update(budget=Decimal(900))
    other = threading.Thread(target=rename)
    with transaction.atomic():
        rows.update(budget=Decimal(5))
        other.start()
        wait_for_a_lock()
    other.join(timeout=60)
    assert (status, rows.get().name, rows.get().budget) == ([200], "New", Decimal(5))
