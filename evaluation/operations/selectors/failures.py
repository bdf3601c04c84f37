"""Work that failed and that somebody may do again: runs, files, webhook deliveries, other jobs."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import ExportFile, HookDelivery
from evaluation.models import DiscardedFailure, EncodingShard, JobFailure, Run, RunState
from evaluation.runs import run_types
from evaluation.runs.engine import ABANDONED_SECONDS, ACTIVE, MAX_ATTEMPTS

WEEK = dt.timedelta(days=7)
MOST = 50  # of one kind, the oldest first
LONGEST = 160


@dataclass(frozen=True)
class Failure:
    """One line of the table of failed jobs."""

    kind: str  # run, file, webhook, job
    row: int
    title: str
    project: str
    at: dt.datetime
    reason: str
    tries: str
    url: str = ""


def failures() -> list[Failure]:
    """List the failures of the past week that nobody discarded, oldest first."""
    found = [*_runs(), *_files(), *_deliveries(), *_jobs()]
    return sorted(found, key=lambda one: (one.at, one.kind, one.row))


def _not_discarded(kind: str) -> Q:
    return ~Q(Exists(DiscardedFailure.objects.filter(kind=kind, row=OuterRef("pk"))))


def _first(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else _("No reason is stored.")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _runs() -> list[Failure]:
    """Failed runs that no later one of their kind has replaced."""
    later = Run.objects.filter(
        task=OuterRef("task"),
        method=OuterRef("method"),
        lane=OuterRef("lane"),
        pk__gt=OuterRef("pk"),
    )
    rows = (
        Run.objects.filter(
            _not_discarded("run"), state=RunState.FAILED, finished_at__gt=timezone.now() - WEEK
        )
        .filter(~Exists(later))
        .select_related("project")
        .order_by("finished_at")
    )
    return [
        Failure(
            "run",
            run.pk,
            _("Run %(number)s, %(method)s")
            % {"number": run.number, "method": run_types.title_of(run.method)},
            run.project.name,
            run.finished_at or run.created_at,
            _first(run.error),
            _("%(tries)s of %(most)s") % {"tries": run.attempts, "most": MAX_ATTEMPTS}
            if run.attempts > 1
            else "1",
            reverse("run", args=[run.project_id, run.number]),
        )
        for run in rows[:MOST]
    ]


def _files() -> list[Failure]:
    rows = ExportFile.objects.filter(
        _not_discarded("file"), state=ExportFile.State.FAILED, done_at__gt=timezone.now() - WEEK
    )
    return [
        Failure(
            "file",
            file.pk,
            _("File %(what)s, %(upper)s") % {"what": file.what, "upper": file.form.upper()},
            file.project.name,
            file.done_at or file.created_at,
            _first(file.error),
            str(file.attempts),
        )
        for file in rows.select_related("project").order_by("done_at")[:MOST]
    ]


def _deliveries() -> list[Failure]:
    rows = HookDelivery.objects.filter(
        _not_discarded("webhook"),
        state=HookDelivery.State.FAILED,
        hook__active=True,
        created_at__gt=timezone.now() - WEEK,
    )
    return [
        Failure(
            "webhook",
            row.pk,
            _("Webhook %(event)s to %(url)s")
            % {"event": row.event, "url": urlsplit(row.hook.url).hostname},
            row.hook.project.name,
            row.last_at or row.created_at,
            _first(row.error),
            str(row.attempts),
        )
        for row in rows.select_related("hook__project").order_by("last_at")[:MOST]
    ]


def _jobs() -> list[Failure]:
    return [
        Failure(
            "job",
            row.pk,
            _("Job %(name)s") % {"name": row.job.rpartition(".")[2]},
            "",
            row.last_at,
            row.error,
            _("%(times)s times") % {"times": row.count} if row.count > 1 else "1",
        )
        for row in JobFailure.objects.order_by("first_at")[:MOST]
    ]


@dataclass(frozen=True)
class StuckRun:
    """A run that should be worked on and is not."""

    title: str
    project: str
    since: dt.datetime
    said: str
    url: str


def stuck_runs(patience: dt.timedelta) -> list[StuckRun]:
    """Runs in work without a sign of life, and runs that have waited beyond ``patience``."""
    now = timezone.now()
    silent = Q(state=RunState.RUNNING) & (
        Q(heartbeat_at__isnull=True)
        | Q(heartbeat_at__lt=now - dt.timedelta(seconds=3 * ABANDONED_SECONDS))
    )
    late = Q(state=RunState.QUEUED, created_at__lt=now - patience)
    rows: QuerySet[Run] = (
        Run.objects.filter(state__in=ACTIVE)
        .filter(silent | late)
        .annotate(open_shards=Exists(_open_shards()))
        .filter(Q(open_shards=False) | Q(state=RunState.QUEUED))
        .select_related("project")
        .order_by(F("started_at").asc(nulls_last=True), "pk")
    )
    return [
        StuckRun(
            _("Run %(number)s, %(method)s")
            % {"number": run.number, "method": run_types.title_of(run.method)},
            run.project.name,
            run.heartbeat_at or run.started_at or run.created_at,
            _("waits for a worker") if run.state == RunState.QUEUED else _("no sign of life"),
            reverse("run", args=[run.project_id, run.number]),
        )
        for run in rows[:MOST]
    ]


def _open_shards() -> QuerySet[EncodingShard]:

    return EncodingShard.objects.filter(run=OuterRef("pk"), closed_at__isnull=True)
