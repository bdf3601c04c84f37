"""Responses of a writing task, by people and by systems: the columns of our own export.

A row names its topic and style, and one author: ``worker`` (their id, or pseudonym) or ``system``
with ``prompt_strategy`` and ``replicate``. What it cites stands in its text. Rows that do not count
where they come from, or whose author is ``excluded`` there, are taken and do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.files.reading.importer import (
    Checked,
    Field,
    Importer,
    Once,
    Reader,
    Row,
    closest,
    span,
)
from annotation.formats.imports.answers import MAX_ANSWER, moment
from annotation.formats.imports.system_answers import (
    REPLICATE,
    STRATEGY,
    SYSTEM,
    named_system,
    numbered,
    spellings,
)

WHO = "a worker or a system"
NO, YES = ("false", "0", "no"), ("true", "1", "yes")
NOT_THERE = "did not count where it was written"
EXCLUDED = "its author was excluded where it was written"


@dataclass(frozen=True)
class KnownResponses:
    """What a task asks and holds: its items, who is known by which name, texts by author."""

    keys: Sequence[str] = ()
    people: Mapping[str, int] = field(default_factory=dict)  # id or pseudonym -> membership
    removed: frozenset[str] = frozenset()
    names: Sequence[str] = ()
    strategies: Sequence[str] = ()
    texts: Mapping[Any, str] = field(default_factory=dict)  # (author, item) -> text


class Responses(Importer):
    slug = "responses"
    title = "Responses"
    note = (
        "A row is one response, of a worker or of a system, with its topic and style. Passages "
        "are cited in the text by their numbers, as the task has it."
    )
    fields = (
        Field("topic", "Topic", True, ("topic_id", "query_id", "qid")),
        Field("style", "Style", True, ("kind",)),
        Field("text", "Text", True, ("response_text", "answer", "output", "completion")),
        Field("worker", "Worker id", False, ("worker_id", "participant", "author", "user"), WHO),
        Field("system", "System", False, SYSTEM.also, WHO),
        STRATEGY,
        REPLICATE,
        Field(
            "answered_at",
            "Time of the response",
            False,
            ("submitted_at", "timestamp", "time", "date", "created_at"),
        ),
        Field("counts", "Counts"),
        Field("reason", "Why it does not count"),
        Field("excluded", "Its author is excluded"),
    )

    def check(
        self, rows: Iterable[Row], mapping: Mapping[str, str], known: KnownResponses
    ) -> Checked:
        """Rows to add, those that are there already, and what is wrong with the others."""
        checked = Checked()
        reader = Reader(mapping, checked)
        spelled = spellings(known.names, known.strategies)
        keys = set(known.keys)
        once = Once(
            reader,
            ["worker", "system", "topic", "style"],
            {key: text.strip() for key, text in known.texts.items()},
            twice="Keep one, or number a system’s responses in the column replicate.",
            differs="The task has another response of this author to it.",
            leave="Leave the row out: responses are not overwritten.",
        )
        for row in rows:
            found = self._row(reader, row, keys, known, spelled)
            if found is None:
                continue
            who = found["worker"]
            author: Any = (
                ("worker", known.people.get(who, who))
                if who
                else ("system", found["system"], found["prompt_strategy"], found["replicate"])
            )
            if once.takes(row, (author, found["item"]), found["text"]):
                checked.good.append(found)
        _facts(checked)
        return checked

    def _row(
        self,
        reader: Reader,
        row: Row,
        keys: set[str],
        known: KnownResponses,
        spelled: Mapping[str, dict[str, str]],
    ) -> dict[str, Any] | None:
        """The values of a row; None where it is bad, which is noted."""
        item = f"{reader.value(row, 'topic')}-{reader.value(row, 'style')}"
        if item not in keys:
            near = closest(item, known.keys)
            mend = span(known.keys) + (f" Did you mean {near}?" if near else "")
            wrong = "The task asks for no such topic and style."
            reader.bad(row, ["topic", "style"], wrong, mend)
            return None
        if not self._text(reader, row) or not self._author(reader, row, known, spelled):
            return None
        replicate, at = numbered(reader, row), moment(reader, row, "answered_at")
        uncounted = self._uncounted(reader, row)
        if replicate is None or at is False or uncounted is None:
            return None
        names = ("text", "worker", "system", "prompt_strategy")
        values = {name: reader.value(row, name) for name in names}
        return {**values, "item": item, "replicate": replicate, "at": at, "uncounted": uncounted}

    @staticmethod
    def _text(reader: Reader, row: Row) -> bool:
        if not reader.value(row, "text"):
            reader.bad(row, "text", "A response needs text.", "Write it, or delete the row.")
            return False
        return reader.fits(row, "text", MAX_ANSWER, "a response")

    @staticmethod
    def _author(
        reader: Reader, row: Row, known: KnownResponses, spelled: Mapping[str, dict[str, str]]
    ) -> bool:
        worker, system = reader.value(row, "worker"), reader.value(row, "system")
        if bool(worker) == bool(system):
            wrong = "There are two authors." if worker else "There is no author."
            reader.bad(row, ["worker", "system"], wrong, "Write a worker or a system.")
            return False
        if system:
            return named_system(reader, row, spelled)
        if worker in known.removed:
            wrong = "This worker was removed from the project."
            reader.bad(row, "worker", wrong, "Leave the row out.")
            return False
        return reader.fits(row, "worker", 120, "a worker id")

    @staticmethod
    def _uncounted(reader: Reader, row: Row) -> str | None:
        """Why it does not count, empty where it does; None where that cannot be read."""
        said = {name: reader.value(row, name).casefold() for name in ("counts", "excluded")}
        for name, value in said.items():
            if value and value not in (*NO, *YES):
                reader.bad(row, name, "This is neither true nor false.", "Write true or false.")
                return None
        if said["counts"] in NO:
            return reader.value(row, "reason") or NOT_THERE
        return EXCLUDED if said["excluded"] in YES else ""


def _facts(checked: Checked) -> None:
    people = {one["worker"] for one in checked.good} - {""}
    systems = {(one["system"], one["prompt_strategy"]) for one in checked.good} - {("", "")}
    out = sum(bool(one["uncounted"]) for one in checked.good)
    for number, one, more in (
        (len(people), "worker", "workers"),
        (len(systems), "system", "systems"),
    ):
        if number:
            checked.facts.append(f"{number:,} {one if number == 1 else more}")
    if out:
        checked.facts.append(f"{out:,} that will not count")
