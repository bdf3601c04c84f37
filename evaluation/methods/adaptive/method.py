"""Adaptive collection: which pairs are certain, and where the next votes tell most.

Two targets. ``label``: a pair is certain when the chance of its label (the answer that would win if
votes never ended) reaches the certainty asked for; votes go where they are expected to tell most
about a label. ``ranking``: votes go where they tell most about the orders of the systems, summed
over all two of them, which is what Kendall's tau counts; a pair is certain when both its systems'
places against every other are. Settling each order on its own instead looks thriftier and is not:
who got ahead by luck is then never looked at again.

What adaptivity costs: where and how often votes are taken depends on the votes before them. The
likelihood does not mind, but intervals that take the number of votes for given do: for ``label``,
shares of pairs that stopped early lie too far out and pooled votes overweigh the pairs in doubt, so
that intervals of the systems hold far less often than they claim; for ``ranking`` they nearly do.
Which pairs have many votes, and agreement on them, are no longer those of a random sample either.
``adaptive_simulation.simulate`` measures both the saving and the loss of coverage; look there
before adaptivity is switched on.

What one further vote on a pair is expected to bring for its label is information as Lindley (1956,
"On a measure of the information provided by an experiment") defines it, the expected fall in
entropy, by which Chen, Bennett, Collins-Thompson and Horvitz (2013, "Pairwise ranking aggregation
in a crowdsourced setting") choose pairs. For the ranking it is what Kendall's tau counts, orders of
two systems put right, as in Chen, Jiao and Lin (2016, "Bayesian decision process for cost-efficient
dynamic ranking via crowdsourcing"). One vote alone hardly ever turns an order round, so the value
of several is shared among them (Frazier and Powell 2010, "Paradoxes in learning and the marginal
value of information"). Tried beside the fall in entropy of all orders on simulated crowds, it
reached the same tau with fewer votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.adaptive.beliefs import (
    FIRST,
    NEUTRAL,
    REGULARISATION,
    SECOND,
    Beliefs,
    beliefs,
    effective,
    label_chances,
    next_vote,
)
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    FloatArray,
    IntArray,
    index_array,
)
from evaluation.methods.simulation.simulation import whole_number

AHEAD = 0.3  # share of the variance by which to look ahead
FAR = 8.0  # standard errors beyond which an order is not in doubt


def entropy(chance: FloatArray) -> FloatArray:
    """Compute the entropy (...) in nats of chances (..., k)."""
    return np.asarray(-scipy.special.xlogy(chance, chance).sum(axis=-1), dtype=np.float64)


def label_gain(posterior: FloatArray, now: FloatArray, after: FloatArray) -> FloatArray:
    """Return the mutual information (p,) in nats of a pair's next vote and its label.

    ``posterior`` (p, 4), ``now`` and ``after`` as ``adaptive_beliefs.label_chances`` has them.
    """
    left = (next_vote(posterior) * entropy(after)).sum(axis=1)
    return np.maximum(entropy(now) - left, 0.0)


def order_gain(z: FloatArray) -> FloatArray:
    """Return how much a vote helps to find the sign of a difference, per share of its variance.

    ``z`` is a normal difference's mean over its standard deviation: its sign is wrong with chance
    Phi(-|z|). Votes that take the share q off its variance leave, before they are seen, a chance of
    2 T(z, sqrt((1 - q) / q)) that the sign they end with is wrong (T is Owen's: the mean then and
    the truth are jointly normal with correlation sqrt(q)). Divided by q at q = AHEAD.
    """
    size = np.minimum(np.abs(z), FAR)
    fall = scipy.special.ndtr(-size) - 2 * scipy.special.owens_t(size, np.sqrt((1 - AHEAD) / AHEAD))
    return np.asarray(np.maximum(fall, 0.0) / AHEAD, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Ranking:
    """What is known of the order of the systems, and what a vote on each two of them would add.

    ``certain`` (k, k) says which orders are known at the level asked for (systems that no chain of
    pairs connects cannot be ordered and are no open question); ``gain`` (k, k): orders put right,
    over all two systems, per unit of Fisher information on that difference of merits.
    """

    certain: NDArray[np.bool_]
    gain: FloatArray

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Systems (k,) whose order against every other is certain."""
        return np.asarray(self.certain.all(axis=1))


@dataclass(frozen=True, eq=False)
class Field:
    """The pairs as observations of differences of merits: ``fisher`` (p,) is the information of one
    independent vote, ``connected`` (k, k) says which systems a chain of pairs connects.
    """

    believed: Beliefs
    first: IntArray
    second: IntArray
    fisher: FloatArray
    connected: NDArray[np.bool_]

    @classmethod
    def of(cls, believed: Beliefs, first: IntArray, second: IntArray) -> Field:
        """Build the field from beliefs.

        Davidson's information Var(first - second) / 4 of each pair.
        """
        win, loss = believed.prior[:, FIRST], believed.prior[:, SECOND]
        fisher = np.where(first == second, 0.0, (win + loss - (win - loss) ** 2) / 4)
        k = len(believed.merit)
        graph = scipy.sparse.coo_array(
            (np.ones(len(first), dtype=np.int8), (first, second)), shape=(k, k)
        )
        _, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
        return cls(believed, first, second, fisher, part[:, None] == part[None, :])

    def ranking(self, votes: FloatArray, certainty: float) -> Ranking:
        """Return what the votes (p,) say of the order of systems, at the present merits.

        The merits are normal around the fit with the inverse of the information as covariance, a
        pair's votes counting as many independent ones as they are worth.
        """
        merit = self.believed.merit
        weight = effective(votes, self.believed.alike) * self.fisher
        across = np.zeros((len(merit), len(merit)))
        np.add.at(across, (self.first, self.second), weight)
        precision = _laplacian(across + across.T) + REGULARISATION / 2 * np.eye(len(merit))
        covariance = np.linalg.inv(precision).astype(np.float64)
        variance = _differences(covariance)
        np.fill_diagonal(variance, 1.0)
        z = (merit[:, None] - merit[None, :]) / np.sqrt(variance)
        asked = self.connected & ~np.eye(len(merit), dtype=bool)
        # Sum over (c, d) of gain / variance * Cov(m_c - m_d, m_a - m_b)^2, for all (a, b) at once.
        wanted = _laplacian(np.where(asked, order_gain(z) / variance, 0.0))
        return Ranking(
            certain=~asked | (scipy.special.ndtr(np.abs(z)) >= certainty),
            gain=np.maximum(_differences(covariance @ wanted @ covariance), 0.0),
        )

    def gain(self, votes: FloatArray, ranking: Ranking) -> FloatArray:
        """Return the number of orders (p,) that one more vote on each pair would correct."""
        alike = self.believed.alike
        more = effective(votes + 1, alike) - effective(votes, alike)
        found: FloatArray = more * self.fisher * ranking.gain[self.first, self.second]
        return found

    def settled(self, ranking: Ranking) -> NDArray[np.bool_]:
        """(p,) pairs whose two systems both have a certain place."""
        done = ranking.settled
        return np.asarray(done[self.first] & done[self.second])


def _laplacian(weight: FloatArray) -> FloatArray:
    """Sum of weight[a, b] (e_a - e_b)(e_a - e_b)' over pairs a < b; ``weight`` is symmetric."""
    return np.asarray(np.diag(weight.sum(axis=1)) - weight, dtype=np.float64)


def _differences(matrix: FloatArray) -> FloatArray:
    """(e_a - e_b)' matrix (e_a - e_b) for all a and b."""
    own = np.diag(matrix)
    return np.asarray(own[:, None] + own[None, :] - matrix - matrix.T, dtype=np.float64)


LABEL, RANKING = "label", "ranking"
TARGETS = (LABEL, RANKING)
CHUNKS = 10  # of a plan's votes for the ranking, between which what they tell is worked out anew
SHARE = 4  # without a batch, one vote for every so many pairs
DIGITS = 9  # gains that agree so far are equal


@dataclass(frozen=True, eq=False)
class Plan:
    """How many votes every pair should have, for now.

    ``wanted`` (p,): votes a pair should have in all (its redundancy), those given and handed out
    included; ``certain`` (p,): it needs no more; ``shape`` (p, 4): beta parameters of what is
    believed of its votes (``Beliefs.posterior``); ``gain`` (p,): what one further vote is expected
    to bring, information on the label in nats, or wrong orders of two systems put right; ``votes``
    and ``held`` (p,): given, and handed out but not answered; ``merit`` (systems,): log-merits;
    ``order`` (systems, systems): orders that are certain at this level; ``budget``: votes that may
    be spent in all.
    """

    wanted: IntArray
    certain: NDArray[np.bool_]
    shape: FloatArray
    gain: FloatArray
    votes: IntArray
    held: IntArray
    merit: FloatArray
    order: NDArray[np.bool_]
    budget: int

    @cached_property
    def posterior(self) -> FloatArray:
        """Chances (p, 3) that first, neutral and second are the pair's label."""
        return label_chances(self.shape)[0]

    @property
    def next_votes(self) -> IntArray:
        """(p,) votes to ask for now, beyond those given and handed out."""
        return self.wanted - self.votes - self.held

    @property
    def spent(self) -> int:
        """Number of votes given so far."""
        return int(self.votes.sum())

    @property
    def saved(self) -> int:
        """Votes that an equal share of the budget would still have put on pairs that are certain.

        They are free for other pairs, or need not be collected.
        """
        equal = self.budget // len(self.wanted)
        return int(np.maximum(equal - self.wanted, 0)[self.certain].sum())

    @property
    def left(self) -> int:
        """Votes of the budget that are neither given, handed out nor requested."""
        return max(self.budget - int(self.wanted.sum()), 0)

    @property
    def finished(self) -> bool:
        """Whether no vote is handed out or requested any more."""
        return not (self.next_votes.any() or self.held.any())


@dataclass(frozen=True, eq=False)
class Rules:
    """What a plan must keep to; ``floor`` and ``ceiling`` are votes a pair."""

    floor: int
    ceiling: int
    certainty: float
    budget: int
    target: str = RANKING
    neutral: bool = True
    batch: int | None = None

    def check(self, pairs: int) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        for name, least in (("floor", 1), ("ceiling", 1), ("budget", 1)):
            whole_number(name, getattr(self, name), least)
        if self.batch is not None:
            whole_number("batch", self.batch, 1)
        if self.ceiling < self.floor:
            raise BadParameter(f"ceiling is {self.ceiling}; it must be the floor or more")
        if not 0.5 < self.certainty < 1:
            raise BadParameter(
                f"certainty is {self.certainty!r}; it must lie between 0.5 and 1, say 0.95"
            )
        if self.target not in TARGETS:
            raise BadParameter(f"target is {self.target!r}; it is one of {', '.join(TARGETS)}")
        if self.budget < self.floor * pairs:
            raise BadParameter(
                f"budget is {self.budget}; the floor of {self.floor} on {pairs} pairs takes "
                f"{self.floor * pairs}"
            )


def plan_votes(
    counts: Any,
    first: Sequence[int] | IntArray,
    second: Sequence[int] | IntArray,
    *,
    floor: int,
    ceiling: int,
    certainty: float,
    budget: int,
    target: str = RANKING,
    held: Any = None,
    votes: Any = None,
    neutral: bool = True,
    batch: int | None = None,
    rng: np.random.Generator | None = None,
) -> Plan:
    """Decide how many votes each of p pairs should have now.

    ``counts`` (p, 3) are votes for first, neutral and second, or sums of their weights (a worker's
    competence); weighted ones need ``votes`` (p,), how many there are. ``first`` and ``second``
    (p,) index the systems; a pair within one system says nothing of the ranking. ``held`` (p,) are
    votes handed out and not answered yet. ``neutral`` False: no neutral answer is offered.

    Every pair gets ``floor`` votes (a connected set of pairs so stays connected), none gets more
    than ``ceiling``, certain pairs get nothing, and given, held and asked for are never more than
    ``budget`` together; if votes beyond plan have eaten the floor of others, pairs without a vote
    come first. ``batch`` bounds what is asked for at once, the floor apart (a vote for every 4
    pairs): the smaller, the more each vote learns from those before. For ``label`` a pair is asked
    one vote at a time. Equal gains go by position, or are drawn with ``rng``.

    Raises BadShape, BadVector, EmptyData, UnknownIndex, BadParameter.
    """
    rules = Rules(floor, ceiling, certainty, budget, target, neutral, batch)
    given = _counts(counts, neutral)
    pairs = len(given)
    rules.check(pairs)
    systems = int(max(np.max(first, initial=0), np.max(second, initial=0))) + 1
    one, two = index_array("first", first, systems), index_array("second", second, systems)
    if not pairs == len(one) == len(two):
        raise BadShape(f"counts has {pairs} rows, first {len(one)}, second {len(two)}")
    number = _number("votes", _whole_counts(given) if votes is None else votes, pairs)
    out = _number("held", np.zeros(pairs, dtype=np.int64) if held is None else held, pairs)
    believed = beliefs(given, one, two, systems, neutral=neutral)
    field = Field.of(believed, one, two)
    state = _State(rules, believed, field, given, number, out)
    return state.plan(rng)


@dataclass(frozen=True, eq=False)
class _State:
    """What is known, and what is on its way."""

    rules: Rules
    believed: Beliefs
    field: Field
    counts: FloatArray
    votes: IntArray
    held: IntArray

    def plan(self, rng: np.random.Generator | None) -> Plan:
        rules, total = self.rules, self.votes + self.held
        shape = self.believed.posterior(self.counts)
        ranking = self.field.ranking(self.votes.astype(np.float64), rules.certainty)
        posterior, after = None, None
        if rules.target == LABEL:
            posterior, after = label_chances(shape)
            gain = label_gain(shape, posterior, after)
            certain = posterior.max(axis=1) >= rules.certainty
        else:
            gain = self.field.gain(self.votes.astype(np.float64), ranking)
            certain = self.field.settled(ranking)
        certain = certain & (self.votes >= rules.floor)
        free = max(rules.budget - int(total.sum()), 0)
        more = _floors(total, rules.floor, free)
        asked = int(more.sum())
        free = min(free - asked, max((rules.batch or -(-len(total) // SHARE)) - asked, 0))
        draw = np.arange(len(total)) if rng is None else rng.permutation(len(total))
        may = ~certain & (total + more < rules.ceiling)
        if rules.target == LABEL:
            # One vote at a time: what is on its way may already settle the pair.
            more += _best(gain, may & (self.held == 0) & (more == 0), draw, free)
        else:
            more = self._for_ranking(more, may, draw, free)
        made = Plan(
            wanted=total + more,
            certain=certain,
            shape=shape,
            gain=gain,
            votes=self.votes,
            held=self.held,
            merit=self.believed.merit,
            order=ranking.certain,
            budget=rules.budget,
        )
        if posterior is not None:
            made.__dict__["posterior"] = posterior  # known already, so not to be found again
        return made

    def _for_ranking(
        self, more: IntArray, may: NDArray[np.bool_], draw: IntArray, free: int
    ) -> IntArray:
        """Votes (p,) with ``free`` further ones, in chunks: those placed shrink what is left to
        learn, at the merits believed now."""
        chunk = max(-(-free // CHUNKS), 1)
        while free > 0:
            total = self.votes + self.held + more
            ranking: Ranking = self.field.ranking(total.astype(np.float64), self.rules.certainty)
            gain = self.field.gain(total.astype(np.float64), ranking)
            chosen = _best(gain, may & (total < self.rules.ceiling), draw, min(chunk, free))
            if not chosen.any():
                break
            more, free = more + chosen, free - int(chosen.sum())
        return more


def _floors(total: IntArray, floor: int, free: int) -> IntArray:
    """Votes (p,) up to the floor; if the budget does not reach, pairs with the fewest first."""
    more = np.maximum(floor - total, 0)
    if more.sum() <= free:
        return more
    level, pair = [], []
    for k in range(floor):
        at = np.flatnonzero(total <= k)
        level.append(np.full(len(at), k))
        pair.append(at)
    chosen = np.concatenate(pair)[np.argsort(np.concatenate(level), kind="stable")[:free]]
    return np.bincount(chosen, minlength=len(total)).astype(np.int64)


def _best(gain: FloatArray, may: NDArray[np.bool_], draw: IntArray, number: int) -> IntArray:
    """Give one vote (p,) to the ``number`` pairs of most gain among those that may have one."""
    open_ = np.flatnonzero(may & (gain > 0))
    chosen = np.zeros(len(gain), dtype=np.int64)
    if number > 0 and len(open_):
        size = np.round(gain[open_] / gain[open_].max(), DIGITS)
        chosen[open_[np.lexsort((draw[open_], -size))[:number]]] = 1
    return chosen


def _counts(counts: Any, neutral: bool) -> FloatArray:
    found = np.asarray(counts, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != 3:
        raise BadShape(f"counts is {found.shape}; it must be (pairs, 3): first, neutral, second")
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)).all(axis=1))
    if wrong.size:
        raise BadVector(f"row {int(wrong[0])} of counts holds a number that is no count")
    if not neutral and found[:, NEUTRAL].any():
        at = int(np.flatnonzero(found[:, NEUTRAL])[0])
        raise BadVector(f"row {at} of counts has neutral votes, which were not offered")
    return found


def _whole_counts(counts: FloatArray) -> IntArray:
    total = counts.sum(axis=1)
    if (counts != np.round(counts)).any():
        raise BadParameter("votes is missing: with weighted counts, say how many votes they are")
    return total.astype(np.int64)


def _number(name: str, values: Any, pairs: int) -> IntArray:
    found = np.asarray(values)
    if found.shape != (pairs,) or not np.issubdtype(found.dtype, np.integer):
        raise BadShape(f"{name} must be {pairs} whole numbers, one a pair")
    if (found < 0).any():
        raise BadVector(f"{name}[{int(np.flatnonzero(found < 0)[0])}] is below 0")
    return found.astype(np.int64)
