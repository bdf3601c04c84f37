"""What one person was told."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from annotation.models import Membership, Notice, Role
from annotation.notifications.kinds import FOR_WORKERS, KINDS, Kind
from crowdqc.errors import Missing


def notices_of(user: Any, only: int | None = None) -> QuerySet[Notice]:
    """Everything the person was told, the newest first; of one project where it is named."""
    rows = Notice.objects.filter(user=user).select_related("project").order_by("-pk")
    return rows if only is None else rows.filter(project=only)


def kinds_for(user: Any) -> list[tuple[str, Kind, bool]]:
    """Kinds of notices the person may get, by name, and whether each is on."""
    roles = set(
        Membership.objects.filter(user=user, removed_at__isnull=True).values_list("role", flat=True)
    )
    works_only = roles <= {Role.WORKER}
    return [
        (name, kind, kind.always or name not in user.muted)
        for name, kind in KINDS.items()
        if not works_only or kind.who in FOR_WORKERS
    ]


def own_notice(user: Any, notice_id: int) -> Notice:
    """One of theirs; anybody else's does not exist for them."""
    found = Notice.objects.filter(user=user, pk=notice_id).first()
    if found is None:
        raise Missing("There is no such notice among yours.")
    return found
