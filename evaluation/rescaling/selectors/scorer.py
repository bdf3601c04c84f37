"""How near a learned scorer is to the scores that it was fitted on, on people and items unseen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Task
from evaluation.methods.rescaling.learned import ITEMS, WORKERS
from evaluation.models import Run, RunFigure, RunState
from evaluation.rescaling.messages import MESSAGES
from evaluation.rescaling.scorer import FIGURE, SLUG
from evaluation.results.columns import Column, head_column
from evaluation.results.rows import typed
from evaluation.results.tables import plain_table

SCHEMES = {WORKERS: _("People it did not see"), ITEMS: _("Items it did not see")}


@dataclass(frozen=True)
class SchemeRow:
    """The scorer beside the mean of the label, where some were left out of training."""

    scheme: str
    groups: int
    n: int
    error: float
    of_label: float
    difference: float
    low: float | None
    high: float | None
    reason: str
    rho: float | None
    rho_label: float | None


HELD = (
    head_column("scheme", _("Left out of training"), value=lambda row: SCHEMES[row.scheme]),
    Column.count("groups", _("Of them")),
    Column.count("n", _("Explanations")),
    Column.score("error", _("Mean error, scorer"), _("Scorer"), digits=1),
    Column.score("of_label", _("Mean error, label’s mean"), _("Label’s mean"), digits=1),
    Column.signed(
        *("difference", _("Difference")),
        digits=1,
        bounds=("low", "high"),
        is_main=True,
        reason="reason",
    ),
    Column.score("rho", _("ρ, scorer"), term="rho"),
    Column.score("rho_label", _("ρ, label’s mean")),
)


def scorer(task: Task) -> dict[str, Any]:
    """The newest finished run of a scorer; no table without one."""
    run = Run.objects.filter(task=task, method=SLUG, state=RunState.DONE).order_by("-pk").first()
    if run is None:
        return {"scorer_run": None, "held": None}
    told = dict(
        RunFigure.objects.filter(run=run, name__in=(FIGURE, "frame")).values_list("name", "data")
    )
    rows = [typed(SchemeRow, row) for row in told[FIGURE]]
    nearer = {row.scheme for row in rows if row.high is not None and row.high < 0}
    code = "scorer_nearer" if len(nearer) == len(rows) else "scorer_not_shown"
    if len(nearer) == 1 < len(rows):
        code = "scorer_nearer_people" if WORKERS in nearer else "scorer_nearer_items"
    title = gettext("Mean absolute error on explanations left out, in points of 100")
    return {
        "scorer_run": run,
        "about": told["frame"],
        "held": plain_table(title, HELD, rows),
        "finding": MESSAGES.find(code),
    }
