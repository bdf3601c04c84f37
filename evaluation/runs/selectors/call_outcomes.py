"""What came of a run in which models answered or judged: counts, and what wants a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from crowdqc.numbers import count, several
from evaluation.models import Run
from evaluation.results.cells import link
from evaluation.results.columns import Column, head_column
from evaluation.results.rows import typed
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.run_types import asking_of

Told = Mapping[str, Any]


@dataclass(frozen=True)
class FlaggedAnswer:
    """An answer that is kept and wants a look."""

    item: str
    flag: str
    call: int


@dataclass(frozen=True)
class SameLabel:
    """How many pairs got the same label in both orders on a dimension."""

    name: str
    share: float
    pairs: int


SAME = (
    head_column("name", gettext_lazy("Dimension")),
    Column.share("share", gettext_lazy("Same")),
    Column.count("pairs", gettext_lazy("Pairs")),
)


@dataclass(frozen=True)
class CallOutcome:
    """What came of the calls; ``next_url`` leads to where it shows."""

    figures: list[dict[str, str]]  # a strip of key figures
    same: ResultTable | None  # the share of pairs with the same label in both orders
    flagged: ResultTable | None
    more: int  # flagged ones that are not listed
    next_words: str
    next_url: str
    next_label: str


def came_of(run: Run, asked: Told | None) -> CallOutcome | None:
    """Summarise the outcome of a finished run's calls; None for runs without."""
    asking = asking_of(run.method)
    if asked is None or asking is None or not asking.noun:
        return None
    counts = asked["counts"]
    new = _("New %(nouns)s") % {"nouns": several(asking.noun)}
    figures = [_figure(new, counts["answered"])]
    if counts.get("there"):
        figures.append(_figure(_("There already"), counts["there"]))
    names = (
        ("declined", _("“I don’t know”")),
        ("defaulted", _("No number, so 50")),
        ("flagged", _("Outside the limits, kept")),
        ("failed", _("Failed")),
    )
    figures += [_figure(label, counts[name]) for name, label in names if name in counts]
    settings = run.task.current.settings if asked.get("same") and run.task.current else {}
    labels = {one["name"]: one.get("label", "") for one in settings.get("dimensions", [])}
    same = [
        SameLabel(
            labels.get(row["dimension"]) or row["dimension"],
            row["same"] / row["pairs"],
            row["pairs"],
        )
        for row in asked.get("same", [])
    ]
    flagged = [
        typed(FlaggedAnswer, row)
        for row in (asked["flagged"] if isinstance(asked.get("flagged"), list) else [])
    ]
    more = counts.get("flagged", 0) - len(flagged)
    words, url, label = asking.next_step(run, counts["answered"])
    if counts.get("failed") and not url:  # nothing came, and not because nothing was to come
        ask = reverse("task_ask", args=[run.project_id, run.task_id, run.method])
        words, url, label = "", f"{ask}?run={run.number}", gettext_noop("Ask again")
    words = _(words) if words else ""  # the translation of "" is the head of the catalogue
    return CallOutcome(
        figures, _same_table(same), _flag_table(run, flagged), more, words, url, _(label)
    )


def _same_table(rows: Sequence[SameLabel]) -> ResultTable | None:
    title = _("Share of pairs with the same label in both orders")
    return plain_table(title, SAME, rows, classes="data") if rows else None


def _flag_table(run: Run, rows: Sequence[FlaggedAnswer]) -> ResultTable | None:
    def call(row: FlaggedAnswer) -> SafeString:
        return link(reverse("models_call", args=[run.project_id, row.call]), str(row.call), "")

    columns = [
        head_column("item", _("Item"), classes="mono"),
        Column.text("flag", _("What a person would have been told")),
        Column.text("call", _("Call"), html=call),
    ]
    title = _("Answers outside the rules of the task")
    return plain_table(title, columns, rows, classes="data") if rows else None


def _figure(label: str, value: int) -> dict[str, str]:
    return {"label": label, "value": count(value), "of": ""}
