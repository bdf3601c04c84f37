"""How the answers of a run were collected, as a methods section says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count, Max, Min

from annotation.models import Answer, Assignment, TaskVersion
from crowdqc.database.quantiles import Quantile, seconds_between
from evaluation.bundles.manifest import Row
from evaluation.models import Run

ASKED = ("fields", "dimensions", "scales", "questions")  # of a version's settings


def study_of(run: Run) -> Row:
    """Design, pay, time and dates of the answers that a run saw; of imported ones dates alone.

    Design and pay are those of the newest version that any of these answers was given to.
    """
    ids = run.snapshot.answer_ids if run.snapshot else []
    given = Answer.objects.filter(pk__in=ids)
    version = TaskVersion.objects.filter(pk__in=given.values("version")).order_by("number").last()
    days = given.aggregate(first=Min("answered_at"), last=Max("answered_at"))
    done = Assignment.objects.filter(
        pk__in=given.values("assignment"), opened_at__isnull=False, submitted_at__isnull=False
    ).exclude(source="import")
    seconds = seconds_between("opened_at", "submitted_at")
    times = done.aggregate(n=Count("pk"), median=Quantile(seconds, share=0.5))
    return {
        "answers_per_item": version.redundancy if version else None,
        "items_per_assignment": version.items_per_assignment if version else None,
        "pay": str(version.pay) if version else None,
        "currency": run.project.currency,
        "assignments": times["n"],
        "median_minutes": round(times["median"] / 60, 1) if times["n"] else None,
        "first_answer": days["first"].date().isoformat() if days["first"] else None,
        "last_answer": days["last"].date().isoformat() if days["last"] else None,
    }


def study_lines(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Label and text of each fact; none of a bundle that was made before they were kept."""
    told = manifest.get("study")
    if not told:
        return
    if told["answers_per_item"]:
        yield "Answers planned per item", str(told["answers_per_item"])
    if told["assignments"]:
        yield "Items per assignment", str(told["items_per_assignment"])
        yield "Pay per assignment", f"{told['pay']} {told['currency']}"
        yield "Median time of an assignment", f"{told['median_minutes']} min"
        yield "Assignments", str(told["assignments"])
    if told["first_answer"]:
        yield "Collected", f"{told['first_answer']} to {told['last_answer']}"


def asked_lines(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the label and options of each field, dimension or scale asked."""
    for key in ASKED:
        for one in settings.get(key) or ():
            if not isinstance(one, dict) or not one.get("label"):
                continue
            options = [
                str(option.get("label", "") if isinstance(option, dict) else option)
                for option in one.get("options") or one.get("points") or ()
            ]
            told = ", ".join(filter(None, options))
            yield str(one["label"]), told or str(one.get("question") or "")
