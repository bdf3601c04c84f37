"""Payouts over a platform that fails, with workers that are killed: each is paid once.

What was paid is read from the platform's own books, and held against the ledger. The suite pays
36 people; ``CROWDQC_PAYOUTS=1000 pytest -s tests/test_paid_once.py`` pays a thousand.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from django.db import connection
from django.utils import timezone

from annotation.jobs import send_payments
from annotation.models import (
    Assignment,
    LedgerEntry,
    Membership,
    Payment,
    PaymentAttempt,
    PayoutBatch,
    Recruitment,
    User,
    Visit,
)
from annotation.payouts.actions import payments
from annotation.payouts.actions import proposals as payouts
from tests.support import factories
from tests.support.processes import Worker, empty_queue, until
from tests.support.servers import prolific

pytestmark = [
    pytest.mark.db,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
PEOPLE = int(os.environ.get("CROWDQC_PAYOUTS", "36"))
PROPOSALS, EVERY = 2, 3  # every third gets a bonus
KILLS = 2 + PEOPLE // 500
PATIENCE = 600  # seconds on a busy machine
FAULTS = {
    "500-before": 0.05,
    "429": 0.04,
    "500-after": 0.05,
    "cut-after": 0.06,
    "silent-after": 0.01,
}
# What the first bonuses meet when they are paid: one of each that leaves open whether they were.
UNSURE = ["500-after", "", "cut-after", "500-before", "silent-after"]
PACE = {
    "CROWDQC_PAYMENT_LEASE": "4",
    "CROWDQC_PAYMENT_TIMEOUT": "1.5",
    "CROWDQC_PAYMENT_CHECK": "0.05",
    "CROWDQC_PAYMENT_SETTLE": "6",
    "CROWDQC_PAYMENT_GIVE_UP": "60",
}


def make_crowd(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> list[int]:
    """People who came by the study and handed in, as rows; what they wrote is not tested."""
    numbers, now = range(PEOPLE), timezone.now()
    users = User.objects.bulk_create(User(username=f"v{n}", password="!") for n in numbers)
    workers = Membership.objects.bulk_create(
        Membership(
            project=world.project,
            user=user,
            role="worker",
            pseudonym=f"bird-{n}",
            external_id=f"prolific:p{n}",
        )
        for n, user in enumerate(users)
    )
    task = world.task
    done = Assignment.objects.bulk_create(
        Assignment(
            task=task,
            version=task.current,
            worker=worker,
            state="submitted",
            pay=Decimal("1.80"),
            leased_at=now,
            expires_at=now,
            submitted_at=now,
        )
        for worker in workers
    )
    Visit.objects.bulk_create(
        Visit(
            recruitment=study,
            participant=f"p{n}",
            study=study.study_id,
            session=f"s{n}",
            worker=worker,
            assignment=assignment,
            bound="x",
        )
        for n, (worker, assignment) in enumerate(zip(workers, done, strict=True))
    )
    for n in numbers:
        platform.submissions[f"s{n}"] = prolific.Submission(f"p{n}")
    return [assignment.pk for assignment in done]


def approve_twice(world: factories.World, ids: Sequence[int]) -> None:
    """One proposal, approved by a double click: two requests at once."""
    lines = [
        payouts.ProposedLine(pk, bonus=Decimal("0.50") if n % EVERY == 0 else Decimal(0))
        for n, pk in enumerate(ids)
    ]
    batch = payouts.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=lines)
    total, errors = payouts.total(batch), list[BaseException]()

    def click() -> None:
        try:
            found = PayoutBatch.objects.get(pk=batch.pk)
            payouts.approve_payout(by=world.manager, batch=found, expected_total=total)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    clicks = [threading.Thread(target=click) for _ in range(2)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    assert not errors


def kill_all_of(worker: Worker) -> None:
    """``kill -9`` of a worker and its pool in the same moment, wherever they are."""
    assert worker.process is not None
    for child in psutil.Process(worker.process.pid).children(recursive=True):
        child.send_signal(signal.SIGKILL)
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()


def look_and_decide(world: factories.World, platform: prolific.Platform) -> int:
    """A person looks at the platform's site for each payment that does not add up."""
    decided = 0
    for row in Payment.objects.filter(state__in=["unclear", "failed"]):
        bonuses = platform.books()[row.assignment.visit.session][1]
        outcome = "paid" if bonuses else "not_paid"
        payments.resolve(by=world.manager, payment=row, outcome=outcome, note="Seen on the site.")
        decided += 1
    return decided


def still_open() -> int:
    return Payment.objects.filter(state__in=payments.OPEN).count()


def wait_until_open(left: int) -> None:
    """Wait until at most so many payments are open; the job is started as the schedule does."""

    def reached() -> bool:
        if still_open() <= left:
            return True
        send_payments.delay()
        time.sleep(0.3)
        return False

    until(reached, PATIENCE, f"at most {left} payments to be open")


def test_payouts_are_each_paid_once_whatever_fails_and_dies(
    monkeypatch: Any, tmp_path: Path
) -> None:
    for name, value in PACE.items():
        monkeypatch.setenv(name, value)
    world = factories.make_world(n=1)
    random.seed(7)
    with prolific.serving(delay=1.0, seed=7) as platform:
        platform.faults, platform.silence = FAULTS, 3.0
        platform.script = {"/pay/": list(UNSURE)}
        study = prolific.make_recruitment(world.task, platform)
        ids = make_crowd(world, study, platform)
        empty_queue()
        workers = [Worker(tmp_path / f"{n}.log", visibility=3).launch() for n in range(2)]
        try:
            began = time.monotonic()
            for n in range(PROPOSALS):
                approve_twice(world, ids[n::PROPOSALS])
            everything = Payment.objects.count()
            for n in range(KILLS):
                wait_until_open(everything * (KILLS - n) // (KILLS + 1))
                kill_all_of(workers[n % 2])
                for _ in range(2):  # a double click on "send now"
                    send_payments.delay()
                workers[n % 2].launch()
            decided = -1
            while still_open() or decided < 0:
                wait_until_open(0)
                decided = max(decided, 0) + look_and_decide(world, platform)
            took = time.monotonic() - began
        finally:
            for worker in workers:
                kill_all_of(worker)
        check(platform, ids)
    errors = Counter(PaymentAttempt.objects.exclude(error="").values_list("status", flat=True))
    print(
        f"{everything} payments in {took:.1f} s, {KILLS} kills, errors {dict(errors)}, "
        f"{len(platform.asked)} requests, {decided} decided by a person"
    )
    assert sum(errors.values()) > PEOPLE // 8, "the faults did happen"


def check(platform: prolific.Platform, ids: Sequence[int]) -> None:
    """Every approval and every bonus once, and the ledger equal to the platform's books."""
    with_bonus = {
        f"s{ids.index(pk)}" for n in range(PROPOSALS) for pk in ids[n::PROPOSALS][::EVERY]
    }
    books = platform.books()
    wrong = {
        session: did
        for session, did in books.items()
        if did != (1, [50] if session in with_bonus else [])
    }
    assert not wrong
    assert set(platform.pays.values()) == {1}, "no bulk payment was asked for twice"
    paid = dict[str, int]()
    rows = LedgerEntry.objects.filter(kind="payment").select_related("assignment__visit")
    for row in rows:
        session = row.assignment.visit.session  # type: ignore[union-attr]
        paid[session] = paid.get(session, 0) + int(row.amount * 100)
    assert paid == {session: 180 * n + sum(bonus) for session, (n, bonus) in books.items()}
    assert set(Payment.objects.values_list("state", flat=True)) == {"done"}
    balance = Counter[str]()
    for debit, credit, amount in LedgerEntry.objects.values_list("debit", "credit", "amount"):
        balance[debit] += amount
        balance[credit] -= amount
    assert not {name: value for name, value in balance.items() if name[:7] == "worker:" and value}
