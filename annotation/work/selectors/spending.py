"""Sum the pay of claimed and submitted work of a task."""

from __future__ import annotations

from decimal import Decimal

from django.db.models import Sum

from annotation.models import Assignment, Task
from annotation.models.assignments import AssignmentState

CLAIMED = (AssignmentState.LEASED, AssignmentState.SUBMITTED)


def claimed_pay(task: Task) -> Decimal:
    """Return the pay of all claimed and submitted assignments, without bonuses."""
    rows = Assignment.objects.filter(task=task, state__in=CLAIMED)
    return rows.aggregate(s=Sum("pay"))["s"] or Decimal("0.00")
