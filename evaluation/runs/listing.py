"""The list of a project's runs, and cancelling several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Q

from annotation.access import Access
from annotation.lists.definition import Bulk, Choice, Column, Filter, Listing, one_by_one
from annotation.lists.state import by_number
from evaluation.models import Run, RunState
from evaluation.runs import engine, run_types
from evaluation.runs.official.selectors import in_force
from evaluation.runs.selectors import lists as reads

COLUMNS = (
    Column("run", "Run", sort=("number",), down=True, fixed=True),
    Column("task", "Task", sort=("task__current__title",)),
    Column("method", "Method", sort=("method",)),
    Column("started", "Started", sort=("created_at",), down=True),
    Column("snapshot", "Snapshot"),
    Column("answers", "Answers", sort=("snapshot__counts__answers",), number=True, down=True),
    Column("took", "Took", sort=(F("finished_at") - F("started_at"),), number=True, down=True),
    Column("state", "State", sort=("state",)),
    Column("result", "Result"),
)
OVER = "It has ended already."


def _by_method(word: str) -> Q:
    kinds = run_types.run_types()
    named = [slug for slug, kind in kinds.items() if word.lower() in kind.recipe.title.lower()]
    return Q(method__in=named)


def run_listing(access: Access) -> Listing:
    """The runs of a project, the newest first."""
    there = access.project.runs.order_by().values_list("method", flat=True).distinct()
    methods = [Choice(slug, run_types.title_of(slug), Q(method=slug)) for slug in sorted(there)]
    states = [Choice(value, reads.STATES[RunState(value)][1], Q(state=value)) for value in RunState]

    def why_not(rows: Sequence[Any]) -> dict[int, str]:
        return {row.pk: OVER for row in rows if row.state not in engine.ACTIVE}

    cancel = Bulk(
        "cancel",
        "Cancel runs",
        "Cancelled",
        one_by_one(lambda run: engine.cancel(by=access.user, run=run)),
        sentence="They stop at their next step. What they computed so far is lost.",
        why_not=why_not,
        danger=True,
    )
    return Listing(
        slug="runs",
        nouns="run,runs",
        caption="Runs of the project",
        rows=reads.all_runs(access.project).annotate(in_force=in_force()),
        columns=COLUMNS,
        template="evaluation/runs/_line.html",
        order="-run",
        search=("task__current__title", by_number, _by_method),
        search_label="Search by task, method or number",
        filters=(
            Filter("state", "State", states),
            Filter("method", "Method", methods if len(methods) > 1 else ()),
            Filter("standing", "Standing", (Choice("official", "Official", Q(in_force=True)),)),
        ),
        bulk=(cancel,),
        read=reads.lines,
        name_of=_name,
    )


def _name(run: Run) -> str:
    return f"Run {run.number}"
