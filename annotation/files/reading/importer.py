"""What every importer shares: fields of a format, rows of a file, and what is wrong with them."""

from __future__ import annotations

import difflib
import heapq
import itertools
import re
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from annotation.files.reading.limits import MAX_BYTES
from annotation.files.reading.rows import MAX_SHOWN, Problem, Row
from annotation.files.reading.spool import Spool
from annotation.files.reading.values import MEND, WRONG, storable
from crowdqc.errors import Invalid

MAX_PROBLEMS = 200  # listed of one file
__all__ = ["MAX_BYTES", "MAX_SHOWN", "Problem", "Row"]


@dataclass(frozen=True)
class Field:
    """A column of a format, by its exact outside name, and other names it goes by."""

    name: str
    label: str
    required: bool = False
    also: tuple[str, ...] = ()
    either: str = ""  # in words: one of the fields that say this has to be there


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

    @property
    def total(self) -> int:
        return len(self.rows) + len(self.unreadable)


class Problems(Spool[Problem]):
    """What is wrong with the rows of a file, and with how many of them."""

    def __init__(self, given: Iterable[Problem] = ()) -> None:
        self.lines: set[int | None] = set()
        self.in_order = True  # by line
        self._last = 0
        super().__init__(given)

    def append(self, one: Problem, weight: int = 0) -> None:
        """Note one more; of its value only what is shown is kept."""
        line = one.line or 0
        self.in_order &= line >= self._last
        self._last = line
        self.lines.add(one.line)
        super().append(replace(one, value=one.value[:MAX_SHOWN]), weight)

    def merged(self, others: Collection[Problem]) -> Problems:
        """These and others, by line; ``others`` are in order."""
        return Problems(heapq.merge(others, self.ordered(), key=_line))

    def ordered(self) -> Iterable[Problem]:
        """These by line."""
        return self if self.in_order else sorted(self, key=_line)


def _line(problem: Problem) -> int:
    return problem.line or 0


@dataclass
class Checked:
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

    @property
    def used(self) -> int:
        """Rows of the file that are imported."""
        return len(self.good) if self.rows is None else self.rows

    @property
    def bad_lines(self) -> set[int | None]:
        return self.problems.lines


class Importer:
    """Reads the rows of one format: ``fields`` are its columns, ``note`` what pages say of them."""

    slug: str
    title: str
    note: str = ""
    fields: tuple[Field, ...] = ()

    def check(self, rows: Iterable[Row], mapping: Mapping[str, str], known: Any) -> Checked:
        """Sort ``rows`` into good, present and bad; ``known`` is what the task holds."""
        raise NotImplementedError


def refuse(name: str, problems: Collection[Problem], good: int, noun: str) -> None:
    """Raise Invalid where a file that is taken whole has bad rows, or none at all."""
    if problems:
        bad = len({problem.line for problem in problems})
        raise Invalid(
            f"{name}: {bad:,} of {good + bad:,} {noun} cannot be read. Nothing was imported.",
            rows=[problem.as_dict() for problem in itertools.islice(problems, MAX_PROBLEMS)],
        )
    if not good:
        raise Invalid(f"{name} holds no {noun}.", fields={"file": "Choose a file with rows."})


def plain(name: str) -> str:
    """A column's name without case, accents, space and punctuation."""
    bare = "".join(
        mark
        for mark in unicodedata.normalize("NFKD", name.replace("ß", "ss"))
        if not unicodedata.combining(mark)
    )
    return re.sub(r"[\W_]+", "", bare).casefold()


def without_aside(name: str) -> str:
    """A column's name without what stands in brackets, or after it: ``Frage (EN)``, ``text_de``."""
    bare = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", name).strip()
    return re.sub(r"[\s_-](?:de|en|es|fr|it|nl|pl|pt)$", "", bare, flags=re.IGNORECASE)


def guess(columns: Sequence[str], fields: Sequence[Field]) -> dict[str, str]:
    """Field -> column, by the exact name first, then by the other names in their order.

    A name with an aside (``Frage (EN)``) is read where no column without one is.
    """
    found: dict[str, str] = {}
    for bare in (str, without_aside):
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


def missing(mapping: Mapping[str, str], fields: Sequence[Field]) -> list[Field]:
    """The required fields that no column gives; of those that stand for each other one is enough.

    Where none of such is there, they are named as one field.
    """
    found = [one for one in fields if one.required and one.name not in mapping]
    for group in dict.fromkeys(one.either for one in fields if one.either):
        these = [one for one in fields if one.either == group]
        if not any(one.name in mapping for one in these):
            name, label = (
                " or ".join(getattr(one, part) for one in these) for part in ("name", "label")
            )
            found.append(Field(name, label, True))
    return found


def same_name(name: str) -> str:
    """What makes two spellings one name: no case, no space, no hyphen or underscore."""
    return re.sub(r"[\s\-_]+", "", name).casefold()


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest to ``name``, or nothing."""
    close = difflib.get_close_matches(name, list(known)[:5000], n=1, cutoff=0.6)
    return close[0] if close else ""


def span(keys: Sequence[str], noun: str = "The task") -> str:
    """``The task has voy-01 to voy-08.``"""
    if not keys:
        return f"{noun} has no question yet."
    if len(keys) == 1:
        return f"{noun} has only {keys[0]}."
    return f"{noun} has {keys[0]} to {keys[-1]}."


class Reader:
    """Takes mapped values out of rows and notes what is wrong with them."""

    def __init__(self, mapping: Mapping[str, str], checked: Checked) -> None:
        self.mapping = mapping
        self.checked = checked

    def column(self, name: str) -> str:
        return self.mapping.get(name, name)

    def value(self, row: Row, name: str) -> str:
        column = self.mapping.get(name)
        value = row.values.get(column, "") if column else ""
        if "\r" in value:
            value = value.replace("\r\n", "\n").replace("\r", "\n")
        return value.strip()

    def bad(self, row: Row, names: str | Sequence[str], wrong: str, mend: str) -> None:
        names = [names] if isinstance(names, str) else list(names)
        shown = ", ".join(self.value(row, name) for name in names if self.value(row, name))
        columns = ", ".join(self.column(name) for name in names)
        self.checked.problems.append(Problem(row.line, columns, shown, wrong, mend))

    def repeated(self, row: Row, names: str | Sequence[str], first: int, what: str) -> None:
        """Note a row that says again what line ``first`` says: it is left out, but not wrong."""
        names = [names] if isinstance(names, str) else list(names)
        shown = ", ".join(self.value(row, name) for name in names if self.value(row, name))
        self.checked.repeats.append(
            Problem(
                row.line,
                ", ".join(self.column(name) for name in names),
                shown,
                f"Given twice, first on line {first:,}, with the same {what}.",
                "Nothing: the first one is used.",
            )
        )

    def spoil(self, lines: Iterable[int], noun: str) -> None:
        """Note the rows that cannot come in because another one of the same ``noun`` cannot."""
        for line in lines:
            if line not in self.checked.bad_lines:
                wrong = f"Another row of this {noun} cannot be read."
                mend = f"Correct that row: the rows of one {noun} come in together."
                self.checked.problems.append(Problem(line, "", "", wrong, mend))

    def fits(self, row: Row, name: str, most: int, noun: str) -> bool:
        """Whether a value is short enough and can be stored."""
        value = self.value(row, name)
        if len(value) > most:
            self.bad(
                row,
                name,
                f"{len(value):,} characters; {most:,} is the most for {noun}.",
                "Shorten it, or leave the row out.",
            )
            return False
        if not storable(value):
            self.bad(row, name, WRONG, MEND)
            return False
        return True


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
        """That images are not shown, where there are any."""
        if not self.count:
            return []
        rows = (
            "1 row holds a Markdown image"
            if self.count == 1
            else (f"{self.count:,} rows hold Markdown images, the first")
        )
        return [f"{rows} on line {self.first:,}. Workers see no image: describe it in words."]


def text_print(text: str) -> bytes:
    """What stands for a text where only equality matters: 16 bytes, however long it is."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


class Prints:
    """Texts by key, of which only equality can be asked: some 150 bytes an entry."""

    def __init__(self, pairs: Iterable[tuple[Hashable, str]] = ()) -> None:
        self._found: dict[bytes, bytes] = {}
        for key, text in pairs:
            self._found[text_print(repr(key))] = text_print(text.strip())

    def get(self, key: Hashable) -> bytes | None:
        """The print of the key's text, if there is one."""
        return self._found.get(text_print(repr(key)))

    def __contains__(self, key: Hashable) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return len(self._found)


class First:
    """Where each key of a file stood first, and with which text."""

    def __init__(self) -> None:
        self._found: dict[bytes, bytes] = {}

    def setdefault(self, key: Hashable, line: int, text: str) -> tuple[int, bool]:
        """The line where the key stood first, and whether its text was the same there."""
        given = text_print(text)
        told = self._found.setdefault(text_print(repr(key)), line.to_bytes(8, "big") + given)
        return int.from_bytes(told[:8], "big"), told[8:] == given


@dataclass
class Once:
    """Lets each key through once: with the same text again it is a repeat, with another bad."""

    reader: Reader
    names: Sequence[str]  # the fields that are named where a row is refused
    there: Mapping[Any, str] | Prints  # what the task holds
    twice: str  # how to mend a key that the file gives two texts
    differs: str  # what is wrong where the task holds another text,
    leave: str  # and how to mend that
    what: str = "text"  # what a key has one of
    first: First = field(default_factory=First)

    def takes(self, row: Row, key: Hashable, text: str) -> bool:
        """Whether the row is new; else it is counted as there, or noted as a repeat or as bad."""
        line, same = self.first.setdefault(key, row.line, text)
        if line != row.line and not same:
            wrong = f"Given twice, first on line {line:,}, with another {self.what}."
            self.reader.bad(row, self.names, wrong, self.twice)
            return False
        known = self.there.get(key)
        if line == row.line and known is None:
            return True
        if line == row.line and known is not None and not _equal(known, text):
            self.reader.bad(row, self.names, self.differs, self.leave)
        elif line == row.line:
            self.reader.checked.there += 1
        else:
            self.reader.repeated(row, self.names, line, self.what)
        return False


def _equal(known: str | bytes, text: str) -> bool:
    return known == text_print(text) if isinstance(known, bytes) else known.strip() == text
