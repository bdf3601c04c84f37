"""The exemplary answer of one question on its way, and how far exemplary answers may be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Item
from crowdqc.errors import Conflict, DomainError
from crowdqc.numbers import count, percent, score
from evaluation.charts import exemplary
from evaluation.charts.exemplary import KINDS, Dot
from evaluation.charts.writing import sign
from evaluation.embeddings.vectors import vectors_of_run
from evaluation.free_text import run as text_runs
from evaluation.methods.aqer.diagnostics import sea_error, worst_sea_error
from evaluation.methods.aqer.movement import Movement, trace_question
from evaluation.methods.core.base import DataError, FloatArray
from evaluation.models import Run
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import Group, ResultTable, plain_table
from evaluation.runs.freezing import snapshots
from evaluation.runs.freezing.snapshots import AnswersDataset

MOST_ANSWERS = 3000  # of a run, beyond which its rounds are not run again for a page
BESIDE = (0.9, 0.5)  # mean qualities drawn beside the run's own
SIZES = (3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class ErrorRow:
    """Expected and worst error at one number of answers, by quality."""

    answers: str
    errors: tuple[tuple[str, str], ...]


def bound_part(bound: Mapping[str, Any]) -> dict[str, Any]:
    """Figure 1 with the run's own estimate marked, and its table; ``bound`` has a quality."""
    own, workers, delta = bound["quality"], bound["workers"], bound["delta"]
    qualities = (own, *BESIDE)
    most = max(50, 2 * workers)
    sizes = range(2, most + 1)
    charts: list[tuple[str, SafeString]] = []
    for title, error in (
        (_("Expected, eq. (6)"), sea_error),
        (_("At worst, eq. (8)"), lambda quality, m: worst_sea_error(quality, m, delta)),
    ):
        curves = [[(float(m), error(quality, m)) for m in sizes] for quality in qualities]
        mark = (float(workers), error(own, workers))
        said = _("%(title)s: error by answers per question") % {"title": title}
        charts.append((title, exemplary.error_curves(curves, mark, most=most, sentence=said)))
    names = [_("this run, mean score %(own)s") % {"own": score(own)}]
    names += [_("mean quality %(quality)s") % {"quality": score(one, 1)} for one in BESIDE]
    return {
        "charts": charts,
        "legend": [(sign(kind), name) for kind, name in zip(KINDS, names, strict=True)],
        "table": _errors(qualities, names, sorted({*SIZES, workers}), delta),
    }


def _errors(
    qualities: Sequence[float], names: Sequence[str], sizes: Sequence[int], delta: float
) -> ResultTable:
    rows = [
        ErrorRow(
            str(m),
            tuple((score(sea_error(q, m)), score(worst_sea_error(q, m, delta))) for q in qualities),
        )
        for m in sizes
    ]
    columns = [head_column("answers", _("Answers per question"))]
    for at, name in enumerate(names):
        for side, label in enumerate((_("Expected"), _("At worst"))):
            columns.append(
                Column.number(
                    f"errors.{at}.{side}",
                    label,
                    f"{name}, {label}",
                    group=name,
                    value=lambda row, at=at, side=side: row.errors[at][side],
                )
            )
    return plain_table(_("Error of the exemplary answer by answers per question"), columns, rows)


@dataclass(frozen=True)
class Place:
    """An answer or an exemplary answer in the plane."""

    name: str
    x: str
    y: str
    share: str


def path_part(run: Run, item: Item, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return chart and table of how the best answer moved over rounds, or a ``reason``."""
    try:
        frozen, found = _traced(run, item, told)
    except (DomainError, DataError) as problem:
        return {"reason": str(getattr(problem, "message", problem))}
    texts = [frozen.texts[frozen.text[at]] for at in found.source]
    dots = [
        Dot((float(x), float(y)), float(share), name)
        for (x, y), share, name in zip(found.points, found.weights, texts, strict=True)
    ]
    labels = [_("round %(number)s") % {"number": number} for number in found.rounds]
    path = [(float(x), float(y)) for x, y in found.path]
    return {
        "chart": exemplary.movement(dots, path, labels),
        "table": _places(found, texts, labels),
        "shown": percent(found.shown),
        "nearness": score(float(found.nearness[0])),
    }


def _places(found: Movement, texts: Sequence[str], labels: Sequence[str]) -> ResultTable:
    columns = (
        Column.text("name", _("Answer"), classes="full grow"),
        Column.number("x", _("First direction")),
        Column.number("y", _("Second direction")),
        Column.number("share", _("Share of the vote")),
    )
    order = np.argsort(-found.weights, kind="stable")
    answers = [
        Place(texts[at], *_coordinates(found.points[at]), percent(float(found.weights[at]), 1))
        for at in order
    ]
    way = [
        Place(label, *_coordinates(place), "")
        for label, place in zip(labels, found.path, strict=True)
    ]
    return ResultTable(
        _("Where answers and exemplary answers lie"),
        columns,
        [Group(_("Exemplary answer"), way), Group(_("Answers"), answers)],
        classes="data two-line",
    )


def _coordinates(point: FloatArray) -> tuple[str, str]:
    return score(float(point[0])), score(float(point[1]))


def _traced(run: Run, item: Item, told: Mapping[str, Any]) -> tuple[AnswersDataset, Movement]:
    """The run's answers and the way; raises DomainError or DataError with the reason for none."""
    if run.snapshot is None or len(run.snapshot.answer_ids) > MOST_ANSWERS:
        raise Conflict(_("The run has more than %(most)s answers.") % {"most": count(MOST_ANSWERS)})
    frozen = snapshots.load(run.snapshot)
    identity = str(told["recipe"].get("encoder", ""))
    matrix = vectors_of_run(run.params["encoder"], identity, frozen.texts, load_model=False)
    if matrix is None:
        raise Conflict(_("The vectors of this run are not kept any more."))
    options = {k: v for k, v in run.params.items() if k not in text_runs.OF_THE_RUN}
    texts = frozen.with_vectors(matrix)
    rng = np.random.default_rng(run.seed)
    return frozen, trace_question(texts, frozen.items.index(item.pk), options, rng=rng)
