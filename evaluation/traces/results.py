"""The page of a project's traces: the newest run of a queue, and the queue as it is now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, F, Min, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Answer, Project, Task, Trace
from annotation.models.tasks import TaskState
from annotation.traces.selectors import SourceRow, count_reviews, list_sources, waiting_traces
from crowdqc.numbers import count, duration, plural
from evaluation.methods.traces.rates import LEAST
from evaluation.models import Run, RunState
from evaluation.results.findings import Action, Finding
from evaluation.runs import schedules
from evaluation.runs.next_actions import run_action
from evaluation.runs.selectors import lists as run_reads
from evaluation.runs.study_state import StudyState, read_state
from evaluation.traces import alerts, selectors
from evaluation.traces.messages import MESSAGES
from evaluation.traces.run import FIGURES, SLUG
from evaluation.traces.selectors import TraceRates, read_rates

WEEK = dt.timedelta(days=7)


@dataclass(frozen=True)
class TraceResult:
    """What the page says of a project's traces.

    ``tasks`` are the queues of its live sources; ``run`` is the newest one on that which is shown,
    with its ``figures``. ``size``, ``drawn`` and ``reviewed`` traces, those ``waiting`` and the
    ``oldest`` of these are counted now.
    """

    sources: tuple[SourceRow, ...]
    run: Run | None
    figures: dict[str, Any]
    size: int
    drawn: int
    reviewed: int
    first: dt.datetime | None
    waiting: int
    oldest: dt.datetime | None
    closed_a_day: float
    drawn_a_day: float
    dropped: int

    @cached_property
    def estimates(self) -> TraceRates | None:
        """What the run says; None without one."""
        return read_rates(self.figures) if self.run is not None else None

    @property
    def tasks(self) -> list[Task]:
        """The queues of the live sources, each once."""
        found = {row.source.task_id: row.source.task for row in self.sources}
        return [task for task in found.values() if task is not None]

    @property
    def task(self) -> Task | None:
        """The queue that is shown."""
        return self.run.task if self.run is not None else next(iter(self.tasks), None)

    @cached_property
    def state(self) -> StudyState | None:
        """How the queue stands: its run in progress, and what came since the run shown."""
        if self.task is None:
            return None
        since = schedules.count_new_answers(self.task, self.run) if self.run else None
        active = run_reads.active_of(self.task, SLUG)
        return read_state(self.task, self.run, active=active, new_answers=since)


def read_result(
    project: Project, *, number: int | None = None, task_id: int | None = None
) -> TraceResult:
    """Read the run of this number, else the newest one (of a queue), and the queue as it is."""
    sources = tuple(row for row in list_sources(project) if row.source.ended_at is None)
    live = [row.source for row in sources]
    runs = Run.objects.filter(project=project, method=SLUG, state=RunState.DONE)
    runs = runs.select_related("task__current", "snapshot").defer("snapshot__answer_ids")
    if number is not None:
        runs = runs.filter(number=number)
    else:
        queues = [source.task_id for source in live if task_id in (None, source.task_id)]
        runs = runs.filter(task__in=queues)
    run = runs.order_by("-pk").first()
    if run is not None:
        run.task.project = project
    since = timezone.now() - WEEK
    traces = Trace.objects.filter(source__in=live)
    counted = traces.aggregate(
        size=Count("pk", filter=Q(inclusion__isnull=False)),
        drawn=Count("pk", filter=Q(item__isnull=False)),
        first=Min("first_seen_at"),
        dropped=Count("pk", filter=Q(dropped__gt=0)),
        recent=Count("pk", filter=Q(item__isnull=False, settled_at__gt=since)),
    )
    pending = waiting_traces(project).aggregate(n=Count("pk"), at=Min("settled_at"))
    recent = Answer.objects.filter(answered_at__gt=since, counts=True, worker__isnull=False)
    complete = traces.filter(item__isnull=False).annotate(given=count_reviews())
    complete = complete.filter(given__gte=F("item__redundancy"))
    closed = complete.filter(item__in=recent.values("item")).count()
    return TraceResult(
        sources=sources,
        run=run,
        figures=run_reads.figures_of(run, *FIGURES) if run is not None else {},
        size=counted["size"],
        drawn=counted["drawn"],
        reviewed=complete.count(),
        first=counted["first"],
        waiting=pending["n"],
        oldest=pending["at"],
        closed_a_day=closed / 7,
        drawn_a_day=counted["recent"] / 7,
        dropped=counted["dropped"],
    )


def findings_of(result: TraceResult, project: Project) -> Iterator[Finding | None]:
    """What the page says: the rate, one action, warnings, and what is left out."""
    if result.estimates is not None:
        yield from selectors.findings_of(result.estimates)
        yield _above_limit(result, result.estimates)
    else:
        yield _without_run(result)
    yield _setup_action(result, project)
    if result.state is not None:
        yield run_action(result.state)
    yield _waiting_action(result, project)
    now = timezone.now()
    for row in result.sources:
        if row.is_silent and row.source.last_seen_at is not None:
            age = duration(now - row.source.last_seen_at)
            yield MESSAGES.find("traces_silent", source=row.source.name, age=age)
    if result.dropped:
        yield MESSAGES.find("traces_dropped", n=result.dropped)
    for row in result.sources:
        if row.source.rejected:
            yield MESSAGES.find("traces_rejected", n=row.source.rejected, source=row.source.name)


def _above_limit(result: TraceResult, found: TraceRates) -> Finding | None:
    limit = alerts.limit_of(result.task) if result.task is not None else 0.0
    claim = alerts.claim_above(found, limit)
    if claim is None:
        return None
    words = alerts.above_words(claim, limit)
    return MESSAGES.find(
        "traces_above",
        claim=claim,
        rate=words["rate"],
        span=words["span"],
        limit=words["limit"],
    )


def _without_run(result: TraceResult) -> Finding:
    if not result.size:
        return MESSAGES.find("traces_none")
    values: dict[str, Any] = {"traces": plural(result.size, "trace"), "least": LEAST}
    if not result.reviewed:
        return MESSAGES.find("traces_unreviewed", **values)
    return MESSAGES.find("traces_no_run", reviewed=count(result.reviewed), **values)


def _setup_action(result: TraceResult, project: Project) -> Finding | None:
    if not result.sources:
        url = reverse("trace_source_new", args=[project.pk])
        return MESSAGES.find("traces_connect", action=Action(_("Add source"), url, requester=True))
    for row in result.sources:
        task = row.source.task
        if task is None:
            url = reverse("trace_source", args=[project.pk, row.source.pk])
            action = Action(_("Create review queue"), f"{url}#queue", requester=True)
            return MESSAGES.find("traces_no_queue", action=action, source=row.source.name)
        if task.state == TaskState.DRAFT and row.drawn:
            url = reverse("task_build", args=[project.pk, task.pk])
            action = Action(_("Open the draft"), url, requester=True)
            return MESSAGES.find("traces_draft_queue", action=action, n=row.drawn)
    return None


def _waiting_action(result: TraceResult, project: Project) -> Finding | None:
    if not result.waiting or result.oldest is None:
        return None
    age = duration(timezone.now() - result.oldest)
    action = Action(_("Invite workers"), reverse("invitation_new", args=[project.pk]))
    return MESSAGES.find("traces_waiting", action=action, n=result.waiting, age=age)


def key_figures(result: TraceResult) -> list[dict[str, Any]]:
    """The strip of figures: backlog, age, pace, agreement of people, and the judge's."""
    oldest = result.oldest
    limits = {row.settings.backlog_days for row in result.sources if row.source.task_id}
    days = min(limits - {0}, default=0)
    figures = [
        {
            "label": _("Waiting for people"),
            "value": count(result.waiting),
            "of": _("of %(drawn)s drawn") % {"drawn": count(result.drawn)},
        },
        {
            "label": _("Oldest"),
            "value": duration(timezone.now() - oldest) if oldest else _("none"),
            "of": _("limit %(days)s") % {"days": plural(days, "day")} if days else "",
        },
        {
            "label": _("Closed a day, last 7 days"),
            "value": f"{result.closed_a_day:.1f}",
            "of": _("of %(drawn)s drawn a day") % {"drawn": f"{result.drawn_a_day:.1f}"},
        },
    ]
    return figures + (selectors.key_figures(result.estimates) if result.estimates else [])


def queue_links(result: TraceResult) -> Sequence[dict[str, Any]]:
    """The queues of a project that has several, of which one is shown."""
    shown = result.task
    return [
        {
            "label": run_reads.title_of(task),
            "url": f"{reverse('trace_list', args=[task.project_id])}?task={task.pk}",
            "current": shown is not None and task.pk == shown.pk,
        }
        for task in (result.tasks if len(result.tasks) > 1 else ())
    ]
