"""Of a report on labels: how often two workers agree, and the items on which votes are split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from crowdqc.numbers import count, percent, plural
from evaluation.bundles.manifest import results_file
from evaluation.bundles.tables import Bundled, Line, Row, Table, measured, report_table
from evaluation.methods.core import units
from evaluation.models import ItemLabel

VOTES = "votes"
CERTAIN = 0.9  # from this posterior on a label is not in doubt


def raw_agreement(votes: list[Mapping[str, int]]) -> tuple[units.Clustered, int]:
    """Share of pairs of labels of one item that are the same, clustered by item; how many pairs.

    ``votes``: of each item how many gave each label. Chance is not corrected for.
    """
    given = [list(one.values()) for one in votes if sum(one.values()) > 1]
    same = np.array([sum(n * (n - 1) for n in one) / 2 for one in given], dtype=float)
    pairs = np.array([sum(one) * (sum(one) - 1) / 2 for one in given], dtype=float)
    nouns = ("items", "items")
    return units.share(same, pairs, np.arange(len(given)), nouns=nouns), round(pairs.sum())


def agreement_lines(found: Bundled) -> Iterator[tuple[str, str]]:
    """Label and text: raw agreement with its interval, and on how many items votes are split."""
    votes = [row["extra"][VOTES] for _, row in _rows(found)]
    raw, pairs = raw_agreement(votes)
    if not pairs:
        return
    ends = ""
    if not np.isnan(raw.low):
        ends = f" (95% CI {percent(raw.low)} to {percent(raw.high)})"
    yield (
        "Two workers give one item the same label",
        f"in {percent(raw.estimate)}{ends} of {plural(pairs, 'pair')} of labels; "
        "not corrected for chance",
    )
    judged = sum(sum(one.values()) > 1 for one in votes)
    split = len(_split(found))
    yield "Items with split votes", f"{count(split)} of {count(judged)} with two labels or more"


def split_items(found: Bundled) -> Iterator[Table]:
    """The items whose label is in doubt, the least certain first; the others are counted.

    In doubt are those below ``CERTAIN`` and those whose two most frequent labels tie.
    """
    lines, names = [], found.names.get("items", {})
    where = results_file(ItemLabel)
    certain = 0
    for at, row in _split(found):
        if not _is_in_doubt(row):
            certain += 1
            continue
        name = names.get(str(row["item_id"]), f"item {row['item_id']}")
        label = found.option(row["label"])
        lines.append(Line(f"{name}: {label}" if label else name, f"{where}:{at}", row))
    lines.sort(key=lambda line: line.data["extra"]["posterior"] or 0.0)
    counts = {f"extra.{VOTES}.{code}": label for code, label in found.options.items()}
    if lines:
        columns = measured("Certainty", "extra.posterior", counts, ends=None)
        table = report_table("Items with split votes", columns, lines)
        yield replace(table, left=table.left + certain)


def _is_in_doubt(row: Row) -> bool:
    first, second, *_ = sorted(row["extra"][VOTES].values(), reverse=True)
    return first == second or (row["extra"]["posterior"] or 0.0) < CERTAIN


def _rows(found: Bundled) -> Iterator[tuple[int, Row]]:
    """Rows of items with their line in the file."""
    for at, row in enumerate(found.rows(ItemLabel), 1):
        if VOTES in row["extra"]:
            yield at, row


def _split(found: Bundled) -> list[tuple[int, Row]]:
    return [
        (at, row)
        for at, row in _rows(found)
        if sum(n > 0 for n in row["extra"][VOTES].values()) > 1
    ]
