"""Labels out: a row a value, in the columns that the importer of labels reads; and the items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports.answered import WHETHER, WHO, of_answers
from annotation.models import Answer, ChoiceValue, SpanValue, Task, TextValue

CHUNK = 2000
LABELS = ("item", *WHO, "field", "label", "ordinal", "start", "end", "gold", *WHETHER)
ITEMS = ("key", "text", "gold")
ABOUT = ("answer__item__key", "answer__item__expected", "field")
Row = dict[str, Any]


def label_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every value of every answer, counting or not: choices, then texts, then spans.

    ``label`` is a code, a text, or the label of a span, whose ``start`` and ``end`` count
    characters of the item's text, the end outside.
    """
    return Table(LABELS, _labels(task))


def item_table(task: Task, form: str, dimension: str = "") -> Table:
    """The items in force with their known answers and all that was kept with them."""
    version = task.current or task.versions.latest("number")
    items = task.items.in_version(version.number).order_by("position", "pk")
    kept: dict[str, None] = {}
    for meta in items.values_list("settings__meta", flat=True).iterator(CHUNK):
        kept |= dict.fromkeys(name for name in meta or {} if name not in ITEMS)
    return Table((*ITEMS, *kept), _items(items, list(kept)))


def _items(items: Any, kept: list[str]) -> Iterator[Row]:
    for item in items.iterator(CHUNK):
        meta = item.settings.get("meta", {})
        yield {
            "key": item.key,
            "text": item.question,
            "gold": next(iter((item.expected or {}).values()), ""),
            **{name: meta.get(name, "") for name in kept},
        }


def _labels(task: Task) -> Iterator[Row]:
    own = {"answer__item__task": task, "answer__stage": Answer.Stage.MAIN}
    choices = ChoiceValue.objects.filter(**own).order_by("answer_id", "pk")
    for row, whose in of_answers(task, choices, *ABOUT, "code", "ordinal"):
        yield _row(row, whose, label=row["code"], ordinal=row["ordinal"])
    texts = TextValue.objects.filter(**own).order_by("answer_id", "pk")
    for row, whose in of_answers(task, texts, *ABOUT, "text"):
        yield _row(row, whose, label=row["text"])
    spans = SpanValue.objects.filter(**own).order_by("answer_id", "field", "index")
    for row, whose in of_answers(task, spans, *ABOUT, "target", "start", "end"):
        yield _row(row, whose, label=row["target"], start=row["start"], end=row["end"])


def _row(row: Row, whose: Row, **said: Any) -> Row:
    known = (row["item__expected"] or {}).get(row["field"], "")
    empty = {"ordinal": None, "start": None, "end": None}
    return {
        "item": row["item__key"],
        "field": row["field"],
        "gold": known,
        **empty,
        **said,
        **whose,
    }
