"""CrowdRAG-25 read back from the database, as the reproduction reads it from its files.

Both give the same arrays, row by row, so that the same functions give the same tables. A pair is
stored in the order of its texts' names here, whatever order their ids have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from annotation.formats.actions.published.rows import BEYOND_FIVE, NOT_IN_PAPER
from annotation.models import Answer, Item, Task
from annotation.task_types.pairwise.sides import SHOWN, left_right, to_displayed
from annotation.work.snapshots.judgments import codes
from crowdqc.errors import Conflict
from evaluation.methods.core.base import FloatArray
from evaluation.methods.pairwise.judgments import ShownVotes
from evaluation.models import CandidateScore, ItemLabel, Run, WorkerScore
from evaluation.published.reproduce.crowdrag.data import (
    DIMENSIONS,
    LABELS,
    ORIGINS,
    STYLES,
    CrowdRag,
    Directed,
    Graded,
)

CHUNK = 20_000
PLACES = {side: place for place, side in enumerate(SHOWN)}  # as LABELS: left, neutral, right
Names = tuple[str, str]  # of the text on the left and the one on the right


class _Row(NamedTuple):
    """An answer: by whom (the name in the file), which item, how shown, and what was said."""

    author: str
    item: int
    flipped: bool
    position: int
    replicate: int
    uncounted: str
    said: dict[str, str]  # dimension -> code, canonical


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The pairs of a task by the names of their texts, and which one each item shows."""

    pairs: list[Names]
    place: dict[Names, int]
    of_item: dict[int, Names]  # first, second: as stored

    def shown(self, item: int, flipped: bool) -> Names:
        """Left and right of an item."""
        return left_right(*self.of_item[item], flipped=flipped)

    def directed(self, rows: Sequence[tuple[int, bool, Mapping[str, str]]]) -> Directed:
        """Rows (item, flipped, dimension -> canonical code) as displayed labels."""
        pair = np.empty(len(rows), dtype=np.int64)
        turned = np.empty(len(rows), dtype=bool)
        label = np.full((len(rows), len(DIMENSIONS)), -1)
        for k, (item, flipped, said) in enumerate(rows):
            left, right = self.shown(item, flipped)
            turned[k] = left > right
            pair[k] = self.place[min(left, right), max(left, right)]
            for d, name in enumerate(DIMENSIONS):
                if name in said:
                    label[k, d] = PLACES[to_displayed(said[name], flipped=flipped)]
        return Directed(pair, turned, label)


def as_crowdrag(task: Task, run: Run) -> CrowdRag:
    """The study of a task as the reproduction takes it, ``run`` being its published results.

    Every judgment that was imported is in it, whatever has been decided of it since. Raises
    Conflict where the task is not that study.
    """
    if {row["name"] for row in _settings(task)} != set(DIMENSIONS):
        raise Conflict("This task does not ask for the dimensions of CrowdRAG-25.")
    pairs = _pairs(task)
    graded = _graded(task, run)
    known = {name: k for k, name in enumerate(graded.responses)}
    if not {name for pair in pairs.pairs for name in pair} <= known.keys():
        raise Conflict("A text of the study has no published grade.")
    rows = _answers(task, people=True)
    workers = sorted({row.author for row in rows})
    number = {name: k for k, name in enumerate(workers)}
    votes = pairs.directed([(row.item, row.flipped, row.said) for row in rows])
    return CrowdRag(
        votes=ShownVotes.build(
            np.array([number[row.author] for row in rows]),
            votes.pair,
            votes.flipped,
            np.array([row.position + 1 for row in rows]),
            votes.label,
            workers=workers,
            pairs=[" ".join(pair) for pair in pairs.pairs],
            dimensions=DIMENSIONS,
            labels=LABELS,
        ),
        counted=np.array([row.uncounted != BEYOND_FIVE for row in rows]),
        spam=_spam(run, workers),
        gold=_estimated_labels(pairs, task, run),
        left=np.array([known[one] for one, _ in pairs.pairs]),
        right=np.array([known[two] for _, two in pairs.pairs]),
        llm=_llm(pairs, task),
        experts=_experts(pairs, task),
        graded=graded,
    )


def _settings(task: Task) -> list[dict[str, Any]]:
    return list(task.current.settings.get("dimensions", [])) if task.current else []


def _pairs(task: Task) -> _Pairs:
    items = _names(Item.objects.filter(task=task))
    pairs = sorted({(min(names), max(names)) for names in items.values()})
    return _Pairs(pairs, {pair: k for k, pair in enumerate(pairs)}, items)


def _names(items: Any) -> dict[int, Names]:
    rows = items.filter(expected__isnull=True, second__isnull=False)
    return {
        pk: (first, second)
        for pk, first, second in rows.values_list("pk", "first__key", "second__key")
    }


def _answers(task: Task, *, people: bool, strategy: str = "") -> list[_Row]:
    """Answers in the order in which they were stored, which is that of the file."""
    found = Answer.objects.filter(item__task=task, worker__isnull=not people)
    if not people:
        found = found.filter(system__prompt_strategy=strategy)
    said = codes(task, people=people)
    author = "worker__external_id" if people else "system__name"
    heads = found.order_by("pk").values_list(
        "pk", author, "item_id", "flipped", "order_shown", "replicate", "uncounted_reason"
    )
    return [
        _Row(name, item, flipped, position or 0, replicate, reason, said.get(pk, {}))
        for pk, name, item, flipped, position, replicate, reason in heads.iterator(CHUNK)
    ]


def _spam(run: Run, workers: Sequence[str]) -> FloatArray:
    place = {name: k for k, name in enumerate(workers)}
    found = np.full((len(workers), len(DIMENSIONS)), np.nan)
    rows = WorkerScore.objects.filter(run=run, dimension__in=DIMENSIONS)
    for name, dimension, extra in rows.values_list("worker__external_id", "dimension", "extra"):
        if name in place:
            found[place[name], DIMENSIONS.index(dimension)] = extra["spam"]
    return found


def _estimated_labels(pairs: _Pairs, task: Task, run: Run) -> Directed:
    """Collect the run's item labels as shown, by left and right names."""
    side = dict(Item.objects.filter(task=task).values_list("pk", "side"))
    said: dict[int, dict[str, str]] = {}
    for item, dimension, label in ItemLabel.objects.filter(run=run).values_list(
        "item_id", "dimension", "label"
    ):
        said.setdefault(item, {})[dimension] = label
    rows = [(item, side[item] < 0, labels) for item, labels in said.items()]
    return pairs.directed(sorted(rows, key=lambda row: pairs.shown(row[0], row[1])))


def _llm(pairs: _Pairs, task: Task) -> dict[str, Directed]:
    """The first call of every prompt; the others repeat one."""
    return {
        kind: pairs.directed(
            [
                (row.item, row.flipped, row.said)
                for row in _answers(task, people=False, strategy=kind)
                if row.replicate < 2
            ]
        )
        for kind in ("combined", "individual")
    }


def _experts(pairs: _Pairs, task: Task) -> Directed:
    """The panel's judgments, without those of whom the paper does not use."""
    found: list[tuple[int, bool, Mapping[str, str]]] = []
    of_item = dict(pairs.of_item)
    for panel in Task.objects.filter(source=task, panel__isnull=False).order_by("pk"):
        of_item |= _names(Item.objects.filter(task=panel))
        out = set(
            panel.exclusions.filter(reason=NOT_IN_PAPER).values_list(
                "worker__external_id", flat=True
            )
        )
        found += [
            (row.item, row.flipped, row.said)
            for row in _answers(panel, people=True)
            if row.author not in out
        ]
    return _Pairs(pairs.pairs, pairs.place, of_item).directed(found)


def _graded(task: Task, run: Run) -> Graded:
    rows = CandidateScore.objects.filter(run=run).values_list(
        "candidate__key",
        "dimension",
        "extra",
        "candidate__topic",
        "candidate__style",
        "candidate__origin",
    )
    about: dict[str, tuple[str, str, str]] = {}
    grades: dict[str, dict[str, int]] = {}
    for key, dimension, extra, topic, style, origin in rows:
        about[key] = topic, style, origin
        grades.setdefault(key, {})[dimension] = extra["grade"]
    responses = sorted(about)
    topics = sorted({topic for topic, _, _ in about.values()})
    return Graded(
        responses=tuple(responses),
        topic=np.array([topics.index(about[key][0]) for key in responses]),
        style=np.array([STYLES.index(about[key][1]) for key in responses]),
        origin=np.array([ORIGINS.index(about[key][2]) for key in responses]),
        grade=np.array([[grades[key][name] for name in DIMENSIONS] for key in responses]),
        topics=tuple(topics),
    )
