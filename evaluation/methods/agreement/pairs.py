"""Agreement of two: Cohen's kappa, and every pair of workers who share items.

All of it follows from contingency tables (..., v, v): how often one said c where the other said
k. So a pair of workers, a pair of dimensions and every bootstrap resample cost the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.coefficients import tau_of
from evaluation.methods.agreement.counts import NoVariation, TooFewVotes
from evaluation.methods.core.base import BadParameter, FloatArray, IntArray, Table
from evaluation.methods.core.inference import t_quantile
from evaluation.methods.core.units import AGREEMENT, LEAST, SAME, too_few_units
from evaluation.methods.core.votes import Labels

WEIGHTINGS = ("none", "linear", "quadratic")
BLOCK = 2_000_000  # cells of contingency tables that are worked on at once
LEAST_OTHER = 2  # votes in which neither gave the commonest label, below which chance is not known


def kappa_of(table: FloatArray, weighting: str = "none") -> FloatArray:
    """Cohen's kappa (...) of contingency tables (..., v, v); NaN where chance leaves no room.

    kappa = 1 - sum(d * observed) / sum(d * product of the margins), d = 0 on the diagonal and 1,
    |c - k| or (c - k)^2 off it (Cohen 1960; weighted: Cohen 1968).
    """
    cost = _cost(table.shape[-1], weighting)
    total = table.sum(axis=(-2, -1))
    chance = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    observed = (cost * table).sum(axis=(-2, -1)) * total
    expected = (cost * chance).sum(axis=(-2, -1))
    share = np.divide(observed, expected, out=np.full_like(expected, np.nan), where=expected > 0)
    return np.asarray(1.0 - share)


def _cost(size: int, weighting: str) -> FloatArray:
    """Return the cost of each two labels differing (v, v)."""
    if weighting not in WEIGHTINGS:
        raise BadParameter(f"weighting is {weighting!r}; it must be {', '.join(WEIGHTINGS)}")
    place = np.arange(size)
    apart = np.abs(place[:, None] - place[None, :]).astype(np.float64)
    return {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[
        weighting
    ]


def kappa_reach(table: FloatArray, weighting: str = "none", confidence: float = 0.95) -> FloatArray:
    """Half the width (...) of kappa's jackknife interval over votes; NaN below the least number.

    Also where both gave another label than the commonest to fewer than two items: chance is then
    not known (95 % of one label, 20 to 60 items: .83 to .91 covered).

    Leaving one vote out changes its row's and its column's margin by one, so that every kappa
    without it follows from the table. t quantiles; 0 where no vote changes kappa.
    """
    cost = _cost(table.shape[-1], weighting)
    n = table.sum(axis=(-2, -1))[..., None, None]
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    chance = ((rows @ cost) * columns).sum(axis=-1)[..., None, None]
    apart = (cost * table).sum(axis=(-2, -1))[..., None, None] - cost
    left = chance - (columns @ cost)[..., :, None] - (rows @ cost)[..., None, :] + cost
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.where((table > 0) & (left > 0), 1 - apart * (n - 1) / left, np.nan)
        mean = np.where(table > 0, table * without, 0).sum(axis=(-2, -1), keepdims=True) / n
        spread = np.where(table > 0, table * (without - mean) ** 2, 0).sum(axis=(-2, -1))
        n = n[..., 0, 0]
        reach = t_quantile(confidence, n - 1) * np.sqrt(spread * (n - 1) / n)
    label = np.arange(table.shape[-1])
    common = (rows + columns).argmax(axis=-1)[..., None]
    other = (label != common)[..., :, None] & (label != common)[..., None, :]
    enough = (n >= LEAST[AGREEMENT]) & ((table * other).sum(axis=(-2, -1)) >= LEAST_OTHER)
    return np.where(enough, reach, np.nan)


def worker_pairs(data: Labels, *, weighting: str = "none", confidence: float = 0.95) -> Table:
    """A row for every two workers who voted on the same items.

    Columns ``first``, ``second`` (worker indices, first < second), ``n`` (votes compared),
    ``percent``, ``kappa`` (Cohen), ``tau_b`` (labels in the order of ``data.labels``), ``reason``
    (why kappa or tau_b is NaN, else ""), ``low`` and ``high`` (of kappa, each pair by itself; NaN
    below the least number of items, and where every vote left out gives the same value). Cost is
    linear in the votes compared. Raises TooFewVotes, BadParameter.
    """
    left, right = _met(data)
    if not len(left):
        raise TooFewVotes("no item has votes of two workers")
    size, workers = len(data.labels), len(data.workers)
    # Rows of an item are sorted by worker, so the left one has the smaller index.
    code = data.worker[left] * workers + data.worker[right]
    met, pair = np.unique(code, return_inverse=True)
    cell = (pair * size + data.label[left]) * size + data.label[right]
    weight = data.weight[left] * data.weight[right]
    order = np.argsort(pair, kind="stable")
    step = max(1, BLOCK // size**2)
    starts = range(0, len(met), step)
    ends = np.searchsorted(pair[order], [*starts[1:], len(met)])
    parts, begin = [], 0
    for first, end in zip(starts, ends.tolist(), strict=True):
        rows, pairs = order[begin:end], min(step, len(met) - first)
        flat = np.bincount(
            cell[rows] - first * size**2, weights=weight[rows], minlength=pairs * size**2
        )
        table = flat.reshape(pairs, size, size).astype(np.float64)
        parts.append(_pair_columns(table, weighting, confidence))
        begin = end
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Table({"first": met // workers, "second": met % workers, **columns})


def _pair_columns(
    table: FloatArray, weighting: str, confidence: float
) -> dict[str, NDArray[np.generic]]:
    """The columns of ``worker_pairs`` from contingency tables (pairs, v, v)."""
    n = table.sum(axis=(1, 2))
    kappa, tau = kappa_of(table, weighting), tau_of(table)
    reach = kappa_reach(table, weighting, confidence)
    reach = np.where(reach > SAME, reach, np.nan)
    reason = np.where(
        np.isnan(kappa),
        "both gave one label throughout",
        np.where(np.isnan(tau), "one of them gave one label throughout", ""),
    )
    return {
        "n": n,
        "percent": np.trace(table, axis1=1, axis2=2) / n,
        "kappa": kappa,
        "low": np.maximum(kappa - reach, -1.0),
        "high": np.minimum(kappa + reach, 1.0),
        "tau_b": tau,
        "reason": reason,
    }


@dataclass(frozen=True)
class MeanKappa:
    """Mean kappa of ``pairs`` pairs of workers over ``units`` items; NaN bounds with a reason."""

    estimate: float
    low: float
    high: float
    pairs: int
    units: int
    reason: str = ""


def mean_kappa(
    data: Labels,
    *,
    rng: np.random.Generator,
    least: int = 10,
    confidence: float = 0.95,
    blocks: int = 40,
) -> MeanKappa:
    """Mean Cohen's kappa of all pairs of workers who share ``least`` items, weighted by how many.

    The interval is a jackknife over ``blocks`` random blocks of items (Quenouille 1956), with t
    quantiles. Pairs of whom both gave one label throughout have no kappa and are left out. Raises
    TooFewVotes.
    """
    left, right = _met(data)
    if not len(left):
        raise TooFewVotes("no item has votes of two workers")
    size = len(data.labels)
    _, pair, shared = np.unique(
        data.worker[left] * len(data.workers) + data.worker[right],
        return_inverse=True,
        return_counts=True,
    )
    kept = shared[pair] >= least
    if not kept.any():
        raise TooFewVotes(f"no two workers share {least} items")
    pair = np.unique(pair[kept], return_inverse=True)[1]
    left, right = left[kept], right[kept]
    cell = (pair * size + data.label[left]) * size + data.label[right]
    items, item = np.unique(data.item[left], return_inverse=True)
    shape = (int(pair.max()) + 1, size, size)
    whole = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    value = _weighted(whole)
    if np.isnan(value):
        raise NoVariation("every two workers gave one and the same label throughout")
    pairs = int(np.isfinite(kappa_of(whole)).sum())
    if reason := too_few_units(len(items), "items", AGREEMENT):
        return MeanKappa(value, np.nan, np.nan, pairs, len(items), reason)
    blocks = min(blocks, len(items))
    block = rng.permutation(len(items))[item] % blocks
    without = []
    for one in range(blocks):
        part = np.bincount(cell[block == one], minlength=whole.size).reshape(shape)
        without.append(_weighted(whole - part))
    spread = np.array(without)
    spread = spread[np.isfinite(spread)]
    variance = (len(spread) - 1) / len(spread) * np.square(spread - spread.mean()).sum()
    reach = float(t_quantile(confidence, len(spread) - 1) * np.sqrt(variance))
    return MeanKappa(value, value - reach, min(1.0, value + reach), pairs, len(items))


def _weighted(table: FloatArray) -> float:
    """Mean kappa of tables (pairs, v, v), each weighted by its votes; NaN where none has one."""
    kappa, n = kappa_of(table), table.sum(axis=(1, 2))
    known = np.isfinite(kappa)
    return float(np.average(kappa[known], weights=n[known])) if known.any() else float("nan")


def _met(data: Labels) -> tuple[IntArray, IntArray]:
    """Rows (p,), (p,) of two different workers on one item, each pair once."""
    lefts, rights = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    row = np.arange(len(data))
    for lag in range(1, int(np.bincount(data.item).max())):
        # Rows are sorted by item, so a row that ran out of its item has no later partner.
        row = row[row + lag < len(data)]
        row = row[data.item[row] == data.item[row + lag]]
        met = row[data.worker[row] != data.worker[row + lag]]
        lefts.append(met)
        rights.append(met + lag)
    return np.concatenate(lefts), np.concatenate(rights)
