"""Every method on the same workers as its page shows it, from the rows and figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import gettext as _

from annotation.models import Task
from crowdqc.numbers import plural
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.grading.compare.run import SLUG
from evaluation.methods.aqer_study.workers import AQER, TITLES
from evaluation.methods.registry import NOT_BUILT
from evaluation.models import Run, RunState, WorkerScore

PER_PAGE = 50
Told = Mapping[str, Any]


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """The newest finished comparison of the task, or the one of this number."""
    found = task.runs.filter(method=SLUG, state=RunState.DONE).select_related("snapshot")
    found = found.defer("snapshot__answer_ids")
    return (found.filter(number=number) if number else found).order_by("-id").first()


def page(run: Run, told: Told, *, chosen: str, number: Any) -> dict[str, Any]:
    """All of the page: correlations, and the board of the ``chosen`` method beside AQER's."""
    frame, titles = told["frame"], told["frame"]["titles"]
    others = {slug: title for slug, title in titles.items() if slug != AQER}
    chosen = chosen if chosen in others else next(iter(others), AQER)
    return {
        "experts": correlations(told["experts"], titles),
        "against": correlations(told["against"], titles),
        "verdict": verdict(told, titles),
        "basis": _basis(run, frame),
        "family": max(0, len(told["experts"]) - 1),
        "left_out": [
            (TITLES[slug], why) for slug, why in {**frame["skipped"], **frame["unsettled"]}.items()
        ],
        "not_built": list(NOT_BUILT.values()),
        "board_of": chosen,
        "board_title": titles[chosen],
        "choices": list(others.items()),
        **boards(run, chosen, number),
    }


def _basis(run: Run, frame: Told) -> str:
    counts = run.snapshot.counts if run.snapshot else {}
    said = (
        _("%(answers)s by %(workers)s; %(graded)s graded by experts.")
        if frame["graded"]
        else _("%(answers)s by %(workers)s.")
    )
    return said % {
        "answers": plural(counts.get("answers", 0), "answer"),
        "workers": plural(counts.get("workers", 0), "worker"),
        "graded": plural(frame["graded"], "answer"),
    }


def verdict(told: Told, titles: Mapping[str, str]) -> str:
    """What the grades say of the methods, never more than the intervals do."""
    rows = told["experts"]
    if not rows:
        return _("No worker’s answer has a grade of experts, so no method can be called better.")
    ours = next(row for row in rows if row["method"] == AQER)
    if ours["r"] is None:
        return _("The methods cannot be held against experts: %(reason)s.") % {
            "reason": ours["reason"]
        }
    above = [row for row in rows if (row["difference_low"] or 0) > 0]
    below = [
        row for row in rows if row["difference_high"] is not None and row["difference_high"] < 0
    ]
    if above:
        names = ", ".join(titles[row["method"]] for row in above)
        return _("Closer to the experts than AQER: %(names)s.") % {"names": names}
    if below:
        return _(
            "AQER orders the workers more like the experts than %(below)s of "
            "%(other_methods)s; from the rest it cannot be separated."
        ) % {"below": len(below), "other_methods": plural(len(rows) - 1, "other method")}
    return _("No method can be separated from AQER by these grades.")


def correlations(rows: Sequence[Told], titles: Mapping[str, str]) -> dict[str, Any]:
    """Correlations by method, the highest first; without rows nothing."""
    ends = [row[name] for row in rows for name in ("r", "low", "high") if row[name] is not None]
    scale = Scale.around([*ends, 1.0], width=260.0, include=[0.0])
    made = [
        {
            **row,
            "title": titles[row["method"]],
            "stands": _stands(row),
            "plot": charts.forest_cell(
                scale,
                None if row["r"] is None else Estimate(row["r"], row["low"], row["high"]),
                name=titles[row["method"]],
            ),
        }
        for row in rows
    ]
    made.sort(key=lambda row: -9.0 if row["r"] is None else -row["r"])
    made.sort(key=lambda row: row["r"] is None)
    return {"rows": made, "axis": charts.forest_axis(scale)}


def _stands(row: Told) -> str:
    """How a method stands to AQER on the same grades."""
    if row["method"] == AQER or "difference" not in row:
        return ""
    low, high = row["difference_low"], row["difference_high"]
    if low is None:
        return _("no interval: %(reason)s") % {"reason": row["difference_reason"]}
    if low <= 0 <= high:
        return _("cannot be separated")
    return _("closer to the experts") if low > 0 else _("further from the experts")


def boards(run: Run, chosen: str, number: Any) -> dict[str, Any]:
    """Workers by AQER's score, with the chosen method's beside it (1 query)."""
    rows = WorkerScore.objects.filter(run=run, dimension__in=(AQER, chosen)).select_related(
        "worker"
    )
    by_method: dict[str, dict[int, WorkerScore]] = {AQER: {}, chosen: {}}
    for row in rows:
        by_method[row.dimension][row.worker_id] = row
    ours, theirs = by_method[AQER], by_method[chosen]
    first, second = _scale(ours.values()), _scale(theirs.values())
    order = sorted(
        ours.values(),
        key=lambda row: (row.component or 10**6, row.estimate is None, -(row.estimate or 0)),
    )
    shown = Paginator(order, PER_PAGE).get_page(number)
    return {
        "page": shown,
        "axis": charts.forest_axis(first),
        "other_axis": charts.forest_axis(second),
        "boards": max((row.component for row in order), default=0),
        "workers": [
            {
                "id": row.worker_id,
                "name": row.worker.pseudonym,
                "component": row.component,
                "n": row.n,
                "own": _cell(row, first, "AQER"),
                "other": _cell(theirs.get(row.worker_id), second, _("the other method")),
            }
            for row in shown.object_list
        ],
    }


def _scale(rows: Any) -> Scale:
    values = [value for row in rows for value in (row.estimate, row.low, row.high)]
    return Scale.around([value for value in values if value is not None], width=170.0, count=4)


def _cell(row: WorkerScore | None, scale: Scale, name: str) -> dict[str, Any]:
    if row is None or row.estimate is None:
        why = row.extra["no_interval"] if row is not None else ""
        return {"estimate": None, "plot": "", "ranks": "", "why": why or _("not scored")}
    ranks = ""
    if row.rank_low is not None and row.rank_high is not None:
        span = f"{row.rank_low}–{row.rank_high}"
        ranks = str(row.rank_low) if row.rank_low == row.rank_high else span
    return {
        "estimate": row.estimate,
        "plot": charts.forest_cell(scale, Estimate(row.estimate, row.low, row.high), name=name),
        "ranks": ranks,
        "why": row.extra["no_interval"],
    }
