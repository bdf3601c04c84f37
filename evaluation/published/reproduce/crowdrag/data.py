"""CrowdRAG's published judgments read into index arrays; none of them is part of the project.

Every pair of responses is stored in the order of its names; ``flipped`` says that it was shown the
other way round, with the later name on the left. Labels are indices into LABELS, as displayed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdqc.errors import Invalid
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.judgments import ShownVotes, turned_back
from evaluation.published.reproduce.columns import columns

DIMENSIONS = (
    "correctness_topical",
    "coherence_logical",
    "coherence_stylistic",
    "coverage_broad",
    "coverage_deep",
    "consistency_internal",
    "quality_overall",
)
LABELS = ("A", "N", "B")  # the left response is better, neither is, the right one is
STYLES, ORIGINS = ("bullet", "essay", "news"), ("human", "llm")
FILES = {
    "votes": "pairwise_judgments_wide.csv.gz",
    "gold": "pairwise_gold_published.csv.gz",
    "spam": "worker_spam_probability_published.csv.gz",
    "llm": "llm_judgments.csv.gz",
    "experts": "expert_judgments.csv",
    "grades": "grades_published.csv",
    "texts": "responses.jsonl.gz",
}
PAIR = ("response_a", "response_b")
Records = list[dict[str, str]]


@dataclass(frozen=True, eq=False)
class Directed:
    """One label a row (n, 7) on a pair (n,) shown ``flipped`` (n,) or not; -1 is no label."""

    pair: IntArray
    flipped: NDArray[np.bool_]
    label: IntArray

    @property
    def item(self) -> IntArray:
        """Index of the pair in the order shown (n,): twice the pair, and one more if flipped."""
        return 2 * self.pair + self.flipped

    def canonical(self) -> IntArray:
        """Labels (n, 7) for the pair in stored order."""
        return turned_back(self.label, self.flipped, len(LABELS))

    def take(self, rows: Any) -> Directed:
        """Keep only these rows."""
        return Directed(self.pair[rows], self.flipped[rows], self.label[rows])


@dataclass(frozen=True, eq=False)
class Graded:
    """Published grades 1-6 (n, 7) of the judged responses; ``topic`` (n,) indexes ``topics``."""

    responses: tuple[str, ...]
    topic: IntArray
    style: IntArray
    origin: IntArray
    grade: IntArray
    topics: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CrowdRag:
    """Everything that Tables 4 to 9 are computed from.

    ``votes`` holds all judgments in the order of the file, ``counted`` (n,) marks the first five
    votes of each item, which the paper uses. ``spam`` (workers, 7) is the published spam
    probability (NaN: none), ``gold`` the published gold labels. ``left`` and ``right`` (pairs,)
    index ``graded.responses``, the two sides of a pair as stored. ``llm`` maps the prompting
    ('combined', 'individual') to the first call of each prompt; ``experts`` are the paper's three.
    """

    votes: ShownVotes
    counted: NDArray[np.bool_]
    spam: FloatArray
    gold: Directed
    left: IntArray
    right: IntArray
    llm: dict[str, Directed]
    experts: Directed
    graded: Graded

    @property
    def artifact(self) -> ShownVotes:
        """The 6,760 judgments that the paper uses."""
        return self.votes.take(self.counted)

    @property
    def items(self) -> tuple[str, ...]:
        """Names of the ordered pairs, as ``Directed.item`` counts them."""
        return tuple(f"{name}{way}" for name in self.votes.pairs for way in ("", " flipped"))

    def first_direction(self) -> NDArray[np.bool_]:
        """Ordered pairs (items,): the stored order where it was judged, else the other one."""
        judged = np.zeros((len(self.votes.pairs), 2), dtype=bool)
        judged[self.votes.pair, self.votes.flipped.astype(np.int64)] = True
        judged[:, 1] &= ~judged[:, 0]
        return judged.ravel()

    def labels(self, votes: ShownVotes, dimension: int) -> Labels:
        """Votes of one dimension on ordered pairs, as displayed.

        Where nobody was neutral (overall quality does not offer it) there are two labels.
        """
        label = votes.vote[:, dimension]
        names: tuple[str, ...] = LABELS
        if not (self.votes.vote[:, dimension] == 1).any():
            label, names = label // 2, LABELS[::2]
        given = label >= 0
        return Labels.build(
            votes.worker[given],
            (2 * votes.pair + votes.flipped)[given],
            label[given],
            workers=votes.workers,
            items=self.items,
            labels=names,
        )


def records(folder: Path, name: str, needed: Sequence[str]) -> Records:
    """Rows of a file with the ``needed`` columns. Raises Invalid."""
    found = columns(folder, "crowdrag", name, needed)
    return [dict(zip(needed, row, strict=True)) for row in zip(*found.values(), strict=True)]


def load(folder: Path) -> CrowdRag:
    """Read all files but the texts. Raises Invalid, naming the file, the column or the line."""
    graded = _grades(
        records(folder, FILES["grades"], ("response", "topic", "style", "origin", *DIMENSIONS))
    )
    rows = records(
        folder, FILES["votes"], ("worker", "position", "in_artifact", *PAIR, *DIMENSIONS)
    )
    known = {name: k for k, name in enumerate(graded.responses)}
    pairs = sorted({_sorted(row) for row in rows})
    place = {pair: k for k, pair in enumerate(pairs)}
    for row in rows:
        if not set(_sorted(row)) <= set(known):
            raise Invalid(f"{FILES['votes']} has a response without a grade: {_sorted(row)}.")
    workers = sorted({row["worker"] for row in rows})
    votes = _directed(rows, place, FILES["votes"])
    number = {name: k for k, name in enumerate(workers)}
    shown = ShownVotes.build(
        np.array([number[row["worker"]] for row in rows]),
        votes.pair,
        votes.flipped,
        _integers(rows, "position", FILES["votes"]),
        votes.label,
        workers=workers,
        pairs=[" ".join(pair) for pair in pairs],
        dimensions=DIMENSIONS,
        labels=LABELS,
    )
    return CrowdRag(
        votes=shown,
        counted=np.array([row["in_artifact"] == "1" for row in rows]),
        spam=_spam(folder, workers),
        gold=_gold(folder, place),
        left=np.array([known[one] for one, _ in pairs]),
        right=np.array([known[two] for _, two in pairs]),
        llm=_llm(folder, place),
        experts=_experts(folder, place),
        graded=graded,
    )


def _sorted(row: dict[str, str]) -> tuple[str, str]:
    one, two = sorted((row["response_a"], row["response_b"]))
    return one, two


def _directed(rows: Records, place: dict[tuple[str, str], int], name: str) -> Directed:
    """Rows with one column a dimension."""
    number = {label: k for k, label in enumerate(LABELS)} | {
        label.lower(): k for k, label in enumerate(LABELS)
    }
    label = np.full((len(rows), len(DIMENSIONS)), -1)
    pair = np.empty(len(rows), dtype=np.int64)
    for k, row in enumerate(rows):
        found = place.get(_sorted(row))
        if found is None:
            raise Invalid(f"{name} has a pair that the crowd did not judge: {_sorted(row)}.")
        pair[k] = found
        for d, dimension in enumerate(DIMENSIONS):
            value = row[dimension]
            if value and value not in number:
                raise Invalid(f"{name}: {dimension} is {value!r}; it must be A, N or B.")
            label[k, d] = number.get(value, -1)
    flipped = np.array([row["response_a"] > row["response_b"] for row in rows])
    return Directed(pair, flipped, label)


def _integers(rows: Records, column: str, name: str) -> IntArray:
    try:
        return np.array([int(row[column]) for row in rows])
    except ValueError as problem:
        raise Invalid(f"{name}: {column} holds something that is no whole number.") from problem


def _spam(folder: Path, workers: Sequence[str]) -> FloatArray:
    rows = records(folder, FILES["spam"], ("worker", *DIMENSIONS))
    known = {row["worker"]: row for row in rows}
    found = np.full((len(workers), len(DIMENSIONS)), np.nan)
    for k, worker in enumerate(workers):
        if worker in known:
            found[k] = [float(known[worker][dimension]) for dimension in DIMENSIONS]
    return found


def _gold(folder: Path, place: dict[tuple[str, str], int]) -> Directed:
    """The file has a row a dimension; here an ordered pair is a row."""
    name = FILES["gold"]
    wide: dict[tuple[str, str], dict[str, str]] = {}
    for row in records(folder, name, (*PAIR, "dimension", "gold")):
        key = (row["response_a"], row["response_b"])
        wide.setdefault(key, dict(zip(PAIR, key, strict=True)))[row["dimension"]] = row["gold"]
    rows = [dict.fromkeys(DIMENSIONS, "") | wide[key] for key in sorted(wide)]
    return _directed(rows, place, name)


def _llm(folder: Path, place: dict[tuple[str, str], int]) -> dict[str, Directed]:
    """The first call of every prompt, in the order of the file; the rest repeat a prompt."""
    name = FILES["llm"]
    rows = records(folder, name, (*PAIR, "inference", "repeat", *DIMENSIONS))
    first = [row for row in rows if row["repeat"] == "1"]
    return {
        kind: _directed([row for row in first if row["inference"] == kind], place, name)
        for kind in ("combined", "individual")
    }


def _experts(folder: Path, place: dict[tuple[str, str], int]) -> Directed:
    name = FILES["experts"]
    rows = records(folder, name, (*PAIR, "expert", "in_paper", *DIMENSIONS))
    return _directed([row for row in rows if row["in_paper"] == "1"], place, name)


def _grades(rows: Records) -> Graded:
    name = FILES["grades"]
    topics = sorted({row["topic"] for row in rows})
    rows = sorted(rows, key=lambda row: row["response"])
    for column, allowed in (("style", STYLES), ("origin", ORIGINS)):
        wrong = {row[column] for row in rows} - set(allowed)
        if wrong:
            raise Invalid(f"{name}: {column} is {min(wrong)!r}; it must be in {allowed}.")
    return Graded(
        responses=tuple(row["response"] for row in rows),
        topic=np.array([topics.index(row["topic"]) for row in rows]),
        style=np.array([STYLES.index(row["style"]) for row in rows]),
        origin=np.array([ORIGINS.index(row["origin"]) for row in rows]),
        grade=np.stack([_integers(rows, dimension, name) for dimension in DIMENSIONS], axis=1),
        topics=tuple(topics),
    )


def texts(folder: Path, responses: Sequence[str]) -> list[str]:
    """The cleaned texts (no citation marks) of ``responses``. Raises Invalid."""
    places = [folder / "crowdrag" / FILES["texts"], folder / FILES["texts"]]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise Invalid(f"There is no {FILES['texts']} in {folder}.", fields={"data": "no file"})
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        found = {row["response"]: row["cleaned_text"] for row in map(json.loads, handle)}
    missing = [name for name in responses if name not in found]
    if missing:
        raise Invalid(f"{path.name} has no text of the response {missing[0]}.")
    return [found[name] for name in responses]
