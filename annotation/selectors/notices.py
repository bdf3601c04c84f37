"""What one person was told."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from annotation.models import Notice
from crowdqc.errors import Missing


def notices_of(user: Any, only: int | None = None) -> QuerySet[Notice]:
    """Everything the person was told, the newest first; of one project where it is named."""
    rows = Notice.objects.filter(user=user).select_related("project").order_by("-pk")
    return rows if only is None else rows.filter(project=only)


def own_notice(user: Any, notice_id: int) -> Notice:
    """One of theirs; anybody else's does not exist for them."""
    found = Notice.objects.filter(user=user, pk=notice_id).first()
    if found is None:
        raise Missing("There is no such notice among yours.")
    return found
