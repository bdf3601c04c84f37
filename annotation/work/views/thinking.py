"""The pages of a think-aloud and of a checklist: what they show."""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from annotation.models import AssignmentItem
from annotation.task_types.checklist import page as checking
from annotation.task_types.pairwise import page as judging
from annotation.task_types.think_aloud import page as think_aloud


def page(
    request: HttpRequest, entry: AssignmentItem, settings: dict[str, Any], passage: str, total: int
) -> dict[str, Any]:
    """What the item's page shows; ``?check`` says beside the fields what is missing.

    Nothing for an item of another type.
    """
    named = "check" in request.GET
    if "min_attributes" not in settings and "questions" not in settings:
        return {}
    if "questions" not in settings:
        return think_aloud.page(entry.item.group, settings, entry.draft, named=named)
    seen = (timezone.now() - entry.shown_at).total_seconds() if entry.shown_at else 0
    return {
        **checking.page(entry.item, settings, entry.draft, sources=passage == "open", named=named),
        "break_due": judging.break_is_due(settings, entry.position, total),
        "seen_seconds": math.floor(seen),
    }
