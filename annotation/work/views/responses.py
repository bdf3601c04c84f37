"""The parts of a response on the worker's pages: which one is shown, and where a button leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.authoring.selectors.steps import settings_of
from annotation.models import Assignment, AssignmentItem
from annotation.task_types.writing import page as writing
from annotation.work.selectors import work


def _url(found: Assignment, number: int, part: str) -> str:
    return f"{reverse('work_item', args=[found.pk, number])}?part={part}"


def segments(
    found: Assignment, steps: Sequence[work.Step], here: tuple[int, str] = (-1, "")
) -> list[dict[str, Any]]:
    """Where the worker is, part by part; ``here``: the position and the part of the page."""
    rows = [(step.entry, settings_of(found, step.entry)) for step in steps]
    parts = writing.segments(rows, steps[0].noun if steps else "", here)
    return [{**row, "url": _url(found, row["number"], row["part"])} for row in parts]


def page(
    request: HttpRequest, found: Assignment, entry: AssignmentItem, steps: Sequence[work.Step]
) -> dict[str, Any]:
    """The part that is asked for, or the one that has to come before it."""
    settings = settings_of(found, entry)
    part = writing.first_open(entry.draft, settings, request.GET.get("part", ""))
    named = "check" in request.GET
    return {
        **writing.page(entry, settings, part, len(steps), named=named),
        "segments": segments(found, steps, (entry.position, part)),
    }


def led_on(
    found: Assignment, entry: AssignmentItem, form: Mapping[str, str]
) -> HttpResponse | None:
    """Where a part's button leads within the response; None where it leads out of it.

    A part that is not complete is shown again with what is missing.
    """
    part, go = form.get("part", ""), form.get("go", "next")
    to = writing.step(part, go, entry.draft, settings_of(found, entry))
    asked = "&check=1" if go == "next" and to == part else ""
    return redirect(_url(found, entry.position + 1, to) + asked) if to else None
