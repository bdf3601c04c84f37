"""Figures of the past: five-minute samples that a job writes."""

from __future__ import annotations

import datetime as dt

from django.db.models import Max, Sum
from django.utils import timezone

from crowdqc.jobs.queues import ROLES
from evaluation.models import Sample

EVERY = dt.timedelta(minutes=5)
POINTS = 48  # of a line over 24 hours: half an hour each


def slot(at: dt.datetime) -> dt.datetime:
    """The beginning of the five minutes that a time is in."""
    seconds = int(EVERY.total_seconds())
    return dt.datetime.fromtimestamp(int(at.timestamp()) // seconds * seconds, dt.UTC)


def last_hour(what: str) -> dict[str, float]:
    """The sum of a count ("finished", "failed") by queue over the past hour."""
    return _sums(what, dt.timedelta(hours=1))


def last_day(what: str) -> dict[str, float]:
    """The sum of a count by queue over the past 24 hours."""
    return _sums(what, dt.timedelta(days=1))


def _sums(what: str, back: dt.timedelta) -> dict[str, float]:
    names = {f"{what}:{role}": role for role in ROLES}
    found = (
        Sample.objects.filter(name__in=names, at__gt=timezone.now() - back)
        .order_by()
        .values_list("name")
        .annotate(n=Sum("value"))
    )
    return dict.fromkeys(ROLES, 0.0) | {names[name]: value for name, value in found}


def latest(what: str) -> dict[str, float]:
    """The newest value of figures with a second part ("owed:EUR"), of the past hour."""
    rows = Sample.objects.filter(
        name__startswith=f"{what}:", at__gt=timezone.now() - dt.timedelta(hours=1)
    ).order_by("at")
    return {name.partition(":")[2]: value for name, value in rows.values_list("name", "value")}


def lines(what: str) -> dict[str, list[float | None]]:
    """The past 24 hours of a figure by queue, as the most in each half hour; None: no sample."""
    now = timezone.now()
    names = {f"{what}:{role}": role for role in ROLES}
    rows = Sample.objects.filter(name__in=names, at__gt=now - dt.timedelta(days=1))
    found: dict[str, list[float | None]] = {role: [None] * POINTS for role in ROLES}
    for name, at, value in rows.values_list("name", "at", "value"):
        place = POINTS - 1 - int((now - at) / dt.timedelta(minutes=30))
        if 0 <= place < POINTS:
            line = found[names[name]]
            line[place] = max(value, line[place] or 0.0)
    return found


def at_least_before(name: str, back: dt.timedelta) -> tuple[dt.datetime, float] | None:
    """The oldest sample of a figure within this time: when, and its value."""
    row = Sample.objects.filter(name=name, at__gt=timezone.now() - back).order_by("at").first()
    return None if row is None else (row.at, row.value)


def last_taken() -> dt.datetime | None:
    """Return when the last sample was taken."""
    found = Sample.objects.filter(name="database_bytes").aggregate(at=Max("at"))["at"]
    return found if found is None or isinstance(found, dt.datetime) else None
