"""The demo's ratings: three documents, thirty answers, and what eight workers make of them.

All of it was written for this project. ``planted`` (0 to 100) is how complete an answer was
written to be. Workers see the same gaps and name them, and draw the lines between the points of
the scale elsewhere: what a rescaling by explanations is for. No method sees planted values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from annotation.demo.logs import seeded
from crowdqc.errors import Invalid

FILE = "rating.json"
POINTS = (0, 30, 70, 100)
Draft = dict[str, str]


@dataclass(frozen=True)
class Answer:
    """An answer under judgment with what it has, lacks and makes up; ``evidence``: sentences."""

    id: str
    text: str
    planted: int
    has: str
    missing: tuple[str, ...]
    wrong: tuple[str, ...]
    evidence: tuple[int, ...]


@dataclass(frozen=True)
class Rater:
    """Who rates: where their points begin, how steady and attentive they are, how they write."""

    id: str
    below: tuple[int, int, int]  # planted completeness below which a point is left
    noise: float
    inattentive: float  # how often they overlook what is wrong
    words: Mapping[str, list[str]]


@dataclass(frozen=True)
class Ratings:
    """What the demo's rating task is made of; ``rows`` are as ``add_documents`` takes them."""

    title: str
    instructions: str
    rows: tuple[dict[str, Any], ...]
    answers: Mapping[str, Answer]
    raters: tuple[Rater, ...]
    feedback: Mapping[str, str]  # what a worker writes to the requester, once

    def draft(self, rater: Rater, item: str) -> Draft:
        """Simulate a rater's draft for an answer, the same at each call."""
        answer, rng = self.answers[item], seeded("demo rating", rater.id, item)
        seen = answer.planted + rng.gauss(0, rater.noise)
        point = POINTS[sum(seen >= edge for edge in rater.below)]
        overlooks = rng.random() < rater.inattentive
        correct = not answer.wrong or overlooks
        return {
            "r-completeness": str(point),
            "r-correctness": str(int(correct)),
            "explanation": _explanation(rater, answer, rng, overlooks=overlooks),
            "evidence": ", ".join(map(str, answer.evidence)),
        }

    def score(self, rater: Rater, item: str) -> int | None:
        """Simulate the score (0 to 100) that a model reads off an explanation; None for no number.

        Close to what the explanation names, in steps of 5, whatever point was chosen beside it.
        """
        answer, rng = self.answers[item], seeded("demo score", rater.id, item)
        if rng.random() < 0.02:
            return None
        draft = self.draft(rater, item)
        told = answer.planted if answer.missing or not int(draft["r-correctness"]) else 100
        return max(0, min(100, 5 * round((told + rng.gauss(0, 5)) / 5)))


def _explanation(rater: Rater, answer: Answer, rng: Random, *, overlooks: bool) -> str:
    """Sentences that name what the worker sees in the answer, in their way of writing."""
    said = []
    if answer.missing:
        gap = " and ".join(answer.missing if rng.random() < 0.7 else answer.missing[:1])
        said.append(rng.choice(rater.words["missing"]).format(missing=gap, has=answer.has))
    if answer.wrong and not overlooks:
        claim = " and ".join(answer.wrong)
        said.append(rng.choice(rater.words["wrong"]).format(wrong=claim))
    if not said:
        said.append(rng.choice(rater.words["complete"]).format(has=answer.has))
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in said)


def load() -> Ratings:
    """Read the file beside this module; Invalid where a part of it is missing."""
    try:
        raw = json.loads((Path(__file__).parent / FILE).read_text(encoding="utf-8"))
        return _ratings(raw)
    except (KeyError, ValueError, TypeError) as error:
        raise Invalid(f"{FILE} is not what the demo needs: {error!r}.") from error


def _ratings(raw: Mapping[str, Any]) -> Ratings:
    rows, answers = [], {}
    for document in raw["documents"]:
        for asked in document["questions"]:
            for given, (system, strategy) in zip(asked["answers"], raw["systems"], strict=True):
                text, planted, has, missing, wrong, evidence = given
                key = f"{asked['id']}-{system}"
                answers[key] = Answer(
                    key, text, planted, has, tuple(missing), tuple(wrong), tuple(evidence)
                )
                rows.append(
                    {
                        "document_id": document["id"],
                        "title": document["title"],
                        "document": "\n\n".join(document["text"]),
                        "question_id": asked["id"],
                        "question": asked["question"],
                        "sentence": asked["sentence"],
                        "answer_id": key,
                        "answer": text,
                        "system": system,
                        "prompt_strategy": strategy,
                    }
                )
    raters = tuple(
        Rater(
            one["id"],
            tuple(one["below"]),
            one["noise"],
            one["inattentive"],
            raw["words"][one["words"]],
        )
        for one in raw["workers"]
    )
    return Ratings(raw["title"], raw["instructions"], tuple(rows), answers, raters, raw["feedback"])
