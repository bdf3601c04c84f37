"""What the language models of a project may cost within a month."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.accounts.quotas import PROJECT, Quota, quota_limit, register_quota, require_quota
from annotation.models import Project
from crowdqc.money import as_decimal
from evaluation.models import Endpoint, LanguageModel, LLMCall

MODEL_SPEND = "model_spend"


def first_of_month() -> dt.date:
    """Return the day on which this month began here."""
    return timezone.localdate().replace(day=1)


@dataclass(frozen=True)
class MonthUse:
    """What models of a project cost this month, and the most that calls in flight can cost."""

    spent: Decimal
    reserved: Decimal

    @property
    def total(self) -> Decimal:
        """What counts against the quota."""
        return self.spent + self.reserved


def month_use(project_id: int, own: Iterable[Endpoint] | None = None) -> MonthUse:
    """Return what a project's calls cost this month: at its own endpoints and at shared ones.

    ``own``: its endpoints as they are about to be written. A shared endpoint counts for all its
    projects, so this one's calls there are summed; their costs count whole in the month in which
    they ended.
    """
    first = first_of_month()
    if own is None:
        own = Endpoint.objects.filter(project=project_id)
    rows = [(one.month_spent if one.month == first else Decimal(), one.reserved) for one in own]
    now = timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    calls = LLMCall.objects.filter(
        Q(finished_at__gte=now) | Q(finished_at=None),
        project=project_id,
        model__endpoint__organisation__isnull=False,
    )
    shared = calls.order_by().aggregate(spent=Sum("cost"), reserved=Sum("reserved"))
    rows.append((shared["spent"] or Decimal(), shared["reserved"] or Decimal()))
    return MonthUse(*(sum(column, Decimal()) for column in zip(*rows, strict=True)))


def add_to_month(endpoint: Endpoint, amount: Decimal) -> None:
    """Count a cost of now; the caller holds the row and saves it."""
    month = first_of_month()
    if endpoint.month != month:
        endpoint.month, endpoint.month_spent = month, Decimal()
    endpoint.month_spent += amount


def spend_limit(project_id: int) -> Decimal:
    """Return what the models of a project may cost this month, in its currency."""
    return as_decimal(quota_limit(MODEL_SPEND, Project(pk=project_id)))


def require_spend(model: LanguageModel, project: Project) -> None:
    """Raise LimitExceeded where the month's costs are used; models without a price cost nothing."""
    if model.price_in is not None:
        require_quota(MODEL_SPEND, project)


def _spent(project: Project) -> int:
    return int(month_use(project.pk).total)


def register_spend_quota() -> None:
    """Add the quota beside those of collecting."""
    register_quota(
        MODEL_SPEND,
        Quota(
            PROJECT,
            gettext_lazy("Model costs in a month"),
            10_000,
            gettext_noop(
                "Models of this project cost %(used)s this month; they may cost %(most)s."
            ),
            _spent,
        ),
    )
