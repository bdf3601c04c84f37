"""Addresses that are told of events, and the log of what they were told."""

from __future__ import annotations

from django.db.models import Count, Max, Q, QuerySet

from annotation.models import Hook, HookDelivery, Project
from crowdqc.errors import Missing


def hooks_of(project: Project) -> QuerySet[Hook]:
    """The project's addresses, each with what waits, what was given up, and its last success."""
    State = HookDelivery.State
    return (
        project.hooks.annotate(
            waiting=Count("deliveries", filter=Q(deliveries__state=State.WAITING)),
            failed=Count("deliveries", filter=Q(deliveries__state=State.FAILED)),
            taken_at=Max("deliveries__done_at", filter=Q(deliveries__state=State.DONE)),
        )
        .select_related("created_by")
        .order_by("pk")
    )


def hook_of(project: Project, hook_id: int) -> Hook:
    """One of them, or Missing."""
    found = hooks_of(project).filter(pk=hook_id).first()
    if found is None:
        raise Missing("There is no such address in this project.")
    found.project = project
    return found


def deliveries_of(hook: Hook) -> QuerySet[HookDelivery]:
    """What the address was told or waits to be told, the newest first."""
    return hook.deliveries.order_by("-pk")


def delivery_of(hook: Hook, delivery_id: int) -> HookDelivery:
    """One of them, or Missing."""
    found = hook.deliveries.filter(pk=delivery_id).first()
    if found is None:
        raise Missing("There is no such line in this log.")
    found.hook = hook
    return found
