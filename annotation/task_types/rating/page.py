"""What the page of a rating with a document shows: numbered sentences, question, answer, fields.

Pure; asks the database nothing. A document's numbers are those of ``task_types.sentences``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils.translation import gettext as _

from annotation.models import Item, ItemGroup
from annotation.task_types.pairwise.page import lines
from annotation.task_types.rating.explanation import (
    EVIDENCE,
    EXPLANATION,
    FEEDBACK,
    NONE,
    REQUIRED,
    copies,
    numbers,
)
from annotation.task_types.rating.type import beside_problems
from annotation.task_types.sentences import paragraphs, sentences
from crowdqc.errors import Invalid
from crowdqc.web.words import count_words

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A sentence of the document as the page shows it."""

    number: int
    text: str
    anchor: bool  # the question arose from it
    chosen: bool  # it is evidence


def item_settings(passage: str, question: str, answer: str, anchor: int = 0) -> dict[str, Any]:
    """Make the settings of a document's item: ``anchor``, ``sentences``, ``copies``.

    ``anchor`` is the number of the sentence the question arose from, 0 for none; Invalid where the
    document has no such sentence. ``copies`` is what an explanation must not be.
    """
    last = len(sentences(passage))
    if not 0 <= anchor <= last:
        there = _("0: there is no document.")
        if last:
            there = _("1 to %(last)s; 0 for none.") % {"last": last}
        raise Invalid(
            _("The document has no sentence %(anchor)s.") % {"anchor": anchor},
            fields={"sentence": there},
        )
    return {"anchor": anchor, "sentences": last, "copies": copies(question, answer)}


def document(group: ItemGroup, anchor: int = 0, chosen: Mapping[int, Any] | None = None) -> Any:
    """Split the document into paragraphs of sentences, marking the anchor and the chosen ones."""
    marked = chosen or {}
    return [
        [Line(one.number, one.text, one.number == anchor, one.number in marked) for one in row]
        for row in paragraphs(group.passage)
    ]


def draft_evidence(draft: Mapping[str, Any], settings: Settings) -> list[int]:
    """Return the sentence numbers of a draft's evidence; [] while they cannot be read."""
    try:
        return numbers(str(draft.get(EVIDENCE, "")), int(settings.get("sentences") or 0))
    except Invalid:
        return []


class Entry(Protocol):
    """An item as somebody has it before them, with what they entered."""

    @property
    def item(self) -> Item: ...
    @property
    def draft(self) -> Any: ...
    @property
    def position(self) -> int: ...


def page(entry: Entry, settings: Settings, total: int, *, named: bool = False) -> dict[str, Any]:
    """Return what rate.html needs besides annotation.task_types.pairwise.page.page.

    ``named``: say beside the fields what is missing or wrong.
    """
    draft, item = entry.draft, entry.item
    asked = settings.get(EXPLANATION) or {}
    wrong = beside_problems(draft, settings) if named else {}
    open_lines = [line for line in lines(settings, draft) if not line.answered]
    return {
        **document_context(item, settings, draft),
        "wants_explanation": asked.get("wanted", NONE) != NONE,
        "explanation_required": asked.get("wanted") == REQUIRED,
        "least_words": asked.get("min_words", 1),
        "explanation_wrong": wrong.get(EXPLANATION, ""),
        "explanation_words": count_words(str(draft.get(EXPLANATION, ""))),
        "evidence_wrong": wrong.get(EVIDENCE, ""),
        "asks_feedback": bool(settings.get(FEEDBACK)) and entry.position + 1 == total,
        "scales_wrong": bool(named and open_lines),
    }


def document_context(item: Item, settings: Settings, draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context that shows an item's document and asks about it."""
    anchor = int(settings.get("anchor") or 0)
    marked = draft_evidence(draft, settings)
    there = bool(item.group.passage.strip())
    return {
        "paragraphs": document(item.group, anchor, dict.fromkeys(marked)) if there else [],
        "document_title": item.group.title,
        "sentence_count": int(settings.get("sentences") or 0),
        "anchor": anchor,
        "evidence": settings.get(EVIDENCE, NONE) if there else NONE,
        "evidence_count": len(marked),
        "of_document": settings.get("layout") == "document",
    }
