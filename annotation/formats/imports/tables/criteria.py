"""Tables of ratings with a column for each criterion, of which one is scored at a time."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.importer import Reader, Row, plain
from annotation.files.reading.recognise import LOOKED_AT, is_numbered, is_usual
from annotation.files.reading.values import NUMBER
from annotation.formats.imports.tables.base import Fixes, Repeated
from crowdqc.numbers import plural

MOST_POINTS, LEAST_POINTS = 21, 3  # different scores of a criterion
MOST = 20  # criteria that are offered
HIGHEST = 100
# Numbers beside scores that are none: of the trial, of time, of the person, and how sure they are.
NO_CRITERIA = {
    *("rt", "rtms", "reactiontime", "responsetime", "duration", "seconds", "minutes", "ms"),
    *(
        "age",
        "alter",
        "edad",
        "year",
        "jahr",
        "trial",
        "trialindex",
        "trialnumber",
        "order",
        "index",
    ),
    *("position", "session", "turn", "version", "round", "block", "block_no", "length", "words"),
    *("confidence", "certainty", "sicherheit", "sure", "n", "count", "total", "sum", "mean"),
    *("average", "weight", "row", "line", "page", "level", "class", "grade", "group", "cluster"),
}


def criteria_of(columns: Sequence[str], rows: Iterable[Row], taken: Collection[str]) -> list[str]:
    """Return the columns that may each hold a criterion: a few numbers, alike in their range."""
    looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
    found: dict[str, tuple[float, float]] = {}
    for name in columns:
        if not name or name in taken or plain(name) in NO_CRITERIA:
            continue
        if is_usual(name) or is_numbered(name):
            continue
        given = {said for row in looked if (said := row.get(name, "").strip().replace(",", "."))}
        numbers = sorted(float(one) for one in given if NUMBER.fullmatch(one))
        is_few = LEAST_POINTS <= len(numbers) <= MOST_POINTS
        if is_few and len(numbers) == len(given) and numbers[0] >= 0 and numbers[-1] <= HIGHEST:
            found[name] = (numbers[0], numbers[-1])
    highest = [high for _low, high in found.values()]
    usual = max(set(highest), key=highest.count) if highest else 0.0
    return [name for name, (_low, high) in found.items() if usual / 2 <= high <= 2 * usual][:MOST]


def rows_of_criterion(
    reader: Reader, rows: Iterable[Row], fixes: Fixes, column: str, criteria: Sequence[str]
) -> tuple[Iterable[Row], list[str]]:
    """Rows whose ``column`` holds the criterion that was chosen, and why one has to be if none is.

    Each criterion is offered.
    """
    chosen = fixes.get(column, {}).get(column, "")
    for name in criteria:
        if name != chosen:
            text = _("Score only “%(score)s”") % {"score": name}
            one = {"column": column, "value": column, "use": name, "text": text}
            reader.checked.about["offers"].append(one)
    if chosen not in criteria:
        told = {"n": plural(len(criteria), "criterion", "criteria"), "names": ", ".join(criteria)}
        text = _("%(n)s are rated: %(names)s. Choose which one to score.")
        return rows, [_("Several criteria"), text % told]
    return Repeated(partial(_with_criterion, rows, column, chosen)), []


def _with_criterion(rows: Iterable[Row], column: str, chosen: str) -> Iterator[Row]:
    for row in rows:
        values: Mapping[str, Any] = {**row.values, column: row.values.get(chosen, "")}
        yield Row(row.line, values)
