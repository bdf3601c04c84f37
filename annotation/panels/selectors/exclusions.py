"""Who is left out of a task's results, and who could be."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef

from annotation.models import Answer, Membership, Task

MOST = 200


def left_out(task: Task) -> dict[str, Any]:
    """``exclusions`` in force, and ``answered``: who gave an answer that enters results."""
    exclusions = list(task.exclusions.in_force().select_related("worker", "by"))
    given = Answer.objects.filter(item__task=task, worker=OuterRef("pk"), counts=True)
    answered = Membership.objects.filter(Exists(given), project=task.project_id).exclude(
        pk__in=[one.worker_id for one in exclusions]
    )
    return {"exclusions": exclusions, "answered": list(answered.order_by("pseudonym")[:MOST])}
