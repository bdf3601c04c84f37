"""Rows of judgments one by one: whose they are, what was judged, and what was said of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.importer import Reader, Row, closest_name
from annotation.files.reading.remembered import Remembered
from annotation.formats.imports.answers import MOST, named_system, numbered, spellings
from annotation.formats.imports.authors import KnownAuthors
from annotation.formats.imports.judged_pairs import (
    CANONICAL,
    DISPLAYED,
    SHOWN_AS,
    STORED_AS,
    KnownPair,
    Pairs,
    Shown,
)
from annotation.task_types.pairwise.sides import NEUTRAL, ORDINALS

if TYPE_CHECKING:
    from annotation.work.snapshots.judgments import AskedDimension

WORDS = CANONICAL.keys() | DISPLAYED.keys()
UNCOUNTED = "did not count where it comes from"
EXCLUDED = "its author is excluded where it comes from"
PLACES = 32_767
WHO = ("worker", "system", "prompt_strategy", "replicate")
WHAT = ("item_id", "flipped", *STORED_AS, *SHOWN_AS)
Author = tuple[str | int, ...]
Choices = tuple[tuple[str, str, int], ...]  # dimension, code, ordinal
Key = tuple[Author, str, bool]  # who, what, whether shown turned


@dataclass(frozen=True)
class KnownJudgments(KnownAuthors):
    """What a task asks for and holds.

    ``there`` has the codes by dimension of what is judged already; its authors are ``("worker",
    member)`` and ``("system", name, prompt strategy, replicate)``. ``again`` has them by time, of
    workers who judged the same more than once. ``digests``: hash of a text -> ids of such texts.
    """

    pairs: Sequence[KnownPair] = ()
    digests: Mapping[str, Set[str]] = field(default_factory=dict)
    attention: Set[str] = frozenset()
    there: Mapping[Key, Mapping[str, str]] = field(default_factory=dict)
    again: Mapping[tuple[Key, dt.datetime], Mapping[str, str]] = field(default_factory=dict)


def is_whole_number(value: str) -> bool:
    """Whether a text is a whole number that a column can hold."""
    digits = value[1:] if value[:1] in "+-" else value
    return digits.isascii() and digits.isdigit() and len(digits) < 10


class JudgmentLine(NamedTuple):
    """A row that was read: whose, of which pair shown how, and as the action takes it."""

    key: Key
    asked: bool  # by the version in force
    said: str  # on every dimension, to be compared
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
        pairs = Pairs(known.pairs, known.attention, known.digests)
        self.spelled = spellings(known.names, known.strategies)
        self.compared = [one.name for column, one in asked.items() if column in reader.mapping]
        named = partial(pairs.single if single else pairs.named, reader)
        self.named = Remembered(reader, WHAT, named)
        self.author = Remembered(reader, WHO, self._author)
        judged = self._ratings if single else self._judgments
        self.judged = Remembered(reader, [*asked], judged)
        self.uncounted = Remembered(reader, ("counts", "reason", "excluded"), self._uncounted)

    def read(self, row: Row) -> JudgmentLine:
        """Read one row as a judgment. Raises Refused."""
        pair, shown = self.named(row)
        author, about = self.author(row)
        position, at = self._position(row), self.reader.moment(row, "answered_at")
        said, choices = self.judged(row, shown, author[0] == "worker")
        return JudgmentLine(
            (author, pair.key, shown.flipped),
            pair.asked,
            said,
            {
                "item": pair.item,
                "flipped": shown.flipped,
                "choices": choices,
                "at": at,
                "position": position,
                "sides_known": self.single or shown.says_left,
                "order_known": self.single or position is not None or at is not None,
                "uncounted": self.uncounted(row),
                **about,
            },
        )

    def _author(self, row: Row) -> tuple[Author, dict[str, Any]]:
        """Return who gave the row's judgment, with it as the action takes it. Raises Refused."""
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
        author = self._worker(row) if worker else self._system(row)
        about = {
            "worker": worker,
            "system": system,
            "prompt_strategy": reader.value(row, "prompt_strategy"),
            "replicate": author[-1] if system else 0,
        }
        return author, about

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

    def _read_words(self, row: Row) -> dict[str, str]:
        """The words of the row by column."""
        found = {name: self.reader.value(row, name).casefold() for name in self.asked}
        found = {name: word for name, word in found.items() if word}
        if not found:
            names = [name for name in self.asked if name in self.reader.mapping]
            mend = gettext_noop("Write a judgment, or leave the row out.")
            self.reader.refuse(row, names, _("Nothing is judged here."), mend)
        return found

    def _judgments(self, row: Row, shown: Shown, by_person: bool) -> tuple[str, Choices]:
        """Return the row's judgment and the stored codes with their places. Raises Refused."""
        reader = self.reader
        given = {name: shown.word(said) for name, said in self._read_words(row).items()}
        for name, word in given.items():
            if word not in WORDS:
                near = closest_name(word, sorted(WORDS)) if len(word) > 1 else ""
                mend = gettext_noop(
                    "Write first, neutral or second; or left, neutral or right (A, N, B)."
                )
                mend = _("Did you mean %(near)s?") % {"near": near} if near else mend
                reader.refuse(row, name, _("This is no judgment of a pair."), mend)
        self._check_words(row, shown, given)
        for name, word in given.items():
            one = self.asked[name]
            if by_person and not one.neutral and shown.code(word) == NEUTRAL:
                reader.refuse(
                    row,
                    name,
                    _("“%(label)s” has no neutral: people choose a side.") % {"label": one.label},
                    _("Leave the cell empty, or the row out."),
                )
        codes = {self.asked[name].name: shown.code(word) for name, word in given.items()}
        return self.describe_choices(codes), tuple(
            (name, code, ORDINALS[code]) for name, code in codes.items()
        )

    def _check_words(self, row: Row, shown: Shown, given: Mapping[str, str]) -> None:
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
        if of_order and not shown.says_first:
            reader.refuse(
                row,
                of_order[0],
                _("The row says which text stood left, not which one is first."),
                _(
                    "Write left, neutral or right, or name the texts in the columns first and "
                    "second."
                ),
            )
        if of_side and not shown.says_left:
            reader.refuse(
                row,
                of_side[0],
                _("The row does not say which text stood on the left."),
                _("Write first, neutral or second, or add left and right, or flipped."),
            )

    def _ratings(self, row: Row, *_how: object) -> tuple[str, Choices]:
        """The same of points of scales. Raises Refused."""
        codes = {}
        for name, word in self._read_words(row).items():
            asked = self.asked[name]
            if (point := asked.parse_point(word)) is None:
                told = ", ".join(asked.written or map(str, asked.points))
                self.reader.refuse(
                    row,
                    name,
                    _("The scale has no such point."),
                    _("It has %(told)s.") % {"told": told},
                )
            codes[asked.name] = str(point)
        return self.describe_choices(codes), tuple(
            (name, code, int(code)) for name, code in codes.items()
        )

    def describe_choices(self, codes: Mapping[str, str]) -> str:
        """Describe the judgment on the file's dimensions, for comparing."""
        return ", ".join(f"{name} {codes.get(name, '-')}" for name in self.compared)

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
