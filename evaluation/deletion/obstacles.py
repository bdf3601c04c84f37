"""What stands in the way of a project's deletion, and the way out of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Assignment,
    Correction,
    ImportFile,
    Membership,
    Payment,
    PayoutBatch,
    Project,
    Rejection,
)
from annotation.models.assignments import AssignmentState
from annotation.payouts.selectors.accounts import sum_accounts, worker_accounts
from annotation.payouts.selectors.proposals import waiting_work
from crowdqc.numbers import count
from evaluation.installation.demo import find_demo
from evaluation.models import LiveEvaluation, ProjectMove, Run
from evaluation.moving.actions import BEING_READ, LISTED
from evaluation.runs.engine import ACTIVE


@dataclass(frozen=True)
class Obstacle:
    """Something that has to end before a project is deleted."""

    code: str
    text: str
    way_out: str
    url: str = ""


def find_obstacles(project: Project) -> list[Obstacle]:
    """Return all that stands in the way of deleting a project.

    What one owes that left is paid where it is now; nobody waits for the money of the demo.
    """
    if is_demo(project):
        return [*_running_obstacles(project)]
    owed = [] if is_moved_project(project) else [*_money_obstacles(project)]
    return [*owed, *_work_obstacles(project), *_running_obstacles(project)]


def is_demo(project: Project) -> bool:
    """Whether this is the demo's project, of which nobody was really paid."""
    return find_demo() == project


def is_moved_project(project: Project) -> bool:
    """Whether another installation has taken the project over, with what it owes."""
    moves = ProjectMove.objects.filter(project=project, direction=ProjectMove.Direction.OUT)
    moved = moves.filter(purpose="move", state=ProjectMove.State.DONE).exists()
    return moved and project.archived_at is not None


def _counted(
    code: str, rows: QuerySet[Any], text: str, way_out: str, url: str = ""
) -> Iterator[Obstacle]:
    """Yield an obstacle where there are such rows; ``text`` names their number as ``%(n)s``."""
    if n := rows.count():
        yield Obstacle(code, text % {"n": count(n)}, way_out, url)


def _money_obstacles(project: Project) -> Iterator[Obstacle]:
    pk = [project.pk]
    paid_work = Assignment.objects.filter(task__project=project).filter(pay__gt=0)
    yield from _counted(
        "undecided",
        waiting_work(paid_work),
        _("Submitted work without a decision: %(n)s"),
        _("Approve or reject it."),
        reverse("payout_list", args=pk),
    )
    proposed = PayoutBatch.objects.filter(project=project, state=PayoutBatch.State.PROPOSED)
    yield from _counted(
        "proposed",
        proposed,
        _("Proposals that wait for a second person: %(n)s"),
        _("Approve them or send them back."),
        reverse("payout_list", args=pk),
    )
    yield from _counted(
        "unpaid",
        _open_payments(project),
        _("Payments that are not confirmed: %(n)s"),
        _("Send them, or say what became of them."),
        reverse("payment_list", args=pk),
    )
    for currency, amount in _owed(project).items():
        yield Obstacle(
            "owed",
            _("Owed to workers: %(amount)s %(currency)s")
            % {"amount": amount, "currency": currency},
            _("Pay it, or correct the ledger."),
            reverse("ledger", args=pk),
        )
    replies = Rejection.objects.filter(assignment__task__project=project, outcome="")
    may_reply = Q(replied_at__isnull=True, reply_until__gt=timezone.now())
    yield from _counted(
        "rejections",
        replies.filter(may_reply | Q(replied_at__isnull=False)),
        _("Rejections that workers may reply to, or have replied to: %(n)s"),
        _("Answer the replies, or wait until the time for them is over."),
        reverse("rejection_list", args=pk),
    )
    corrections = Correction.objects.filter(project=project, state=Correction.State.PROPOSED)
    yield from _counted(
        "corrections",
        corrections,
        _("Corrections that wait for a second person: %(n)s"),
        _("Approve or decline them."),
        reverse("ledger", args=pk),
    )


def _open_payments(project: Project) -> QuerySet[Payment]:
    rows = Payment.objects.filter(assignment__task__project=project)
    return rows.exclude(state=Payment.State.DONE)


def _owed(project: Project) -> dict[str, Decimal]:
    """Return what is still to leave to workers, by currency."""
    totals = sum_accounts(worker_accounts(project).values())
    return {one.currency: one.owed for one in totals if one.owed}


def _work_obstacles(project: Project) -> Iterator[Obstacle]:
    pk = [project.pk]
    leased = Assignment.objects.filter(task__project=project, state=AssignmentState.LEASED)
    yield from _counted(
        "leased",
        leased.filter(expires_at__gt=timezone.now()),
        _("Assignments in work: %(n)s"),
        _("Wait until they are submitted or run out of time."),
        reverse("people", args=pk),
    )
    live = LiveEvaluation.objects.filter(task__project=project, state=LiveEvaluation.State.OPEN)
    yield from _counted(
        "live",
        live,
        _("Live evaluations that are open: %(n)s"),
        _("End them."),
        reverse("project", args=pk),
    )


def _running_obstacles(project: Project) -> Iterator[Obstacle]:
    pk = [project.pk]
    runs = Run.objects.filter(project=project, state__in=ACTIVE).order_by("number")
    if numbers := list(runs.values_list("number", flat=True)[: LISTED + 1]):
        yield Obstacle(
            "runs",
            _("Runs that are not finished: %(numbers)s") % {"numbers": _listed(numbers)},
            _("Wait, or cancel them."),
            reverse("run_list", args=pk),
        )
    uploads = ImportFile.objects.filter(project=project, state__in=BEING_READ)
    if names := list(uploads.order_by("pk").values_list("name", flat=True)[: LISTED + 1]):
        yield Obstacle(
            "uploads",
            _("Uploads that are being read: %(names)s") % {"names": _listed(names)},
            _("Wait until they are read."),
        )
    erasures = Membership.objects.filter(
        project=project, erase_asked_at__isnull=False, erased_at__isnull=True
    )
    yield from _counted(
        "erasures",
        erasures,
        _("People who are being erased: %(n)s"),
        _("Wait some minutes."),
    )
    if ProjectMove.objects.filter(project=project, state=ProjectMove.State.RUNNING).exists():
        yield Obstacle(
            "moving",
            _("An import or export of it was begun."),
            _("Let it end, or start it again."),
        )


def _listed(things: Sequence[object]) -> str:
    return ", ".join(map(str, things[:LISTED])) + (", ..." if len(things) > LISTED else "")
