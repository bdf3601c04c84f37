"""Every method on the same workers as its page shows it, from the rows and figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.paginator import Paginator
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Task
from crowdqc.numbers import plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.grading.compare.classes import classes_part
from evaluation.grading.compare.curves import curves_part
from evaluation.grading.compare.keys import keys_part
from evaluation.grading.compare.run import SLUG
from evaluation.grading.measures import measures_table
from evaluation.methods.aqer_study.workers import AQER, TITLES
from evaluation.models import Run, RunState, WorkerScore
from evaluation.results.boards import rank_words
from evaluation.results.cells import bold, dim
from evaluation.results.columns import PLOT, Column, Format, head_column
from evaluation.results.estimates import EstimateRow, drawn, estimate_columns
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import ResultTable, plain_table

PER_PAGE = 50
Told = Mapping[str, Any]


@dataclass(frozen=True)
class Correlation(EstimateRow):
    """How a method's scores go with others, and how it stands to AQER in that."""

    stands: str = ""


WORKERS = Column.count("n", gettext_lazy("Workers"))
CORRELATIONS = estimate_columns(gettext_lazy("Method"), "r", count=WORKERS)
STANDS = Column.text("stands", gettext_lazy("Against AQER"), classes="dim")


@dataclass(frozen=True)
class Score:
    """A worker's score by one method; ``why``: the reason for no interval or rank."""

    estimate: float | None = None
    plot: SafeString | str = ""
    ranks: str = ""
    why: str = ""

    @property
    def value(self) -> SafeString:
        """Return the score in bold, or why there is none."""
        return dim(self.why) if self.estimate is None else bold(score(self.estimate))

    @property
    def rank(self) -> str:
        """Return the possible ranks, or why there are none."""
        return self.ranks or self.why or _("none")


@dataclass(frozen=True)
class WorkerScores:
    """A worker's scores by AQER and by another method."""

    name: str
    url: str
    beside: str  # the board, of several
    n: int
    own: Score
    other: Score


def _scores(key: str, label: str, plot: str, axis: SafeString) -> tuple[Column, ...]:
    return (
        replace(PLOT, key=f"{key}.plot", label=plot, axis=axis),
        Column.number(f"{key}.value", label, classes="l1r"),
        Column.number(f"{key}.rank", _("Rank, 95% CI"), _("Rank"), term="rank", classes="dim"),
    )


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """Return the task's newest finished comparison, or the one of this number."""
    found = task.runs.filter(method=SLUG, state=RunState.DONE).select_related("snapshot")
    found = found.defer("snapshot__answer_ids")
    return (found.filter(number=number) if number else found).order_by("-id").first()


def page(run: Run, told: Told, *, chosen: str, number: Any) -> dict[str, Any]:
    """Return the context of the page: correlations, and a method's board beside AQER's."""
    frame, titles = told["frame"], told["frame"]["titles"]
    others = {slug: title for slug, title in titles.items() if slug != AQER}
    chosen = chosen if chosen in others else next(iter(others), AQER)
    return {
        "experts": told["experts"]
        and correlations(
            _("Correlation with the experts by method"),
            told["experts"],
            titles,
            (*CORRELATIONS, STANDS),
        ),
        "measures": measures_table(told.get("measures", []), titles, AQER),
        "keys": keys_part(told),
        "classes": classes_part(told),
        "curves": curves_part(told.get("curves", [])),
        "against": correlations(
            _("Correlation with AQER by method"), told["against"], titles, CORRELATIONS
        ),
        "verdict": verdict(told, titles),
        "basis": _basis(run, frame),
        "family": max(0, len(told["experts"]) - 1),
        "left_out": [
            (translate_stored(TITLES[slug]), why)
            for slug, why in {**frame["skipped"], **frame["unsettled"]}.items()
        ],
        "board_of": chosen,
        "board_title": titles[chosen],
        "choices": list(others.items()),
        **board(run, chosen, titles[chosen], number),
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
    """Say which methods the grades support, as far as the intervals allow."""
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


def correlations(
    title: str, rows: Sequence[Told], titles: Mapping[str, str], columns: Sequence[Column]
) -> ResultTable:
    """Correlations by method, the highest first."""
    ends = [row[name] for row in rows for name in ("r", "low", "high") if row[name] is not None]
    scale = Scale.around([*ends, 1.0], width=260.0, include=[0.0])
    made = [
        Correlation(
            *(titles[row["method"]], row["r"], row["low"], row["high"], row["n"]),
            why=row.get("reason") or "",
            stands=_stands(row),
        )
        for row in rows
    ]
    made.sort(key=lambda row: (row.estimate is None, -(row.estimate or 0.0)))
    axis = charts.forest_axis(scale)
    return plain_table(title, columns, drawn(made, scale), axis=axis, classes="data")


def _stands(row: Told) -> str:
    """Say how a method compares with AQER on the same grades."""
    if row["method"] == AQER or "difference" not in row:
        return ""
    low, high = row["difference_low"], row["difference_high"]
    if low is None:
        return _("no interval: %(reason)s") % {"reason": row["difference_reason"]}
    if low <= 0 <= high:
        return _("cannot be separated")
    return _("closer to the experts") if low > 0 else _("further from the experts")


def board(run: Run, chosen: str, title: str, number: Any) -> dict[str, Any]:
    """Return the board of workers by AQER's score beside the chosen method's (1 query)."""
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
    several = max((row.component for row in order), default=0) > 1
    workers = [
        WorkerScores(
            row.worker.pseudonym,
            reverse("worker_card", args=[run.project_id, row.worker_id]),
            _("board %(component)s") % {"component": row.component}
            if several and row.component
            else "",
            row.n,
            _cell(row, first, "AQER"),
            _cell(theirs.get(row.worker_id), second, _("the other method")),
        )
        for row in shown.object_list
    ]
    columns = (
        head_column("name", _("Worker"), format=Format.NAME),
        *_scores("own", "AQER", _("AQER, interval"), charts.forest_axis(first)),
        *_scores("other", title, _("Other method, interval"), charts.forest_axis(second)),
        Column.count("n", _("Answers")),
    )
    caption = _("Workers by two methods, with 95% CIs")
    return {"page": shown, "board": plain_table(caption, columns, workers, classes="data board")}


def _scale(rows: Any) -> Scale:
    values = [value for row in rows for value in (row.estimate, row.low, row.high)]
    return Scale.around([value for value in values if value is not None], width=170.0, count=4)


def _cell(row: WorkerScore | None, scale: Scale, name: str) -> Score:
    if row is None or row.estimate is None:
        why = translate_stored(row.extra["no_interval"]) if row is not None else ""
        return Score(why=why or _("not scored"))
    is_ranked = row.rank_low is not None and row.rank_high is not None
    return Score(
        row.estimate,
        charts.forest_cell(scale, Estimate(row.estimate, row.low, row.high), name=name),
        rank_words(row.rank_low, row.rank_high) if is_ranked else "",
        translate_stored(row.extra["no_interval"]),
    )
