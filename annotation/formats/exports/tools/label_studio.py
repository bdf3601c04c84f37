"""Label Studio's JSON and CSV out: people's answers as annotations, systems' as predictions.

Free text is a text area, a rating a ``rating`` where its points count from 1 and else a
``choices``, a judgment of a pair a ``pairwise`` whose left is the first text as stored. What Label
Studio has no place for (how a pair was shown, replicates) stands in ``meta``, where the importer
reads it.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports.answered import reasons_about_people
from annotation.formats.exports.tools.frames import in_chunks
from annotation.models import Answer, ChoiceValue, Item, SpanValue, Task, TextValue
from annotation.task_types import get_type
from annotation.task_types.label_studio import CHOICES, RANKER, TEXT, LabelStudio
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import AskedDimension

Row = dict[str, Any]
Told = tuple[Row, list[Row]]
AT_ONCE = 200  # items
SPACE = uuid.UUID("6f0a2a37-6f8c-4c5e-9a1f-5d1d8d2f7f10")
HEAD, TAIL = ("annotation_id", "annotator"), ("created_at", "id", "lead_time", "updated_at")
GROUND_TRUTH = "ground truth in Label Studio"
CANCELLED = "cancelled in Label Studio"


def table(task: Task, form: str, dimension: str = "") -> Table:
    """Return the task's answers for Label Studio: JSON by item, or CSV by annotation."""
    if form == "json":
        return Table((), _tasks(task))
    controls = _controls(task)
    columns = (*HEAD, *get_type(task.type).label_studio.columns, *controls, *TAIL)
    return Table(columns, (row for one in _tasks(task) for row in _flat(one, controls)))


def _controls(task: Task) -> list[str]:
    """Return the names of what answers hold: the task's dimensions or scales, and texts."""
    asked = [one.name for one in judgments.version_items(task.current)] if task.current else []
    own = {"answer__item__task": task, "answer__stage": Answer.Stage.MAIN}
    more = {
        name
        for model in (TextValue, ChoiceValue, SpanValue)
        for name in model._default_manager.filter(**own).values_list("field", flat=True).distinct()
    }
    return [*asked, *sorted(more - set(asked))]


def _tasks(task: Task) -> Iterator[dict[str, Any]]:
    version = task.version_or_draft()
    looks = get_type(task.type).label_studio
    asked = {one.name: one for one in judgments.version_items(version)}
    about = {"type": task.type, "title": version.title, "settings": version.settings}
    aside = {"expected__isnull": True} if get_type(task.type).judges_texts else {}
    items = (
        Item.objects.filter(task=task, **aside)
        .in_version(version.number)
        .select_related("group", "media", "first__system", "second__system")
        .order_by("group__position", "group_id", "position", "pk")
    )
    private = reasons_about_people(task)
    for part in in_chunks(items.iterator(AT_ONCE), AT_ONCE):
        given = _answers_by_item([item.pk for item in part], private)
        for item in part:
            people: list[Told] = []
            systems: list[Told] = []
            for row in given[item.pk]:
                own = looks.results(item, version.settings, row)
                result = _result(row, looks, asked) if own is None else _results_of(row, looks, own)
                (systems if row["system_id"] else people).append((row, result))
            times = [row["answered_at"].isoformat() for row in given[item.pk]]
            first = (version.published_at or version.updated_at).isoformat()
            yield {
                "id": item.pk,
                "data": {**looks.data(item), **looks.lists(version.settings)},
                "meta": {"crowdqc": {**about, **_placing(item)}},
                "annotations": [_annotation(*one) for one in people],
                "predictions": [_prediction(*one) for one in systems],
                "created_at": first,
                "updated_at": max(times, default=first),
            }
            about = {}  # told once


def _placing(item: Item) -> dict[str, Any]:
    """Return on which sides a pair is shown, and which one it repeats if it does."""
    placing = {"side": item.side, "repeat": item.repeat}
    return {name: value for name, value in placing.items() if value}


def _answers_by_item(
    items: Sequence[int], private: Mapping[str, str]
) -> dict[int, list[dict[str, Any]]]:
    """Answers by item, each with its values by field.

    ``private``: what to say in place of a reason why an answer does not count.
    """
    found: Any = (
        Answer.objects.filter(
            item__in=items, stage=Answer.Stage.MAIN, assignment__quiz__isnull=True
        )
        .order_by("pk")
        .values(
            "pk",
            "item_id",
            "worker__pseudonym",
            "system_id",
            "system__name",
            "system__prompt_strategy",
            "replicate",
            "flipped",
            "counts",
            "uncounted_reason",
            "answered_at",
            "assignment__opened_at",
            "assignment__submitted_at",
            "assignment_id",
        )
    )
    rows: list[Row] = list(found)
    by_pk = {row["pk"]: row for row in rows}
    for row in rows:
        why = row["uncounted_reason"]
        row.update(texts=defaultdict(list), choices={}, spans=defaultdict(list))
        row.update(uncounted_reason=private.get(why, why))
    own = {"answer__in": list(by_pk)}
    for pk, field, text in (
        TextValue.objects.filter(**own).order_by("index").values_list("answer_id", "field", "text")
    ):
        by_pk[pk]["texts"][field].append(text)
    for pk, field, code, ordinal in (
        ChoiceValue.objects.filter(**own)
        .order_by("pk")
        .values_list("answer_id", "field", "code", "ordinal")
    ):
        by_pk[pk]["choices"][field] = (code, ordinal)
    stretches = SpanValue.objects.filter(**own).order_by("index")
    for pk, field, *stretch in stretches.values_list(
        "answer_id", "field", "start", "end", "target"
    ):
        by_pk[pk]["spans"][field].append(tuple(stretch))
    by_item: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_item[row["item_id"]].append(row)
    return by_item


def _result(
    row: Mapping[str, Any], looks: LabelStudio, asked: Mapping[str, AskedDimension]
) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = []

    def add(name: str, kind: str, value: Mapping[str, Any]) -> None:
        result.append(
            {
                "id": f"{row['pk']}-{name}",
                "from_name": name,
                "to_name": looks.about,
                "type": kind,
                "value": value,
            }
        )

    for name, (code, ordinal) in row["choices"].items():
        if name in asked:
            written = asked[name].written_codes.get(code)
            if written is not None:
                add(name, CHOICES, {"choices": [written]})
            else:
                add(name, *looks.choice(code, ordinal, asked[name].points))
        else:
            add(name, CHOICES, {"choices": [code]})
    for name, texts in row["texts"].items():
        add(name, TEXT, {"text": texts})
    for name, stretches in row["spans"].items():
        add(name, CHOICES, {"choices": [str(number) for number, *_ in stretches]})
    return _with_meta(row, result)


def _results_of(
    row: Mapping[str, Any], looks: LabelStudio, own: Sequence[tuple[str, str, Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """Return an answer as its task type writes it: name, type and value of each result."""
    result = [
        {
            "id": f"{row['pk']}-{number}",
            "from_name": name,
            # A ranker orders a list of its own, which it is named after.
            "to_name": f"{name}-list" if kind == RANKER else looks.about,
            "type": kind,
            "value": value,
        }
        for number, (name, kind, value) in enumerate(own)
    ]
    return _with_meta(row, result)


def _with_meta(row: Mapping[str, Any], result: list[dict[str, Any]]) -> list[dict[str, Any]]:
    meta = {
        name: value
        for name, value in (
            ("flipped", row["flipped"]),
            ("replicate", row["replicate"]),
            ("prompt_strategy", row["system__prompt_strategy"]),
            ("reason", row["uncounted_reason"]),
        )
        if value
    }
    if meta and result:
        result[0]["meta"] = {"crowdqc": meta}
    return result


def _annotation(row: Mapping[str, Any], result: list[dict[str, Any]]) -> dict[str, Any]:
    at = row["answered_at"].isoformat()
    return {
        "id": row["pk"],
        "completed_by": row["worker__pseudonym"],
        "result": result,
        "lead_time": _seconds(row),
        "was_cancelled": not row["counts"],
        "ground_truth": row["uncounted_reason"] == GROUND_TRUTH,
        "unique_id": str(uuid.uuid5(SPACE, str(row["pk"]))),
        "created_at": at,
        "updated_at": at,
    }


def _seconds(row: Mapping[str, Any]) -> float | None:
    """Return the seconds from opening the assignment to the answer; None if one is not known."""
    opened, ended = row["assignment__opened_at"], row["answered_at"]
    return round((ended - opened).total_seconds(), 3) if opened and ended >= opened else None


def _prediction(row: Mapping[str, Any], result: list[dict[str, Any]]) -> dict[str, Any]:
    at = row["answered_at"].isoformat()
    return {
        "id": row["pk"],
        "model_version": row["system__name"],
        "result": result,
        "score": None,
        "created_at": at,
        "updated_at": at,
    }


def _flat(one: Mapping[str, Any], controls: Sequence[str]) -> Iterator[dict[str, Any]]:
    for annotation in one["annotations"]:
        said = {row["from_name"]: _plain(row["value"]) for row in annotation["result"]}
        yield {
            "annotation_id": annotation["id"],
            "annotator": annotation["completed_by"],
            **one["data"],
            **{name: said.get(name) for name in controls},
            "created_at": annotation["created_at"],
            "id": one["id"],
            "lead_time": annotation["lead_time"],
            "updated_at": annotation["updated_at"],
        }


def _plain(value: Mapping[str, Any]) -> Any:
    """A value as a cell; several as a list."""
    held = next(iter(value.values()))
    return held[0] if isinstance(held, list) and len(held) == 1 else held
