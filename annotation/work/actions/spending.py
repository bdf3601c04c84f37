"""Spending limits of a task: no claim begins that its limit does not cover."""

from __future__ import annotations

from decimal import Decimal

from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.records.actions.locks import serialize_spending
from annotation.work.selectors.spending import claimed_pay
from crowdqc.errors import Conflict


def require_budget(task: Task, pay: Decimal) -> None:
    """Raise Conflict if claimed and submitted work leaves less than ``pay``.

    Claims of the task stand in line from here to the end of their transaction, so that two who add
    up at once cannot both take what is left.
    """
    serialize_spending(task)
    most = Task.objects.values_list("most_pay", flat=True).get(pk=task.pk)
    if most is not None and claimed_pay(task) + pay > most:
        raise Conflict(_("The money for this task is used up at the moment."), code="budget-used")
