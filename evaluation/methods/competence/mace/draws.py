"""Draws of the posterior by Gibbs sampling: how many, how well chains agree, and their quantiles.

What the samplers of MACE and of Dawid and Skene share. A crowd of ``LARGE`` votes makes a third of
the rounds: every one counts after a short burn-in. Draws of rounds that follow each other are
alike, so bounds lie further out, by how many independent draws they are worth (``quantiles``).
Where chains differ, or bounds would move from seed to seed, they run on (``Rounds.stages``): twice
as long, what came before being burn-in, until they have settled. A large crowd's do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray

CHAINS = 4
BURN_IN = 100  # rounds a chain makes before its draws count
THIN = 2  # rounds a draw
LARGE = 100_000  # votes from which fewer rounds are made
WIDE = 5_000  # votes from which sweeps of MACE are laid out label by label
KEPT = 0.6  # of as many draws as are asked for, there
SHORT_BURN_IN = 40  # there: chains that know nothing of the fit reach it within 30 rounds
BATCH = 25  # draws of a chain whose mean varies as their number of independent draws says
STAGES = 3  # runs of the chains at most, each twice as long as the one before it
MOST = 100_000_000  # votes times rounds that no further stage may exceed
MEETING = 1.05  # r_hat up to which chains are taken to sample the same distribution
ERROR = 0.03  # Monte Carlo standard error of a bound at .95 up to which chains may stop
ENOUGH = 150  # independent draws from which they may: that error is then a 17th of the interval
SPARED = 0.02  # share of the workers that may be above either, as the largest of many is by chance
BOUND_ERROR = 2.7  # of a normal's .025 quantile, in deviations over the root of independent draws
TINY = 1e-300
FEW = 30  # draws of a binomial up to which its chances are added up one by one
PIECE = 16_384  # numbers that stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Draws:
    """``competence`` (draws, workers), chains one after the other; ``r_hat`` (workers,).

    ``r_hat`` compares variance between and within chains (Gelman and Rubin 1992); far above 1
    says that the chains have not found the same distribution. ``effective`` (workers,) is how many
    independent draws they are worth, where it is known.
    """

    competence: NDArray[np.float32]
    r_hat: FloatArray
    effective: FloatArray | None = None

    @classmethod
    def of_chains(cls, found: NDArray[np.float32]) -> Draws:
        """Make it of the draws (chains, draws, workers)."""
        return cls(found.reshape(-1, found.shape[2]), r_hat(found), effective_size(found))

    def error(self) -> FloatArray:
        """Monte Carlo standard error (workers,) of the bounds at .95; NaN where it is not known."""
        if self.effective is None:
            return np.full(len(self.r_hat), np.nan)
        spread = self.competence.std(axis=0, dtype=np.float64)
        return np.asarray(BOUND_ERROR * spread / np.sqrt(np.maximum(self.effective, 1.0)))

    def is_settled(self, scored: NDArray[np.bool_]) -> bool:
        """Whether chains agree, and bounds would hardly move, for nearly all ``scored`` workers."""
        if not scored.any():
            return True
        loose = self.r_hat > MEETING
        if self.effective is not None:
            loose |= (self.error() > ERROR) & (self.effective < ENOUGH)
        return bool(loose[scored].mean() <= SPARED)

    def quantiles(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Equal-tailed bounds (workers,) of each worker's draws."""
        return quantiles(self.competence, level, self.effective)


@dataclass(frozen=True)
class Rounds:
    """Which rounds of each chain give a draw: every ``thin``th after ``burn_in``, ``each`` in all.

    ``wide``: sweeps are laid out for many votes.
    """

    burn_in: int
    thin: int
    each: int
    votes: int = 0

    @property
    def wide(self) -> bool:
        """Whether sweeps are laid out for many votes."""
        return self.votes >= min(WIDE, LARGE)

    @classmethod
    def of(cls, draws: int, votes: int) -> Rounds:
        """Choose the length of the chains for so many ``draws`` from a crowd with ``votes`` votes.

        A large one makes ``KEPT`` of them.
        """
        if votes >= LARGE:
            return cls(SHORT_BURN_IN, 1, -int(-draws * KEPT // CHAINS), votes)
        return cls(BURN_IN, THIN, -(-draws // CHAINS), votes)

    def stages(self, most: int = STAGES) -> Iterator[Rounds]:
        """Yield these rounds, then twice as many each time, while more are requested."""
        stage, made = self, 0
        for _ in range(most):
            made += stage.total
            if stage is not self and (self.votes >= LARGE or made * self.votes > MOST):
                return
            yield stage
            stage = replace(stage, burn_in=0, each=2 * stage.each)

    @property
    def total(self) -> int:
        """Number of rounds of one chain."""
        return self.burn_in + self.thin * self.each

    def draw_after(self, done: int) -> int | None:
        """Return which draw round ``done`` (from 0) gives; None if it gives none."""
        place, rest = divmod(done - self.burn_in, self.thin)
        return place if place >= 0 and not rest else None


def r_hat(chains: NDArray[np.float32]) -> FloatArray:
    """Potential scale reduction of chains (m, n, j), split in halves; 1 where nothing varies."""
    half = chains.shape[1] // 2
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]]).astype(np.float64)
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    ratio = between / np.where(within > 0, within, 1.0)
    return np.where(within > 0, np.sqrt((half - 1) / half + ratio), 1.0)


def effective_size(chains: NDArray[np.float32]) -> FloatArray:
    """Estimate the effective number of independent draws (j,) in chains (m, n, j), by batch means.

    Of independent draws the mean of ``BATCH`` varies a ``BATCH``th as much as they do; what it
    varies more, they are worth less. Chains that differ differ in these means too.
    """
    m, n, j = chains.shape
    size = min(BATCH, max(n // 4, 1))
    batches = n // size
    means = chains[:, : batches * size].reshape(m * batches, size, j).mean(axis=1)
    alike = size * means.var(axis=0, ddof=1, dtype=np.float64)
    alone = chains.reshape(m * n, j).var(axis=0, ddof=1, dtype=np.float64)
    ratio = np.divide(alone, alike, out=np.ones(j), where=alike > 0)
    return m * n * np.clip(ratio, 1.0 / (m * n), 1.0)


def quantiles(
    draws: NDArray[np.float32], level: float, effective: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Equal-tailed bounds (j,) of draws (n, j), further out the fewer these are worth.

    Below the quantile p of draws lies p + (1 - 2p) / 2m of the distribution on average, if their
    share below a value varies like that of m independent ones: where it comes out too high the
    quantile is far in, and the other way round less far out. So p is chosen to make that the tail.
    """
    tail = (1 - level) / 2
    if effective is None:
        low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
        return low, high
    order = np.sort(np.ascontiguousarray(draws.T), axis=1)
    last, row = order.shape[1] - 1, np.arange(len(order))
    size = np.maximum(effective, 2.0)
    place = last * np.clip((tail - 0.5 / size) / (1.0 - 1.0 / size), 0.0, 0.5)
    first = np.floor(place).astype(np.int64)
    after, rest = np.minimum(first + 1, last), place - first
    low = order[row, first] * (1 - rest) + order[row, after] * rest
    high = order[row, last - first] * (1 - rest) + order[row, last - after] * rest
    return low, high


def draw_binomial(
    n: NDArray[np.float32], chance: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Binomial numbers of ``n`` (whole numbers) tries, in the shape of both.

    The generator sets each one up anew, which costs most of it where tries are few: there chances
    are added up until they reach a random number, all at once and from the likelier side.
    """
    tries, likely = n.reshape(-1), chance.reshape(-1)
    found = np.zeros(len(tries), dtype=np.float32)
    for first in range(0, len(tries), PIECE):
        piece = slice(first, first + PIECE)
        left, p = tries[piece], likely[piece]
        turned = p > 0.5
        p = np.where(turned, 1 - p, p)
        few = np.minimum(left, FEW)
        ratio, mass = p / (1 - p), (1 - p) ** few
        point = rng.random(len(left), dtype=np.float32)
        drawn = np.zeros(len(left), dtype=np.float32)
        for k in range(int(few.max(initial=0))):
            point -= mass
            drawn += point > 0
            mass *= ratio * (few - k) / np.float32(k + 1)
        drawn = np.minimum(drawn, few)
        many = np.flatnonzero(left > FEW)
        drawn[many] = rng.binomial(left[many].astype(np.int64), p[many])
        found[piece] = np.where(turned, left - drawn, drawn)
    return found.reshape(n.shape)


def draw_labels(
    log: FloatArray | NDArray[np.float32],
    prior: FloatArray,
    rng: np.random.Generator,
    belief: FloatArray | None = None,
) -> IntArray:
    """Draw one label an item and chain (chains, items), with chances proportional to exp.

    ``log`` (items, K, chains), to which the logarithm of ``prior`` is added: of the same shape, or
    one row for all items. The chances, summed over chains, are added to ``belief`` (K, items).
    Labels come first inside, as numpy is slow along short last axes.
    """
    by_label: Any = np.ascontiguousarray(np.moveaxis(log, 0, -1))
    by_label += np.moveaxis(np.log(np.maximum(prior, TINY)), 0, -1)
    by_label -= np.maximum.reduce(by_label)
    np.exp(by_label, out=by_label)
    if belief is not None:
        share = 1.0 / by_label.sum(axis=0)
        for t, chance in enumerate(by_label):
            belief[t] += np.einsum("ci,ci->i", chance, share)
    for t in range(1, len(by_label)):
        by_label[t] += by_label[t - 1]
    point = rng.random(by_label.shape[1:], dtype=np.float32) * by_label[-1]
    label = np.zeros(point.shape, dtype=np.int64)
    for ends in by_label[:-1]:
        label += point >= ends
    return label
