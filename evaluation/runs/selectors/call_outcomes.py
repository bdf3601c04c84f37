"""What came of a run in which models answered or judged: counts, and what wants a look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.numbers import count, percent, several
from evaluation.models import Run
from evaluation.runs.run_types import asking_of

Told = Mapping[str, Any]


@dataclass(frozen=True)
class FlaggedAnswer:
    """An answer that is kept and wants a look."""

    item: str
    flag: str
    call: int


@dataclass(frozen=True)
class CallOutcome:
    """What came of the calls; ``next_url`` leads to where it shows."""

    figures: list[dict[str, str]]  # a strip of key figures
    same: list[tuple[str, str, str]]  # dimension, share with the same label in both orders, pairs
    flagged: list[FlaggedAnswer]
    more: int  # flagged ones that are not listed
    next_words: str
    next_url: str
    next_label: str


def came_of(run: Run, asked: Told | None) -> CallOutcome | None:
    """For the page of a finished run; None for runs of other kinds."""
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
        ("flagged", _("Outside the rules, kept")),
        ("failed", _("Failed")),
    )
    figures += [_figure(label, counts[name]) for name, label in names if name in counts]
    settings = run.task.current.settings if asked.get("same") and run.task.current else {}
    labels = {one["name"]: one.get("label", "") for one in settings.get("dimensions", [])}
    same = [
        (
            labels.get(row["dimension"]) or row["dimension"],
            percent(row["same"] / row["pairs"]),
            count(row["pairs"]),
        )
        for row in asked.get("same", [])
    ]
    flagged = [
        FlaggedAnswer(row["item"], row["flag"], row["call"])
        for row in (asked["flagged"] if isinstance(asked.get("flagged"), list) else [])
    ]
    more = counts.get("flagged", 0) - len(flagged)
    words, url, label = asking.next_step(run, counts["answered"])
    return CallOutcome(figures, same, flagged, more, _(words), url, _(label))


def _figure(label: str, value: int) -> dict[str, str]:
    return {"label": label, "value": count(value), "of": ""}
