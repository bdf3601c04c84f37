"""Draws of confusion matrices, truth and prevalence by Gibbs sampling: how sure Dawid-Skene is.

Truth, confusion, skills and prevalence are drawn in turn from their conditional distributions.
``RowPrior`` says what a worker's rows lend each other. How often a worker is right, and whether
they look, is drawn with the rows integrated out: given the rows it hardly moves where votes are
few, and chains then take long to forget where they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.competence.mace.data import Counts
from evaluation.methods.competence.mace.draws import CHAINS, TINY, draw_labels
from evaluation.methods.core.base import FloatArray

SKILLS = np.linspace(0.02, 0.98, 25)  # from chance (0) to always right (1)
FEWER_SKILLS = SKILLS[::2]  # where rows are integrated out: they only lend rows a prior
BELOW_SKILLS = np.array([0.1, 0.35, 0.6, 0.85])  # from always wrong (0) to chance (1)
BELOW = 0.15  # chance, before any vote, that a worker is right less often than by chance
SMALLEST = 1e-30  # chance that single precision still has a logarithm of
EXACT = 1_000  # votes of a label up to which logs of their chances are exact enough in single
LONGEST = 200_000  # votes of one worker up to which tables of counts stay small


def accuracy(counts: Counts, confusion: FloatArray, prior: FloatArray) -> FloatArray:
    """Chance that a worker labels an item of their component right: sum of p_t pi_jtt.

    ``confusion`` is (workers, K, K, ...), ``prior`` (parts, K, ...); returns (workers, ...).
    """
    right = np.diagonal(confusion, axis1=1, axis2=2)
    right = np.moveaxis(right, -1, 1)
    part = np.maximum(counts.worker_part, 1) - 1
    found: FloatArray = (right * prior[part]).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class RowPrior:
    """Prior of the rows of a confusion matrix, which lend each other what the votes say.

    Row t is Dirichlet of ``strength`` in all. Of a worker who looks, ``strength`` * right of it is
    on label t and the rest spread evenly. ``right`` is uniform from chance to 1, and with chance
    ``BELOW`` uniform from 0 to chance. With chance ``guessing`` a worker does not look: then every
    row is spread as their labels are on the whole, ``usual`` (workers, K). On rare labels looking
    alone would take whoever mostly gives the frequent one for skilled, as the rare one's row
    borrows from the frequent one's.
    """

    strength: float
    labels: int
    usual: FloatArray | None = None
    guessing: float = 0.0

    @classmethod
    def with_guessers(cls, strength: float, given: FloatArray, guessing: float) -> RowPrior:
        """Make the prior from the counts (workers, K) of labels that each worker gave."""
        k = given.shape[1]
        usual = (given + 1.0 / k) / (given.sum(axis=1, keepdims=True) + 1.0)
        return cls(strength, k, usual, guessing)

    def points(self, skills: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a grid of ``right`` (points,) below and above chance, with log weights."""
        chance = 1.0 / self.labels
        right = np.concatenate([chance * BELOW_SKILLS, chance + (1.0 - chance) * skills])
        weight = np.repeat(
            [BELOW / len(BELOW_SKILLS), (1.0 - BELOW) / len(skills)],
            [len(BELOW_SKILLS), len(skills)],
        )
        return right, np.log(weight)

    def pseudo(self, right: FloatArray, guesses: NDArray[np.bool_] | None = None) -> FloatArray:
        """Return the Dirichlet parameters (workers, given, true, chains) of confusion rows.

        ``right`` is how often a worker who looks is right.
        """
        k, right = self.labels, right[:, None, None, :]
        own = np.eye(k, dtype=bool)[None, :, :, None]
        found: FloatArray = self.strength * np.where(own, right, (1.0 - right) / (k - 1))
        if guesses is not None:
            found = np.where(guesses[:, None, None, :], self._even, found)
        return found

    @property
    def _even(self) -> FloatArray:
        """Parameters (workers, given, 1, 1) of the rows of who does not look."""
        return self.strength * np.asarray(self.usual)[:, :, None, None]

    def draw_guessing(
        self, votes: FloatArray, right: FloatArray, rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        """Draw which workers guess (workers, chains); ``votes`` (workers, given, true, chains).

        The rows are integrated out (Dirichlet-multinomial): given the rows a chain would hardly
        change sides, as rows drawn around even mistakes do not resemble those of one mixture. The
        totals of the rows cancel, both sides having the same strength.
        """
        if self.usual is None:
            return None
        log_odds = np.full(right.shape, np.log(self.guessing / (1.0 - self.guessing)))
        for sign, at in ((1.0, self._even), (-1.0, self.pseudo(right))):
            log_odds += sign * (scipy.special.gammaln(votes + at) - scipy.special.gammaln(at)).sum(
                axis=(1, 2)
            )
        found: NDArray[np.bool_] = rng.random(right.shape) < scipy.special.expit(log_odds)
        return found

    def draw_right(
        self,
        confusion: FloatArray,
        guesses: NDArray[np.bool_] | None,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Draw how often each worker who looks is right (workers, chains), given their rows.

        ``confusion`` (workers, given, true, chains). On a grid: the conditional density depends on
        sums of the logs only. The rows of who guesses say nothing, which is then any one.
        """
        k, log = self.labels, np.log(confusion)
        right = np.trace(log, axis1=1, axis2=2)[..., None]
        wrong = log.sum(axis=(1, 2))[..., None] - right
        grid, weight = self.points(SKILLS)
        own, other = self.strength * grid, self.strength * (1.0 - grid) / (k - 1)
        score = (
            own * right
            + other * wrong
            - k * (scipy.special.gammaln(own) + (k - 1) * scipy.special.gammaln(other))
        )
        if guesses is not None:
            score = np.where(guesses[..., None], 0.0, score)
        score += weight
        score -= score.max(axis=-1, keepdims=True)
        ends = np.exp(score).cumsum(axis=-1)
        point = rng.random(ends.shape[:-1])[..., None] * ends[..., -1:]
        found: FloatArray = grid[(point >= ends).sum(axis=-1)]
        return found


class Sampler:
    """Chains of the posterior: ``confusion`` (workers, given, true, chains), ``p`` (parts, K, c).

    Gibbs sampling: truth, who guesses and confusion together, how often each worker is right, and
    p (uniform prior) in turn. That few are right less often than by chance tells labels apart,
    which a symmetric prior would not. The first chain begins at ``start``, the confusion (workers,
    true, given) and p of the EM estimate; the others know nothing of it, so that their agreement
    says that they have forgotten where they began (Gelman and Rubin 1992).
    """

    def __init__(
        self,
        counts: Counts,
        start: tuple[FloatArray, FloatArray],
        prior: RowPrior,
        rng: np.random.Generator,
    ) -> None:
        self.counts, self.rng = counts.single(), rng
        workers, k = len(counts.total), counts.labels
        right = 1.0 / k + (1.0 - 1.0 / k) * rng.uniform(0.3, 0.98, (workers, CHAINS))
        self.confusion = prior.pseudo(right) / prior.strength
        self.confusion[..., 0] = start[0].transpose(0, 2, 1)
        self.p = np.full((counts.parts, k, CHAINS), 1.0 / k)
        self.p[..., 0] = start[1]
        self._workers: _InTurn | _AtOnce
        if _AtOnce.can_draw(counts):
            self._workers = _AtOnce(prior, self.counts)
        else:
            right[:, 0] = np.clip(accuracy(counts, *start), 1.0 / k, 0.98)
            self._workers = _InTurn(prior, right)

    def step(self, belief: FloatArray | None = None) -> None:
        """Run one round of every chain; add each label's probabilities to ``belief`` (K, items).

        These are the truth's given the parameters before the round, summed over the chains.
        """
        counts, k = self.counts, self.counts.labels
        chosen = _truth(counts, self.confusion, self.p, self.rng, belief)
        given = counts.transposed @ chosen.reshape(len(chosen), -1)
        self.confusion = self._workers.draw(given.reshape(-1, k, k, CHAINS), self.rng)
        self.p = _prior(counts, chosen, self.rng)


class _InTurn:
    """Draws rows given how often workers are right, and that given rows: for parts of votes."""

    def __init__(self, prior: RowPrior, right: FloatArray) -> None:
        """``right`` (workers, chains) is where chains begin."""
        self.prior, self.right, self.done = prior, right, 0

    def draw(self, given: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Rows (workers, given, true, chains) from how often each label was given to each."""
        votes = given.astype(np.float64)
        guesses = self.prior.draw_guessing(votes, self.right, rng)
        pseudo = self.prior.pseudo(self.right, guesses)
        confusion = np.maximum(rng.standard_gamma(votes + pseudo), TINY)
        confusion /= confusion.sum(axis=1, keepdims=True)
        if self.done % 2 == 0:  # any fixed turn of steps samples the same posterior
            self.right = self.prior.draw_right(confusion, guesses, rng)
        self.done += 1
        return confusion


class _AtOnce:
    """Draws skills and who guesses with the rows integrated out, and then rows.

    The chance of counts under Dirichlet rows is a product of rising factorials a (a + 1) ... of the
    parameters; their logs, by count, stand in tables. Only for votes that come in ones.
    """

    def __init__(self, prior: RowPrior, counts: Counts) -> None:
        self.prior, k = prior, prior.labels
        right, self.weight = prior.points(FEWER_SKILLS)
        most = round(float(counts.transposed.sum(axis=1).max()))
        self.kind = np.float32 if most <= EXACT else np.float64
        pseudo = prior.strength * np.stack([(1.0 - right) / max(k - 1, 1), right])
        self.wrong, self.right = pseudo.astype(np.float32)
        self.by_count = [self._rising(row, most) for row in pseudo]
        if prior.usual is not None:
            self._prepare_guessing(counts)

    @staticmethod
    def can_draw(counts: Counts) -> bool:
        """Whether all votes come in ones, and no worker has too many for a table."""
        votes = counts.matrix.data
        most = counts.total.max(initial=0)
        return bool((votes == np.rint(votes)).all() and most <= LONGEST)

    def _rising(self, start: FloatArray, most: int) -> FloatArray:
        """Logs of rising factorials (counts, skills)."""
        terms = np.log(start + np.arange(most)[:, None])
        return np.concatenate([np.zeros((1, len(start))), terms.cumsum(axis=0)]).astype(self.kind)

    def _prepare_guessing(self, counts: Counts) -> None:
        """The same by worker and given label, as far as their votes go, one after the other."""
        usual = np.asarray(self.prior.usual)
        self.even = (self.prior.strength * usual).astype(np.float32)[:, :, None, None]
        size = np.rint(np.asarray(counts.transposed.sum(axis=1)).ravel()).astype(np.int64)
        first = np.concatenate([[0], (size + 1).cumsum()[:-1]])
        count = np.arange(int((size + 1).sum())) - np.repeat(first, size + 1)
        start = np.repeat(self.prior.strength * usual.ravel(), size + 1)
        logs = np.where(count > 0, np.log(np.maximum(start + count - 1, TINY)), 0.0).cumsum()
        self.guessed = logs - np.repeat(logs[first], size + 1)
        self.first = first.reshape(*usual.shape, 1, 1)

    def draw(self, given: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Rows (workers, given, true, chains) from how often each label was given to each."""
        k, shape = self.prior.labels, (len(given), given.shape[3])
        count = given.astype(np.intp)
        score = np.tile(self.weight.astype(self.kind), (shape[0] * shape[1], 1))
        for true in range(k):
            for label in range(k):
                table = self.by_count[int(true == label)]
                score += np.take(table, count[:, label, true].reshape(-1), axis=0)
        chance = np.ascontiguousarray(score.T)
        top = chance.max(axis=0)
        chance -= top
        np.exp(chance, out=chance)
        for skill in range(1, len(chance)):
            chance[skill] += chance[skill - 1]
        guesses = self._draw_guessing(count, (top + np.log(chance[-1])).reshape(shape), rng)
        point = rng.random(len(top), dtype=np.float32)
        at = np.zeros(len(top), dtype=np.int8)
        inside = point * chance[-1]
        for ends in chance[:-1]:
            at += inside >= ends
        return self._rows(given, at.reshape(shape), guesses, rng)

    def _draw_guessing(
        self, count: NDArray[np.intp], looking: FloatArray, rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        """Who (workers, chains) does not look; ``looking`` is the log of their skills' sum."""
        if self.prior.usual is None:
            return None
        guessing = self.prior.guessing
        even = np.take(self.guessed, self.first + count).sum(axis=(1, 2))
        log_odds = np.log(guessing / (1.0 - guessing)) + even - looking
        found: NDArray[np.bool_] = rng.random(looking.shape) < scipy.special.expit(log_odds)
        return found

    def _rows(
        self,
        given: FloatArray,
        skill: NDArray[np.int8],
        guesses: NDArray[np.bool_] | None,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Dirichlet rows around the votes, by the place (workers, chains) of each skill."""
        pseudo = given + self.wrong[skill][:, None, None, :]
        more = (self.right - self.wrong)[skill]
        for true in range(self.prior.labels):
            pseudo[:, true, true] += more
        if guesses is not None:
            pseudo = np.where(guesses[:, None, None, :], given + self.even, pseudo)
        found = np.maximum(rng.standard_gamma(pseudo, dtype=np.float32), SMALLEST)
        total = found[:, 0].copy()  # numpy adds up slowly along short axes
        for label in range(1, found.shape[1]):
            total += found[:, label]
        found /= total[:, None]
        return found


def _truth(
    counts: Counts,
    confusion: FloatArray,
    prior: FloatArray,
    rng: np.random.Generator,
    belief: FloatArray | None,
) -> NDArray[np.floating[Any]]:
    """One true label an item, as 1 among zeros (items, K, chains); ``belief`` as of a step."""
    items, k, chains = len(counts.item_part), counts.labels, prior.shape[2]
    kind = counts.matrix.dtype
    table = np.log(confusion).reshape(-1, k * chains).astype(kind)
    log = (counts.matrix @ table).reshape(items, k, chains)
    label = draw_labels(log, counts.of_item(prior), rng, belief)
    chosen = np.zeros((items, k, chains), dtype=kind)
    place = label * chains + np.arange(chains)[:, None] + np.arange(items) * (k * chains)
    chosen.reshape(-1)[place] = 1.0
    return chosen


def _prior(
    counts: Counts, chosen: NDArray[np.floating[Any]], rng: np.random.Generator
) -> FloatArray:
    """p of every component given its true labels (parts, K, chains)."""
    n = counts.parts_of_items @ chosen.reshape(len(chosen), -1)
    n = (n * counts.size[:, None]).reshape(counts.parts, *chosen.shape[1:])
    drawn = np.maximum(rng.standard_gamma(n + 1.0), TINY)
    found: FloatArray = drawn / drawn.sum(axis=1, keepdims=True)
    return found
