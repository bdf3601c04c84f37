"""Agreement on canonical pairs: alpha, who lowers it, and on which pairs nobody can agree.

Alpha is a function of sums over pairs, so leaving a worker out changes only the sums of the pairs
they judged: everybody's influence costs one pass over the votes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.coefficients import differentiability_split
from evaluation.methods.agreement.counts import (
    alpha_rows,
    alpha_statistic,
    bounds,
    draw_sums,
    grouped,
)
from evaluation.methods.agreement.significance import benjamini_hochberg
from evaluation.methods.competence.mace.data import adding
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Table, of_rows
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.judgments import MISSING, Judgments, ShownVotes, Units
from evaluation.methods.pairwise.tables import EVERY, LABELS, count_votes, mean_of, one_hot

AGREEMENT = ("dimension", "alpha", "low", "high", "n", "pairs", "units", "unit", "reason")
WITHOUT = ("worker", "dimension", "alpha", "change", "n", "p", "adjusted", "lowers")
SPLIT = ("differentiable", "dimension", "alpha", "null", "n", "pairs")
REASON = "no pair has two votes, or all of them are the same"
WORKERS = "workers who lower agreement"
ALPHA = alpha_statistic("ordinal", np.arange(float(LABELS)))


def counts_of(people: ShownVotes) -> FloatArray:
    """Votes (d, pairs, LABELS) in canonical coordinates."""
    pairs = len(people.pairs)
    return np.stack([count_votes(vote, people.pair, pairs) for vote in people.canonical().T])


def alphas(sums: FloatArray) -> FloatArray:
    """Alpha (..., d) of summed rows (..., d, s) of ``alpha_rows``, NaN where it is not defined."""
    return ALPHA(sums)


def alpha_of(people: ShownVotes) -> FloatArray:
    """Ordinal alpha of each dimension (d,), NaN where it is not defined."""
    return alphas(np.stack([alpha_rows(one).sum(axis=0) for one in counts_of(people)]))


def agreement_table(
    people: ShownVotes,
    *,
    rng: np.random.Generator,
    resamples: int,
    level: float,
    units: Units | None = None,
) -> Table:
    """Ordinal alpha of first votes by dimension and its mean (EVERY), with intervals over units.

    ``units`` (topics; default: the pairs themselves) are drawn for all dimensions at once, so the
    mean's interval is its own. Columns ``units`` (how many were drawn), ``unit`` (what they are
    called), ``reason`` (why there is no alpha, or no interval).
    """
    units = units or Units.pairs(people)
    counts = counts_of(people)
    paired = counts.sum(axis=2) > 1
    rows = np.stack([alpha_rows(one) for one in counts], axis=1)  # (pairs, d, s)
    point = alphas(rows.sum(axis=0))
    ends = [(np.nan, np.nan, REASON)] * (len(point) + 1)
    known = np.flatnonzero(~np.isnan(point))
    drawn_units = 0
    if len(known):
        some = paired.any(axis=0)
        used = grouped(rows[some].reshape(int(some.sum()), -1), units.of[some])
        drawn_units = len(used)
        flat = draw_sums(used, np.ones(len(used)), rng, resamples)
        drawn = alphas(flat.reshape(resamples, *rows.shape[1:]))[:, known]
        unit = np.unique(units.of[some], return_inverse=True)[1]
        mass = np.bincount(unit, weights=counts.sum(axis=(0, 2))[some])
        ends[0] = bounds(drawn.mean(axis=1), len(used), level, units.noun, mass=mass)
        for k, draws in zip(known.tolist(), drawn.T, strict=True):
            ends[k + 1] = bounds(draws, len(used), level, units.noun, mass=mass)
    n, pairs = counts.sum(axis=(1, 2)), paired.sum(axis=1)
    alpha = np.append(mean_of(point), point)
    low, high, reason = zip(*ends, strict=True)
    columns = {
        "dimension": np.arange(EVERY, len(point)),
        "alpha": alpha,
        "low": np.array(low),
        "high": np.array(high),
        "n": np.append(n.sum(), n).astype(np.int64),
        "pairs": np.append(paired.any(axis=0).sum(), pairs),
        "units": np.full(len(alpha), drawn_units),
        "unit": np.full(len(alpha), units.noun),
        "reason": np.array(reason),
    }
    return Table({name: columns[name] for name in AGREEMENT})


def leave_one_out_alpha(
    people: ShownVotes, *, rng: np.random.Generator, permutations: int, level: float, hooks: Hooks
) -> Table:
    """Alpha without each worker, a row a worker and dimension and one (EVERY) for the mean.

    ``change`` is alpha without the worker - alpha of all: above 0 the worker lowers agreement.
    Somebody always lowers it most, so the row of the mean carries a test. What leaving out each of
    a worker's votes alone would change is added up; ``p`` is the share of ``permutations`` in which
    that sum is as high after it is drawn anew, within every pair, whose votes are whose (which
    leaves alpha as it is): (1 + as high) / (1 + permutations). ``adjusted`` after Benjamini and
    Hochberg, ``lowers`` where that is at most 1 - ``level``: give far more permutations than there
    are workers. Workers without votes have no row. Raises Cancelled.
    """
    counts, vote, size = counts_of(people), people.canonical(), len(people.workers)
    rows = np.stack([alpha_rows(one) for one in counts], axis=1)  # (pairs, d, s)
    total, steps = rows.sum(axis=0), _steps(counts, rows, people.pair, vote)
    change = alphas(total + _by_worker(people.worker, steps, size)) - alphas(total)
    each = _mean(alphas(total + steps) - alphas(total))
    found, extreme = np.bincount(people.worker, each, minlength=size), np.zeros(size)
    order = np.argsort(people.pair, kind="stable")
    worker, pair, each = people.worker[order], people.pair[order], each[order]
    for b in range(permutations):
        if b % 100 == 0:
            hooks.step(WORKERS, b, permutations)
        dealt = worker[np.argsort(pair + rng.random(len(pair)))]  # shuffled within each pair
        extreme += np.bincount(dealt, each, minlength=size) >= found - 1e-12
    hooks.step(WORKERS, permutations, permutations)
    n = np.stack(
        [np.bincount(people.worker[column != MISSING], minlength=size) for column in vote.T], axis=1
    )
    return _without_table(change, alphas(total), n, (1 + extreme) / (1 + permutations), level)


def _steps(counts: FloatArray, rows: FloatArray, pair: IntArray, vote: IntArray) -> FloatArray:
    """Return what taking each vote away adds to the sums (n, d, s)."""
    parts = [
        alpha_rows(one[pair] - one_hot(column)) - rows[pair, k]
        for k, (one, column) in enumerate(zip(counts, vote.T, strict=True))
    ]
    return np.stack(parts, axis=1)


def _by_worker(worker: IntArray, steps: FloatArray, size: int) -> FloatArray:
    """Steps (n, d, s) added up by worker (size, d, s)."""
    flat = adding(worker, size) @ steps.reshape(len(steps), -1)
    return np.asarray(flat).reshape(size, *steps.shape[1:])


def _mean(change: FloatArray) -> FloatArray:
    """Mean (n,) over the dimensions where alpha is defined before and after."""
    known = ~np.isnan(change)
    count = np.maximum(known.sum(axis=1), 1)
    return np.asarray(np.where(known, change, 0.0).sum(axis=1) / count)


def _without_table(
    change: FloatArray, alpha: FloatArray, n: IntArray, p: FloatArray, level: float
) -> Table:
    seen = np.flatnonzero(n.sum(axis=1))
    size, d = len(seen), change.shape[1]
    adjusted = benjamini_hochberg(p[seen])
    every = np.concatenate([_mean(change)[seen, None], change[seen]], axis=1)
    base = np.append(mean_of(alpha), alpha)
    blank = np.full((size, d), np.nan)
    columns: dict[str, NDArray[Any]] = {
        "worker": np.repeat(seen, d + 1),
        "dimension": np.tile(np.arange(EVERY, d), size),
        "alpha": (base + every).ravel(),
        "change": every.ravel(),
        "n": np.concatenate([n[seen].sum(axis=1, keepdims=True), n[seen]], axis=1).ravel(),
        "p": np.concatenate([p[seen, None], blank], axis=1).ravel(),
        "adjusted": np.concatenate([adjusted[:, None], blank], axis=1).ravel(),
    }
    columns["lowers"] = np.nan_to_num(columns["adjusted"], nan=1.0) <= 1 - level
    return Table({name: columns[name] for name in WITHOUT})


def differentiable(data: Judgments, people: ShownVotes, *, needed: int, share: float) -> Table:
    """A row a pair: on how many dimensions a label has ``share`` of the votes, and if that is
    ``needed`` of them (CrowdRAG, section 5.1: 5 of 7 with 3 of 5 votes); ``n`` votes."""
    labels = _labels_by_dimension(data, people)
    agreeing = np.zeros(len(people.pairs), dtype=np.int64)
    for k in range(1, len(labels) + 1):
        agreeing += differentiability_split(labels, dimensions=k, share=share)
    n = np.bincount(people.pair, minlength=len(people.pairs))
    columns = {
        "pair": np.arange(len(agreeing)),
        "agreeing": agreeing,
        "differentiable": agreeing >= needed,
        "n": n,
    }
    return Table(columns)


def split_alphas(
    data: Judgments,
    people: ShownVotes,
    *,
    needed: int,
    share: float,
    rng: np.random.Generator,
    shuffles: int,
) -> Table:
    """Compute alpha of the pairs that can be told apart and of the others, beside ``null``.

    The split is made by the very votes that then agree, so noise shows a difference too: ``null``
    is the mean alpha of the part when the votes of a dimension are shuffled over all pairs first.
    """
    found = _parts(data, people, needed, share)
    nulls = [_parts(data, _shuffled(people, rng), needed, share)[0] for _ in range(shuffles)]
    alpha, n, pairs = found
    null = np.array(
        [
            [mean_of([one[side, k] for one in nulls]) for k in range(alpha.shape[1])]
            for side in (0, 1)
        ]
    )
    rows = []
    for side in (1, 0):
        for k in range(EVERY, alpha.shape[1]):
            mean = k == EVERY
            rows.append(
                {
                    "differentiable": bool(side),
                    "dimension": k,
                    "alpha": mean_of(alpha[side]) if mean else alpha[side, k],
                    "null": mean_of(null[side]) if mean else null[side, k],
                    "n": int(n[side].sum() if mean else n[side, k]),
                    "pairs": int(pairs[side]),
                }
            )
    return of_rows(rows, SPLIT)


def _parts(
    data: Judgments, people: ShownVotes, needed: int, share: float
) -> tuple[FloatArray, IntArray, IntArray]:
    """Alpha (2, d), votes (2, d) and pairs (2,) of the pairs that are not, and are, told apart."""
    split = differentiable(data, people, needed=needed, share=share)
    counts = counts_of(people)
    sides = [(split["n"] > 0) & (split["differentiable"] == side) for side in (False, True)]
    alpha = np.stack(
        [alphas(np.stack([alpha_rows(one[rows]).sum(axis=0) for one in counts])) for rows in sides]
    )
    n = np.stack([counts[:, rows].sum(axis=(1, 2)) for rows in sides]).astype(np.int64)
    return alpha, n, np.array([int(rows.sum()) for rows in sides])


def _shuffled(people: ShownVotes, rng: np.random.Generator) -> ShownVotes:
    """Canonical votes of each dimension shuffled over all judgments, shown as stored."""
    vote = people.canonical()
    for k in range(vote.shape[1]):
        given = np.flatnonzero(vote[:, k] != MISSING)
        vote[given, k] = rng.permutation(vote[given, k])
    return ShownVotes.build(
        people.worker,
        people.pair,
        np.zeros(len(people), dtype=bool),
        people.position,
        vote,
        workers=people.workers,
        pairs=people.pairs,
        dimensions=people.dimensions,
        labels=people.labels,
    )


def _labels_by_dimension(data: Judgments, people: ShownVotes) -> dict[str, Labels]:
    """The dimensions that anybody judged, as Labels."""
    judged = [k for k in range(len(data.dimensions)) if (people.vote[:, k] != MISSING).any()]
    return {data.dimensions[k]: data.labels(people, k) for k in judged}
