"""CrowdRAG-25's own formats out: judgments as they were collected, and those of models.

``validity`` is what the questionnaires call topical correctness. Workers have their pseudonyms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Q

from annotation.files.writing.tables import Table
from annotation.formats.exports.tools.frames import in_chunks
from annotation.models import Answer, Item, Task
from annotation.task_types.pairwise.sides import SHOWN, left_right, replicate_of, to_displayed
from annotation.work.snapshots import judgments

CHUNK = 2000
RAW_HEAD = ("submission_id", "worker", "item_index", "query_id", "response_a", "response_b")
MODEL_HEAD = ("query_id", "response_a", "response_b", "inference", "repeat")
LETTERS = dict(zip(SHOWN, "ANB", strict=True))
VALIDITY = "validity"  # the one dimension whose raw name is another
RAW = {"correctness_topical": VALIDITY}


def raw_judgments(task: Task, form: str, dimension: str = "") -> Table:
    """All judgments of people, counting or not, a row each (study2_responses.jsonl)."""
    names = _dimension_names(task)
    columns = (*RAW_HEAD, *(RAW.get(name, name) for name in names))
    return Table(columns, _raw(task, names))


def _raw(task: Task, names: list[str]) -> Iterator[dict[str, Any]]:
    pairs = _pairs(task)
    answers = Answer.objects.filter(_main(task), worker__isnull=False).order_by("pk")
    fields = ("pk", "item_id", "assignment_id", "worker__pseudonym", "order_shown", "flipped")
    bundles: dict[int | None, int] = {}  # questionnaires, numbered as they come
    for part in in_chunks(answers.values_list(*fields).iterator(CHUNK)):
        said = judgments.codes_of([row[0] for row in part])
        for pk, item, bundle, worker, place, flipped in part:
            topic, first, second = pairs[item]
            left, right = left_right(first, second, flipped=flipped)
            row: dict[str, Any] = {
                "submission_id": str(bundles.setdefault(bundle, len(bundles) + 1)),
                "worker": worker,
                "item_index": (place or 0) + 1,
                "query_id": topic,
                "response_a": left,
                "response_b": right,
            }
            for name in names:
                code = said[pk].get(name)
                row[RAW.get(name, name)] = (
                    LETTERS[to_displayed(code, flipped=flipped)] if code else None
                )
            yield row


def models(task: Task, form: str, dimension: str = "") -> Table:
    """The judgments of models (llm_judgments.csv): labels a, n, b as displayed."""
    names = _dimension_names(task)
    return Table((*MODEL_HEAD, *names), _models(task, names))


def _models(task: Task, names: list[str]) -> Iterator[dict[str, Any]]:
    pairs = _pairs(task)
    answers = Answer.objects.filter(_main(task), system__isnull=False).order_by("pk")
    fields = ("pk", "item_id", "system__prompt_strategy", "replicate", "flipped")
    for part in in_chunks(answers.values_list(*fields).iterator(CHUNK)):
        said = judgments.codes_of([row[0] for row in part])
        for pk, item, strategy, replicate, flipped in part:
            topic, first, second = pairs[item]
            left, right = left_right(first, second, flipped=flipped)
            given = said[pk]
            yield {
                "query_id": topic,
                "response_a": left,
                "response_b": right,
                "inference": strategy,
                "repeat": replicate_of(replicate) + 1,
                **{
                    name: LETTERS[to_displayed(given[name], flipped=flipped)].lower()
                    if name in given
                    else ""
                    for name in names
                },
            }


def _dimension_names(task: Task) -> list[str]:
    return [one.name for one in judgments.version_items(task.current)] if task.current else []


def _main(task: Task) -> Q:
    return Q(item__task=task, item__expected__isnull=True, stage=Answer.Stage.MAIN)


def _pairs(task: Task) -> dict[int, tuple[str, str, str]]:
    """Topic, first and second text of each item."""
    rows = Item.objects.filter(task=task, second__isnull=False)
    found = rows.values_list("pk", "first__topic", "first__key", "second__key")
    return {pk: (topic, first, second) for pk, topic, first, second in found}
