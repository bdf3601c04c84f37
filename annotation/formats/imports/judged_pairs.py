"""Which pair a row of judgments means, how it was shown, and what its words mean there.

A row names its pair by ``item_id``, by the ids of its texts as ``first`` and ``second``, or by
their ids as they stood, ``left`` and ``right``; a text itself stands for its id. Where a row names
the pair in several ways they have to agree. ``flipped`` (true: the second text stood on the left)
is about the row's own first and second, else about the pair as the task stores it; where neither
it nor ``left`` says how the pair was shown, that is not known.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple, NoReturn

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.importer import Reader, Row, closest_name, plain
from annotation.files.reading.values import plain_value
from annotation.formats.imports.authors import digest_text
from annotation.formats.imports.winners import LEFT_WORDS, RIGHT_WORDS, SAID
from annotation.task_types.pairwise.sides import (
    FIRST,
    LEFT,
    NEUTRAL,
    RIGHT,
    SECOND,
    left_right,
    to_canonical,
    to_displayed,
)

CANONICAL = {FIRST: FIRST, NEUTRAL: NEUTRAL, SECOND: SECOND}
DISPLAYED = {LEFT: LEFT, NEUTRAL: NEUTRAL, RIGHT: RIGHT, "a": LEFT, "n": NEUTRAL, "b": RIGHT}
STORED_AS, SHOWN_AS = (FIRST, SECOND), (LEFT, RIGHT)  # the columns that name the two texts


class KnownPair(NamedTuple):
    """An item that puts texts to judgment: two as they are stored, or one (``second`` is empty).

    One that names no text, only what to judge in its own words, has both empty.
    ``side`` is how it is always shown (1 as stored, -1 turned, 0 as drawn); ``asked`` is whether
    the version in force asks for it; ``systems`` wrote its texts.
    """

    item: int
    key: str
    first: str
    second: str = ""
    side: int = 0
    repeat: bool = False
    asked: bool = True
    systems: tuple[str, str] = ("", "")

    @property
    def texts(self) -> tuple[str, str]:
        return self.first, self.second


class Shown(NamedTuple):
    """How a row names its pair. ``turned``: its first text is the second of the stored pair.

    ``flipped`` is how the stored pair was shown. ``says_first`` and ``says_left``: whether the row
    itself says which text is first, and which stood on the left. ``names`` are those of the stored
    pair's texts, each its id and its system, by which a row may name the winner.
    """

    turned: bool = False
    flipped: bool = False
    says_first: bool = True
    says_left: bool = False
    names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def word(self, said: str) -> str:
        """Return a winner as first, second, left, right or neutral; else as it is written.

        The name of one of the two is what it is of. A and B are the sides where the row says what
        stood on them, else the first and the second text.
        """
        given = plain_value(said)
        if given in CANONICAL:
            return given
        if any(self.names):
            named = [any(plain_value(name) == given for name in of) for of in self.names]
            if named[0] != named[1]:
                if self.says_left:
                    return LEFT if named[0] != self.flipped else RIGHT
                return FIRST if named[0] != self.turned else SECOND
        bare = plain(given)
        winner = SAID.get(bare, "")
        if winner in ("tie", "both_bad"):
            return NEUTRAL
        if not winner:
            return given
        is_side = self.says_left or bare in (*LEFT_WORDS, *RIGHT_WORDS)
        return (SHOWN_AS if is_side else STORED_AS)[winner == "model_b"]

    def code(self, word: str) -> str:
        """Return the stored code of a vote in words ("first", "left", ...) on this pair."""
        if word in CANONICAL:
            return to_canonical(to_displayed(word, flipped=False), flipped=self.turned)
        return to_canonical(DISPLAYED[word], flipped=self.flipped)


class NamedPair(NamedTuple):
    """The pair of a row, and how it was shown."""

    pair: KnownPair
    shown: Shown


class Pairs:
    """The pairs of a task, or its single texts, found by their ids, those of their texts, or these.

    ``digests``: hash of a text -> ids of the texts that read so.
    """

    def __init__(
        self,
        pairs: Iterable[KnownPair],
        attention: Set[str] = frozenset(),
        digests: Mapping[str, Set[str]] | None = None,
    ) -> None:
        self.attention, self.digests = attention, digests or {}
        self.by_key: dict[str, KnownPair] = {}
        self.by_texts: dict[frozenset[str], list[KnownPair]] = {}
        for pair in sorted(pairs, key=lambda one: not one.asked):
            self.by_key.setdefault(pair.key, pair)
            self.by_texts.setdefault(frozenset(pair.texts), []).append(pair)
        self.order = [pair.key for pair in self.by_key.values() if pair.asked]
        self.texts = {text for pair in self.by_key.values() for text in pair.texts if text}

    def single(self, reader: Reader, row: Row) -> NamedPair:
        """The one text that a row judges. Raises Refused."""
        text = reader.value(row, FIRST)
        ids = self._text_ids(reader, row, {FIRST: text, SECOND: ""}) if text else None
        return NamedPair(self._pair(reader, row, ids), Shown())

    def named(self, reader: Reader, row: Row) -> NamedPair:
        """The pair that a row judges. Raises Refused."""
        flipped = reader.truth(row, "flipped")
        order, sides = (self._two(reader, row, names) for names in (STORED_AS, SHOWN_AS))
        if order and sides and set(order) != set(sides):
            reader.refuse(
                row,
                (*STORED_AS, *SHOWN_AS),
                _("These are not the same two texts."),
                _("Name one pair in a row, or leave two of the cells empty."),
            )
        pair = self._pair(reader, row, order or sides)
        base = order or pair.texts
        if sides and flipped is not None and sides != left_right(*base, flipped=flipped):
            reader.refuse(
                row,
                ("flipped", *SHOWN_AS),
                _("It was shown one way or the other, not both."),
                _("Flipped is true where %(base)s stood on the left.") % {"base": base[1]},
            )
        turned = base != pair.texts
        said = sides[0] == base[1] if sides else bool(flipped)
        by_id = bool(reader.value(row, "item_id"))
        shown = Shown(
            turned,
            said != turned,
            says_first=by_id or order is not None,
            says_left=sides is not None or flipped is not None,
            names=((pair.first, pair.systems[0]), (pair.second, pair.systems[1])),
        )
        return NamedPair(pair if by_id else self._as_shown(pair, shown), shown)

    def _two(self, reader: Reader, row: Row, names: tuple[str, str]) -> tuple[str, str] | None:
        """The two texts in these columns; None where both are empty."""
        first, second = (reader.value(row, name) for name in names)
        if not first and not second:
            return None
        if not first or not second:
            wrong = gettext_noop("Only one of the two texts is named.")
            reader.refuse(row, names, wrong, _("Name both, or neither."))
        if first == second:
            reader.refuse(
                row, names, _("It is compared with itself."), _("Name two different texts.")
            )
        return self._text_ids(reader, row, dict(zip(names, (first, second), strict=True)))

    def _text_ids(self, reader: Reader, row: Row, named: Mapping[str, str]) -> tuple[str, str]:
        """The ids of the texts that two cells name, by id or in full. Raises Refused.

        Of texts that read the same, those of the pair that the row names, or else of one pair.
        """
        ids = [self._ids_of(text) for text in named.values()]
        for name, text, known in zip(named, named.values(), ids, strict=True):
            if not known:
                self._unknown(reader, row, name, text)
        if all(len(one) == 1 for one in ids):
            return min(ids[0]), min(ids[1])
        pair = self.by_key.get(reader.known_name(row, "item_id", self.by_key))
        asked = [frozenset(pair.texts)] if pair else self.by_texts.keys()
        both = [
            (first, second)
            for first, second in itertools.product(sorted(ids[0]), sorted(ids[1]))
            if frozenset((first, second)) in asked
        ]
        if len(both) > 1:
            wrong = gettext_noop("Several pairs of the task have these texts.")
            reader.refuse(row, [*named], wrong, _("Write the pair’s id in item_id."))
        return both[0] if both else (min(ids[0]), min(ids[1]))

    def _ids_of(self, text: str) -> Set[str]:
        if not text or text in self.texts:
            return {text}
        return self.digests.get(digest_text(text), frozenset())

    def _unknown(self, reader: Reader, row: Row, name: str, text: str) -> NoReturn:
        near = closest_name(text, self.texts)
        mend = (
            _("Did you mean %(near)s?") % {"near": near}
            if near
            else gettext_noop("Write the id that it was imported with, or the whole text.")
        )
        reader.refuse(row, name, _("The task has no such text."), mend)

    def _pair(self, reader: Reader, row: Row, texts: tuple[str, str] | None) -> KnownPair:
        """The item of this id, which has to be of these texts, or the first one of these texts."""
        if reader.value(row, "item_id"):
            return self._by_id(reader, row, texts)
        if texts is None:
            names = [name for name in ("item_id", FIRST, LEFT) if name in reader.mapping]
            reader.refuse(
                row,
                names,
                _("Nothing says what was judged."),
                _("Write its id, or those of its texts."),
            )
        found = self.by_texts.get(frozenset(texts))
        if found:
            return found[0]
        if not texts[1]:
            self._unknown(reader, row, FIRST, texts[0])
        names = [name for name in (*STORED_AS, *SHOWN_AS) if reader.value(row, name)][:2]
        reader.refuse(
            row, names, _("The task does not compare these two."), _("Leave the row out.")
        )

    def _by_id(self, reader: Reader, row: Row, texts: tuple[str, str] | None) -> KnownPair:
        key = reader.known_name(row, "item_id", self.by_key)
        if key in self.attention and key not in self.by_key:
            wrong = gettext_noop("This is an attention pair; judgments of it never count.")
            reader.refuse(row, "item_id", wrong, _("Leave the row out."))
        if key not in self.by_key:
            wrong, order = gettext_noop("The task has nothing with this id."), self.order
            reader.refuse_unknown(row, "item_id", wrong, near=key, known=order, order=order)
        pair = self.by_key[key]
        if texts is not None and set(texts) != set(pair.texts):
            names = [name for name in (*STORED_AS, *SHOWN_AS) if reader.value(row, name)][:2]
            of = " and ".join(text for text in pair.texts if text)
            reader.refuse(
                row,
                ("item_id", *names),
                _("%(key)s is about %(of)s.") % {"key": key, "of": of},
                _("Mend the id, or leave it empty."),
            )
        return pair

    def _as_shown(self, pair: KnownPair, shown: Shown) -> KnownPair:
        """Choose among the items of a pair: one always shown on these sides, else any."""
        side = -1 if shown.flipped else 1
        rank: Mapping[int, int] = {side: 0, 0: 1, -side: 2}
        same = self.by_texts[frozenset(pair.texts)]
        return min(same, key=lambda one: (not one.asked, rank[one.side], one.repeat, one.item))
