"""What one worker sees of their own work in a project: nothing here is about anybody else."""

from __future__ import annotations

from dataclasses import dataclass, replace

from annotation.models import Membership
from annotation.models.assignments import AssignmentState
from crowdqc.web.terms import Words
from evaluation.people.selectors.card import cannot_of
from evaluation.people.selectors.facts import (
    Attention,
    Money,
    Standing,
    Times,
    attention_of,
    money_of,
    own_times_of,
    standing_of,
)
from evaluation.people.selectors.scores import Scores, scores_of
from evaluation.runs.official.selectors import official_runs

MOST = 2000  # assignments that are looked at, the newest
NOTHING = Scores([], "", [], [])


@dataclass(frozen=True)
class OwnCard:
    """The page."""

    shown: bool  # whether the project shows scores
    scores: Scores
    attention: list[Attention]
    times: list[Times]
    money: Money
    standing: Standing
    submitted: int
    tasks: int
    cannot: list[Words]


def own_card(worker: Membership) -> OwnCard:
    """The worker's own figures, in a fixed number of queries.

    Known answers are shown where the task tells after each whether it was met. Elsewhere, and of
    attention pairs, they are left out: who knows of them is no longer tested by them.
    """
    rows = list(
        worker.assignments.filter(state=AssignmentState.SUBMITTED)
        .select_related("task__current")
        .order_by("-submitted_at", "-pk")[:MOST]
    )
    tasks = {row.task_id: row.task for row in rows}
    shown = worker.project.show_scores
    scores = scores_of(worker, tasks, official_runs(tasks)) if shown else NOTHING
    told = {
        pk: task
        for pk, task in tasks.items()
        if task.current is not None and task.current.settings.get("known_feedback")
    }
    attention = attention_of(worker, told) if told else []
    return OwnCard(
        shown=shown,
        scores=scores,
        attention=attention,
        times=own_times_of(rows, tasks),
        money=money_of(worker),
        standing=replace(standing_of(worker), exclusions=[]),
        submitted=len(rows),
        tasks=len(tasks),
        cannot=cannot_of(scores, attention) if scores.tasks or attention else [],
    )
