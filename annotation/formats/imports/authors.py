"""Rows of a file that several make one answer: whose each is, and whether it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.files.reading.importer import Field, Reader, Row, closest, span
from annotation.formats.imports.system_answers import (
    REPLICATE,
    STRATEGY,
    SYSTEM,
    named_system,
    numbered,
    spellings,
)

WHO, WHAT = "a worker or a system", "one way to say what it is about"
NO, YES = ("false", "0", "no"), ("true", "1", "yes")
NOT_THERE = "did not count where it comes from"
EXCLUDED = "its author was excluded where it comes from"
AUTHOR = (
    Field(
        "worker",
        "Worker id",
        False,
        ("worker_id", "participant", "annotator", "author", "user"),
        WHO,
    ),
    Field("system", "System", False, SYSTEM.also, WHO),
    STRATEGY,
    REPLICATE,
)
AFTER = (
    Field("counts", "Counts"),
    Field("reason", "Why it does not count"),
    Field("excluded", "Its author is excluded"),
)
Author = tuple[Any, ...]


@dataclass(frozen=True)
class KnownAnswers:
    """What a task asks and holds.

    ``items``: names by which a row may call an item (its key, a dimension's name, a text's id)
    -> the item's key; ``there``: (author, item's key) -> what that author said of it.
    """

    items: Mapping[str, str] = field(default_factory=dict)
    order: Sequence[str] = ()  # keys as the task asks them
    people: Mapping[str, int] = field(default_factory=dict)  # id or pseudonym -> membership
    removed: frozenset[str] = frozenset()
    names: Sequence[str] = ()
    strategies: Sequence[str] = ()
    there: Mapping[tuple[Author, str], Any] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)  # a checklist's questions by name


class Authors:
    """Reads of a row which item it is about, who its author is, and whether it counts."""

    def __init__(self, reader: Reader, known: KnownAnswers, names: Sequence[str]) -> None:
        self.reader, self.known, self.names = reader, known, names
        self.spelled = spellings(known.names, known.strategies)

    def item(self, row: Row) -> str | None:
        """The key of the item a row is about; None where there is none, which is noted."""
        said = [value for name in self.names if (value := self.reader.value(row, name))]
        for value in said:
            if value in self.known.items:
                return self.known.items[value]
        near = closest(said[0], self.known.items) if said else ""
        mend = span(self.known.order) + (f" Did you mean {near}?" if near else "")
        shown = [name for name in self.names if name in self.reader.mapping]
        self.reader.bad(row, shown, "The task does not ask for this.", mend)
        return None

    def author(self, row: Row) -> dict[str, Any] | None:
        """worker, or system with prompt_strategy and replicate; None where it is bad."""
        reader = self.reader
        worker, system = reader.value(row, "worker"), reader.value(row, "system")
        if bool(worker) == bool(system):
            wrong = "There are two authors." if worker else "There is no author."
            names = [name for name in ("worker", "system") if name in reader.mapping]
            reader.bad(row, names, wrong, "Write a worker or a system.")
            return None
        if system and not named_system(reader, row, self.spelled):
            return None
        if worker in self.known.removed:
            wrong = "This worker was removed from the project."
            reader.bad(row, "worker", wrong, "Leave the row out.")
            return None
        if worker and not reader.fits(row, "worker", 120, "a worker id"):
            return None
        replicate = numbered(reader, row)
        if replicate is None:
            return None
        strategy = reader.value(row, "prompt_strategy") if system else ""
        return {
            "worker": worker,
            "system": system,
            "prompt_strategy": strategy,
            "replicate": replicate if system else 0,
        }

    def key(self, author: Mapping[str, Any]) -> Author:
        """What tells authors apart, as ``KnownAnswers.there`` has it."""
        worker = author["worker"]
        if worker:
            return ("worker", self.known.people.get(worker, worker))
        return ("system", author["system"], author["prompt_strategy"], author["replicate"])

    def uncounted(self, row: Row) -> str | None:
        """Why a row does not count, empty where it does; None where that cannot be read."""
        said = {name: self.reader.value(row, name).casefold() for name in ("counts", "excluded")}
        for name, value in said.items():
            if value and value not in (*NO, *YES):
                wrong = "This is neither true nor false."
                self.reader.bad(row, name, wrong, "Write true or false.")
                return None
        if said["counts"] in NO:
            return self.reader.value(row, "reason")[:200] or NOT_THERE
        return EXCLUDED if said["excluded"] in YES else ""


def facts(good: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many workers and systems the answers to import are of."""
    people = {one["worker"] for one in good} - {""}
    systems = {(one["system"], one["prompt_strategy"]) for one in good} - {("", "")}
    found = []
    for number, one, more in (
        (len(people), "worker", "workers"),
        (len(systems), "system", "systems"),
    ):
        if number:
            found.append(f"{number:,} {one if number == 1 else more}")
    out = sum(bool(one["uncounted"]) for one in good)
    return [*found, f"{out:,} that will not count"] if out else found
