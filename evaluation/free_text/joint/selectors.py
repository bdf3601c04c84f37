"""The board on which people and language models vote, from the rows and figures of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Task
from crowdqc.numbers import plural
from evaluation.free_text.joint.run import SLUG
from evaluation.free_text.selectors import leaderboard as board
from evaluation.models import Run, RunState

ALIKE = {
    "workers": "Two workers",
    "systems": "Two language models",
    "between": "A worker and a model",
}


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """The newest finished joint run of the task, or the one of this number."""
    found = task.runs.filter(method=SLUG, state=RunState.DONE).select_related("snapshot")
    found = found.defer("snapshot__answer_ids")
    return (found.filter(number=number) if number else found).order_by("-id").first()


def page(run: Run, told: Mapping[str, Any], number: Any) -> dict[str, Any]:
    """One board of everybody who voted, and how alike their answers are."""
    rows = [*board.worker_rows(run, {}), *board.system_rows(run)]
    shown = board.page_of(board.sorted_rows(rows, "score", ascending=False), number)
    joint = told["joint"]
    made = board.boards(
        rows,
        list(shown.object_list),
        groups=[],
        references={},
        adjusted={part["number"]: part["ranked_by"] == "adjusted" for part in joint["boards"]},
        grouped=False,
        noun="author",
    )
    models = sum(row.model for row in rows)
    alone = joint["mode"] == "systems"
    people = "" if alone else f"{plural(len(rows) - models, 'worker')} and "
    return {
        "boards": made,
        "page": shown,
        "alone": alone,
        "basis": f"{people}{plural(models, 'language model')} vote.",
        "alike": [
            (name, joint["alike"][slug])
            for slug, name in ALIKE.items()
            if joint["alike"][slug] is not None
        ],
    }
