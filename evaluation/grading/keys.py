"""Right answers that graders agreed on: kept with a grading, and how close each answer comes.

Appendix P of Geva et al. 2025: the cosine of an answer with the right one, beside the experts'
grade of it. A right answer is text that a requester or grader wrote, one a question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Answer, Item, Task
from evaluation.embeddings import vectors
from evaluation.embeddings.embeddings import Encoder
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.models import Grading
from evaluation.runs.freezing.snapshots import AnswersDataset

EXAMPLES = 6  # answers shown of a question


@dataclass(frozen=True)
class RightAnswer:
    """A question of a grading and its right answer, "" where nobody wrote one."""

    item_id: int
    question: str
    text: str


def right_answers(grading: Grading) -> list[RightAnswer]:
    """The questions whose answers are graded, in their order; two queries."""
    items = Answer.objects.filter(pk__in=grading.answer_ids).values("item_id")
    rows = Item.objects.filter(pk__in=items).order_by("position", "pk")
    known = grading.keys or {}
    return [
        RightAnswer(pk, question, known.get(str(pk), ""))
        for pk, question in rows.values_list("pk", "question")
    ]


def right_answer_of(grading: Grading, answer_id: int) -> str:
    """Return the reference answer to the question of an answer; "" if there is none."""
    if not grading.keys:
        return ""
    item = Answer.objects.values_list("item_id", flat=True).get(pk=answer_id)
    text: str = grading.keys.get(str(item), "")
    return text


def topics_of(right: str) -> list[str]:
    """The topics of a right answer, its lines; [] where it has one line alone."""
    lines = [line.strip() for line in right.splitlines() if line.strip()]
    return lines if len(lines) > 1 else []


def topic_mark(named: int, topics: int, wrong: int) -> int:
    """The mark by topics: 100 x right ones named / (all right ones + wrong ones named).

    The share of the union of right and named topics that is common to both (Geva et al. 2025,
    App. A.1). ``topics`` is 1 or more, ``named`` at most ``topics``.
    """
    return round(100 * named / (topics + wrong))


def keys_of(task: Task) -> dict[int, str]:
    """Right answers by question; of two gradings that have one, the later one's."""
    found: dict[int, str] = {}
    for keys in task.gradings.order_by("pk").values_list("keys", flat=True):
        found.update({int(pk): text for pk, text in (keys or {}).items()})
    return found


def keys_hash(keys: Mapping[int, str]) -> str:
    """Hash the reference answers, for a run's recipe."""
    return hashlib.sha256(json.dumps(sorted(keys.items())).encode()).hexdigest()


def key_cosines(
    frozen: AnswersDataset, keys: Mapping[int, str], encoder: Encoder, matrix: Any
) -> FloatArray:
    """Return the cosine (n,) of each worker's answer with the reference answer; NaN without one.

    ``matrix`` are the vectors of ``frozen.texts``. An encoder that is fitted to its texts is fitted
    anew to these and the right answers.
    """
    text = np.array([keys.get(item, "") for item in frozen.items], dtype=object)
    known = np.flatnonzero(text != "")
    out = np.full(len(frozen.answer_ids), np.nan)
    if not len(known):
        return out
    different = list(dict.fromkeys(text[known]))
    place = np.full(len(text), -1, dtype=np.int64)
    place[known] = [different.index(one) for one in text[known]]
    if encoder.cacheable:
        answers = np.asarray(matrix)
        right = np.asarray(vectors.vectors_of(different, encoder).matrix)
    else:
        both = encoder.encode([*frozen.texts, *different])
        answers, right = both[: len(frozen.texts)], both[len(frozen.texts) :]
    rows = np.flatnonzero(place[frozen.question] >= 0)
    one, other = answers[frozen.text[rows]], right[place[frozen.question[rows]]]
    length = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    out[rows] = (one * other).sum(axis=1) / np.where(length > 0, length, 1.0)
    return out


def examples(
    frozen: AnswersDataset, grade: FloatArray, cosine: FloatArray, score: FloatArray
) -> list[dict[str, Any]]:
    """Answers from worst to best grade, of the questions with the highest and the lowest mean.

    All are (n,). A row an answer: its id, its item, grade, cosine with the right answer and AQER's
    score. Only questions with a right answer and several different grades; equal texts once.
    """
    usable = np.isfinite(grade) & np.isfinite(cosine)
    means = {
        int(q): float(grade[usable & (frozen.question == q)].mean())
        for q in np.unique(frozen.question[usable])
        if np.ptp(grade[usable & (frozen.question == q)]) > 0
    }
    if not means:
        return []
    ends = dict.fromkeys(
        [max(means, key=lambda q: (means[q], -q)), min(means, key=lambda q: (means[q], q))]
    )
    return [
        {
            "answer": frozen.answer_ids[at],
            "item": frozen.items[q],
            "mean": means[q],
            "grade": float(grade[at]),
            "cosine": float(cosine[at]),
            "score": float(score[at]) if np.isfinite(score[at]) else None,
        }
        for q in ends
        for at in _spread(frozen, np.flatnonzero(usable & (frozen.question == q)), grade)
    ]


def _spread(frozen: AnswersDataset, rows: IntArray, grade: FloatArray) -> list[int]:
    """Some of these answers, evenly from the worst to the best grade, with different texts."""
    order = rows[np.argsort(grade[rows], kind="stable")]
    _, first = np.unique(frozen.text[order], return_index=True)
    order = order[np.sort(first)]
    at = np.unique(np.round(np.linspace(0, len(order) - 1, min(EXAMPLES, len(order)))).astype(int))
    return [int(row) for row in order[at]]
