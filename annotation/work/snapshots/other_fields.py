"""What people ticked and marked in the further fields of a labels task, beside the field scored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import Answer, ChoiceValue, SpanValue, Task
from annotation.task_types.labels.fields import CHOOSE_SEVERAL, NOTHING, SPANS

Ticked = dict[str, dict[str, frozenset[str]]]
Marked = dict[str, dict[str, list[tuple[int, int, str]]]]


@dataclass(frozen=True)
class OtherField:
    """A field of several options or of spans, as item -> worker -> what they gave.

    Keys are ids as text. ``ticked`` or ``marked`` is empty, by ``kind``.
    """

    name: str
    label: str
    kind: str
    ticked: Ticked
    marked: Marked


def other_fields(task: Task, answer_ids: Collection[int]) -> list[OtherField]:
    """Return the fields of several options and of spans with these answers (3 queries).

    Who was unsure, or was not asked, is left out; who ticked none or found nothing to mark is
    not.
    """
    rows: list[Mapping[str, Any]] = task.current.settings.get("fields", []) if task.current else []
    wanted = [row for row in rows if row["kind"] in (CHOOSE_SEVERAL, SPANS)]
    if not wanted:
        return []
    ids = set(answer_ids)
    authors = {
        pk: (str(item), str(worker))
        for pk, item, worker in Answer.objects.filter(
            item__task=task, worker__isnull=False
        ).values_list("pk", "item_id", "worker_id")
        if pk in ids
    }
    choices = [
        row
        for row in ChoiceValue.objects.filter(answer__item__task=task).values_list(
            "answer_id", "field", "code"
        )
        if row[0] in authors
    ]
    spans = [
        row
        for row in SpanValue.objects.filter(answer__item__task=task)
        .order_by("index")
        .values_list("answer_id", "field", "start", "end", "target")
        if row[0] in authors
    ]
    return [_field(row, authors, choices, spans) for row in wanted]


def _field(
    row: Mapping[str, Any],
    authors: Mapping[int, tuple[str, str]],
    choices: list[tuple[int, str, str]],
    spans: list[tuple[int, str, int, int, str]],
) -> OtherField:
    ticked: Ticked = {}
    marked: Marked = {}
    if row["kind"] == CHOOSE_SEVERAL:
        for answer, codes in _sets(row, choices):
            item, worker = authors[answer]
            ticked.setdefault(item, {})[worker] = codes
    else:
        for answer, name, code in choices:
            if name == row["name"] and code == NOTHING:
                item, worker = authors[answer]
                marked.setdefault(item, {})[worker] = []
        for answer, name, start, end, target in spans:
            if name == row["name"] and start < end:
                item, worker = authors[answer]
                marked.setdefault(item, {}).setdefault(worker, []).append((start, end, target))
    return OtherField(row["name"], row["label"], row["kind"], ticked, marked)


def _sets(
    row: Mapping[str, Any], choices: list[tuple[int, str, str]]
) -> Iterator[tuple[int, frozenset[str]]]:
    """Each answer that ticks the options of the field, with those that it ticks."""
    known = {f"{row['name']}.{one['value']}": one["value"] for one in row["options"]}
    found: dict[int, set[str]] = {}
    for answer, name, code in choices:
        if name in known:
            own = found.setdefault(answer, set())
            if code == "yes":
                own.add(known[name])
    for answer, codes in found.items():
        yield answer, frozenset(codes)
