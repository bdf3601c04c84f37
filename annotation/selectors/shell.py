"""Counts beside the project's tabs."""

from __future__ import annotations

from django.db.models import Count, Q

from annotation.models import PayoutBatch, Project, Role


def tab_counts(project: Project) -> dict[str, int]:
    """Tasks, working people and proposals that wait, in one query."""
    return Project.objects.filter(pk=project.pk).aggregate(
        tasks=Count("tasks", distinct=True),
        people=Count(
            "memberships",
            filter=Q(memberships__role=Role.WORKER, memberships__removed_at__isnull=True),
            distinct=True,
        ),
        payouts=Count(
            "payout_batches",
            filter=Q(payout_batches__state=PayoutBatch.State.PROPOSED),
            distinct=True,
        ),
    )
