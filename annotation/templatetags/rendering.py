"""Markdown in templates."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from annotation.task_types.rendering import render_markdown

register = template.Library()


@register.filter
def reading_minutes(text: str) -> int:
    """Minutes of silent reading at 210 words a minute, at least one."""
    return max(1, round(len((text or "").split()) / 210))


@register.filter
def markdown(text: str) -> SafeString:
    """What people wrote in Markdown, as safe HTML."""
    return render_markdown(text or "")
