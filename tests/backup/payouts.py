"""Payouts that go on while the database server is lost: ``python -m tests.backup.payouts``.

Acts of one process follow one another, as each start takes seconds.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db.models import Sum  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation.models import (  # noqa: E402
    Assignment,
    LedgerEntry,
    Membership,
    Payment,
    PayoutBatch,
    PayoutLine,
    User,
    Visit,
)
from annotation.payouts.actions import proposals  # noqa: E402
from annotation.payouts.actions.sending import send_due  # noqa: E402
from crowdqc.deployment.backup.recovery import record_mark  # noqa: E402
from tests.support import factories  # noqa: E402
from tests.support.servers import prolific  # noqa: E402

PAY, BONUS = Decimal("1.80"), Decimal("0.50")


def prepare(url: str, people: str) -> None:
    """Make the tables, and submitted work of people who came by the platform at ``url``."""
    call_command("migrate", verbosity=0)
    world = factories.make_world(n=1)
    study = prolific.make_recruitment(world.task, cast(Any, SimpleNamespace(url=url)))
    now, version = timezone.now(), world.task.current
    for n in range(int(people)):
        worker = Membership.objects.create(
            project=world.project, user=User.objects.create(username=f"v{n}", password="!"),
            role="worker", pseudonym=f"bird-{n}", external_id=f"prolific:p{n}",
        )  # fmt: skip
        done = Assignment.objects.create(
            task=world.task, version=version, worker=worker, state="submitted", pay=PAY,
            leased_at=now, expires_at=now, submitted_at=now,
        )  # fmt: skip
        Visit.objects.create(
            recruitment=study, participant=f"p{n}", study=study.study_id, session=f"s{n}",
            worker=worker, assignment=done, bound="x",
        )  # fmt: skip


def _undecided() -> Iterator[Assignment]:
    decided = PayoutLine.objects.filter(batch__state=PayoutBatch.State.APPROVED)
    work = Assignment.objects.exclude(pk__in=decided.values("assignment"))
    yield from work.filter(visit__isnull=False).select_related("visit", "task__project")


def _approve(work: Assignment) -> None:
    project = work.task.project
    manager = Membership.objects.get(project=project, role="manager").user
    batch = proposals.propose_payout(
        by=project.owner, task=work.task, key=uuid4(),
        lines=[proposals.ProposedLine(work.pk, bonus=BONUS)],
    )  # fmt: skip
    proposals.approve_payout(by=manager, batch=batch, expected_total=proposals.total(batch))


def pay(folder: str) -> None:
    """Approve and send one payout after another, and write when each was committed.

    When a file ``choose`` is there, the moment to go back to is one at which a payout is approved
    and not sent.
    """
    choose = Path(folder) / "choose"
    with (Path(folder) / "log").open("a", buffering=1) as log:
        for work in _undecided():
            before = time.time()
            _approve(work)
            after = time.time()
            line = {"session": work.visit.session, "before": before, "after": after}
            if choose.exists():
                choose.unlink()
                time.sleep(0.1)
                line["moment"] = time.time()
                time.sleep(0.1)
            log.write(json.dumps(line) + "\n")
            record_mark()
            send_due(seconds=5)
            time.sleep(0.6)
    raise SystemExit("nobody is left to be paid")


def look() -> dict[str, Any]:
    """What the database holds of payouts."""
    lines = PayoutLine.objects.filter(batch__state=PayoutBatch.State.APPROVED)
    books = Counter[str]()
    for debit, credit, amount in LedgerEntry.objects.values_list("debit", "credit", "amount"):
        books[debit.partition(":")[0]] -= amount
        books[credit.partition(":")[0]] += amount
    done = Payment.objects.filter(state="done").aggregate(Sum("amount"))["amount__sum"]
    states = Payment.objects.values_list("assignment__visit__session", "what", "state")
    return {
        "approved": sorted(lines.values_list("assignment__visit__session", flat=True)),
        "payments": sorted([list(row) for row in states]),
        "books": {kind: float(amount) for kind, amount in books.items()},
        "done": float(done or 0),
    }


def send() -> dict[str, Any]:
    """Send what is due, as workers do that nobody stopped; what the database then holds."""
    send_due(seconds=20)
    return look()


def finish_recovery() -> dict[str, Any]:
    """Do what an operator does after a recovery."""
    call_command("restore", after_recovery=True, stdout=io.StringIO())
    return look()


def approve_rest(*sessions: str) -> dict[str, Any]:
    """Approve those of these sessions that are not approved (any more), and send them."""
    for work in _undecided():
        if work.visit.session in sessions:
            _approve(work)
    until = time.monotonic() + 60
    while Payment.objects.filter(state__in=("planned", "prepared", "sending")).exists():
        assert time.monotonic() < until
        send_due(seconds=20)
    return look()


if __name__ == "__main__":
    acts = (prepare, pay, look, send, finish_recovery, approve_rest)
    known = {one.__name__: cast(Any, one) for one in acts}
    print(json.dumps([known[name](*words) for name, *words in json.loads(sys.argv[1])]))
