"""Workers who answer alike beyond what quality explains: as a figure of a run, and on its page.

Evidence for whoever reads the votes. Nothing acts on it: no score, payout or exclusion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Task
from evaluation.methods.core.base import FloatArray, IntArray, Table
from evaluation.methods.workers.copies import look_alikes
from evaluation.models import Run
from evaluation.results.cells import link
from evaluation.results.columns import Column, head_column
from evaluation.results.rows import typed
from evaluation.results.tables import plain_table
from evaluation.runs.adapters import adapter_of

FIGURE = "look_alikes"
LISTED = 50


def figure(
    worker: IntArray, item: IntArray, label: IntArray, *, ids: Sequence[int], per: int = 1
) -> dict[str, Any]:
    """The pairs of workers (``ids`` by index) that ``look_alikes`` names, and how many it tested.

    Arguments as there.
    """
    found = look_alikes(worker, item, label, workers=len(ids), per=per)
    dependent = len(found.together) > 0 and not len(found.pair)
    return figure_of_pairs(found.pair, tested=found.tested, dependent=dependent, ids=ids)


def figure_of_pairs(
    pair: Table, *, tested: int, dependent: bool, ids: Sequence[int]
) -> dict[str, Any]:
    """Make the figure of similar workers from a method's own table of pairs.

    ``dependent``: no pair stands out, but all together agree too much.
    """
    rows = [
        {
            "workers": [ids[row["worker_a"]], ids[row["worker_b"]]],
            **{name: row[name] for name in ("shared", "agreement", "expected", "p")},
        }
        for row in pair.rows()
    ]
    return {"rows": rows, "tested": tested, "dependent": dependent}


def figure_of_scales(
    worker: IntArray, item: IntArray, value: FloatArray | IntArray, *, ids: Sequence[int]
) -> dict[str, Any]:
    """Make the figure of similar workers from ``value`` (n, s): answers on s scales.

    Answers of one person about one item hang together, so that s of them count as one.
    """
    known = np.isfinite(value) & (value >= 0)
    row, scale = np.nonzero(known)
    codes = np.unique(value[known], return_inverse=True)[1]
    size = value.shape[1]
    return figure(worker[row], item[row] * size + scale, codes, ids=ids, per=max(size, 1))


def card_url(task: Task, worker: int) -> str:
    """Return the address of a worker's card."""
    return reverse("worker_card", args=[task.project_id, worker])


@dataclass(frozen=True)
class LookAlikes:
    """Two workers, and how often they agree."""

    people: SafeString
    shared: int
    agreement: float
    expected: float
    p: float


COLUMNS = (
    head_column("people", gettext_lazy("Workers")),
    Column.count("shared", gettext_lazy("Shared answers"), gettext_lazy("Shared")),
    Column.share("agreement", gettext_lazy("Agree")),
    Column.share("expected", gettext_lazy("Expected")),
    Column.number(
        *("p", gettext_lazy("p, for all pairs"), "p"),
        value=lambda row: f"{row.p:.3f}".lstrip("0") if row.p >= 0.001 else "<.001",
    ),
)


def listed(
    run: Run,
    told: Mapping[str, Any],
    names: Mapping[int, str],
    *,
    url: Callable[[Task, int], str] | None = None,
) -> dict[str, Any] | None:
    """Return the list of similar workers for a page; None if the run found none.

    ``url`` of what a worker answered; by default the one of the task's type.
    """
    found = told.get(FIGURE)
    if not found or not (found["rows"] or found.get("dependent")):
        return None
    task: Task = run.task
    page = url or adapter_of(task).votes_url

    def person(pk: int) -> SafeString | str:
        return link(page(task, pk), names[pk], "") if pk in names else _("a deleted worker")

    rows = [
        typed(
            LookAlikes,
            row,
            people=format_html_join(", ", "{}", ((person(pk),) for pk in row["workers"])),
        )
        for row in found["rows"][:LISTED]
    ]
    title = _("Pairs of workers who answer alike")
    table = plain_table(title, COLUMNS, rows, classes="data") if rows else None
    return {"table": table, "n": len(found["rows"]), "tested": found["tested"]}
