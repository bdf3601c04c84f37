"""What the types in which people write share: what can be stored, and how long it may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.task_types.base import whole_number
from crowdqc.errors import Invalid
from crowdqc.numbers import count

MAX_CHARACTERS = 20_000
Setting = tuple[int, int, int]  # default, least, most


def storable(text: str) -> str:
    """Convert a text to what PostgreSQL can store: no NUL, no half characters, LF line ends."""
    text = text.replace("\r\n", "\n").replace("\x00", "")
    # Halves of characters cut apart have no UTF-8; a whole text passes unchanged.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def drafted_text(raw: Mapping[str, Any], noun: str) -> str:
    """The ``text`` of a draft as stored; Invalid, naming the ``noun``, where it is none."""
    text = raw.get("text", "")
    if not isinstance(text, str):
        raise Invalid(
            _("The %(noun)s is not a text.") % {"noun": noun}, fields={"text": _("Send a text.")}
        )
    if len(text) > MAX_CHARACTERS:
        raise Invalid(
            _("The %(noun)s has %(text)s characters; %(max_characters)s is the most.")
            % {"noun": noun, "text": count(len(text)), "max_characters": count(MAX_CHARACTERS)},
            fields={
                "text": _("%(max_characters)s characters at most.")
                % {"max_characters": count(MAX_CHARACTERS)}
            },
        )
    return storable(text)


def word_limits(raw: Mapping[str, Any], least: Setting, most: Setting) -> tuple[int, int]:
    """The settings ``min_words`` and ``max_words``; Invalid where they leave no room."""
    low = whole_number(raw, "min_words", *least)
    high = whole_number(raw, "max_words", *most)
    if high < low:
        raise Invalid(
            _("The most words are fewer than the least."),
            fields={"max_words": _("At least %(low)s.") % {"low": low}},
        )
    return low, high


def check_words(words: int, settings: Mapping[str, Any]) -> None:
    """Invalid where a text is shorter or longer than the settings want it."""
    if words < settings["min_words"]:
        raise Invalid(
            ngettext(
                "%(words)s word; write at least %(least)s.",
                "%(words)s words; write at least %(least)s.",
                words,
            )
            % {"words": count(words), "least": count(settings["min_words"])}
        )
    if words > settings["max_words"]:
        raise Invalid(
            ngettext(
                "%(words)s word; write at most %(most)s.",
                "%(words)s words; write at most %(most)s.",
                words,
            )
            % {"words": count(words), "most": count(settings["max_words"])}
        )
