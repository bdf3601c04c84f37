"""A table of labels that is to become a task: who labeled which item how, a label a row."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotation.files.reading.importer import Field, Importer, Reader, Row, guess
from annotation.files.reading.recognise import (
    GOLD,
    ITEMS,
    LABELS,
    LONG,
    WORKERS,
    recognise,
)
from annotation.files.reading.rows import Problem
from annotation.task_types.labels.fields import MAX_OPTIONS
from annotation.task_types.scales import MAX_LABEL
from crowdqc.errors import Invalid

LOOKED_AT = 2_000  # rows that tell what a column without a usual name holds
NAMED = 5  # labels or workers that a page names
MANY = 10  # labels that a worker gave before "always the same one" says something
TIMES = ("answered_at", "submitted_at", "timestamp", "created_at", "date", "datetime")
TEXTS = ("item_text", "sentence", "content", "document", "message", "tweet", "claim")


class LabelTable(Importer):
    """Rows {worker, item, label, gold, text, at}; a worker labels an item once."""

    slug = "label_table"
    title = "Table of labels"
    fields = (
        Field("worker", "Worker", True, WORKERS),
        Field("item", "Item", True, ITEMS),
        Field("label", "Label", True, LABELS),
        Field("gold", "Known answer", False, GOLD),
        Field("time", "Time", False, TIMES),
        Field("text", "Item text", False, TEXTS),
    )
    limits = (
        ("worker", 120, "a worker id"),
        ("item", 80, "an item id"),
        ("label", MAX_LABEL, "a label"),
        ("gold", MAX_LABEL, "a label"),
        ("text", 20_000, "a text"),
    )

    def guess(self, columns: Sequence[str], rows: Iterable[Row]) -> dict[str, str]:
        """By names, and where these are not usual ones by what the first rows hold."""
        named = guess(columns, self.fields)
        looked = [row.values for row in itertools.islice(rows, LOOKED_AT)]
        others = {column for name, column in named.items() if name in ("time", "text")}
        left = [name for name in columns if name and name not in others and _varies(name, looked)]
        try:
            found = recognise(left, looked)
        except Invalid:
            return named
        if found.kind != LONG:
            return named
        said = {"worker": found.worker, "item": found.item, "label": found.label}
        if found.gold or "gold" in named:
            said["gold"] = found.gold or named["gold"]
        taken = set(said.values())
        return said | {
            name: column
            for name, column in named.items()
            if name in ("time", "text") and column not in taken
        }

    def read(self, reader: Reader, rows: Iterable[Row], known: Any) -> None:
        """Labels by worker and item; of a worker's labels of one item the last one counts."""
        found: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
        gold: dict[str, tuple[int, str]] = {}
        for row in rows:
            with reader:
                one = _label_of(reader, row, gold, self.limits)
                key = (one["worker"], one["item"])
                line, before = found.get(key, (row.line, one))
                if line != row.line and before["label"] == one["label"]:
                    reader.repeated(row, ["worker", "item"], line, "label")
                    continue
                if line != row.line:
                    wrong = f"{one['worker']} labels this item again on line {row.line:,}."
                    mend = "The last one counts."
                    where, said = reader.column("label"), before["label"]
                    reader.checked.problems.append(Problem(line, where, said, wrong, mend))
                found[key] = (row.line, one)
        good = [one for _, one in found.values()]
        labels = Counter(one["label"] for one in good)
        options = len(labels | Counter({known: 0 for _, known in gold.values()}))
        if options > MAX_OPTIONS:
            raise Invalid(
                f"The column {reader.column('label')} has {options:,} different values; "
                f"{MAX_OPTIONS} is the most.",
                fields={"file": "Choose a file whose label column names classes."},
            )
        for one in good:
            reader.checked.good.append(one, len(one["text"]))
        reader.checked.about = _about(good, labels, gold)


def _varies(name: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether a column says different things: what is the same everywhere is no worker or item."""
    return len({row.get(name, "") for row in rows}) > 1


def _label_of(
    reader: Reader, row: Row, gold: dict[str, tuple[int, str]], limits: Any
) -> dict[str, Any]:
    """What one row says. Raises Refused."""
    for name, noun in (("worker", "worker"), ("item", "item"), ("label", "label")):
        reader.needed(row, name, f"No {noun}", "Left out.")
    reader.limit(row, limits)
    at = reader.moment(row, "time")
    item, known = reader.value(row, "item"), reader.value(row, "gold")
    if known:
        line, first = gold.setdefault(item, (row.line, known))
        if first != known:
            wrong = f"This item has the known answer {first} on line {line:,}."
            reader.refuse(row, "gold", wrong, "Left out. Give each item one known answer.")
    return {
        "worker": reader.value(row, "worker"),
        "item": item,
        "label": reader.value(row, "label"),
        "gold": known,
        "text": reader.value(row, "text"),
        "at": at,
    }


def _about(
    good: Sequence[Mapping[str, Any]], labels: Counter[str], gold: Mapping[str, Any]
) -> dict[str, Any]:
    """The table in numbers, and who always gives the same label."""
    by_worker: dict[str, Counter[str]] = defaultdict(Counter)
    for one in good:
        by_worker[one["worker"]][one["label"]] += 1
    per_item = Counter(one["item"] for one in good)
    same = [worker for worker, said in by_worker.items() if len(said) == 1 and said.total() >= MANY]
    return {
        "workers": len(by_worker),
        "items": len(per_item),
        "classes": len(labels),
        "labels": labels.most_common(MAX_OPTIONS),
        "known": len(gold),
        "low": min(per_item.values(), default=0),
        "high": max(per_item.values(), default=0),
        "rare": [label for label, n in labels.items() if n == 1][:NAMED],
        "one_label": [
            [worker, next(iter(by_worker[worker])), by_worker[worker].total()]
            for worker in sorted(same)[:NAMED]
        ],
    }
