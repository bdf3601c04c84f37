"""What people were told, and which other systems are told of a project's events."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.models import Hook, HookDelivery, Membership, Notice, Project, Role
from annotation.notifications.kinds import FOR_WORKERS, KINDS, Kind
from crowdqc.errors import Missing


def notices_of(user: Any, only: int | None = None) -> QuerySet[Notice]:
    """Return a person's notices, newest first, of one project if given."""
    rows = Notice.objects.filter(user=user).select_related("project").order_by("-pk")
    return rows if only is None else rows.filter(project=only)


def kinds_for(user: Any) -> list[tuple[str, Kind, bool]]:
    """Kinds of notices the person may get, by name, and whether each is on."""
    roles = set(
        Membership.objects.filter(user=user, removed_at__isnull=True).values_list("role", flat=True)
    )
    works_only = roles <= {Role.WORKER, Role.VIEWER}
    return [
        (name, kind, kind.always or name not in user.muted)
        for name, kind in KINDS.items()
        if not works_only or kind.who in FOR_WORKERS
    ]


def own_notice(user: Any, notice_id: int) -> Notice:
    """Return one of the person's own notices; Missing for anybody else's."""
    found = Notice.objects.filter(user=user, pk=notice_id).first()
    if found is None:
        raise Missing(_("There is no such notice among yours."))
    return found


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
    """Return a webhook of the project by id, or raise Missing."""
    found = hooks_of(project).filter(pk=hook_id).first()
    if found is None:
        raise Missing(_("There is no such address in this project."))
    found.project = project
    return found


def deliveries_of(hook: Hook) -> QuerySet[HookDelivery]:
    """Return the address's deliveries, sent and waiting, newest first."""
    return hook.deliveries.order_by("-pk")


def delivery_of(hook: Hook, delivery_id: int) -> HookDelivery:
    """Return one delivery of a webhook by id, or raise Missing."""
    found = hook.deliveries.filter(pk=delivery_id).first()
    if found is None:
        raise Missing(_("There is no such line in this log."))
    found.hook = hook
    return found
