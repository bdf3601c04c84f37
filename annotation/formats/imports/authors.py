"""Rows of answers by people and by systems: whose each is, and whether it counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import Field, Reader, Row
from annotation.formats.imports.answers import (
    REPLICATE,
    STRATEGY,
    SYSTEM,
    named_system,
    numbered,
    refuse_removed,
    spellings,
)
from crowdqc import numbers
from crowdqc.numbers import plural

WHO = gettext_lazy("a worker or a system")
WHAT = gettext_lazy("one way to say what it is about")
TRUTH = {"false": False, "0": False, "no": False, "true": True, "1": True, "yes": True}
AUTHOR = (
    Field(
        "worker",
        gettext_lazy("Worker id"),
        False,
        ("worker_id", "participant", "annotator", "author", "user"),
        WHO,
        is_of_file=True,
    ),
    Field("system", gettext_lazy("System"), False, SYSTEM.also, WHO, is_of_file=True),
    STRATEGY,
    REPLICATE,
)
AFTER = (
    Field("counts", gettext_lazy("Counts")),
    Field("reason", gettext_lazy("Why it does not count")),
    Field("excluded", gettext_lazy("Its author is excluded")),
)
Author = tuple[Any, ...]
# Columns whose text may stand for an item's id.
TEXTS = (
    *("text", "content", "sentence", "document", "body", "message", "tweet", "review"),
    *("satz", "kommentar", "texto", "frase", "comentario"),
)


@dataclass(frozen=True)
class KnownAuthors:
    """Members by their ids and pseudonyms, those who were removed, and the systems in use."""

    people: Mapping[str, int] = field(default_factory=dict)
    removed: Set[int] = frozenset()
    names: Sequence[str] = ()
    strategies: Sequence[str] = ()

    def worker(self, reader: Reader, row: Row) -> str | int:
        """The membership of the worker of a row, else their id. Raises Refused."""
        worker = reader.fit(row, "worker", 120, gettext_noop("a worker id"))
        who = self.people.get(worker, worker)
        refuse_removed(reader, row, "worker", who, self.removed)
        return who


@dataclass(frozen=True)
class KnownAnswers(KnownAuthors):
    """What a task asks and holds.

    ``items``: names by which a row may call an item (its key, a dimension's name, a text's id)
    -> the item's key; ``digests``: the same by its text; ``there``: (author, item's key) -> what
    that author said of it.
    """

    items: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)  # of texts that one item has -> key
    order: Sequence[str] = ()  # keys as the task asks them
    there: Mapping[tuple[Author, str], Any] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)  # a checklist's questions by name

    def item(self, reader: Reader, row: Row, names: Sequence[str]) -> str:
        """The key of the item that a row is about. Raises Refused."""
        said = [value for name in names if (value := reader.known_name(row, name, self.items))]
        for value in said:
            if value in self.items:
                return self.items[value]
            if self.digests and (key := self.digests.get(digest_text(value))):
                return key
        mapped = [name for name in names if name in reader.mapping]
        wrong, near = gettext_noop("The task does not ask for this."), said[0] if said else ""
        reader.refuse_unknown(row, mapped, wrong, near=near, known=self.items, order=self.order)


def digest_text(text: str) -> str:
    """Return the MD5 of a text as the database computes it, to find an item by its text."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


class Authors:
    """Reads of a row who its author is, and whether it counts; ``whence``: where rows come from."""

    def __init__(
        self, reader: Reader, known: KnownAuthors, whence: str = "where it comes from"
    ) -> None:
        self.reader, self.known, self.whence = reader, known, whence
        self.spelled = spellings(known.names, known.strategies)

    def author(self, row: Row) -> tuple[Author, dict[str, Any]]:
        """Read the author of a row: a key that identifies the author, and the author's fields.

        The fields are worker, or system with prompt_strategy and replicate. Raises Refused.
        """
        reader = self.reader
        worker, system = reader.value(row, "worker"), reader.value(row, "system")
        if bool(worker) == bool(system):
            wrong = (
                gettext_noop("There are two authors.")
                if worker
                else gettext_noop("There is no author.")
            )
            names = [name for name in ("worker", "system") if name in reader.mapping]
            reader.refuse(row, names, wrong, _("Write a worker or a system."))
        key: Author = (
            ("worker", self.known.worker(reader, row))
            if worker
            else ("system", *named_system(reader, row, self.spelled))
        )
        replicate = numbered(reader, row)
        key, strategy = (key, "") if worker else ((*key, replicate), key[2])
        return key, {
            "worker": worker,
            "system": system,
            "prompt_strategy": strategy,
            "replicate": 0 if worker else replicate,
        }

    def uncounted(self, row: Row) -> str:
        """Why a row does not count, empty where it does. Raises Refused."""
        counts, excluded = (self.reader.truth(row, name, TRUTH) for name in ("counts", "excluded"))
        if counts is False:
            return self.reader.value(row, "reason")[:200] or _("did not count %(whence)s") % {
                "whence": self.whence
            }
        return f"its author was excluded {self.whence}" if excluded else ""


class AuthorCounts:
    """How many workers and systems answers are of, and how many of these will not count."""

    def __init__(self) -> None:
        self.people: set[str] = set()
        self.systems: set[tuple[str, str]] = set()
        self.out = 0

    def add(self, one: Mapping[str, Any]) -> None:
        """Count one answer that is imported."""
        if one["worker"]:
            self.people.add(one["worker"])
        else:
            self.systems.add((one["system"], one["prompt_strategy"]))
        self.out += bool(one["uncounted"])

    def facts(self, *more: str) -> list[str]:
        """Return the counts of workers and systems as phrases, followed by ``more``."""
        counts = ((self.people, "worker"), (self.systems, "system"))
        found = [*(plural(len(these), noun) for these, noun in counts if these), *more]
        return (
            [*found, _("%(out)s that will not count") % {"out": numbers.count(self.out)}]
            if self.out
            else found
        )


def facts(good: Iterable[Mapping[str, Any]], *more: str) -> list[str]:
    """Count the authors of answers and return the counts as phrases, followed by ``more``."""
    counts = AuthorCounts()
    for one in good:
        counts.add(one)
    return counts.facts(*more)
