"""What every importer shares: fields of a format, rows of a file, and what is wrong with them."""

from __future__ import annotations

import datetime as dt
import difflib
import heapq
import itertools
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotation.files.reading.keys import FirstSeen, Keys, LineSet, TextDigests, short_print
from annotation.files.reading.limits import MAX_BYTES
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.spool import Spool
from annotation.files.reading.times import SLASHES, is_day_first, parse_moment
from annotation.files.reading.values import MEND, WRONG, composed, plain_number, storable
from crowdqc.errors import Invalid
from crowdqc.numbers import count, mid_sentence, parse_whole
from crowdqc.web.terms import Words

MAX_ID = 80  # characters of an item's id
IS_ID = re.compile(r"(?:^|[\W_])(?i:id)\s*$|[a-z]I[Dd]\s*$", re.ASCII)
MAX_PROBLEMS = 200  # listed of one file
OF_ALL = "="  # begins what a mapping has in place of a column: one value for all rows
MOST_WORDS = 100  # sentences that a reader keeps translated
Limit = tuple[str, int, str]  # field, characters at most, what has so many
TRUTH = {"true": True, "1": True, "false": False, "0": False}
__all__ = ["MAX_BYTES", "MAX_SHOWN", "Problem", "Row"]


@dataclass(frozen=True)
class Field:
    """A column of a format, by its exact outside name, and other names it goes by."""

    name: str
    label: Words
    required: bool = False
    also: tuple[str, ...] = ()
    either: Words = ""  # in words: one of the fields that say this has to be there
    is_of_file: bool = False  # one value may stand for all rows: ``of_all_rows``


@dataclass(frozen=True)
class Sheet:
    """A file that was read: its columns, its rows, and lines that are no rows at all."""

    kind: str  # "CSV" or "JSONL"
    encoding: str
    encoding_note: str
    delimiter: str  # in words; empty for JSONL
    columns: Sequence[str]
    rows: Collection[Row]
    unreadable: Collection[Problem]
    notes: Sequence[str] = ()  # how it was read, where that is a choice

    @property
    def total(self) -> int:
        """Count all rows of the file, unreadable ones included."""
        return len(self.rows) + len(self.unreadable)


class Problems(Spool[Problem]):
    """What is wrong with the rows of a file, and with how many of them."""

    def __init__(self, given: Iterable[Problem] = ()) -> None:
        self.lines = LineSet()
        self.in_order = True  # by line
        self._last = 0
        super().__init__(given)

    def append(self, one: Problem, weight: int = 0) -> None:
        """Add a problem, keeping of its value only what is shown."""
        line = one.line or 0
        self.in_order &= line >= self._last
        self._last = line
        self.lines.add(one.line)
        shown = replace(one, value=one.value[:MAX_SHOWN]) if len(one.value) > MAX_SHOWN else one
        super().append(shown, weight)

    def merged(self, others: Collection[Problem]) -> Problems:
        """Merge with other problems, sorted by line; ``others`` must be sorted."""
        return Problems(heapq.merge(others, self.ordered(), key=_line))

    def ordered(self) -> Iterable[Problem]:
        """Return the problems sorted by line."""
        return self if self.in_order else sorted(self, key=_line)


def _line(problem: Problem) -> int:
    return problem.line or 0


@dataclass
class CheckedRows:
    """Rows to import, rows that are there already, and rows left out: each row is one of these.

    ``repeats`` say again what an earlier row of the file says, so that nothing is wrong with them;
    ``problems`` cannot be taken.
    """

    good: Spool[dict[str, Any]] = field(default_factory=Spool)
    rows: int | None = None  # behind ``good``, where several rows of the file make one of it
    there: int = 0
    repeats: Problems = field(default_factory=Problems)
    problems: Problems = field(default_factory=Problems)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what to know before it is imported
    about: dict[str, Any] = field(default_factory=dict)  # the same as numbers, for a page

    def add(self, made: dict[str, Any], rows: int, *, there: bool) -> None:
        """Add what ``rows`` rows of the file make, unless it is stored already (``there``)."""
        if there:
            self.there += rows
        else:
            self.good.append(made)
            self.rows = (self.rows or 0) + rows

    @property
    def used(self) -> int:
        """Number of rows of the file that are imported."""
        return len(self.good) if self.rows is None else self.rows

    @property
    def bad_lines(self) -> LineSet:
        """Return the lines with a problem."""
        return self.problems.lines


def refuse(name: str, problems: Collection[Problem], good: int, noun: str) -> None:
    """Raise Invalid where a file that is taken whole has bad rows, or none at all."""
    if problems:
        bad = len({problem.line for problem in problems})
        raise Invalid(
            _("%(name)s: %(bad)s of %(value)s %(noun)s cannot be read. Nothing was imported.")
            % {"name": name, "bad": count(bad), "value": count(good + bad), "noun": noun},
            rows=[problem.as_dict() for problem in itertools.islice(problems, MAX_PROBLEMS)],
        )
    if not good:
        raise Invalid(
            _("%(name)s holds no %(noun)s.") % {"name": name, "noun": noun},
            fields={"file": _("Choose a file with rows.")},
        )


def plain(name: str) -> str:
    """A column's name without case, accents, space and punctuation; a bare mark stays (``#``)."""
    bare = "".join(
        mark
        for mark in unicodedata.normalize("NFKD", name.replace("ß", "ss"))
        if not unicodedata.combining(mark)
    )
    return re.sub(r"[\W_]+", "", bare).casefold() or name.strip()[:1]


def without_aside(name: str) -> str:
    """Strip a bracketed remark or language suffix off a column name: ``Frage (EN)``."""
    bare = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", name).strip()
    return re.sub(r"[\s_-](?:de|en|es|fr|it|nl|pl|pt)$", "", bare, flags=re.IGNORECASE)


def last_part(name: str) -> str:
    """A column's name without the group before it: ``INPUT:image``, ``coder/text_id``."""
    return re.split(r"[:/.]", name.rstrip(":/."))[-1].strip() or name


def guess(columns: Sequence[str], fields: Sequence[Field]) -> dict[str, str]:
    """Field -> column, by the exact name first, then by the other names in their order.

    A name with an aside (``Frage (EN)``) or within a group (``coder/text_id``) is read where no
    column without one is.
    """
    found: dict[str, str] = {}
    for bare in (str, without_aside, last_part):
        by_plain: dict[str, str] = {}
        for column in columns:
            by_plain.setdefault(plain(bare(column)), column)
        for wanted in fields:
            names = (wanted.name, *wanted.also) if wanted.name not in found else ()
            for name in names:
                hit = by_plain.get(plain(name))
                if hit is not None and hit not in found.values():
                    found[wanted.name] = hit
                    break
    return found


def is_id(name: str) -> bool:
    """Whether a column is named like an id: ``review_id``, ``docId``."""
    return IS_ID.search(name) is not None


def of_all_rows(value: str) -> str:
    """What a mapping says of a field that has this value in all rows."""
    return f"{OF_ALL}{value.strip()}"


def values_of_file(mapping: Mapping[str, str], fields: Sequence[Field]) -> dict[str, str]:
    """Field -> the value that a mapping gives it in all rows."""
    names = {one.name for one in fields if one.is_of_file}
    return {
        name: said[1:]
        for name, said in mapping.items()
        if name in names and said[:1] == OF_ALL and said[1:]
    }


def missing(mapping: Mapping[str, str], fields: Sequence[Field]) -> list[Field]:
    """Return the required fields that no column is mapped to; of alternatives one is enough.

    Alternatives that all lack a column are returned as one field.

    Where none of such is there, they are named as one field.
    """
    found = [one for one in fields if one.required and one.name not in mapping]
    for group in dict.fromkeys(one.either for one in fields if one.either):
        these = [one for one in fields if one.either == group]
        if not any(one.name in mapping for one in these):
            label = _(" or ").join(
                [str(these[0].label), *(mid_sentence(one.label) for one in these[1:])]
            )
            found.append(Field(_(" or ").join(one.name for one in these), label, True))
    return found


def same_name(name: str) -> str:
    """Normalise a name for comparing: without case, spaces, hyphens and underscores."""
    return re.sub(r"[\s\-_]+", "", name).casefold()


def closest_name(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest to ``name``, or nothing."""
    close = difflib.get_close_matches(name, list(known)[:5000], n=1, cutoff=0.6)
    return close[0] if close else ""


def span(keys: Sequence[str], noun: str = gettext_noop("The task")) -> str:
    """``The task has voy-01 to voy-08.``"""
    if not keys:
        return _("%(noun)s has no question yet.") % {"noun": _(noun)}
    said = _("%(noun)s has %(first)s to %(last)s.")
    said = said if len(keys) > 1 else _("%(noun)s has only %(first)s.")
    return said % {"noun": _(noun), "first": keys[0], "last": keys[-1]}


class Refused(Exception):
    """A row cannot be taken; why is noted already."""


# Fields that name people, systems and items: such a name has one spelling (``composed``).
NAMING = frozenset(
    ("worker", "worker_id", "system", "prompt_strategy", "item_id", "item", "id", "key", "topic")
)


def spelled_alike(name: str) -> str:
    """A name as it is compared with those of the task: ``composed``, 1 for 1.0."""
    return plain_number(composed(name).strip())


class Reader:
    """Takes mapped values out of rows and notes what is wrong with them.

    What is read within ``with reader`` ends at the first thing that is wrong with it.
    """

    def __init__(
        self, mapping: Mapping[str, str], checked: CheckedRows, rows: Iterable[Row] = ()
    ) -> None:
        self.mapping = mapping
        self.checked = checked
        self.rows = rows  # all of the file, for what one row does not tell
        self.times: dict[str, Times] = {}
        self._alike: dict[str, dict[str, str]] = {}
        self._read_as: dict[str, tuple[int, str, str]] = {}
        self._words: dict[str, str] = {}  # translated once: a file may have one fault in all rows

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> bool:
        return kind is Refused

    def column(self, name: str) -> str:
        """Return the file's name of the column that stands for ``name``."""
        return self.mapping.get(name, name)

    def value(self, row: Row, name: str) -> str:
        """Return a row's text in the column for ``name``; "" without that column."""
        column = self.mapping.get(name)
        if not column:
            return ""
        value = row.values.get(column, column[1:] if column[0] == OF_ALL else "")
        if "\r" in value:
            value = value.replace("\r\n", "\n").replace("\r", "\n")
        return composed(value).strip() if name in NAMING else value.strip()

    def known_name(self, row: Row, name: str, known: Collection[str]) -> str:
        """A row's name, or the one of ``known`` that is only written in another way: 1 for 1.0.

        What is read so is noted once a column.
        """
        said = self.value(row, name)
        if not said or said in known:
            return said
        alike = self._alike.get(name)
        if alike is None:
            alike = self._alike[name] = {}
            for one in known:
                key = spelled_alike(one)
                alike[key] = "" if key in alike else one  # of two neither is meant for sure
        use = alike.get(spelled_alike(said), "")
        if use:
            n, first, as_what = self._read_as.get(name, (0, said, use))
            self._read_as[name] = (n + 1, first, as_what)
        return use or said

    def note_names(self) -> None:
        """Add a note for each column with names that were read in the task's spelling."""
        for name, (n, said, use) in self._read_as.items():
            self.checked.notes.append(note_spelling(self.column(name), n, said, use))

    def add_error(self, row: Row, names: str | Sequence[str], wrong: str, mend: str) -> None:
        """Note what is wrong in columns of a row and how to mend it."""
        names = [names] if isinstance(names, str) else list(names)
        shown = ", ".join(self.value(row, name) for name in names if self.value(row, name))
        columns = ", ".join(self.column(name) for name in names)
        problem = Problem(row.line, columns, shown, self._in_words(wrong), self._in_words(mend))
        self.checked.problems.append(problem)

    def _in_words(self, text: str) -> str:
        """Translate a fixed sentence, once."""
        if text not in self._words and len(self._words) < MOST_WORDS:
            self._words[text] = _(text)
        return self._words.get(text) or _(text)

    def refuse(self, row: Row, names: str | Sequence[str], wrong: str, mend: str) -> NoReturn:
        """Note what is wrong, and raise Refused."""
        self.add_error(row, names, wrong, mend)
        raise Refused

    @staticmethod
    def read_all(*reads: Callable[[], Any]) -> list[Any]:
        """Call each function and return the results; raise Refused after all problems are noted."""
        found, refused = [], False
        for read in reads:
            try:
                found.append(read())
            except Refused:
                refused = True
        if refused:
            raise Refused
        return found

    def values(self, row: Row, fields: Iterable[Field]) -> dict[str, Any]:
        """Return the values of a row in these fields, by field name."""
        return {one.name: self.value(row, one.name) for one in fields}

    def needed(self, row: Row, name: str, wrong: str, mend: str) -> str:
        """Return a required value of a row. Raises Refused if it is empty."""
        return self.value(row, name) or self.refuse(row, name, wrong, mend)

    def refuse_unknown(
        self,
        row: Row,
        names: str | Sequence[str],
        wrong: str,
        *,
        near: str,
        known: Iterable[str],
        order: Sequence[str],
    ) -> NoReturn:
        """Refuse an unknown id, suggesting the most similar one of ``known``."""
        found = closest_name(near, known) if near else ""
        mend = span(order)
        mend += " " + _("Did you mean %(near)s?") % {"near": found} if found else ""
        self.refuse(row, names, wrong, mend)

    def truth(self, row: Row, name: str, told: Mapping[str, bool] = TRUTH) -> bool | None:
        """Read a true-or-false column of a row; None if empty. Raises Refused."""
        raw = self.value(row, name).casefold()
        if raw and raw not in told:
            self.refuse(row, name, _("This is neither true nor false."), _("Write true or false."))
        return told.get(raw)

    def number(self, row: Row, name: str, mend: str, most: int = 10**9 - 1) -> int | None:
        """Return a row's whole number from 0; None for an empty cell. Raises Refused."""
        raw = self.value(row, name)
        if not raw:
            return None
        number = parse_whole(raw, high=most) if raw.isdigit() else None
        if number is None:
            self.refuse(row, name, _("This is not a whole number from 0."), mend)
        return number

    def moment(self, row: Row, name: str) -> dt.datetime | None:
        """Return a row's time; None for an empty cell, or for one that is no time, which is noted.

        ``note_times`` adds the notes.
        """
        times = self.times.get(name)
        if times is None:
            times = self.times[name] = Times(self, name, self.rows)
        return times.read(row)

    def note_times(self) -> None:
        """Add a note for each column with cells that were no times."""
        for times in self.times.values():
            times.note()

    def repeated(self, row: Row, names: str | Sequence[str], first: int, what: str) -> None:
        """Note that a row repeats line ``first``; it is left out without being an error."""
        names = [names] if isinstance(names, str) else list(names)
        shown = ", ".join(self.value(row, name) for name in names if self.value(row, name))
        self.checked.repeats.append(
            Problem(
                row.line,
                ", ".join(self.column(name) for name in names),
                shown,
                _("Given twice, first on line %(first)s, with the same %(what)s.")
                % {"first": count(first), "what": what},
                _("Nothing: the first one is used."),
            )
        )

    @contextmanager
    def together(self, lines: Iterable[int], noun: str) -> Iterator[None]:
        """Context for rows that form one ``noun``: if one of them is refused, all are."""
        try:
            yield
            return
        except Refused:
            pass
        for line in lines:
            if line not in self.checked.bad_lines:
                wrong = _("Another row of this %(noun)s cannot be read.") % {"noun": noun}
                mend = _("Correct that row: the rows of one %(noun)s come in together.") % {
                    "noun": noun
                }
                self.checked.problems.append(Problem(line, "", "", wrong, mend))

    def limit(self, row: Row, limits: Iterable[Limit]) -> None:
        """Check that a row's values are short enough. Raises Refused."""
        for name, most, noun in limits:
            self.fit(row, name, most, noun)

    def fit(self, row: Row, name: str, most: int, noun: str) -> str:
        """Return a value after checking its length and characters. Raises Refused."""
        value = self.value(row, name)
        if len(value) > most:
            wrong = _("%(value)s characters; %(most)s is the most for %(noun)s.") % {
                "value": count(len(value)),
                "most": count(most),
                "noun": _(noun),
            }
            self.refuse(row, name, wrong, _("Shorten it, or leave the row out."))
        if not storable(value):
            self.refuse(row, name, str(WRONG), str(MEND))
        return value


def note_spelling(column: str, n: int, said: str, use: str) -> str:
    """Say that ``n`` cells of a column are read in another spelling than they have."""
    told = {"column": column, "said": said, "use": use, "n": count(n)}
    return (
        ngettext(
            "%(column)s: “%(said)s” is read as “%(use)s” (%(n)s cell).",
            "%(column)s: “%(said)s” is read as “%(use)s”, and others alike (%(n)s cells).",
            n,
        )
        % told
    )


class Times:
    """Reads the times of a table; what is none is left empty, and is said once."""

    def __init__(self, reader: Reader, name: str, rows: Iterable[Row]) -> None:
        self.reader, self.name, self.rows = reader, name, rows
        self.lost, self.first = 0, ("", 0)

    @cached_property
    def day_first(self) -> bool | None:
        """Whether dates with slashes begin with the day, by all rows of the file."""
        column = self.reader.mapping.get(self.name)
        return is_day_first(row.values.get(column, "") for row in self.rows) if column else None

    def read(self, row: Row) -> dt.datetime | None:
        """Read the time of a row; None if there is none."""
        return self.read_value(self.reader.value(row, self.name), row.line)

    def read_value(self, raw: str, line: int) -> dt.datetime | None:
        """Parse a time on a line; None, counted as lost, if it cannot be read."""
        at = parse_moment(raw) if raw else None
        if at is None and SLASHES.fullmatch(raw):
            at = parse_moment(raw, self.day_first)
        if raw and at is None:
            self.first = self.first if self.lost else (raw[:MAX_SHOWN], line)
            self.lost += 1
        return at

    def note(self) -> None:
        """Add a note on how many cells held no readable time."""
        if self.lost:
            self.reader.checked.notes.append(
                ngettext(
                    "%(column)s: %(n)s cell is no clear time (“%(value)s” on line %(line)s) and "
                    "is left empty.",
                    "%(column)s: %(n)s cells are no clear times (“%(value)s” on line %(line)s) "
                    "and are left empty.",
                    self.lost,
                )
                % {
                    "column": self.reader.column(self.name),
                    "n": count(self.lost),
                    "value": self.first[0],
                    "line": count(self.first[1]),
                }
            )


class Importer(ABC):
    """Reads the rows of one format: ``fields`` are its columns, ``note`` what pages say of them."""

    slug: str
    title: Words
    note: Words = ""
    fields: tuple[Field, ...] = ()
    limits: tuple[Limit, ...] = ()  # of what a row has in its fields
    id_field = ""  # which field is the id of what a row is
    keeps_columns = False  # columns that no field reads are kept, too

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """Map fields to columns by their names, for a file nobody mapped.

        Where no name tells the id, it is the first column named like one with unique values.
        """
        found = guess(columns, self.fields)
        if self.id_field and self.id_field not in found:
            others = (name for name in columns if name not in found.values() and is_id(name))
            if column := next((name for name in others if _is_unique(rows, name)), None):
                found[self.id_field] = column
        return found

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: Any) -> CheckedRows:
        """Sort ``rows`` into good, present and bad; ``known`` is what the task holds."""
        checked = CheckedRows()
        reader = Reader(mapping, checked, rows)
        self.read(reader, rows, known)
        reader.note_times()
        reader.note_names()
        return checked

    @abstractmethod
    def read(self, reader: Reader, rows: Iterable[Row], known: Any) -> None:
        """Read the rows and note the result of each in ``reader.checked``."""


def _is_unique(rows: Iterable[Row], column: str) -> bool:
    """Whether every row has a value of its own in the column, as short as an id."""
    seen = Keys()
    values = (row.values.get(column, "").strip() for row in rows)
    return all(0 < len(value) <= MAX_ID and seen.add(value)[1] for value in values)


class Images(Iterable[Row]):
    """Rows that are gone through, and how many of them hold a Markdown image in these columns."""

    MARK = re.compile(r"!\[[^\]]*\]\s*[(\[]")

    def __init__(self, rows: Iterable[Row], columns: Sequence[str]) -> None:
        self.rows, self.columns = rows, columns
        self.count, self.first = 0, 0

    def __iter__(self) -> Iterator[Row]:
        self.count = 0
        for row in self.rows:
            if any(self.MARK.search(row.values.get(one, "")) for one in self.columns):
                self.first = self.first if self.count else row.line
                self.count += 1
            yield row

    @property
    def notes(self) -> list[str]:
        """Note that images will not be shown, if there are any."""
        if not self.count:
            return []
        rows = ngettext(
            "1 row holds a Markdown image on line %(first)s.",
            "%(number)s rows hold Markdown images, the first on line %(first)s.",
            self.count,
        ) % {"number": count(self.count), "first": count(self.first)}
        mend = _("Workers see no image: describe it in words.")
        return [f"{rows} {mend}"]


@dataclass
class UniqueRows:
    """Lets each key through once: with the same text again it is a repeat, with another bad."""

    reader: Reader
    names: Sequence[str]  # the fields that are named where a row is refused
    there: Mapping[Any, str] | TextDigests  # what the task holds
    twice: str  # how to mend a key that the file gives two texts
    differs: str  # what is wrong where the task holds another text,
    leave: str  # and how to mend that
    what: str = "text"  # what a key has one of
    first: FirstSeen = field(default_factory=FirstSeen)

    def is_new(self, row: Row, key: Hashable, text: str, *, elsewhere: bool = False) -> bool:
        """Whether the row is new; else it is counted as there, or noted as a repeat or as bad.

        ``elsewhere``: what is there already is not in the task, so that the row is new to it.
        """
        line, same = self.first.setdefault(key, row.line, text)
        if line != row.line and not same:
            wrong = _("Given twice, first on line %(line)s, with another %(what)s.") % {
                "line": count(line),
                "what": self.what,
            }
            self.reader.add_error(row, self.names, wrong, self.twice)
            return False
        known = self.there.get(key)
        if line == row.line and known is None:
            return True
        if line == row.line and known is not None and not is_same_text(known, text):
            self.reader.add_error(row, self.names, self.differs, self.leave)
        elif line == row.line and elsewhere:
            return True
        elif line == row.line:
            self.reader.checked.there += 1
        else:
            self.reader.repeated(row, self.names, line, self.what)
        return False


@dataclass
class ConsistentTexts:
    """Sees that what is said of a thing in several rows, or there already, is the same text."""

    reader: Reader
    first: dict[Any, tuple[int | None, Any]]  # what is there already stands on no line
    where: str  # it is there: "the task"
    wrong: str  # with {where}
    mend: str

    def check(self, row: Row, names: Sequence[str], key: Any, said: Any) -> None:
        """See to one row that says something. Raises Refused."""
        line, there = self.first.setdefault(key, (row.line, said))
        if there != said:
            where = _("line %(line)s") % {"line": count(line)} if line else self.where
            self.reader.refuse(row, names, self.wrong.format(where=where), self.mend)


def is_same_text(known: str | int, text: str) -> bool:
    """Return whether a text, or the short print of one, is that of another text."""
    return known == short_print(text) if isinstance(known, int) else known.strip() == text
