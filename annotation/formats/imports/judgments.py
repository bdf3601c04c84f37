"""Judgments of a task's pairs or texts, by people and by models: the columns of our own export.

Which pair a row means and how it was shown is told in ``judged_pairs``. The row names one author:
``worker`` (their id, or pseudonym), or ``system`` with ``prompt_strategy`` and ``replicate``, which
counts from 0 in each order of the pair. A column that has the name of a dimension holds its value;
an empty cell means that it was not judged.

- ``first``, ``neutral``, ``second`` name the text in the row's own columns of that name, or, where
  it has only ``item_id``, of the pair as the task stores it.
- ``left``, ``neutral``, ``right`` (or ``A``, ``N``, ``B``) name the text by where it stood, which
  the row has to say by ``left`` and ``right`` or by ``flipped``; else A and B are the first and
  the second text. Words of arenas (``model_a``, ``tie``) and of ``winners`` mean the same.
- The id of a text or the name of its system stands for it. A column ``winner`` is about the only
  or the overall dimension.
- A row keeps to one of the two. Numbers are not taken, since they do not say which text is meant.
- A rating is a point of its scale, as a whole number.
- A worker's second judgment of the same pair in the same order is one where ``answered_at`` says
  another time; without times it is the same row given twice.

Where a dimension has no neutral, people's rows may not be neutral; models are, and are taken so.
Rows that do not count where they come from (``counts`` false, with a ``reason``), or whose author
is ``excluded`` there, are taken and do not count. ``topic`` and ``version`` are not read.
"""

from __future__ import annotations

import datetime as dt
import itertools
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.importer import (
    CheckedRows,
    Field,
    Importer,
    Problem,
    Reader,
    Refused,
    Row,
    UniqueRows,
    closest_name,
    plain,
)
from annotation.files.reading.keys import Keys
from annotation.files.reading.recognise import NUMBERED
from annotation.formats.imports.answers import REPLICATE, STRATEGY, SYSTEM
from annotation.formats.imports.authors import AuthorCounts
from annotation.formats.imports.judged_pairs import SHOWN_AS, STORED_AS
from annotation.formats.imports.judgment_lines import (
    WORDS,
    JudgmentLine,
    Key,
    KnownJudgments,
    Lines,
)
from annotation.formats.imports.published.study_json import NAMES
from annotation.formats.imports.winners import WINNERS
from crowdqc.numbers import plural

if TYPE_CHECKING:
    from annotation.work.snapshots.judgments import AskedDimension

# The columns of the export before and after those of the dimensions, in their order.
HEAD = (
    "item_id",
    "topic",
    "first",
    "second",
    "left",
    "right",
    "flipped",
    "worker",
    "system",
    "prompt_strategy",
    "replicate",
    "position",
)
TAIL = ("answered_at", "counts", "reason", "excluded", "version", "meta")
WHAT = gettext_lazy("one way to say what was judged")
WHO, JUDGED = gettext_lazy("a worker or a system"), gettext_lazy("one of these")
PAIR = (
    Field(
        "item_id",
        gettext_lazy("Pair id"),
        also=("pair_id", "pair", "item", "id", "key"),
        either=WHAT,
    ),
    Field("first", gettext_lazy("First text"), also=("first_id", "first_text"), either=WHAT),
    Field("second", gettext_lazy("Second text"), also=("second_id", "second_text")),
    Field(
        "left",
        gettext_lazy("Text on the left"),
        also=("left_id", "left_text", "text_a", "response_a"),
        either=WHAT,
    ),
    Field(
        "right",
        gettext_lazy("Text on the right"),
        also=("right_id", "right_text", "text_b", "response_b"),
    ),
    Field(
        "flipped", gettext_lazy("Second text stood left"), also=("turned", "swapped", "reversed")
    ),
)
SINGLE = (
    Field("item_id", gettext_lazy("Item id"), also=("item", "id", *NUMBERED), either=WHAT),
    Field(
        "first",
        gettext_lazy("Text id"),
        also=("text_id", "text", "candidate", "response", "key"),
        either=WHAT,
    ),
)
AUTHOR = (
    Field(
        "worker",
        gettext_lazy("Worker id"),
        also=("worker_id", "participant", "annotator", "judge", "coder", "rater", "user"),
        either=WHO,
    ),
    Field("system", gettext_lazy("System"), False, SYSTEM.also, WHO),
    STRATEGY,
    REPLICATE,
    Field("position", gettext_lazy("Place in the worker's order"), also=("item_index", "place")),
)
AFTER = (
    Field(
        "answered_at",
        gettext_lazy("Time of the judgment"),
        also=("submitted_at", "timestamp", "time", "date", "created_at"),
    ),
    Field("counts", gettext_lazy("Counts")),
    Field("reason", gettext_lazy("Why it does not count")),
    Field("excluded", gettext_lazy("Its author is excluded")),
)
SAYS_PAIRS = gettext_lazy(
    "A judgment is first, neutral or second (a, tie, b) or the name of the winner, of the texts in "
    "these columns or of the pair as it is stored; or left, neutral or right, where the row says "
    "which text stood on the left. A model’s rows say its system instead of a worker; replicate "
    "tells repeated calls in the same order apart."
)
SAYS_RATINGS = gettext_lazy(
    "A rating is a point of its scale. A model’s rows say its system instead of a worker."
)


def column_of(dimension: str) -> str:
    """Return the column of a dimension: its name, prefixed if the format uses that name itself."""
    return f"judged_{dimension}" if dimension in HEAD or dimension in TAIL else dimension


def overall_of(columns: Sequence[str]) -> str:
    """Return the dimension that a winner without one is about: the only or the overall one."""
    overall = [name for name in columns if "overall" in name.lower()]
    return columns[0] if len(columns) == 1 else overall[-1] if overall else ""


class Judgments(Importer):
    """The format, of the dimensions or scales that a task asks for."""

    slug = "judgments"
    title = gettext_lazy("Judgments")

    def __init__(self, asked: Sequence[AskedDimension] = ()) -> None:
        self.asked = {column_of(one.name): one for one in asked}
        self.single = any(one.points for one in asked)
        other = {ours: theirs for theirs, ours in NAMES.items()}
        best = "" if self.single else overall_of(list(self.asked))
        judged = (
            Field(
                name,
                one.label,
                also=(
                    one.label,
                    *filter(None, [other.get(one.name)]),
                    *(("winner", *WINNERS) if name == best else ()),
                ),
                either=JUDGED,
            )
            for name, one in self.asked.items()
        )
        self.fields = (*(SINGLE if self.single else PAIR), *AUTHOR, *judged, *AFTER)
        self.note = SAYS_RATINGS if self.single else SAYS_PAIRS

    def read(self, reader: Reader, rows: Iterable[Row], known: KnownJudgments) -> None:
        """Judgments as the action takes them, each author's of a pair in one order once."""
        checked, rows = reader.checked, rows if isinstance(rows, Collection) else list(rows)
        lines = Lines(reader, known, self.asked, single=self.single)
        names = ("worker", "system", "item_id", *STORED_AS, *SHOWN_AS)
        once = UniqueRows(
            reader,
            [name for name in names if name in reader.mapping],
            {
                key: lines.describe_choices(codes)
                for key, codes in itertools.chain(known.there.items(), known.again.items())
            },
            twice=gettext_noop(
                "Keep one, or say when each was given; number a model’s calls by replicate."
            ),
            differs=gettext_noop("The task has another judgment of this author."),
            leave=gettext_noop("Leave the row out: judgments are not overwritten."),
            what="judgment",
        )
        strange = self._strange(rows, reader.mapping)
        first, counts, what = FirstTimes(), AuthorCounts(), set[int]()
        for row in rows:
            with reader:
                self._note_unknown_columns(row, strange, checked)
                found = lines.read(row)
                key = _key(found, first, known)
                if not found.asked and key not in once.there:
                    wrong = gettext_noop("The task no longer asks for this.")
                    reader.refuse(row, "item_id", wrong, _("Leave the row out."))
                if once.is_new(row, key, found.said):
                    checked.good.append(found.values)
                    counts.add(found.values)
                    what.add(found.values["item"])
        more = [plural(len(what), "text" if self.single else "pair")] if what else []
        checked.facts += counts.facts(*more)

    def _strange(self, rows: Collection[Row], mapping: Mapping[str, str]) -> dict[str, str]:
        """Columns of judgments that the task does not ask for, with the nearest name it has.

        A column that is not read is one if all its values are judgments; one of numbers, if they
        are points of a scale of nearly its name.
        """
        read = {*mapping.values(), *HEAD, *TAIL}
        named = {plain(name): name for name in self.asked}
        near: dict[str, str] = {}
        left: dict[str, set[str]] = {}  # what the values of a column may all be
        filled = set()
        for row in rows:
            for column in row.values.keys() - read:
                if column not in near:
                    near[column] = named.get(closest_name(plain(column), named), "")
                    left[column] = {"word", "point"}
                value = row.values[column].strip().casefold()
                if not value or not left[column]:
                    continue
                filled.add(column)
                if value not in WORDS:
                    left[column].discard("word")
                if not near[column] or self.asked[near[column]].parse_point(value) is None:
                    left[column].discard("point")
        return {one: near[one] for one in near if one in filled and left[one]}

    def _note_unknown_columns(
        self, row: Row, strange: Mapping[str, str], checked: CheckedRows
    ) -> None:
        for column, near in strange.items():
            value = row.values.get(column, "").strip()
            if value:
                mend = (
                    _("Did you mean %(near)s?") % {"near": near}
                    if near
                    else _("It asks for %(asked)s.") % {"asked": ", ".join(self.asked)}
                )
                wrong = _("The task does not ask for %(column)s.") % {"column": column}
                rename = _("Rename the column, or take it out.")
                mend = f"{mend} {rename}"
                checked.problems.append(Problem(row.line, column, value, wrong, mend))
                raise Refused


class FirstTimes:
    """The time of the first judgment of each in the file."""

    def __init__(self) -> None:
        self._keys, self._times = Keys(), array("d")

    def is_first(self, key: Key, at: dt.datetime) -> bool:
        """Whether no earlier row has another time."""
        place, new = self._keys.add(key)
        if new:
            self._times.append(at.timestamp())
        return self._times[place] == at.timestamp()


def _key(
    line: JudgmentLine, first: FirstTimes, known: KnownJudgments
) -> Key | tuple[Key, dt.datetime]:
    """Return what identifies a judgment; a worker's second of the same has its time too."""
    key, at = line.key, line.values["at"]
    if at is None or key[0][0] != "worker":
        return key
    if (key, at) in known.again:
        return key, at
    return key if first.is_first(key, at) else (key, at)
