"""Ratings with explanations: item_id, worker_id, label, explanation, evidence, correct.

``label`` is a point of the task's first scale, by value or by name; a column that has the name of
a scale holds a point of it, and ``correct`` one of the scale called "correctness". ``evidence``
are sentence numbers of the document, as in "3, 5-7".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.files.reading.importer import Checked, Field, Importer, Reader, Row, closest, span
from annotation.task_types.rating.explanation import MAX_EXPLANATION, numbers
from crowdqc.errors import Invalid

LABEL, CORRECT = "label", "correct"
CORRECTNESS = "correctness"
COLUMNS = ("item_id", "worker_id", LABEL, "explanation", "evidence", CORRECT)
YES_NO = {"true": "1", "yes": "1", "false": "0", "no": "0"}
Said = tuple[str, str, tuple[tuple[str, int], ...], str]  # item, worker, values, explanation


@dataclass(frozen=True)
class KnownRatings:
    """Items with the number of their document's last sentence, and what is there how often."""

    items: Mapping[str, int] = field(default_factory=dict)
    said: Mapping[Said, int] = field(default_factory=dict)


def columns_of(scales: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The column of each scale, by the scale's name: ``label`` for the first one."""
    found = {}
    for at, scale in enumerate(scales):
        name = str(scale["name"])
        usual = CORRECT if name == CORRECTNESS else name
        found[name] = LABEL if at == 0 else f"rated_{name}" if usual in COLUMNS[:5] else usual
    return found


class Ratings(Importer):
    """The format, of the scales that a task asks for."""

    slug = "ratings"
    title = "Ratings with explanations"

    def __init__(self, scales: Sequence[Mapping[str, Any]] = ()) -> None:
        self.scales = {str(scale["name"]): scale for scale in scales}
        self.columns = columns_of(scales)
        self.fields = (
            Field("item_id", "Answer id", True, ("item", "answer_id", "id")),
            Field("worker_id", "Worker id", True, ("worker", "annotator", "rater")),
            *(
                Field(self.columns[name], scale["label"], True, (name, f"{name}_label"))
                for name, scale in self.scales.items()
            ),
            Field("explanation", "Explanation", False, ("feedback", "reason", "rationale")),
            Field("evidence", "Evidence", False, ("sentences", "evidence_sentences")),
        )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownRatings
    ) -> Checked:
        """Rows to add, those that are there already, and what is wrong with the others.

        The same rating as often as it is there is there; once more, it is new.
        """
        checked = Checked()
        reader, left = Reader(mapping, checked), dict(known.said)
        for row in rows:
            found = self._read(reader, row, known)
            if found is None:
                continue
            said: Said = (
                found["item_id"],
                found["worker_id"],
                tuple(found["values"]),
                found["explanation"],
            )
            if left.get(said, 0):
                left[said] -= 1
                checked.there += 1
            else:
                checked.good.append(found)
        return checked

    def _read(self, reader: Reader, row: Row, known: KnownRatings) -> dict[str, Any] | None:
        item, worker = reader.value(row, "item_id"), reader.value(row, "worker_id")
        if item not in known.items:
            near = closest(item, known.items)
            mend = f"Did you mean {near}?" if near else span(sorted(known.items))
            reader.bad(row, "item_id", "No answer has this id.", mend)
            return None
        if not worker:
            reader.bad(row, "worker_id", "There is no worker.", "Write who rated it.")
            return None
        if not (
            reader.fits(row, "worker_id", 120, "an id")
            and reader.fits(row, "explanation", MAX_EXPLANATION, "an explanation")
        ):
            return None
        values = [(name, self._point(reader, row, name)) for name in self.scales]
        if any(value is None for _, value in values):
            return None
        try:
            evidence = numbers(reader.value(row, "evidence").strip("[]"), known.items[item])
        except Invalid as error:
            reader.bad(row, "evidence", error.message, "Sentence numbers, as in 3, 5-7.")
            return None
        return {
            "item_id": item,
            "worker_id": worker,
            "values": values,
            "explanation": reader.value(row, "explanation"),
            "evidence": evidence,
        }

    def _point(self, reader: Reader, row: Row, name: str) -> int | None:
        column, points = self.columns[name], self.scales[name]["points"]
        raw = reader.value(row, column)
        by_name = {str(point["label"]).casefold(): point["value"] for point in points}
        by_value = {str(point["value"]): int(point["value"]) for point in points}
        value = by_value.get(raw, by_name.get(raw.casefold()))
        if value is None:
            value = by_value.get(YES_NO.get(raw.casefold(), ""))
        if value is None:
            said = ", ".join(by_value)
            reader.bad(row, column, "The scale has no such point.", f"One of {said}.")
            return None
        return int(value)
