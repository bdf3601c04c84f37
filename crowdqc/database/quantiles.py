"""Quantiles and durations that the database computes."""

from __future__ import annotations

from django.db.models import Aggregate, ExpressionWrapper, F, FloatField
from django.db.models.functions import Extract


class Quantile(Aggregate):
    """A quantile with linear interpolation: ``Quantile("seconds", share=0.5)`` is the median."""

    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


def seconds_between(start: str, end: str) -> ExpressionWrapper:
    """The seconds from one field of times to another; NULL where either is."""
    return ExpressionWrapper(Extract(F(end) - F(start), "epoch"), output_field=FloatField())
