"""CrowdRAG-25's own formats out: judgments as they were collected, and those of models.

``validity`` is what the questionnaires call topical correctness. Workers have their pseudonyms.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from django.db.models import Q

from annotation.imports.study_json import NAMES
from annotation.models import Answer, Item, Task
from annotation.selectors import judgments
from annotation.sides import SHOWN, left_right, replicate_of, shown

from .files import Echo

CHUNK = 20_000
LETTERS = dict(zip(SHOWN, "ANB", strict=True))
VALIDITY = "validity"  # the one dimension whose raw name is another
RAW = {"correctness_topical": VALIDITY}


def raw(task: Task, form: str, dimension: str = "") -> Iterator[str]:
    """All judgments of people, counting or not, a line each (study2_responses.jsonl)."""
    names = [one.name for one in judgments.asked(task.current)] if task.current else []
    pairs, said = _pairs(task), judgments.codes(task, people=True)
    answers = Answer.objects.filter(_main(task), worker__isnull=False).order_by("pk")
    fields = ("pk", "item_id", "assignment_id", "worker__pseudonym", "order_shown", "flipped")
    bundles: dict[int | None, int] = {}  # questionnaires, numbered as they come
    for pk, item, bundle, worker, place, flipped in answers.values_list(*fields).iterator(CHUNK):
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
        given = said.get(pk, {})
        for name in names:
            code = given.get(name)
            row[RAW.get(name, name)] = LETTERS[shown(code, flipped=flipped)] if code else None
        yield json.dumps(row, ensure_ascii=False) + "\n"


def models(task: Task, form: str, dimension: str = "") -> Iterator[str]:
    """The judgments of models (llm_judgments.csv): labels a, n, b as displayed."""
    names = [one.name for one in judgments.asked(task.current)] if task.current else []
    pairs, said = _pairs(task), judgments.codes(task, people=False)
    writer = csv.writer(Echo())
    yield writer.writerow(["query_id", "response_a", "response_b", "inference", "repeat", *names])
    answers = Answer.objects.filter(_main(task), system__isnull=False).order_by("pk")
    fields = ("pk", "item_id", "system__prompt_strategy", "replicate", "flipped")
    for pk, item, strategy, replicate, flipped in answers.values_list(*fields).iterator(CHUNK):
        topic, first, second = pairs[item]
        given = said.get(pk, {})
        yield writer.writerow([
            topic, *left_right(first, second, flipped=flipped), strategy,
            replicate_of(replicate) + 1,
            *(LETTERS[shown(given[name], flipped=flipped)].lower() if name in given else ""
              for name in names),
        ])  # fmt: skip


def known_names(task: Task) -> bool:
    """Whether the task asks for the dimensions of the published questionnaires."""
    asked = judgments.asked(task.current) if task.current else []
    return {one.name for one in asked} >= set(NAMES.values())


def _main(task: Task) -> Q:
    return Q(item__task=task, item__expected__isnull=True, stage=Answer.Stage.MAIN)


def _pairs(task: Task) -> dict[int, tuple[str, str, str]]:
    """Topic, first and second text of each item."""
    rows = Item.objects.filter(task=task, second__isnull=False)
    found = rows.values_list("pk", "first__topic", "first__key", "second__key")
    return {pk: (topic, first, second) for pk, topic, first, second in found}
