"""Whether a group of workers agrees more than their quality explains, though no pair stands out.

Who shares few items with each other cannot be told from workers who happen to agree; all pairs of a
group together can. Candidates are the clusters of workers by how far their pairs agree beyond the
fit. For each the fit of all pairs outside the group says how often its members should agree. Their
agreement, an item counted as the members' share that agrees on it, has a beta-binomial tail: the
beta is the doubt about the fit. It is corrected for all groups of that size in the crowd, and for
sizes (Bonferroni), so that searching costs nothing further.

The answer is about the crowd, not about people: the members found are the group's core at best.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.workers.pair_fit import (
    Fit,
    Pairs,
    expected_agreement,
    fit,
    initial_r,
    shared_pairs,
)

Members = NDArray[np.bool_]  # (workers,)

GROUP_ERROR = 0.0002  # nominal; measured: at most .01 of crowds without copies (test_groups.py)
LEAST_GROUP = 3  # workers; of two, a pair says it
LEAST_REST = 3  # workers outside, from whom the fit is
LEAST_SHARED = 2  # items (independent ones) of a pair
LEAST_EXCESS = 0.5  # of the disagreements that are expected, so many must be missing
MOST_WORKERS = 500  # those who share most items
MOST_TESTED = 60  # groups
PRIOR = 1.0  # precision of r before any answer
FARTHEST = 20.0  # standard errors


def dependent_group(
    worker: IntArray, item: IntArray, label: IntArray, *, workers: int, per: int = 1
) -> IntArray:
    """Workers of a group who agree too much; nobody where chance is enough. As ``look_alikes``."""
    pairs = shared_pairs(worker, item, label, workers=workers, least=LEAST_SHARED, per=per)
    crowd = _most_active(pairs, workers)
    if len(crowd) < LEAST_GROUP + LEAST_REST:
        return np.zeros(0, dtype=np.int64)
    place = np.full(workers, -1)
    place[crowd] = np.arange(len(crowd))
    own = (place[pairs.first] >= 0) & (place[pairs.second] >= 0)
    pairs = pairs.take(np.flatnonzero(own))
    pairs = Pairs(
        place[pairs.first], place[pairs.second], pairs.n, pairs.agree, pairs.chance, pairs.per
    )
    kept = place[worker] >= 0
    answers = place[worker[kept]], item[kept], label[kept]
    for member in _candidates(pairs, len(crowd)):
        if _agree_too_much(member, pairs, answers):
            return crowd[member]
    return np.zeros(0, dtype=np.int64)


def _most_active(pairs: Pairs, workers: int) -> IntArray:
    """The workers who share items, at most MOST_WORKERS."""
    shared = np.bincount(pairs.first, pairs.n, workers)
    shared += np.bincount(pairs.second, pairs.n, workers)
    order = np.argsort(-shared, kind="stable")[:MOST_WORKERS]
    return np.sort(order[shared[order] > 0])


def _candidates(pairs: Pairs, workers: int) -> list[Members]:
    """Groups as masks (workers,), those who agree furthest beyond the fit first."""
    found: dict[bytes, tuple[float, Members]] = {}
    by_chance = pairs.units / np.maximum(pairs.chance * (1 - pairs.chance), 0.01)
    first = initial_r(pairs, by_chance, workers)
    for r in (first, fit(pairs, pairs.units, workers).r, np.zeros(workers)):
        beyond = (pairs.covariance - r[pairs.first] * r[pairs.second]) * np.sqrt(by_chance)
        for member in _clusters(pairs, beyond, workers):
            inside = member[pairs.first] & member[pairs.second]
            outside = ~member[pairs.first] & ~member[pairs.second]
            # What the fit is from must outweigh what is held against it.
            if 0 < pairs.n[inside].sum() <= pairs.n[outside].sum():
                score = float(beyond[inside].sum() / np.sqrt(inside.sum()))
                before = found.get(member.tobytes())
                if before is None or score > before[0]:
                    found[member.tobytes()] = score, member
    ranked = sorted(found.values(), key=lambda one: -one[0])
    return [member for _, member in ranked[:MOST_TESTED]]


def _clusters(pairs: Pairs, beyond: FloatArray, workers: int) -> Iterator[Members]:
    """Yield clusters of workers by two rules of linkage; pairs sharing no item are neutral."""
    near = np.zeros((workers, workers))
    near[pairs.first, pairs.second] = near[pairs.second, pairs.first] = beyond
    distance = FARTHEST - np.clip(near, -FARTHEST, FARTHEST)
    for rule in ("average", "complete"):
        condensed = distance[np.triu_indices(workers, 1)]
        member = [*np.eye(workers, dtype=bool)]
        for one, two, *_ in scipy.cluster.hierarchy.linkage(condensed, rule):
            member.append(member[int(one)] | member[int(two)])
            if LEAST_GROUP <= member[-1].sum() <= workers - LEAST_REST:
                yield member[-1]


def _agree_too_much(
    member: Members, pairs: Pairs, answers: tuple[IntArray, IntArray, IntArray]
) -> bool:
    """Whether the members agree beyond the fit of all pairs but theirs."""
    inside = member[pairs.first] & member[pairs.second]
    shared, agree, items = _agreement(member, pairs, inside, answers)
    weight, agreement = shared / shared.sum(), agree.sum() / shared.sum()
    chance = float(weight @ pairs.chance[inside])
    if not _is_excess(agreement, chance):
        return False  # whatever the fit: spares most groups its time
    fitted = fit(pairs, np.where(inside, 0.0, pairs.units), len(member))
    expected = float(weight @ expected_agreement(pairs, fitted.r)[inside])
    variance = _variance(pairs, fitted, inside, weight)
    log_p = log_tail(agreement, items / pairs.per, expected, variance)
    log_p += _log_groups(int(member.sum()), len(member))
    return bool(_is_excess(agreement, expected) and log_p <= np.log(GROUP_ERROR))


def _is_excess(agreement: float, expected: float) -> bool:
    return agreement - expected >= LEAST_EXCESS * (1 - expected)


def _log_groups(size: int, workers: int) -> float:
    """Log of how many groups a group of this size stands for: all of it, times its pairs.

    The reciprocals of size (size - 1) / 2 add up to 1 over all sizes from 3 on.
    """
    found: float = (
        scipy.special.gammaln(workers + 1)
        - scipy.special.gammaln(size + 1)
        - scipy.special.gammaln(workers - size + 1)
    )
    return found + float(np.log(size * (size - 1) / 2))


def _agreement(
    member: Members,
    pairs: Pairs,
    inside: Members,
    answers: tuple[IntArray, IntArray, IntArray],
) -> tuple[FloatArray, FloatArray, float]:
    """Answers shared and agreeing by the pairs ``inside``, and how many items they are worth.

    An item that m members answer weighs m - 1, shared evenly among its pairs.
    """
    worker, item, label = answers
    own = member[worker]
    worker, item, label = worker[own], item[own], label[own]
    size = np.bincount(item)
    scale = 2 / np.maximum(size, 1)

    def together(column: IntArray) -> FloatArray:
        """Weight of the items (or answers) that the pairs have in common."""
        shape = len(member), int(column.max()) + 1
        one = scipy.sparse.csr_array((np.ones(len(column)), (worker, column)), shape=shape)
        weighed = scipy.sparse.csr_array((scale[item], (worker, column)), shape=shape)
        found: FloatArray = (weighed @ one.T).toarray()[pairs.first[inside], pairs.second[inside]]
        return found

    weight = np.maximum(size - 1, 0)
    items = float(weight.sum() ** 2 / (weight**2).sum())
    return together(item), together(item * (int(label.max()) + 1) + label), items


def _variance(pairs: Pairs, fitted: Fit, inside: Members, weight: FloatArray) -> float:
    """Variance of the members' expected agreement: first and second order in the errors of r."""
    first, second, r = pairs.first, pairs.second, fitted.r
    workers = len(r)
    information = np.zeros((workers, workers))
    information[first, second] = fitted.weight * r[first] * r[second]
    information += information.T
    own = np.bincount(first, fitted.weight * r[second] ** 2, workers)
    own = own + np.bincount(second, fitted.weight * r[first] ** 2, workers)
    information[np.arange(workers), np.arange(workers)] = own + PRIOR
    form = np.zeros((workers, workers))
    form[first[inside], second[inside]] = weight
    form += form.T
    covariance = np.linalg.inv(information)
    slope, product = form @ r, form @ covariance
    return float(slope @ covariance @ slope + (product * product.T).sum() / 2)


def log_tail(agreement: float, n: float, expected: float, variance: float) -> float:
    """Log chance of so much agreement or more in n, by a beta-binomial of this mean and variance.

    ``n`` need not be whole: disagreements are counted from 0 up to what was seen.
    """
    spread = expected * (1 - expected)
    precision = spread / min(max(variance, 1e-6), spread / 2) - 1
    yes, no = expected * precision, (1 - expected) * precision
    missed = np.arange(np.floor(n * (1 - agreement) + 1e-9) + 1)
    hits = n - missed
    terms = (
        scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(hits + 1)
        - scipy.special.gammaln(missed + 1)
    )
    terms += scipy.special.betaln(hits + yes, missed + no) - scipy.special.betaln(yes, no)
    return float(min(scipy.special.logsumexp(terms), 0.0))
