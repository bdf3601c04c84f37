"""What the agreement page says of kinds of items, from the figures of a run. Reads no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import interval, mid_sentence, plural, score, word
from evaluation.charts import boards as charts
from evaluation.charts.boards import Scale
from evaluation.results.cells import beside, bold, empty_cell
from evaluation.results.columns import Column, Format, head_column
from evaluation.results.estimates import EstimateRow, drawn, estimate_columns
from evaluation.results.tables import ResultTable, plain_table

SHOWN = 50  # workers listed beside each other
FIGURES = ("kind", "kind_worker", "kind_shift")
Told = Mapping[str, Any]


@dataclass(frozen=True)
class Kinds:
    """Agreement by one column of items, or the reason why it does not split them."""

    label: str
    reason: str = ""
    table: ResultTable | None = None
    workers: ResultTable | None = None
    hidden: int = 0  # workers that are not listed
    shifts: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True)
class WorkerByKind:
    """How often a worker's labels are what the others' labels say, by kind."""

    name: str
    url: str
    kinds: Mapping[str, Told]
    detail: str = ""

    def agreement(self, kind: str) -> SafeString:
        """Cell of the worker's agreement on a kind of items: interval, or why there is none."""
        row = self.kinds.get(kind)
        if row is None:
            return empty_cell()
        sure = row["reason"] if row["low"] is None else interval(row["low"], row["high"], 2)
        return beside(bold(score(row["agree"], 2)), sure)


KINDS = estimate_columns(
    head_column("name", gettext_lazy("Kind"), note="detail"), gettext_lazy("Alpha"), term="alpha"
)


def kinds(told: Told, names: Mapping[int, str], project: int) -> list[Kinds]:
    """Return agreement by kind of item for each column that could split the items."""
    rows = told.get("kind") or ()
    return [
        _agreement_by_column(told, name, names, project)
        for name in dict.fromkeys(row["column"] for row in rows)
    ]


def _agreement_by_column(told: Told, column: str, names: Mapping[int, str], project: int) -> Kinds:
    own, workers, shifts = (
        [row for row in told.get(name) or () if row["column"] == column] for name in FIGURES
    )
    label = column.replace("_", " ").capitalize()
    if not own[0]["kind"]:
        return Kinds(label, own[0]["reason"])
    scale = Scale.around([row[end] for row in own for end in ("low", "high", "alpha")])
    boards = [row["kind"] for row in own if row["level"] is not None]
    by_worker: dict[int, dict[str, Told]] = {}
    for row in workers:
        by_worker.setdefault(row["worker"], {})[row["kind"]] = row
    listed = sorted(by_worker, key=lambda pk: names.get(pk, ""))
    by = {"label": mid_sentence(label)}
    return Kinds(
        label,
        table=plain_table(
            _("Krippendorff’s alpha by %(label)s, with 95%% CIs") % by,
            KINDS,
            drawn([_kind(row) for row in own], scale),
            axis=charts.forest_axis(scale),
            classes="data two-line coefficients",
        ),
        workers=plain_table(
            _("How often each worker’s labels are what the others’ labels say, by %(label)s") % by,
            [head_column("name", _("Worker"), format=Format.NAME), *map(_agreement, boards)],
            [
                WorkerByKind(
                    names.get(pk, ""), reverse("worker_card", args=[project, pk]), by_worker[pk]
                )
                for pk in listed[:SHOWN]
            ],
            classes="data",
        ),
        hidden=max(0, len(listed) - SHOWN),
        shifts=[_shift(row, names) for row in shifts],
        note=_("Intervals hold for these %(boards)s kinds at once (95%%).")
        % {"boards": word(len(boards))},
    )


def _agreement(kind: str) -> Column:
    return Column.number(kind, kind, "", html=lambda row: row.agreement(kind), classes="nowrap")


def _kind(row: Told) -> EstimateRow:
    basis = (
        plural(row[name], noun)
        for name, noun in (("items", "item"), ("votes", "label"), ("workers", "worker"))
    )
    return EstimateRow(
        row["kind"],
        row["alpha"],
        row["low"],
        row["high"],
        detail=", ".join(basis),
        why=row["reason"] or "",
    )


def _shift(row: Told, names: Mapping[int, str]) -> str:
    better, worse, high, low = row["kind_a"], row["kind_b"], row["a"], row["b"]
    if low > high:
        better, worse, high, low = worse, better, low, high
    return _(
        "%(worker)s agrees with the others more often on %(better)s (%(high)s) than "
        "on %(worse)s (%(low)s)."
    ) % {
        "worker": names.get(row["worker"]) or _("A worker"),
        "better": better,
        "high": score(high, 2),
        "worse": worse,
        "low": score(low, 2),
    }
