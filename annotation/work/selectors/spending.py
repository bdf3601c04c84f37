"""What is claimed and submitted of a task comes to, paid or not."""

from __future__ import annotations

from decimal import Decimal

from django.db.models import Sum

from annotation.models import Assignment, Task
from annotation.models.assignments import AssignmentState

CLAIMED = (AssignmentState.LEASED, AssignmentState.SUBMITTED)


def claimed_pay(task: Task) -> Decimal:
    """The pay of all assignments in work and submitted, quizzes included; bonuses are not."""
    rows = Assignment.objects.filter(task=task, state__in=CLAIMED)
    return rows.aggregate(s=Sum("pay"))["s"] or Decimal("0.00")
