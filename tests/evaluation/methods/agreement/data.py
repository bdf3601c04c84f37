"""The published side-by-side votes as ShownVotes, and a simulated crowd of such votes."""

from __future__ import annotations

import csv
import functools
import gzip
from typing import Any

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.methods.pairwise.judgments import ShownVotes
from evaluation.published.reproduce.data import data_folder

DIMENSIONS = (
    "correctness_topical",
    "coherence_logical",
    "coherence_stylistic",
    "coverage_broad",
    "coverage_deep",
    "consistency_internal",
    "quality_overall",
)


@functools.cache
def real_votes() -> ShownVotes:
    """The 6,760 judgments of the paper; skips the test where the data is absent."""
    try:
        path = data_folder() / "crowdrag" / "pairwise_judgments_wide.csv.gz"
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    if not path.is_file():
        pytest.skip(f"there is no {path.name}")
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle) if row["in_artifact"] == "1"]
    ends = [(row["response_a"], row["response_b"]) for row in rows]
    pair = [" ".join([row["query_id"], *sorted(end)]) for row, end in zip(rows, ends, strict=True)]
    pairs, which = np.unique(pair, return_inverse=True)
    workers, who = np.unique([row["worker"] for row in rows], return_inverse=True)
    return ShownVotes.build(
        who,
        which,
        np.array([a > b for a, b in ends]),
        np.array([int(row["position"]) for row in rows]),
        np.array([["ANB".index(row[name]) for name in DIMENSIONS] for row in rows]),
        workers=workers.tolist(),
        pairs=pairs.tolist(),
        dimensions=DIMENSIONS,
        labels="ANB",
    )


def shown_crowd(
    rng: np.random.Generator,
    *,
    workers: int = 60,
    pairs: int = 80,
    each: int = 16,
    right: float = 0.0,
    drift: float = 0.0,
    dimensions: int = 3,
    spread: float = 0.0,
) -> ShownVotes:
    """Workers who judge ``each`` random pairs, either way round.

    A judgment is the pair's quality, the side's pull ``right`` (sd ``spread`` between workers) and
    noise; within .4 of 0 it is neutral, a band that grows by ``drift`` a position.
    """
    quality = rng.normal(size=(pairs, dimensions))
    pull = right + spread * rng.normal(size=workers)
    pair = np.concatenate([rng.permutation(pairs)[:each] for _ in range(workers)])
    worker = np.repeat(np.arange(workers), each)
    position = np.tile(np.arange(1, each + 1), workers)
    flipped = rng.random(len(pair)) < 0.5
    sign = np.where(flipped, -1, 1)[:, None]
    seen: Any = sign * quality[pair] + pull[worker][:, None]
    seen = seen + rng.normal(size=(len(pair), dimensions))
    band = 0.4 + drift * (position - 1)[:, None]
    return ShownVotes.build(
        worker,
        pair,
        flipped,
        position,
        np.where(np.abs(seen) < band, 1, np.where(seen > 0, 2, 0)),
        workers=[f"w{k}" for k in range(workers)],
        pairs=[f"p{k}" for k in range(pairs)],
        dimensions=[f"d{k}" for k in range(dimensions)],
    )
