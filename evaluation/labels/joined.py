"""One table of a run on labels: an item a row, with its text, votes, label and certainty."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from evaluation.labels.selectors.items import CONDITIONS, WorkersLabels, labelled_rows
from evaluation.labels.selectors.study import ShownField
from evaluation.models import Run
from evaluation.runs.exports.decided import DECIDED
from evaluation.runs.exports.dictionary import dictionary

TABLE, COLUMNS = "items", "item-columns"  # names in addresses: its own, and of its dictionary
CHUNK = 1_000
MOST_CLASSES = 20  # with a column of votes each; beyond, the votes are one column of JSON
FIRST, LAST = ("item_id", "text"), ("votes", "label", "certainty", "decided_by", "known_answer")


def joined_table(
    run: Run, field: ShownField, *, chosen: str = "all", only: WorkersLabels | None = None
) -> Table:
    """Make the table of items under a filter, with their own columns and labels.

    Own columns are those that came with the items; one that has a name of ours begins with
    ``own_``.
    """
    return _joined(run, field, chosen, only)[0]


def joined_columns(run: Run, field: ShownField) -> Table:
    """Return the data dictionary of the table of items."""
    table, own = _joined(run, field, "all", None)
    return dictionary({TABLE: table.columns}, own)


def _joined(
    run: Run, field: ShownField, chosen: str, only: WorkersLabels | None
) -> tuple[Table, list[str]]:
    """The table, and its columns that came with the items."""
    rows = labelled_rows(run, only).filter(CONDITIONS[chosen]).annotate(**DECIDED)
    rows = rows.select_related("item__media").order_by("item__position", "item_id")
    names: dict[str, None] = {}
    for meta in rows.values_list("item__settings__meta", flat=True).iterator(CHUNK):
        names |= dict.fromkeys(meta or {})
    has_files = rows.filter(item__media__isnull=False).exists()
    single = len(field.options) <= MOST_CLASSES
    votes = {code: f"votes {label}" for code, label in field.options} if single else {}
    fixed = {*FIRST, "file", *votes.values(), *LAST}
    own = {name: f"own_{name}" if name in fixed else name for name in names}
    columns = (*FIRST, *(("file",) if has_files else ()), *own.values(), *votes.values(), *LAST)
    return Table(columns, _records(rows, field, own, votes)), list(own.values())


def _records(
    rows: Any, field: ShownField, own: dict[str, str], votes: dict[str, str]
) -> Iterator[dict[str, Any]]:
    for row in rows.iterator(CHUNK):
        item, extra = row.item, row.extra
        meta = item.settings.get("meta", {})
        given = extra["votes"]
        decided = row.decided_label or ""
        label = decided or row.item_label
        yield {
            "item_id": item.key,
            "text": "" if item.question == item.key else item.question,
            "file": item.media.name if item.media else "",
            **{name: meta.get(key, "") for key, name in own.items()},
            **{name: given.get(code, 0) for code, name in votes.items()},
            "votes": row.n
            if votes
            else json.dumps({field.word(code): n for code, n in given.items()}, ensure_ascii=False),
            "label": field.word(label) if label else "",
            "certainty": None if decided else extra["posterior"],
            "decided_by": row.decided_by or "",
            "known_answer": field.word(extra["gold"]) if extra["gold"] else "",
        }
