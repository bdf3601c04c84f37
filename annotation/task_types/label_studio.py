"""How items and answers look in Label Studio: a task's data, its controls, and their results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from annotation.models import Item

TEXT, PAIRWISE, RATING, CHOICES = "textarea", "pairwise", "rating", "choices"  # types of controls
MARKS, NUMBER, RANKER = "labels", "number", "ranker"


class Control(NamedTuple):
    """A control of a file of others: its name as one of ours, its own, its type, what was said.

    ``several``: somebody chose none or more than one of its options.
    """

    name: str
    label: str
    kind: str
    said: Collection[Any]
    several: bool = False


class Mark(NamedTuple):
    """A stretch of a text in code points, the end outside, with its label and its words."""

    start: int
    end: int
    label: str
    quoted: Any = None


def span_in_code_points(text: str, start: int, end: int) -> tuple[int, int] | None:
    """A span of UTF-16 units of the text in code points; None where it ends behind the text."""
    units = text.encode("utf-16-le", "surrogatepass")
    if 2 * end > len(units):
        return None
    first, last = (len(units[: 2 * at].decode("utf-16-le", "surrogatepass")) for at in (start, end))
    return first, last


class Stored(NamedTuple):
    """The values of an answer as they are stored: (field, code, ordinal) and so on."""

    choices: Sequence[tuple[str, str, int | None]]
    texts: Sequence[tuple[str, int, str]]
    spans: Sequence[tuple[str, int, str, int, int]]


class LabelStudio:
    """Of a type whose items are questions that are answered in words."""

    columns: tuple[str, ...] = ("item_id", "question", "context", "topic")
    about = "question"  # which data results are about
    texts: tuple[str, ...] = ()  # where an item's texts under judgment stand in its data
    told_by: frozenset[str] = frozenset()  # types of controls that tell a file of this type
    scored = TEXT  # the type of control that the type's main run scores

    def data(self, item: Item) -> dict[str, Any]:
        """Return an item's data for Label Studio, by column."""
        return {
            "item_id": item.key,
            "question": item.question,
            "context": item.group.passage,
            "topic": item.group.title or item.group.key,
        }

    def lists(self, settings: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
        """Return the lists that rankers order, by data name: rows of id and title."""
        return {}

    def choice(
        self, code: str, ordinal: int | None, points: Sequence[int]
    ) -> tuple[str, dict[str, Any]]:
        """Return type and value of the Label Studio result for a choice."""
        return CHOICES, {"choices": [code]}

    def settings(self, controls: Sequence[Control]) -> dict[str, Any]:
        """Derive task settings from the controls used in an imported file."""
        return {}

    def values(
        self, given: Mapping[str, tuple[str, Any]], settings: Mapping[str, Any], text: str
    ) -> Stored | None:
        """Convert an annotation to stored values.

        ``given`` maps each control to its type and value.

        None where the usual will do: a result a choice, a text area a text. Invalid names
        the field.
        """
        return None

    def results(
        self, item: Item, settings: Mapping[str, Any], row: Mapping[str, Any]
    ) -> list[tuple[str, str, dict[str, Any]]] | None:
        """The results of an answer (its values by field in ``row``): name, type and value.

        None where the usual ones will do: a result a choice, a text area a text.
        """
        return None


class TextsInLabelStudio(LabelStudio):
    """Of a type whose items are texts of the project."""

    def data(self, item: Item) -> dict[str, Any]:
        """The query, and each text with its key, its topic and its source."""
        held: dict[str, Any] = {"item_id": item.key, "query": item.question}
        there = [text for text in (item.first, item.second) if text is not None]
        for name, text in zip(self.texts, there, strict=False):
            number = name.removeprefix("text")
            held |= {
                name: text.text,
                f"key{number}": text.key,
                "topic": text.topic,
                f"source{number}": str(text.system),
            }
        return held
