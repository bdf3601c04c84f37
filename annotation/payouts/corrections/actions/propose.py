"""What is booked by hand: alone up to the project's limit a day, else proposed to a second person.

All that was booked alone within 24 hours counts, whoever booked it, so that splitting an amount,
over rows or over accounts, gains nothing.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from django.db.models import Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Correction, Project, Statement, Task, User
from annotation.notifications.actions.notices import notify
from annotation.payouts.actions.rules import approvers
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc.numbers import money

State = Correction.State
ABOVE_LIMIT = gettext_lazy(
    "This is above the limit for one person and awaits a second manager. Nothing is booked yet."
)
ZERO, DAY = Decimal("0.00"), dt.timedelta(days=1)


def booked_alone(project: Project) -> Decimal:
    """Return the sum of corrections booked without a second person in the last 24 hours."""
    rows = project.corrections.filter(state=State.ALONE, decided_at__gt=timezone.now() - DAY)
    return rows.aggregate(s=Sum("amount"))["s"] or ZERO


def propose_above_limit(
    *,
    by: User,
    task: Task,
    amount: Decimal,
    key: str,
    memo: str,
    statement: Statement | None = None,
    place: int | None = None,
    debit: str = "",
    credit: str = "",
) -> Correction | None:
    """Propose a booking by hand if it exceeds the daily limit; None if it may be booked now.

    Part of the caller's transaction. The project's row is locked, so that no two bookings at
    once stay under the limit together.
    """
    project = lock_project(task.project_id)
    there = project.corrections.filter(key=key).exclude(state=State.DECLINED).first()
    if there is not None:
        return there if there.state == State.PROPOSED else None
    fields: dict[str, Any] = {
        "project": project,
        "task": task,
        "statement": statement,
        "place": place,
        "debit": debit,
        "credit": credit,
        "amount": amount,
        "currency": project.currency,
        "memo": memo,
        "key": key,
        "proposed_by": by,
    }
    if project.single_approval or booked_alone(project) + amount <= project.correction_limit:
        Correction.objects.create(
            **fields,
            state=State.ALONE,
            decided_by=by,
            decided_at=timezone.now(),
            single_approval=project.single_approval,
        )
        return None
    made = Correction.objects.create(**fields)
    _announce(made, by)
    return made


def _announce(made: Correction, by: User) -> None:
    """Record a proposal, and tell who may approve it."""
    project, amount = made.project, made.amount
    record(
        by=by,
        project=project,
        action="correction.propose",
        on=made,
        amount=str(amount),
        debit=made.debit,
        credit=made.credit,
    )
    notify(
        to=approvers(project, by),
        kind="correction.waits",
        key=f"correction.waits:{made.pk}",
        text=lambda: (
            _("A correction of %(amount)s in %(name)s awaits a second person.")
            % {"amount": money(amount, project.currency), "name": project.name}
        ),
        project=project,
        url=reverse("ledger", args=[project.pk]) + "#corrections",
    )
