"""What the language models of a project may cost within a month."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal

from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.accounts.quotas import PROJECT, Quota, quota_limit, register_quota, require_quota
from annotation.models import Project
from crowdqc.money import as_decimal
from evaluation.models import Endpoint, LanguageModel

MODEL_SPEND = "model_spend"


def first_of_month() -> dt.date:
    """Return the day on which this month began here."""
    return timezone.localdate().replace(day=1)


def month_total(endpoints: Iterable[Endpoint]) -> Decimal:
    """Return what endpoints have cost this month, with what calls in flight can cost at most."""
    month = first_of_month()
    return sum(
        ((one.month_spent if one.month == month else 0) + one.reserved for one in endpoints),
        Decimal(),
    )


def add_to_month(endpoint: Endpoint, amount: Decimal) -> None:
    """Count a cost of now; the caller holds the row and saves it."""
    month = first_of_month()
    if endpoint.month != month:
        endpoint.month, endpoint.month_spent = month, Decimal()
    endpoint.month_spent += amount


def spend_limit(project_id: int) -> Decimal:
    """Return what the models of a project may cost this month, in its currency."""
    return as_decimal(quota_limit(MODEL_SPEND, Project(pk=project_id)))


def require_spend(model: LanguageModel) -> None:
    """Raise LimitExceeded where the month's costs are used; models without a price cost nothing.

    A model that an organisation shares is bounded by the organisation's budget.
    """
    project = model.endpoint.project
    if project is not None and model.price_in is not None:
        require_quota(MODEL_SPEND, project)


def _spent(project: Project) -> int:
    return int(month_total(Endpoint.objects.filter(project=project)))


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
