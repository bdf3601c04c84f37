"""What to read before the results of a labels task are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Task
from crowdqc.numbers import count, listed
from evaluation.free_text.selectors.warnings import Warning
from evaluation.labels.results import WORSE
from evaluation.labels.selectors.workers import WorkerRow

NAMED = 3  # workers that are named one by one
Told = Mapping[str, Any]


def of_workers(
    task: Task, told: Told, rows: Sequence[WorkerRow], *, requester: bool
) -> list[Warning]:
    """Of the list of workers, the gravest first."""
    found = [
        *_few(told),
        *_guessing(rows),
        *_known(task, told, rows, requester=requester),
        *_of_run(told),
    ]
    return sorted(found, key=lambda one: one.level != "warn")


def _few(told: Told) -> list[Warning]:
    n = told["summary"]["not_scored"]
    if not n:
        return []
    head = ngettext("%(n)s worker is not scored.", "%(n)s workers are not scored.", n)
    text = _("Agreement needs 2 workers on the same item; competence needs 3.")
    return [Warning("warn", head % {"n": count(n)}, text)]


def _guessing(rows: Sequence[WorkerRow]) -> list[Warning]:
    weak = [row for row in rows if row.group in ("unknown", "one_label", WORSE)]
    if not weak:
        return []
    given, every = sum(row.n for row in weak), sum(row.n for row in rows)
    if len(weak) == len(rows):
        text = _(
            "Nobody is told from guessing, so the labels of the items are not to be relied on."
        )
        return [Warning("warn", _("No worker stands out."), text)]
    head = ngettext("%(n)s worker may add noise.", "%(n)s workers may add noise.", len(weak))
    text = ngettext(
        "This worker gave %(given)s of the %(every)s labels. Dawid-Skene gives such labels little "
        "weight; a majority vote does not.",
        "They gave %(given)s of the %(every)s labels. Dawid-Skene gives such labels little weight; "
        "a majority vote does not.",
        len(weak),
    )
    told = {"given": count(given), "every": count(every)}
    return [Warning("warn", head % {"n": count(len(weak))}, text % told)]


def _known(task: Task, told: Told, rows: Sequence[WorkerRow], *, requester: bool) -> list[Warning]:
    if told["summary"]["not_scored"] == len(rows):
        return []
    if not told["summary"]["known"]:
        build = reverse("task_build", args=[task.project_id, task.pk]) + "?part=known"
        return [
            Warning(
                "",
                _("No known answers yet."),
                _(
                    "Competence rests on agreement alone, so a mistake that most workers share "
                    "stays hidden. The labels can be used without known answers."
                ),
                build if requester else "",
                _("Add known answers"),
            )
        ]
    without = [row.name for row in rows if not row.extra["known_n"]]
    if not without:
        return []
    text = _("The competence rests on the model alone.")
    if len(without) > NAMED:
        head = _("%(n)s workers saw no known answer.") % {"n": count(len(without))}
    else:
        head = _("%(names)s saw no known answer.") % {"names": listed(without)}
    return [Warning("", head, text)]


def _of_run(told: Told) -> list[Warning]:
    said = told.get("diagnostics", {}).get("warnings", [])
    return [Warning("", "", f"{text[:1].upper()}{text[1:]}") for text in said]


def of_items(told: Told, decided: int = 0) -> list[Warning]:
    """Of the list of items; ``decided`` of those on which the methods differ are decided."""
    n = told["summary"]["any_differ"] - decided
    if n <= 0:
        return []
    head = ngettext("%(n)s item needs a look.", "%(n)s items need a look.", n)
    text = _("Most are ties, or near ties, that the competence of the workers decides.")
    return [Warning("warn", head % {"n": count(n)}, text)]
