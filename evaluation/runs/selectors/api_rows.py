"""Reads of runs and scores for the API."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.models import Project, Task
from crowdqc.errors import Missing
from evaluation.models import (
    AnswerScore,
    ItemLabel,
    ItemScore,
    Run,
    RunState,
    SystemScore,
    WorkerScore,
)
from evaluation.runs.exports.decided import DECIDED
from evaluation.runs.official.selectors import official_run

OWNER = {WorkerScore: "worker", SystemScore: "system", ItemScore: "item", ItemLabel: "item"}


def run(run_id: int) -> Run | None:
    """Return one run with its snapshot's hash; None if there is none."""
    rows = Run.objects.filter(pk=run_id).select_related("snapshot", "project")
    rows = rows.prefetch_related("official")
    return rows.defer("snapshot__answer_ids").first()


def runs_of(owner: Task | Project) -> QuerySet[Run]:
    """Return the runs of a task or project with their snapshots."""
    rows = owner.runs.select_related("snapshot").prefetch_related("official")
    return rows.defer("snapshot__answer_ids")


def scored_run(task: Task, number: int | None) -> Run:
    """The task's official run, or the finished one of this number, a trial too; else Missing."""
    if number is None:
        run = official_run(task)
        if run is None:
            raise Missing(
                _("This task has no official run. Name a trial by `run` to read its scores.")
            )
        return run
    found = task.runs.filter(number=number, state=RunState.DONE).select_related("snapshot")
    run = found.defer("snapshot__answer_ids").first()
    if run is None:
        raise Missing(_("This task has no finished run %(number)s.") % {"number": number})
    return run


Scored = WorkerScore | SystemScore | AnswerScore | ItemScore | ItemLabel


def scores(of: Run, model: type[Scored]) -> QuerySet[Scored]:
    """A run's rows of one kind, scores or labels, with their owners' names."""
    found = model.objects.filter(run=of)
    if model is ItemLabel:
        found = found.annotate(**DECIDED)
    return found.select_related(OWNER[model]) if model in OWNER else found
