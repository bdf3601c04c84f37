"""Simulated pairwise studies with known merits, spammers and side effects, for the tests."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray
from evaluation.methods.pairwise.judgments import MISSING, SIDES, Judgments, ShownVotes

RNG = np.random.default_rng


def study(
    rng: np.random.Generator,
    *,
    merits: tuple[float, ...] = (0.6, 0.0, -0.6),
    topics: int = 8,
    workers: int = 16,
    votes: int = 4,
    dimensions: int = 2,
    text_sd: float = 0.5,
    taste: float = 0.2,
    side: float = 0.0,
    ties: float = 0.3,
    sharpness: float = 1.0,
    guessers: int = 0,
    lefts: int = 0,
    forced: bool = False,
    machines: int = 0,
) -> Judgments:
    """Every topic has a text of each system, every two of them are a pair.

    A vote is Davidson's model on ``sharpness`` times the difference of merit, text (sd
    ``text_sd``) and a worker's taste, plus ``side`` for the left; the first ``guessers`` workers
    answer at random, the next ``lefts`` always left. The last dimension may be ``forced``.
    Machines (0, 1, ...) see every pair both ways round and judge by merit and text.
    """
    k = len(merits)
    couples = np.array(list(combinations(range(k), 2)))
    first, second = (np.arange(topics)[:, None] * k + couples.T[end] for end in (0, 1))
    first, second = first.ravel(), second.ravel()
    system, topic = np.tile(np.arange(k), topics), np.repeat(np.arange(topics), k)
    text = np.array(merits)[system, None] + rng.normal(0, text_sd, (k * topics, dimensions))
    pair = np.repeat(np.arange(len(first)), votes)
    worker = np.concatenate([rng.permutation(workers)[:votes] for _ in first])
    flipped = rng.random(len(pair)) < 0.5
    own = rng.normal(0, taste, (workers, k, dimensions))
    better = text[first[pair]] - text[second[pair]] + own[worker, system[first[pair]]]
    better = sharpness * (better - own[worker, system[second[pair]]])
    last = np.arange(dimensions) == dimensions - 1
    tied = np.where(forced & last, 0.0, ties)
    vote = answer(rng, np.where(flipped, -1, 1)[:, None] * better + side, tied)
    blind = answer(rng, np.zeros(vote.shape), tied)
    vote = np.where((worker < guessers)[:, None], blind, vote)
    vote[(worker >= guessers) & (worker < guessers + lefts)] = 0
    order = np.lexsort((rng.random(len(worker)), worker))
    begins = np.searchsorted(worker[order], worker[order])
    position = np.empty(len(worker), dtype=int)
    position[order] = np.arange(len(worker)) - begins + 1
    shown = ShownVotes.build(
        worker,
        pair,
        flipped,
        position,
        vote,
        workers=[f"w{j}" for j in range(workers)],
        pairs=[f"p{i}" for i in range(len(first))],
        dimensions=[f"d{j}" for j in range(dimensions)],
        labels=SIDES,
    )
    return Judgments.build(
        shown,
        first,
        second,
        topic=topic,
        system=system,
        candidates=[f"c{i}" for i in range(k * topics)],
        topics=[f"t{i}" for i in range(topics)],
        systems=[f"s{i}" for i in range(k)],
        forced=forced & last,
        machine=judged(rng, shown, text[first] - text[second], machines) if machines else None,
        groups={"half": [0] * (k // 2) + [1] * (k - k // 2)},
    )


def answer(rng: np.random.Generator, lead: FloatArray, ties: FloatArray) -> FloatArray:
    """Left, neutral or right (n, d) where the left leads by ``lead`` log-odds."""
    parts = np.stack([np.exp(lead / 2), 2 * ties / (1 - ties) + 0 * lead, np.exp(-lead / 2)])
    steps = np.cumsum(parts / parts.sum(axis=0), axis=0)
    return (rng.random(lead.shape) > steps[:2]).sum(axis=0)


def judged(
    rng: np.random.Generator, votes: ShownVotes, better: FloatArray, machines: int
) -> ShownVotes:
    pair = np.tile(np.arange(len(votes.pairs)), 2 * machines)
    flipped = np.tile(np.repeat([False, True], len(votes.pairs)), machines)
    lead = 2 * np.where(flipped, -1, 1)[:, None] * better[pair]
    return ShownVotes.build(
        np.repeat(np.arange(machines), 2 * len(votes.pairs)),
        pair,
        flipped,
        np.ones(len(pair), dtype=int),
        answer(rng, lead, np.full(better.shape[1], 0.05)),
        workers=[f"m{j}" for j in range(machines)],
        pairs=votes.pairs,
        dimensions=votes.dimensions,
        labels=SIDES,
    )


def turned(votes: ShownVotes, rows: Any = slice(None)) -> ShownVotes:
    """These judgments shown the other way round and answered accordingly."""
    flipped, vote = votes.flipped.copy(), votes.vote.copy()
    flipped[rows] = ~flipped[rows]
    own = vote[rows]
    vote[rows] = np.where(own == MISSING, MISSING, 2 - own)
    return replace(votes, flipped=flipped, vote=vote)


def auc(score: FloatArray, bad: FloatArray) -> float:
    """Chance that a bad worker scores below a good one."""
    low, high = score[bad], score[~bad]
    return float((low[:, None] < high).mean() + 0.5 * (low[:, None] == high).mean())
