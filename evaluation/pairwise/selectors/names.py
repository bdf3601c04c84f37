"""What a pair is called: by its id where somebody gave it one, else by its prompt."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

from annotation.models import Item

MADE = re.compile(r"[0-9a-f]{12,}")  # within an id that an import made of what it read
LONGEST = 60


def pair_name(item: Item) -> str:
    """Return what to call a pair in a sentence."""
    if not is_generated_id(item.key):
        return _("Pair %(key)s") % {"key": item.key}
    if item.question:
        return _("Pair “%(prompt)s”") % {"prompt": cut(item.question)}
    return _("Pair %(number)s of the task") % {"number": item.position + 1}


def is_named_by_prompt(item: Item) -> bool:
    """Whether ``pair_name`` already quotes the prompt."""
    return is_generated_id(item.key) and bool(item.question)


def is_generated_id(key: str) -> bool:
    """Whether an id is a made one, which tells nobody anything."""
    return MADE.search(key) is not None


def cut(text: str) -> str:
    """The beginning of a prompt."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"
