"""Markdown, and how far a worker is, in templates.

The first template loads this module, whatever it uses: each filter imports what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.safestring import SafeString

from annotation.models import Answer

register = template.Library()


@register.filter
def words(text: str) -> int:
    """Words of a text, as every other page and figure counts them."""
    from annotation.task_types.rendering import words_in

    return words_in(text or "")


@register.filter
def reading_minutes(text: str) -> int:
    """Minutes of silent reading at 210 words a minute, at least one."""
    return max(1, round(words(text) / 210))


@register.filter
def is_beside(answer: Answer) -> bool:
    """Whether it is a model's answer that is compared with people's and is never a vote."""
    from annotation.task_types import get_type

    return bool(answer.system_id) and get_type(answer.item.task.type).models_beside


@register.filter
def in_state(segments: Sequence[Mapping[str, Any]], state: str) -> int:
    """Count the items of an assignment in a state."""
    return sum(one["state"] == state for one in segments)


@register.filter
def markdown(text: str) -> SafeString:
    """Render Markdown as safe HTML."""
    from crowdqc.web.markdown import render_markdown

    return render_markdown(text or "")
