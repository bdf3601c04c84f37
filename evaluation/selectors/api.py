"""Reads of runs and scores for the API."""

from __future__ import annotations

from django.db.models import QuerySet

from annotation.models import Task
from evaluation.models import AnswerScore, ItemScore, Run, SystemScore, WorkerScore

OWNER = {WorkerScore: "worker", SystemScore: "system", ItemScore: "item"}


def run(run_id: int) -> Run | None:
    """One run with its snapshot's hash."""
    rows = Run.objects.filter(pk=run_id).select_related("snapshot", "project")
    return rows.defer("snapshot__answer_ids").first()


def runs_of(task: Task) -> QuerySet[Run]:
    """A task's runs."""
    return task.runs.select_related("snapshot").defer("snapshot__answer_ids")


def scores(
    of: Run, model: type[WorkerScore | SystemScore | AnswerScore | ItemScore]
) -> QuerySet[WorkerScore | SystemScore | AnswerScore | ItemScore]:
    """A run's score rows of one kind with their owners' names."""
    found = model.objects.filter(run=of)
    return found.select_related(OWNER[model]) if model in OWNER else found
