"""What to read before the results of a labels task are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from annotation.models import Task
from crowdqc.numbers import count, plural
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
    text = "Agreement needs 2 workers on the same item; competence needs 3."
    return [Warning("warn", f"{plural(n, 'worker is', 'workers are')} not scored.", text)]


def _guessing(rows: Sequence[WorkerRow]) -> list[Warning]:
    weak = [row for row in rows if row.group in ("unknown", "one_label", WORSE)]
    if not weak:
        return []
    given, every = sum(row.n for row in weak), sum(row.n for row in rows)
    if len(weak) == len(rows):
        text = "Nobody is told from guessing, so the labels of the items are not to be relied on."
        return [Warning("warn", "No worker stands out.", text)]
    head = f"{plural(len(weak), 'worker')} may add noise."
    gave = "They" if len(weak) > 1 else "This worker"
    text = (
        f"{gave} gave {count(given)} of the {count(every)} labels. Dawid-Skene gives such labels "
        "little weight; a majority vote does not."
    )
    return [Warning("warn", head, text)]


def _known(task: Task, told: Told, rows: Sequence[WorkerRow], *, requester: bool) -> list[Warning]:
    if told["summary"]["not_scored"] == len(rows):
        return []
    if not told["summary"]["known"]:
        build = reverse("task_build", args=[task.project_id, task.pk]) + "?part=known"
        return [
            Warning(
                "",
                "No known answers yet.",
                "Competence rests on the agreement of the workers alone.",
                build if requester else "",
                "Add known answers",
            )
        ]
    without = [row.name for row in rows if not row.extra["known_n"]]
    if not without:
        return []
    text = "The competence rests on the model alone."
    if len(without) > NAMED:
        return [Warning("", f"{count(len(without))} workers saw no known answer.", text)]
    saw = " and ".join([", ".join(without[:-1]), without[-1]] if len(without) > 1 else without)
    return [Warning("", f"{saw} saw no known answer.", text)]


def _of_run(told: Told) -> list[Warning]:
    said = told.get("diagnostics", {}).get("warnings", [])
    return [Warning("", "", f"{text[:1].upper()}{text[1:]}") for text in said]


def of_items(told: Told) -> list[Warning]:
    """Of the list of items."""
    n = told["summary"]["any_differ"]
    if not n:
        return []
    head = f"{plural(n, 'item needs a look', 'items need a look')}."
    text = "Most are ties, or near ties, that the competence of the workers decides."
    return [Warning("warn", head, text)]
