"""How a file of separated values is laid out, seen from its first rows."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_noop

from annotation.files.reading.recognise import is_usual

DELIMITERS = {
    **{",": gettext_noop("comma"), ";": gettext_noop("semicolon"), "\t": gettext_noop("tab")},
    **{"|": gettext_noop("vertical bar"), "~": gettext_noop("tilde")},
    **{"\x01": gettext_noop("control character 1"), "::": gettext_noop("double colon")},
}
SHOWN_DELIMITERS = {f" {sign} ": name for sign, name in DELIMITERS.items()} | DELIMITERS
USUAL_DELIMITERS = set(",;\t|")
UNIT = "\x1f"  # stands for a delimiter of several signs, which the reader of CSV does not take
LOOKED = 30  # rows in which the delimiter is looked for
MOST_ALIGNED = 1_000  # characters of a line that is aligned by spaces
LEAST_WIDE = 2  # values, from which rows of one width below a title are a table
MOST_TITLES = 10  # rows with a title above the names of the columns
DASHES = r"\s*(?::-+:?|-+:|-{2,})\s*"
RULE = re.compile(rf"[|+]?{DASHES}(?:[|+]{DASHES})+[|+]?")  # below names, and around tables
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Shape:
    """The layout of a file; ``names_rows`` where a first column has no name, as R writes it."""

    delimiter: str
    is_spaced: bool  # a space stands between a delimiter and a quotation mark
    titles: int  # rows above the names of the columns
    has_header: bool
    names_rows: bool
    width: int  # the most values of a row


@dataclass(frozen=True)
class Markdown:
    """A table of Markdown; ``has_bars`` where its lines begin and end with vertical bars."""

    has_bars: bool

    def bare_line(self, line: str) -> str:
        """A line without outer bars, empty in place of the dashes below the names."""
        bare = line.strip()
        if RULE.fullmatch(bare):
            bare = ""
        elif self.has_bars:
            bare = bare.removeprefix("|").removesuffix("|")
        return f"{bare}\n"


def markdown_of(sample: str) -> Markdown | None:
    """How a sample is a table of Markdown; None where no line of dashes is below a header."""
    lines = [line.strip() for line in sample.splitlines() if line.strip()]
    for above, line in itertools.pairwise(lines[: MOST_TITLES + 2]):
        if "|" in above and RULE.fullmatch(line):
            return Markdown(above.startswith("|"))
    return None


def aligned_columns(lines: Iterable[str]) -> list[slice]:
    """Where the values of lines stand that are aligned by spaces; [] where they are not.

    Two spaces or more end a column in each line, and the first line names all but the first.
    """
    filled, first, count = 0, "", 0  # a bit for each place that some line fills
    for line in map(str.rstrip, lines):
        first = first or line
        count += bool(line)
        if "\t" in line or len(line) > MOST_ALIGNED:
            return []
        filled |= int("".join("01"[sign != " "] for sign in reversed(line)) or "0", 2)
    places = "".join("01"[bool(filled >> at & 1)] for at in range(filled.bit_length()))
    found = [slice(*one.span()) for one in re.finditer(r"1(?:0?1)*", places)]
    names = [first[one].strip() for one in found]
    is_table = count > 2 and all(names[1:]) and sum(map(bool, names)) > 1
    return found if is_table else []


def is_spaced_table(sample: str) -> bool:
    """Whether a space stands between values of which most are quoted, as R writes tables."""
    if USUAL_DELIMITERS & set(sample) or '" "' not in sample:
        return False
    rows = rows_of(sample, " ")
    counts = {len(row) for row in rows[1:-1]}
    return len(rows) > 2 and len(counts) == 1 and 0 <= counts.pop() - len(rows[0]) <= 1


def shape_of(sample: str, delimiter: str = "", has_header: bool | None = None) -> Shape:
    """Infer the layout from the beginning of a file; what is given is not inferred.

    A person who says whether there is a header means the first row.
    """
    delimiter = delimiter or _best_delimiter(sample)
    is_spaced = f'{delimiter} "' in sample and f'" {delimiter}' not in sample
    rows = rows_of(sample, delimiter, is_spaced)
    if _are_padded(rows):
        delimiter, is_spaced = f" {delimiter} ", False
        rows = rows_of(sample, delimiter)
    titles = count_titles(rows) if has_header is None else 0
    rows = rows[titles:]
    if has_header is None:
        has_header = looks_like_header(rows)
    names_rows = has_header and len(rows) > 2 and _lacks_a_name(rows[:-1])
    return Shape(
        delimiter, is_spaced, titles, has_header, names_rows, max(map(len, rows), default=0)
    )


def rows_of(sample: str, delimiter: str, is_spaced: bool = False) -> list[list[str]]:
    """Split a sample into rows with a value, as far as they can be read."""
    rows = []
    try:
        for row in RowParser(io.StringIO(sample, newline=""), delimiter, is_spaced):
            if any(value.strip() for value in row):
                rows.append(row)
    except csv.Error:
        pass
    return rows


class RowParser:
    """Rows of separated values, whose delimiter may have several signs."""

    def __init__(
        self, lines: Iterable[str], delimiter: str, is_spaced: bool = False, strict: bool = False
    ) -> None:
        self._several = delimiter if len(delimiter) > 1 else ""
        if self._several:
            lines = (line.replace(self._several, UNIT) for line in lines)
        self._reader = csv.reader(
            lines,
            delimiter=UNIT if self._several else delimiter,
            skipinitialspace=is_spaced,
            strict=strict,
        )

    @property
    def line_num(self) -> int:
        """How many lines are read."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        row = next(self._reader)
        return [value.replace(UNIT, self._several) for value in row] if self._several else row


def _are_padded(rows: Rows) -> bool:
    """Whether a space stands on both sides of all delimiters."""
    return len(rows) > 1 and all(
        len(row) > 1
        and all(value.endswith(" ") for value in row[:-1])
        and all(value.startswith(" ") for value in row[1:])
        for row in rows
    )


def _best_delimiter(sample: str) -> str:
    """The delimiter that gives the head most columns, and rows as many as the head."""

    def fit(delimiter: str) -> tuple[float, int]:
        rows = rows_of(sample, delimiter)[: LOOKED + MOST_TITLES]
        counts = [len(row) for row in rows[count_titles(rows) :]]
        if not counts or counts[0] < 2:
            return 0.0, 0
        return sum(n == counts[0] for n in counts) / len(counts), counts[0]

    return max(DELIMITERS, key=fit)


def count_titles(rows: Rows) -> int:
    """Count the rows above the names of the columns that hold a title or a comment alone.

    Such a row has one value, which no row below repeats, and is as wide as the others or begins
    with "#", or the row below names usual columns.
    """
    filled = [sum(bool(value.strip()) for value in row) for row in rows[: MOST_TITLES + 1]]
    at = next((at for at, count in enumerate(filled) if count > 1), 0)
    if not at or len(rows) < at + 2:
        return 0
    above = [next(value.strip() for value in row if value.strip()) for row in rows[:at]]
    below = {value.strip() for row in rows[at:] for value in row}
    is_titled = (
        all(title.startswith("#") for title in above)
        or all(len(row) == len(rows[at]) for row in rows[:at])
        or sum(is_usual(name.strip()) for name in rows[at]) > 1
        or (
            len(rows[at]) > LEAST_WIDE
            and len({len(row) for row in rows[at:-1]}) == 1
            and all(USUAL_DELIMITERS.isdisjoint(title) for title in above)
        )
    )
    return at if is_titled and below.isdisjoint(above) else 0


def looks_like_header(rows: Rows) -> bool:
    """Whether the first row names columns: a name seldom is a value of its own column."""
    if not rows:
        return True
    names = [(at, name.strip()) for at, name in enumerate(rows[0]) if name.strip()]
    if any(is_usual(name) for _, name in names):
        return True
    if not rows[0][0].strip() and all(row[0].strip() for row in rows[1:]):
        return True  # as pandas and R write the names of rows
    repeated = [
        name
        for at, name in names
        if any(len(row) > at and row[at].strip() == name for row in rows[1:] if row != rows[0])
    ]
    if repeated in ([str(at + n) for n in range(len(repeated))] for at in (0, 1)):
        return True  # numbered columns
    return len(repeated) < max(2, len(names) / 2)


def _lacks_a_name(rows: Rows) -> bool:
    """Whether each row has one value more than there are names, as ``write.table`` of R writes."""
    more = len(rows[0]) + 1
    return all(len(row) == more for row in rows[1:]) and any(row[-1].strip() for row in rows[1:])
