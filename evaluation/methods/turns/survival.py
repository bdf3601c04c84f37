"""How many conversations have not gone wrong yet, by turn: Kaplan-Meier under uncertain labels.

A conversation goes wrong at the first of its units whose label is not the good one, and is censored
after its last unit. Labels are estimates, so each is drawn from its posterior several times; the
variance within a drawing (Greenwood's) and between drawings add up (Rubin 1987). Bounds are
Wilson's at that variance, with the conversations at risk as degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.inference import Spread, scale_interval

LEAST_AT_RISK = 10  # conversations below which there is no interval


@dataclass(frozen=True, slots=True)
class Survival:
    """``place`` (k,) of units from 1, how many are ``at_risk`` (k,), and the share (k,) that has
    not gone wrong by then with ``low`` and ``high``; NaN where fewer than LEAST_AT_RISK are."""

    place: IntArray
    at_risk: IntArray
    share: FloatArray
    low: FloatArray
    high: FloatArray


def first_failures(
    conversation: IntArray, place: IntArray, failed: FloatArray, size: int
) -> tuple[IntArray, IntArray]:
    """Return each conversation's last place and its first failed one, 0 for none; both (size,).

    ``conversation``, ``place`` (from 1) and ``failed`` (0 or 1) are of units (n,).
    """
    last = np.zeros(size, dtype=np.int64)
    np.maximum.at(last, conversation, place)
    first = np.full(size, np.iinfo(np.int64).max)
    hit = failed > 0
    np.minimum.at(first, conversation[hit], place[hit])
    first[first == np.iinfo(np.int64).max] = 0
    return last, first


def product_limit(last: IntArray, first: IntArray, top: int) -> tuple[FloatArray, ...]:
    """Kaplan-Meier's estimate: at risk, share surviving and Greenwood's sum, each (top,)."""
    ended = np.where(first > 0, first, last)
    at_risk: FloatArray = (ended[:, None] >= np.arange(1, top + 1)).sum(axis=0).astype(np.float64)
    counted = np.bincount(first[first > 0], minlength=top + 1)[1:]
    events: FloatArray = counted.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(at_risk > 0, 1 - events / at_risk, 1.0)
        step = np.where(at_risk > events, events / (at_risk * (at_risk - events)), 0.0)
    return at_risk, np.asarray(np.cumprod(kept)), np.asarray(np.cumsum(step))


def survival(
    conversation: IntArray,
    place: IntArray,
    chance: FloatArray,
    *,
    rng: np.random.Generator,
    draws: int = 50,
    level: float = 0.95,
) -> Survival:
    """Estimate survival from each unit's ``chance`` (n,) of not being good.

    ``conversation`` and ``place`` (n,) say which unit of which conversation a chance is of.
    """
    size, top = int(conversation.max(initial=-1)) + 1, int(place.max(initial=0))
    shares, greens, risks = [], [], []
    for _ in range(draws):
        failed = (rng.random(len(chance)) < chance).astype(np.float64)
        last, first = first_failures(conversation, place, failed, size)
        present = last > 0
        at_risk, share, green = product_limit(last[present], first[present], top)
        shares.append(share)
        greens.append(green)
        risks.append(at_risk)
    share, green = np.array(shares), np.array(greens)
    at_risk = np.array(risks).mean(axis=0)
    point = share.mean(axis=0)
    low, high = _bounds(share, green, at_risk, level)
    few = at_risk < LEAST_AT_RISK
    low[few] = high[few] = np.nan
    return Survival(np.arange(1, top + 1), np.rint(at_risk).astype(np.int64), point, low, high)


def _bounds(
    share: FloatArray, green: FloatArray, at_risk: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Interval by place from drawings (d, k) of the share and of Greenwood's sum.

    The variance within a drawing is not below that of a share with one failure more among two
    conversations more, so that drawings without any failure do not look certain.
    """
    draws, point = len(share), share.mean(axis=0)
    low, high = np.full(len(point), np.nan), np.full(len(point), np.nan)
    for at, value in enumerate(point):
        trials = max(float(at_risk[at]), 2.0)
        failed = 1 - share[:, at]
        cautious = (failed * trials + 1) / (trials + 2)
        least = cautious * (1 - cautious) / trials
        within = np.maximum(np.square(share[:, at]) * green[:, at], least).mean()
        between = float(np.var(share[:, at], ddof=1)) if draws > 1 else 0.0
        variance = float(within) + (1 + 1 / draws) * between
        spread = Spread(variance, trials - 1, int(trials), trials)
        is_whole = value > 1 - 1e-6  # nothing went wrong in any drawing
        if is_whole:
            spread = Spread(0.0, trials - 1, int(trials), trials)
        middle = 1.0 if is_whole else float(value)
        low[at], high[at] = scale_interval(middle, spread, level, (0.0, 1.0))
    return low, high
