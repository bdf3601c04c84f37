"""Free text: a question, an answer in the worker's own words, or an honest "I don't know"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdqc.errors import Invalid

from .base import Values, whole_number
from .scales import truth

MAX_CHARACTERS = 20_000
DONT_KNOW = "I don't know"


def storable(text: str) -> str:
    """The text as PostgreSQL can hold it, with the line ends that a text area has."""
    text = text.replace("\r\n", "\n").replace("\x00", "")
    # Halves of characters cut apart have no UTF-8; a whole text passes unchanged.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class FreeText:
    """The task type AQER scores."""

    slug = "free_text"
    label = "Free text"
    sentence = (
        "Questions, perhaps about a text, answered in people’s own words. Workers and language "
        "models are scored by AQER."
    )
    shape = "texts"
    item_noun = "question"
    answer_template = "annotation/types/free_text_answer.html"
    item_template = "annotation/worker/item.html"
    builder_template = "annotation/types/free_text_settings.html"

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        low = whole_number(raw, "min_words", 1, 0, 2000)
        high = whole_number(raw, "max_words", 120, 1, 5000)
        if high < low:
            raise Invalid(
                "The most words are fewer than the least.",
                fields={"max_words": f"At least {low}."},
            )
        return {
            "min_words": low,
            "max_words": high,
            "dont_know": truth(raw.get("dont_know", True)),
            "skippable": truth(raw.get("skippable", False)),
        }

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        text = raw.get("text", "")
        if not isinstance(text, str):
            raise Invalid("The answer is not a text.", fields={"text": "Send a text."})
        if len(text) > MAX_CHARACTERS:
            raise Invalid(
                f"The answer has {len(text):,} characters; {MAX_CHARACTERS:,} is the most.",
                fields={"text": f"{MAX_CHARACTERS:,} characters at most."},
            )
        return {
            "text": storable(text),
            "declined": truth(raw.get("declined", False)),
            "skipped": truth(raw.get("skipped", False)),
        }

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(draft.get("declined") or str(draft.get("text", "")).strip())

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        text = str(draft.get("text", "")).strip()
        if draft.get("declined"):
            if not settings["dont_know"]:
                raise Invalid("“I don’t know” is not offered here; write an answer.")
            return Values(
                texts=[("answer", 0, DONT_KNOW)], choices=[("declined", "dont_know", None)]
            )
        if not text:
            if settings["skippable"]:
                return None
            raise Invalid("There is no answer yet.")
        words = len(text.split())
        if words < settings["min_words"]:
            raise Invalid(f"{words} words; at least {settings['min_words']} are wanted.")
        if words > settings["max_words"]:
            raise Invalid(f"{words} words; at most {settings['max_words']} are wanted.")
        return Values(texts=[("answer", 0, text)])
