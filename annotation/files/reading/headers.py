"""Names of columns on two lines, and columns without a name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.reading.importer import same_name
from annotation.files.reading.recognise import LABELS
from annotation.files.reading.rows import Problem, Row
from annotation.files.reading.values import NUMBER, TRUTHS
from crowdqc.errors import Invalid

LEAST_BELOW = 2  # rows below two lines of names
MAX_NAMED = 10  # columns that a note names
CHOSEN = {"1", "x", "true"}
BITS = {"", "0", "false"} | CHOSEN
NAMELESS_KEY = "\0"  # begins the key of a column without a name
MEND = gettext_lazy("Write one line of names, and keep one column for each worker.")
_LABELS = {same_name(name) for name in LABELS}


@dataclass(frozen=True)
class Header:
    """Columns that two lines name; each is read from one cell of a row, or from options of 0 and 1.

    ``parts``: for each column its places in a row, each with the option that it stands for.
    """

    columns: list[str]
    parts: list[list[tuple[int, str]]]
    left_out: list[str]
    width: int  # places that both lines name

    def row(self, cells: list[str]) -> list[str]:
        """A row of these columns, and cells that no column has."""
        return [_value(cells, part) for part in self.parts] + cells[self.width :]


def _value(cells: Sequence[str], part: Sequence[tuple[int, str]]) -> str:
    given = [(cells[at] if at < len(cells) else "", option) for at, option in part]
    if len(given) == 1:
        return given[0][0]
    return " + ".join(option for cell, option in given if _bit(cell) in CHOSEN)


def _bit(cell: str) -> str:
    bare = cell.strip().casefold()
    return TRUTHS.get(bare, bare)


def second_header(
    columns: Sequence[str], rows: Sequence[Sequence[str]], general: set[str]
) -> Header | None:
    """The columns where a second line names the parts of the first one's; None for other tables.

    A name of the first line stands over several columns, merged or repeated. ``rows`` are the first
    ones below it; ``general`` are names of the second line that add nothing. Raises Invalid where a
    worker has several columns, and none is called as labels are.
    """
    if len(rows) < 1 + LEAST_BELOW or _has_too_many_values(columns, rows):
        return None
    width = max(len(columns), len(rows[0]))
    above, below = (_padded(line, width) for line in (columns, rows[0]))
    below = ["" if name in general else name for name in below]
    spanned = [
        bool(at and below[at] and (not above[at] or above[at] == above[at - 1]))
        for at in range(width)
    ]
    if not any(spanned) or _has_values(below, rows[1:]):
        return None
    groups: list[tuple[str, list[int]]] = []
    for at in range(width):
        if spanned[at] and groups and groups[-1][0]:
            groups[-1][1].append(at)
        else:
            groups.append((above[at], [at]))
    wide = [(top, places) for top, places in groups if len(places) > 1]
    parts = [below[at] for _top, places in wide for at in places]
    if not wide or not all(parts):
        return None
    if len(set(parts)) == len(parts):
        names = [below[at] or above[at] for at in range(width)]
        if len(set(filter(None, names))) < sum(map(bool, names)):
            return None
        return Header(names, [[(at, "")] for at in range(width)], [], width)
    return _of_groups(groups, below, rows[1:])


def _of_groups(
    groups: Sequence[tuple[str, list[int]]], below: Sequence[str], rows: Sequence[Sequence[str]]
) -> Header:
    """One column for each group: the one called as labels are, or the options of 0 and 1."""
    found = Header([], [], [], len(below))
    for top, places in groups:
        if len(places) == 1:
            found.columns.append(top or below[places[0]])
            found.parts.append([(places[0], "")])
            continue
        labels = [at for at in places if same_name(below[at]) in _LABELS]
        given = {_bit(row[at]) for row in rows for at in places if at < len(row)}
        if len(labels) == 1:
            found.left_out.extend(f"{top} {below[at]}" for at in places if at not in labels)
            found.parts.append([(labels[0], "")])
        elif given <= BITS and given & CHOSEN:
            found.parts.append([(at, below[at]) for at in places])
        else:
            wide = [(one, mine) for one, mine in groups if len(mine) > 1]
            told = {
                "names": ", ".join(one for one, _mine in wide[:MAX_NAMED]),
                "parts": ", ".join(dict.fromkeys(below[at] for _one, mine in wide for at in mine)),
            }
            raise Invalid(
                _("Two lines name the columns: %(names)s have %(parts)s each.") % told,
                fields={"file": str(MEND)},
            )
        found.columns.append(top)
    return found


def _has_too_many_values(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row alone is longer than the names, so that it names nothing."""
    return len(rows[0]) > len(columns) and any(len(row) <= len(columns) for row in rows[1:])


def _padded(line: Sequence[str], width: int) -> list[str]:
    return [name.strip() for name in line] + [""] * (width - len(line))


def _has_values(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a line holds numbers, or values that stand below in the same column."""
    below = [{row[at].strip() for row in rows if at < len(row)} for at in range(len(names))]
    return any(
        name and (NUMBER.fullmatch(name) or name in said)
        for name, said in zip(names, below, strict=True)
    )


def note_of_header(header: Header, lines: Sequence[int]) -> list[str]:
    """Say which lines name the columns, and which columns are left out."""
    note = _("Lines %(lines)s name the columns.") % {"lines": ", ".join(map(str, lines))}
    return [note, *([names_left_out(header.left_out)] if header.left_out else [])]


def names_left_out(names: Sequence[str]) -> str:
    """Say which columns are left out."""
    more = "" if len(names) <= MAX_NAMED else f" (+{len(names) - MAX_NAMED:,})"
    return _("Columns left out: %(columns)s.") % {"columns": ", ".join(names[:MAX_NAMED]) + more}


def keys_of(columns: Sequence[str]) -> list[str]:
    """The names of columns, with a key of its own for each that has none."""
    return [name or f"{NAMELESS_KEY}{at}" for at, name in enumerate(columns, 1)]


def without_nameless(
    keys: Sequence[str], events: Iterator[Row | Problem], notes: list[str]
) -> Iterator[Row | Problem]:
    """Rows without the columns that have no name; those that hold something are noted."""
    nameless = [key for key in keys if key.startswith(NAMELESS_KEY)]
    filled = set[str]()
    for event in events:
        if not (nameless and isinstance(event, Row)):
            yield event
            continue
        filled.update(key for key in nameless if event.values.get(key, "").strip())
        named = {name: said for name, said in event.values.items() if name not in nameless}
        yield Row(event.line, named)
    if filled:
        places = ", ".join(key[1:] for key in nameless if key in filled)
        note = _("Columns without a name are left out, by place: %(places)s.")
        notes.append(note % {"places": places})
