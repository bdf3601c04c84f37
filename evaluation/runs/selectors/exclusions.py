"""Workers who were left out after a run: its figures still count them."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from annotation.models import Answer, Exclusion
from crowdqc.numbers import listed
from evaluation.models import Run
from evaluation.results.findings import Action, Finding
from evaluation.runs.messages import MESSAGES

NAMED = 3  # of more, the number is told


def excluded_since(run: Run) -> list[str]:
    """Return the pseudonyms of those left out now whose answers the run counts.

    One query, and two more where anybody was left out since.
    """
    if run.snapshot is None or "max_id" not in run.snapshot.counts:
        return []
    frozen_at = run.snapshot.created_at
    seen = Answer.objects.filter(
        pk__lte=run.snapshot.counts["max_id"], worker=OuterRef("worker"), item__task=run.task_id
    )
    before = Exclusion.objects.in_force_at(frozen_at).filter(
        task=run.task_id, worker=OuterRef("worker")
    )
    rows = Exclusion.objects.in_force().filter(
        Exists(seen), ~Exists(before), task=run.task_id, created_at__gt=frozen_at
    )
    names = dict(rows.order_by("pk").values_list("worker", "worker__pseudonym"))
    if not names:
        return []
    # Rejected work, for one, was not counted before either.
    theirs = Answer.objects.filter(item__task=run.task_id, worker__in=names)
    frozen = set(run.snapshot.answer_ids)
    counted = {by for pk, by in theirs.values_list("pk", "worker") if pk in frozen}
    return [name for worker, name in names.items() if worker in counted]


def exclusion_finding(run: Run, action: Action | None = None) -> Finding | None:
    """Say whom the run still counts; None where nobody was left out since."""
    names = excluded_since(run)
    if not names:
        return None
    said = listed(names, NAMED)
    return MESSAGES.find("excluded_since_run", action=action, names=said, n=len(names))
