"""Rows of judgments one by one: whose they are, what was judged, and what was said of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.importer import Reader, Row, closest_name
from annotation.formats.imports.answers import MOST, named_system, numbered, spellings
from annotation.formats.imports.authors import KnownAuthors
from annotation.formats.imports.judged_pairs import (
    CANONICAL,
    DISPLAYED,
    KnownPair,
    NamedPair,
    Pairs,
)
from annotation.task_types.pairwise.sides import NEUTRAL, ORDINALS

if TYPE_CHECKING:
    from annotation.work.snapshots.judgments import AskedDimension

WORDS = CANONICAL.keys() | DISPLAYED.keys()
UNCOUNTED = "did not count where it comes from"
EXCLUDED = "its author is excluded where it comes from"
PLACES = 32_767
Author = tuple[str | int, ...]
Key = tuple[Author, str, bool]  # who, what, whether shown turned


@dataclass(frozen=True)
class KnownJudgments(KnownAuthors):
    """What a task asks for and holds.

    ``there`` has the codes by dimension of what is judged already; its authors are ``("worker",
    member)`` and ``("system", name, prompt strategy, replicate)``. ``again`` has them by time, of
    workers who judged the same more than once.
    """

    pairs: Sequence[KnownPair] = ()
    attention: Set[str] = frozenset()
    there: Mapping[Key, Mapping[str, str]] = field(default_factory=dict)
    again: Mapping[tuple[Key, dt.datetime], Mapping[str, str]] = field(default_factory=dict)


def is_whole_number(value: str) -> bool:
    """Whether a text is a whole number that a column can hold."""
    digits = value[1:] if value[:1] in "+-" else value
    return digits.isascii() and digits.isdigit() and len(digits) < 10


@dataclass(frozen=True)
class JudgmentLine:
    """A row that was read: whose, of what, and as the action takes it."""

    author: Author
    named: NamedPair
    codes: Mapping[str, str]  # by dimension
    values: dict[str, Any]


class Lines:
    """Reads rows one by one; ``asked`` are the dimensions by column, ``single``: of one text."""

    def __init__(
        self,
        reader: Reader,
        known: KnownJudgments,
        asked: Mapping[str, AskedDimension],
        *,
        single: bool,
    ) -> None:
        self.reader, self.known, self.asked, self.single = reader, known, asked, single
        self.pairs = Pairs(known.pairs, known.attention)
        self.spelled = spellings(known.names, known.strategies)

    def read(self, row: Row) -> JudgmentLine:
        """One row. Raises Refused."""
        reader, single = self.reader, self.single
        named = (self.pairs.single if single else self.pairs.named)(reader, row)
        author = self._author(row)
        codes = self._ratings(row) if single else self._codes(row, named)
        at = reader.moment(row, "answered_at")
        call = author[-1] if author[0] == "system" else 0
        choices = tuple(
            (name, code, int(code) if single else ORDINALS[code]) for name, code in codes.items()
        )
        return JudgmentLine(
            author,
            named,
            codes,
            {
                "item": named.pair.item,
                "flipped": named.flipped,
                "choices": choices,
                "at": at,
                "replicate": call,
                "position": self._position(row),
                "uncounted": self._uncounted(row),
                **{
                    name: reader.value(row, name)
                    for name in ("worker", "system", "prompt_strategy")
                },
            },
        )

    def _author(self, row: Row) -> Author:
        reader = self.reader
        worker, system = reader.value(row, "worker"), reader.value(row, "system")
        if worker and system:
            reader.refuse(
                row,
                ("worker", "system"),
                _("A judgment is a worker’s or a system’s, not both."),
                _("Empty one of the two cells."),
            )
        if not worker and not system:
            names = [name for name in ("worker", "system") if name in reader.mapping]
            mend = gettext_noop("Write a worker’s id, or the system that it is of.")
            reader.refuse(row, names, _("Nobody is named."), mend)
        return self._worker(row) if worker else self._system(row)

    def _worker(self, row: Row) -> Author:
        reader = self.reader
        for name, none in (("prompt_strategy", ("",)), ("replicate", ("", "0"))):
            if reader.value(row, name) not in none:
                reader.refuse(
                    row,
                    name,
                    _("Only systems have this."),
                    _("Empty the cell, or name a system instead of the worker."),
                )
        return "worker", self.known.worker(reader, row)

    def _system(self, row: Row) -> Author:
        name, strategy = named_system(self.reader, row, self.spelled)
        return "system", name, strategy, numbered(self.reader, row, MOST // 2)

    def _given(self, row: Row) -> dict[str, str]:
        """The words of the row by column."""
        found = {name: self.reader.value(row, name).casefold() for name in self.asked}
        found = {name: word for name, word in found.items() if word}
        if not found:
            names = [name for name in self.asked if name in self.reader.mapping]
            mend = gettext_noop("Write a judgment, or leave the row out.")
            self.reader.refuse(row, names, _("Nothing is judged here."), mend)
        return found

    def _codes(self, row: Row, named: NamedPair) -> dict[str, str]:
        """Stored codes by dimension."""
        reader, given = self.reader, self._given(row)
        for name, word in given.items():
            if word not in WORDS:
                near = closest_name(word, sorted(WORDS)) if len(word) > 1 else ""
                mend = gettext_noop(
                    "Write first, neutral or second; or left, neutral or right (A, N, B)."
                )
                mend = _("Did you mean %(near)s?") % {"near": near} if near else mend
                reader.refuse(row, name, _("This is no judgment of a pair."), mend)
        self._one_way(row, named, given)
        for name, word in given.items():
            one = self.asked[name]
            if not one.neutral and named.code(word) == NEUTRAL and reader.value(row, "worker"):
                reader.refuse(
                    row,
                    name,
                    _("“%(label)s” has no neutral: people choose a side.") % {"label": one.label},
                    _("Leave the cell empty, or the row out."),
                )
        return {self.asked[name].name: named.code(word) for name, word in given.items()}

    def _one_way(self, row: Row, named: NamedPair, given: Mapping[str, str]) -> None:
        """See that the words are of one kind, and that the row says what they stand for."""
        reader = self.reader
        of_order, of_side = (
            [name for name, word in given.items() if words.get(word, NEUTRAL) != NEUTRAL]
            for words in (CANONICAL, DISPLAYED)
        )
        if of_order and of_side:
            reader.refuse(
                row,
                (of_order[0], of_side[0]),
                _("One row says both first or second, left or right."),
                _("Use one of the two ways throughout the row."),
            )
        if of_order and not named.says_first:
            reader.refuse(
                row,
                of_order[0],
                _("The row says which text stood left, not which one is first."),
                _(
                    "Write left, neutral or right, or name the texts in the columns first and "
                    "second."
                ),
            )
        if of_side and not named.says_left:
            reader.refuse(
                row,
                of_side[0],
                _("The row does not say which text stood on the left."),
                _("Write first, neutral or second, or add left and right, or flipped."),
            )

    def _ratings(self, row: Row) -> dict[str, str]:
        """Points by scale, as they are stored."""
        found = {}
        for name, word in self._given(row).items():
            points = self.asked[name].points
            if not is_whole_number(word) or int(word) not in points:
                told = ", ".join(map(str, points))
                self.reader.refuse(
                    row,
                    name,
                    _("The scale has no such point."),
                    _("It has %(told)s.") % {"told": told},
                )
            found[self.asked[name].name] = str(int(word))
        return found

    def _position(self, row: Row) -> int | None:
        """The place from 0 at which a worker met the pair; None where it is not said."""
        raw = self.reader.value(row, "position")
        if not raw or self.reader.value(row, "system"):
            return None
        if not (is_whole_number(raw) and 1 <= int(raw) <= PLACES):
            mend = gettext_noop("Number the worker’s pairs 1, 2, 3 and so on.")
            self.reader.refuse(row, "position", _("This is not a whole number from 1."), mend)
        return int(raw) - 1

    def _uncounted(self, row: Row) -> str:
        """Why a row does not count; empty where it does."""
        counts, excluded = (self.reader.truth(row, name) for name in ("counts", "excluded"))
        reason = self.reader.fit(row, "reason", 200, gettext_noop("a reason"))
        if counts is False:
            return reason or UNCOUNTED
        return EXCLUDED if excluded else ""
