"""What the votes so far let us believe about each pair, borrowing from the ranking of the systems.

Votes on a pair have chances of the pair's own, which vary around what Bradley-Terry with Davidson's
ties says of the pair's two systems: whether a vote is neutral, and if not, for whom, each by a beta
distribution around the systems' chance (Dirichlet-multinomial in two steps: Connor and Mosimann
1969, JASA 64:194-206; Minka 1999, "The Dirichlet-tree distribution"). How far pairs of the same two
systems differ in each step is estimated from the votes: empirical Bayes. One Dirichlet over the
three answers would have pairs differ in both steps alike, which they do not. A pair's label is the
answer that would win if votes never ended, the largest of its chances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.bradley_terry.cells import cells_of
from evaluation.methods.bradley_terry.fit import Model, maximise
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.votes import Pairs

FIRST, NEUTRAL, SECOND = 0, 1, 2
REGULARISATION = 0.2  # of the systems' merits, as in bradley_terry
# How alike pairs are, in votes: from hardly at all to practically the same; log-normal prior.
CONCENTRATION = np.exp(np.linspace(np.log(1.0), np.log(400.0), 25))
USUAL, SPREAD = 8.0, 1.0
SMALL = 1e-12  # the least parameter of a beta distribution
# The integral over v from 1/2 to 1 is taken over y, v = 1 - y^3 / 2: smooth where v nears 1.
_NODE, _WEIGHT = np.polynomial.legendre.leggauss(40)
_Y = (_NODE + 1) / 2
OTHER, RISE = _Y**3 / 2, _WEIGHT / 2 * 1.5 * _Y**2  # 1 - v, and dv
LEVEL = (1 - OTHER) / (2 - OTHER)  # a neutral chance below v / (1 + v) loses against v


@dataclass(frozen=True, eq=False)
class Beliefs:
    """``merit`` (systems,) log-merits and ``tie`` (log nu); ``prior`` (p, 3) the systems' chances
    of first, neutral, second; ``neutral`` and ``decided``: how many votes on a pair the systems
    weigh as much as, in saying whether a vote is neutral, and for whom it is if not.
    """

    merit: FloatArray
    tie: float
    prior: FloatArray
    neutral: float
    decided: float

    @property
    def alike(self) -> float:
        """Correlation of two votes on one pair beyond what the systems explain.

        That of two votes that are not neutral is 1 / (1 + decided); the others have no side.
        """
        return float(1 - self.prior[:, NEUTRAL].mean()) / (1 + self.decided)

    def posterior(self, counts: FloatArray) -> FloatArray:
        """Return the beta parameters (p, 4) of each pair's votes.

        Neutral or not, first or second.
        """
        first, neutral, second = self.prior.T
        own, other = counts[:, FIRST], counts[:, SECOND]
        sides = first + second
        found = np.stack(
            [
                self.neutral * neutral + counts[:, NEUTRAL],
                self.neutral * sides + own + other,
                self.decided * first / sides + own,
                self.decided * second / sides + other,
            ],
            axis=1,
        )
        if not neutral.any():
            found[:, :2] = 0.0, 1.0
            return found
        return np.maximum(found, SMALL)


def effective(votes: FloatArray, alike: float) -> FloatArray:
    """Convert ``votes`` (p,) on a pair to independent votes: n / (1 + (n - 1) alike)."""
    return np.asarray(votes / (1 + np.maximum(votes - 1, 0.0) * alike), dtype=np.float64)


def beliefs(
    counts: FloatArray, first: IntArray, second: IntArray, systems: int, *, neutral: bool = True
) -> Beliefs:
    """Fit systems and pairs to ``counts`` (p, 3) of first, neutral and second.

    The merits are fitted twice, the second time with each pair's votes counting as many independent
    ones as they are worth.
    """
    total = counts.sum(axis=1)
    merit, tie = systems_of(counts, first, second, systems, neutral=neutral)
    rough = _beliefs(counts, merit, tie, first, second, neutral=neutral)
    worth = effective(total, rough.alike) / np.where(total > 0, total, 1.0)
    merit, tie = systems_of(counts * worth[:, None], first, second, systems, neutral=neutral)
    return replace(
        rough, merit=merit, tie=tie, prior=chances(merit, tie, first, second, neutral=neutral)
    )


def _beliefs(
    counts: FloatArray,
    merit: FloatArray,
    tie: float,
    first: IntArray,
    second: IntArray,
    *,
    neutral: bool,
) -> Beliefs:
    prior = chances(merit, tie, first, second, neutral=neutral)
    sides = prior[:, FIRST] + prior[:, SECOND]
    decided = counts[:, FIRST] + counts[:, SECOND]
    return Beliefs(
        merit,
        tie,
        prior,
        neutral=concentration(counts[:, NEUTRAL], decided, prior[:, NEUTRAL]) if neutral else 1.0,
        decided=concentration(counts[:, FIRST], counts[:, SECOND], prior[:, FIRST] / sides),
    )


def systems_of(
    counts: FloatArray, first: IntArray, second: IntArray, systems: int, *, neutral: bool = True
) -> tuple[FloatArray, float]:
    """Log-merits (systems,), mean 0 in each connected part, and Davidson's log nu.

    One further vote of each kind, spread over all pairs of systems, keeps a start with few votes
    (none tied, or all) finite. Systems that were never compared get 0.
    """
    merit, apart = np.zeros(systems), first != second
    if not apart.any():
        return merit, 0.0
    a, b = np.minimum(first, second)[apart], np.maximum(first, second)[apart]
    turned = (first > second)[apart]
    given = np.where(turned[:, None], counts[apart][:, ::-1], counts[apart])
    cells, row = np.unique(a * systems + b, return_inverse=True)
    added = [np.bincount(row, given[:, k], len(cells)) for k in range(3)]
    summed = np.stack(added, axis=1).astype(np.float64) + 1 / len(cells)
    if not neutral:
        summed[:, NEUTRAL] = 0.0
    cell, outcome = np.nonzero(summed)
    data = Pairs.build(
        cells[cell] // systems,
        cells[cell] % systems,
        outcome,
        players=[str(k) for k in range(systems)],
        weight=summed[cell, outcome],
    )
    table = cells_of(data, side=False)
    found = maximise(table, Model("davidson" if neutral else "none", REGULARISATION)).point
    merit[table.layout.player] = table.layout.centred(found.merit)
    return merit, float(found.shared[-1]) if neutral else 0.0


def chances(
    merit: FloatArray, tie: float, first: IntArray, second: IntArray, *, neutral: bool = True
) -> FloatArray:
    """Return the chances (p, 3) of first, neutral and second by the systems' merits."""
    x = merit[first] - merit[second]
    return np.stack(bt_ties.probabilities("davidson" if neutral else "none", x, tie), axis=1)


def concentration(yes: FloatArray, no: FloatArray, chance: FloatArray) -> float:
    """Estimate by maximum likelihood how alike votes on one pair are (a beta-binomial's s).

    Pairs with one vote say nothing of it. Found on a grid of log s, between whose points a parabola
    leads to the top. The likelihood holds whatever made the voting stop.
    """
    some = yes + no > 1
    alike = np.stack([yes[some], no[some], np.clip(chance[some], 1e-9, 1 - 1e-9)], axis=1)
    (for_, against, chance), pairs = _apart(alike)
    grid = CONCENTRATION
    value = -0.5 * (np.log(grid / USUAL) / SPREAD) ** 2
    for k, s in enumerate(grid):
        a, b = s * chance, s * (1 - chance)
        gain = scipy.special.betaln(a + for_, b + against) - scipy.special.betaln(a, b)
        value[k] += pairs @ gain
    top = int(np.clip(value.argmax(), 1, len(grid) - 2))
    before, at, after = value[top - 1 : top + 2]
    bend = before - 2 * at + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    step = np.log(grid[1] / grid[0])
    return float(np.clip(grid[top] * np.exp(step * np.clip(shift, -1, 1)), grid[0], grid[-1]))


def _apart(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The columns of the rows that differ, and how many each stands for."""
    different, count = np.unique(rows, axis=0, return_counts=True)
    return different.T, count.astype(np.float64)


def next_vote(posterior: FloatArray) -> FloatArray:
    """(p, 3) chances that the next vote on a pair is for the first, neutral, for the second."""
    neutral, decided, first, second = posterior.T
    rest = decided / (neutral + decided)
    ahead = first / (first + second)
    return np.stack([rest * ahead, 1 - rest, rest * (1 - ahead)], axis=1)


def label_chances(posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the chance that each answer is the label now (p, 3) and after one vote (p, 3, 3).

    ``posterior`` (p, 4) as ``Beliefs.posterior`` has it. Entry [i, j, k] of the second is the
    chance of label k when the next vote on pair i says j.

    With u the chance of neutral and v that of the first if not, the first is the label where
    v > 1/2 and u < v / (1 + v); integrated over v by parts, with distribution functions only.
    """
    # Many pairs of the same two systems have the same votes, and the integrals take the time.
    rows, place = np.unique(posterior, axis=0, return_inverse=True)
    now, after = _chances_of(rows)
    return now[place], after[place]


def _chances_of(posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``label_chances`` of each row."""
    neutral, decided, first, second = posterior.T
    ahead, behind = _beyond(first, second), _beyond(second, first)
    if not neutral.any():
        sides = [[_of_two(a[:, 0], b[:, 0]) for b in behind] for a in ahead]
        return sides[0][0], np.stack([sides[1][2], sides[0][0], sides[2][1]], axis=1)
    low = [_chance_below_third(neutral + n, decided + d) for n, d in ((0, 0), (1, 0), (0, 1))]

    def label(a: FloatArray, b: FloatArray, held: tuple[FloatArray, FloatArray]) -> FloatArray:
        start, slope = held
        wins = [x[:, 0] * start + (x[:, 1:] * slope) @ RISE for x in (a, b)]
        return np.stack([wins[0], np.maximum(1 - wins[0] - wins[1], 0.0), wins[1]], axis=1)

    after = [
        label(ahead[1], behind[2], low[2]),
        label(ahead[0], behind[0], low[1]),
        label(ahead[2], behind[1], low[2]),
    ]
    return label(ahead[0], behind[0], low[0]), np.stack(after, axis=1)


def _beyond(own: FloatArray, other: FloatArray) -> list[FloatArray]:
    """(p, 1 + nodes) chances that a Beta(own, other) variable is beyond 1/2 and beyond each node:
    as it is, with one more of its own, and with one more of the other.
    """
    x = np.append(0.5, OTHER)
    a, b = other[:, None], own[:, None]
    now = scipy.special.betainc(a, b, x)
    step = np.exp(a * np.log(x) + b * np.log1p(-x) - scipy.special.betaln(a, b))
    return [now, now + step / b, np.maximum(now - step / a, 0.0)]


def _chance_below_third(neutral: FloatArray, decided: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Chance (p,) that the chance of neutral is below 1/3, and how it grows with v (p, nodes)."""
    a, b = neutral[:, None], decided[:, None]
    density = np.exp(
        (a - 1) * np.log(LEVEL) + (b - 1) * np.log1p(-LEVEL) - scipy.special.betaln(a, b)
    )
    return scipy.special.betainc(neutral, decided, 1 / 3), density / (2 - OTHER) ** 2


def _of_two(first: FloatArray, second: FloatArray) -> FloatArray:
    """(p, 3) label chances where nothing is neutral, from both sides so that they mirror."""
    total = first + second
    return np.stack([first / total, np.zeros_like(first), second / total], axis=1)
