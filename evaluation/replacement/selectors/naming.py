"""What the pages call the labels of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.task_types.checklist.type import list_of
from annotation.work.snapshots import labels as label_fields
from crowdqc import numbers
from evaluation.models import Run

Told = Mapping[str, Any]
NAMED = 3
OF_PAIRS = {
    "first": gettext_noop("the first text"),
    "neutral": gettext_noop("neither"),
    "second": gettext_noop("the second text"),
}


def label_words(run: Run, told: Told) -> list[str]:
    """Return the label of each code of the field; for checklists the questions' wording."""
    name = told["frame"]["field"][0]
    if told["frame"].get("lines"):
        asked = dict(list_of(run.task.current)) if run.task.current else {}
        return [asked.get(line, line) for line in told["frame"]["labels"]]
    fields = label_fields.fields_of(run.task.current)
    of_pairs = {code: _(said) for code, said in OF_PAIRS.items()}
    known = next((one.labels for one in fields if one.name == name), of_pairs)
    return [known.get(code, code) for code in told["frame"]["labels"]]


def quantity_title(told: Told, words: Sequence[str], label: int) -> str:
    """Name what is estimated: a label's share, a mean, or the share of yes to a question."""
    if told["frame"].get("lines"):
        return (
            _("“%(label)s”: share of yes") % {"label": words[label]}
            if label >= 0
            else _("All questions: share of yes")
        )
    return _("Share of “%(label)s”") % {"label": words[label]} if label >= 0 else _("Mean")


def short_names(told: Told) -> list[str]:
    """Return the models' names, without their prompt where that is unambiguous."""
    names = [name for _, name in told["frame"]["models"]]
    short = [name.partition(",")[0] for name in names]
    return [one if short.count(one) == 1 else name for one, name in zip(short, names, strict=True)]


def listed(names: Sequence[str]) -> str:
    """Names with "and"; those behind the first ``NAMED`` are only counted."""
    return numbers.listed(names, NAMED)
