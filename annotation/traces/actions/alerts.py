"""Notices to staff when a source falls silent or drawn traces wait too long for reviews."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.db.models import Count, Min
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Notice, Project, TraceSource
from annotation.models.tasks import TaskState
from annotation.notifications.actions.notices import Text, notify, people_of
from annotation.traces.selectors import is_silent, waiting_traces
from annotation.traces.settings import read_settings
from crowdqc.numbers import count, duration


def send_alerts() -> int:
    """Notify staff of silent sources and of backlogs; return of how many."""
    sources = TraceSource.objects.filter(ended_at=None, project__archived_at=None)
    rows = list(sources.select_related("project", "task"))
    return sum(_alert_silence(one) + _alert_backlog(one) for one in rows)


def week_key(kind: str, pk: int) -> str:
    """The key of a notice that comes once a week while its reason lasts."""
    year, week, _day = timezone.localdate().isocalendar()
    return f"{kind}:{pk}:{year}-{week:02}"


def _alert_silence(source: TraceSource) -> bool:
    """Notify once of each silence; a source that never sent anything is not silent."""
    seen = source.last_seen_at
    if seen is None or not is_silent(source, read_settings(source.settings)):
        return False
    age = timezone.now() - seen
    return notify_staff(
        source.project,
        "traces.silent",
        f"traces.silent:{source.pk}:{seen:%Y%m%d%H%M%S}",
        reverse("trace_source", args=[source.project_id, source.pk]),
        lambda: (
            _("“%(source)s” has sent no trace for %(age)s.")
            % {"source": source.name, "age": duration(age)}
        ),
    )


def _alert_backlog(source: TraceSource) -> bool:
    """Notify once a week while drawn traces have waited too long."""
    days = read_settings(source.settings).backlog_days
    if not days or source.task is None or source.task.state == TaskState.CLOSED:
        return False
    limit = timezone.now() - dt.timedelta(days=days)
    late = waiting_traces(source.project).filter(source=source, settled_at__lt=limit)
    found = late.aggregate(n=Count("pk"), oldest=Min("settled_at"))
    if not found["n"]:
        return False
    age = timezone.now() - found["oldest"]
    return notify_staff(
        source.project,
        "traces.backlog",
        week_key("traces.backlog", source.pk),
        f"{reverse('trace_list', args=[source.project_id])}?task={source.task_id}",
        lambda: (
            ngettext(
                "%(n)s trace of “%(source)s” has waited for reviews for more than %(days)s days; "
                "the oldest for %(age)s.",
                "%(n)s traces of “%(source)s” have waited for reviews for more than %(days)s days; "
                "the oldest for %(age)s.",
                found["n"],
            )
            % {
                "n": count(found["n"]),
                "source": source.name,
                "days": days,
                "age": duration(age),
            }
        ),
    )


@transaction.atomic
def notify_staff(project: Project, kind: str, key: str, url: str, text: Text) -> bool:
    """Notify requesters and managers, unless that was done."""
    if Notice.objects.filter(kind=kind, key=key).exists():
        return False
    staff = people_of(project)
    return bool(notify(to=staff, kind=kind, project=project, key=key, url=url, text=text))
