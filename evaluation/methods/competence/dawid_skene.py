"""Dawid-Skene: each worker's confusion matrix and the labels, by EM from the majority.

Dawid and Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm"
(Applied Statistics 28, 1979). Truth and votes are in canonical coordinates. Each component of the
worker-item graph has label probabilities of its own, and nothing compares across components.

EM is two sparse products a round; intervals come from draws of the posterior. Worker j gives label
l to an item of true label t with probability pi_jtl; labels have probabilities p_t, of their own in
each component.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.competence.mace import tables as mace_tables
from evaluation.methods.competence.mace.data import (
    Counts,
    adding,
    label_parts,
    summed,
    vote_matrix,
)
from evaluation.methods.competence.mace.sampler import CHAINS, Draws, r_hat
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result, Table
from evaluation.methods.core.params import (
    LEVEL,
    PART_OF_LABELS,
    Params,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.core.votes import Labels

BURN_IN = 100  # rounds a chain makes before its draws count
THIN = 2  # rounds a draw
TINY = 1e-300
SKILLS = np.linspace(0.02, 0.98, 25)  # from chance (0) to always right (1)


@dataclass(frozen=True, eq=False)
class Fitted:
    """``confusion`` (workers, true, given), ``prior`` (parts, K), ``posterior`` (items, K).

    ``likelihood`` (rounds,) is the log-likelihood of all votes before each M-step and at the end;
    ``by_part`` (parts,) the last one of each component.
    """

    confusion: FloatArray
    prior: FloatArray
    posterior: FloatArray
    likelihood: FloatArray
    by_part: FloatArray
    converged: bool


def prepare(data: Labels, worker_part: IntArray, item_part: IntArray) -> Counts:
    """Lay votes out; the start is the paper's (eq. 3.1), uniform where an item has no votes."""
    k, n_items, n_workers = len(data.labels), len(data.items), len(data.workers)
    shape = (n_items, n_workers * k)
    # Votes that differ only in what was shown are added up.
    matrix = vote_matrix(data.item, data.worker * k + data.label, data.weight, shape)
    votes = summed(data.item * k + data.label, data.weight, n_items * k).reshape(n_items, k)
    n = votes.sum(axis=1, keepdims=True)
    parts = int(worker_part.max(initial=0))
    mean = adding(item_part, parts + 1)[1:]
    size = np.bincount(item_part, minlength=parts + 1)[1:]
    return Counts(
        matrix=matrix,
        transposed=scipy.sparse.csr_array(matrix.T.tocsr()),
        start=np.where(n > 0, votes / np.where(n > 0, n, 1.0), 1.0 / k),
        parts_of_items=scipy.sparse.csr_array(mean.multiply((1.0 / size)[:, None]).tocsr()),
        worker_part=worker_part,
        item_part=item_part,
        total=summed(data.worker, data.weight, n_workers),
        parts=parts,
        labels=k,
    )


def m_step(counts: Counts, posterior: FloatArray, smoothing: float) -> tuple[FloatArray, ...]:
    """Confusion (workers, given, true) and prior (parts, K): eq. 2.3 and 2.4, counts smoothed."""
    k = counts.labels
    given = (counts.transposed @ posterior).reshape(-1, k, k)
    given += smoothing
    given /= np.einsum("jlt->jt", given)[:, None]
    return given, counts.parts_of_items @ posterior


def e_step(
    counts: Counts, confusion: FloatArray, prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Posterior (items, K) by eq. 2.5 and each item's log-likelihood (items,); eq. 2.7's terms."""
    log = counts.matrix @ np.log(confusion).reshape(-1, counts.labels)
    log += counts.of_item(np.log(np.maximum(prior, TINY)))
    top = log[:, 0].copy()  # label by label: numpy is slow along a short last axis
    for t in range(1, counts.labels):
        np.maximum(top, log[:, t], out=top)
    log -= top[:, None]
    np.exp(log, out=log)
    total = np.einsum("it->i", log)
    log *= (1.0 / total)[:, None]
    return log, np.where(counts.item_part > 0, np.log(total) + top, 0.0)


def em(
    counts: Counts, *, smoothing: float, iterations: int, tolerance: float, hooks: Hooks
) -> Fitted:
    """EM from majority shares until the log-likelihood a vote rises by less than ``tolerance``.

    Items with the same votes share a posterior, so rounds are made over patterns of votes where
    these are few. Raises Cancelled.
    """
    whole, patterns = counts, counts.patterns()
    if patterns is not None:
        counts, kind, size = patterns
    posterior, history, converged = counts.start, [-np.inf], False
    scored = counts.total[counts.worker_part > 0].sum()
    for done in range(1, iterations + 1):
        confusion, prior = m_step(counts, posterior, smoothing)
        posterior, each = e_step(counts, confusion, prior)
        history.append(float(each.sum() if patterns is None else each @ size))
        hooks.step("rounds", done, iterations)
        converged = abs(history[-1] - history[-2]) < tolerance * scored
        if converged:
            break
    if patterns is not None:
        posterior, each = posterior[kind], each[kind]
    return Fitted(
        confusion=confusion.transpose(0, 2, 1),
        prior=prior,
        posterior=posterior,
        likelihood=np.array(history[1:]),
        by_part=summed(whole.item_part, each, whole.parts + 1)[1:],
        converged=converged,
    )


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
    on label t and the rest spread evenly, ``right`` being uniform from chance (skill 0) to 1. With
    chance ``guessing`` a worker does not look: then every row is spread as their labels are on the
    whole, ``usual`` (workers, K). On rare labels looking alone would take whoever mostly gives the
    frequent one for skilled, as the rare one's row borrows from the frequent one's.
    """

    strength: float
    labels: int
    usual: FloatArray | None = None
    guessing: float = 0.0

    @classmethod
    def with_guessers(cls, strength: float, given: FloatArray, guessing: float) -> RowPrior:
        """From how often (workers, K) each worker gave each label."""
        k = given.shape[1]
        usual = (given + 1.0 / k) / (given.sum(axis=1, keepdims=True) + 1.0)
        return cls(strength, k, usual, guessing)

    def pseudo(self, skill: FloatArray, guesses: NDArray[np.bool_] | None = None) -> FloatArray:
        """Parameters (workers, given, true, chains) at skills and ``guesses`` (workers, chains)."""
        k = self.labels
        right = 1.0 / k + (1.0 - 1.0 / k) * skill[:, None, None, :]
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
        self, votes: FloatArray, skill: FloatArray, rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        """Who (workers, chains) does not look, given ``votes`` (workers, given, true, chains).

        The rows are integrated out (Dirichlet-multinomial): given the rows a chain would hardly
        change sides, as rows drawn around even mistakes do not resemble those of one mixture. The
        totals of the rows cancel, both sides having the same strength.
        """
        if self.usual is None:
            return None
        log_odds = np.full(skill.shape, np.log(self.guessing / (1.0 - self.guessing)))
        for sign, at in ((1.0, self._even), (-1.0, self.pseudo(skill))):
            log_odds += sign * (scipy.special.gammaln(votes + at) - scipy.special.gammaln(at)).sum(
                axis=(1, 2)
            )
        found: NDArray[np.bool_] = rng.random(skill.shape) < scipy.special.expit(log_odds)
        return found

    def draw_skill(
        self,
        confusion: FloatArray,
        guesses: NDArray[np.bool_] | None,
        rng: np.random.Generator,
    ) -> FloatArray:
        """A skill of each worker (workers, chains), given their rows (workers, given, true, ...).

        On a grid: the conditional density depends on sums of the logs only. The rows of who
        guesses say nothing of a skill, which is then any one.
        """
        k, log = self.labels, np.log(confusion)
        right = np.trace(log, axis1=1, axis2=2)[..., None]
        wrong = log.sum(axis=(1, 2))[..., None] - right
        grid = 1.0 / k + (1.0 - 1.0 / k) * SKILLS
        own, other = self.strength * grid, self.strength * (1.0 - grid) / (k - 1)
        score = (
            own * right
            + other * wrong
            - k * (scipy.special.gammaln(own) + (k - 1) * scipy.special.gammaln(other))
        )
        if guesses is not None:
            score = np.where(guesses[..., None], 0.0, score)
        score -= score.max(axis=-1, keepdims=True)
        ends = np.exp(score).cumsum(axis=-1)
        point = rng.random(ends.shape[:-1])[..., None] * ends[..., -1:]
        found: FloatArray = SKILLS[(point >= ends).sum(axis=-1)]
        return found


def draw_parameters(
    counts: Counts,
    fitted: Fitted,
    prior: RowPrior,
    *,
    draws: int,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Posterior draws of confusion (workers, given, true, chains) and p (parts, K, chains).

    ``draws`` rounded up to whole chains. Gibbs sampling from the EM estimate: truth, who guesses
    and confusion together, the worker's skill, and p (uniform prior) in turn. Chance as the least
    skill tells labels apart, which a symmetric prior would not. Raises Cancelled.
    """
    k, each, counts = counts.labels, draws_per_chain(draws), counts.single()
    confusion = np.repeat(fitted.confusion.transpose(0, 2, 1)[..., None], CHAINS, axis=3)
    p = np.repeat(fitted.prior[..., None], CHAINS, axis=2)
    right = np.repeat(accuracy(counts, fitted.confusion, fitted.prior)[:, None], CHAINS, axis=1)
    skill = (np.clip(right, 1.0 / k, SKILLS[-1]) - 1.0 / k) / (1.0 - 1.0 / k)
    skill = np.maximum(skill, SKILLS[0])
    rounds = BURN_IN + THIN * each
    for done in range(rounds):
        chosen = _truth(counts, confusion, p, rng)
        given = counts.transposed @ chosen.reshape(len(chosen), -1)
        votes = given.reshape(-1, k, k, CHAINS).astype(np.float64)
        guesses = prior.draw_guessing(votes, skill, rng)
        confusion = np.maximum(rng.standard_gamma(votes + prior.pseudo(skill, guesses)), TINY)
        confusion /= confusion.sum(axis=1, keepdims=True)
        if done % 2 == 0:  # any fixed turn of steps samples the same posterior
            skill = prior.draw_skill(confusion, guesses, rng)
        p = _prior(counts, chosen, rng)
        if done >= BURN_IN and (done - BURN_IN) % THIN == 0:
            yield confusion, p
        if done % 10 == 0:
            hooks.step("intervals", done, rounds)


def draws_per_chain(draws: int) -> int:
    """How many draws each chain makes for ``draws`` in all."""
    return -(-draws // CHAINS)


def draw_accuracy(
    counts: Counts, fitted: Fitted, *, draws: int, strength: float, **drawing: Any
) -> Draws:
    """``draws`` of every worker's accuracy, as ``draw_parameters`` makes them (its keywords).

    With the prior of even strategies: a row has ``strength`` pseudo-votes.
    """
    each = draws_per_chain(draws)
    rows = RowPrior(strength, counts.labels)
    found = np.empty((CHAINS, each, len(counts.total)), dtype=np.float32)
    drawn = draw_parameters(counts, fitted, rows, draws=draws, **drawing)
    for done, (confusion, prior) in enumerate(drawn):
        found[:, done] = accuracy(counts, confusion, prior).T
    return Draws(found.reshape(CHAINS * each, -1), r_hat(found))


def draw_labels(
    log: FloatArray | NDArray[np.float32], prior: FloatArray, rng: np.random.Generator
) -> IntArray:
    """One label an item and chain (chains, items), drawn with chances proportional to exp.

    ``log`` (items, K, chains), to which the logarithm of ``prior`` is added: of the same shape, or
    one row for all items. Labels come first inside, as numpy is slow along short last axes.
    """
    by_label: Any = np.ascontiguousarray(np.moveaxis(log, 0, -1))
    by_label += np.moveaxis(np.log(np.maximum(prior, TINY)), 0, -1)
    by_label -= np.maximum.reduce(by_label)
    np.exp(by_label, out=by_label)
    for t in range(1, len(by_label)):
        by_label[t] += by_label[t - 1]
    point = rng.random(by_label.shape[1:], dtype=np.float32) * by_label[-1]
    label = np.zeros(point.shape, dtype=np.int64)
    for ends in by_label[:-1]:
        label += point >= ends
    return label


def _truth(
    counts: Counts, confusion: FloatArray, prior: FloatArray, rng: np.random.Generator
) -> NDArray[np.floating[Any]]:
    """One true label an item, as 1 among zeros (items, K, chains)."""
    items, k, chains = len(counts.item_part), counts.labels, prior.shape[2]
    kind = counts.matrix.dtype
    table = np.log(confusion).reshape(-1, k * chains).astype(kind)
    log = (counts.matrix @ table).reshape(items, k, chains)
    label = draw_labels(log, counts.of_item(prior), rng)
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


NAME, VERSION = "dawid-skene", "1.1"
PARAMS = Params(
    NAME,
    (
        whole_number("iterations", 1000, 1),
        real_number("tolerance", 1e-7, 0, 1),
        real_number("smoothing", 0.01, 1e-10, 1e6),
        real_number("threshold", 1.0, above=0, high=1),
        real_number("min_posterior", 0.0, 0, 1),
        real_number("strength", 6.0, 0.1, 1e3),
        resamples(1000),
        LEVEL,
    ),
    version=VERSION,
)


def fit(
    data: Labels, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score workers and find the labels of items.

    Parameters (defaults in DEFAULTS): at most ``iterations`` rounds, until the log-likelihood a
    vote rises by less than ``tolerance``; ``smoothing`` on every count of a confusion matrix
    (1e-10: maximum likelihood, as in the paper); ``threshold`` share of items kept, least entropy
    first, and ``min_posterior`` of a kept label; ``resamples`` draws and ``level`` of the
    intervals, whose prior lets the rows of a confusion matrix keep
    together with ``strength`` votes.

    Estimates: ``worker`` (accuracy: chance to label an item of the component right, with low and
    high; ``n`` votes), ``confusion`` (worker, true, given, probability), ``prior`` (component,
    label, probability), ``item`` (label -1 where not scored, its posterior, entropy in nats,
    ``kept``), ``posterior`` (item, label, probability). ``component`` 0 means not scored, with
    NaN. Intervals are quantiles of the sampled posterior (draw_accuracy): they hold if the
    model holds, and do not say how often a worker is right where labels are wrong together.

    Raises TooFewWorkers, TooFewLabels, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    hooks = hooks or Hooks()
    counts = prepare(data, *label_parts(data))
    fitted = em(
        counts,
        smoothing=settings["smoothing"],
        iterations=settings["iterations"],
        tolerance=settings["tolerance"],
        hooks=hooks,
    )
    draws = None
    if settings["resamples"]:
        draws = draw_accuracy(
            counts,
            fitted,
            draws=settings["resamples"],
            strength=settings["strength"],
            rng=rng,
            hooks=hooks,
        )
    return PARAMS.result(
        settings,
        _tables(data, counts, fitted, draws, settings=settings),
        _diagnostics(data, counts, fitted, draws),
        converged=fitted.converged,
    )


def _tables(
    data: Labels,
    counts: Counts,
    fitted: Fitted,
    draws: Draws | None,
    *,
    settings: dict[str, Any],
) -> dict[str, Table]:
    scored = counts.worker_part > 0
    probability = np.where((counts.item_part > 0)[:, None], fitted.posterior, np.nan)
    estimate = accuracy(counts, fitted.confusion, fitted.prior)
    low, high = mace_tables.interval(estimate, draws, settings["level"])
    k, rows = counts.labels, np.flatnonzero(scored)
    return {
        "worker": Table(
            {
                "worker": np.arange(len(scored)),
                "accuracy": np.where(scored, estimate, np.nan),
                "low": np.where(scored, low, np.nan),
                "high": np.where(scored, high, np.nan),
                "n": mace_tables.to_integers(counts.total),
                "component": counts.worker_part,
            }
        ),
        "confusion": Table(
            {
                "worker": np.repeat(rows, k * k),
                "true": np.tile(np.repeat(np.arange(k), k), len(rows)),
                "given": np.tile(np.arange(k), len(rows) * k),
                "probability": fitted.confusion[rows].ravel(),
            }
        ),
        "prior": mace_tables.prior(fitted.prior),
        "item": mace_tables.items(
            probability,
            counts.item_part,
            mace_tables.per_item(data),
            threshold=settings["threshold"],
            min_posterior=settings["min_posterior"],
        ),
        "posterior": mace_tables.posterior_rows(probability),
    }


def _diagnostics(
    data: Labels, counts: Counts, fitted: Fitted, draws: Draws | None
) -> dict[str, Any]:
    sizes = mace_tables.components_of(data, counts.worker_part, counts.item_part)
    return {
        "components": [
            {**row, "log_likelihood": float(value)}
            for row, value in zip(sizes, fitted.by_part, strict=True)
        ],
        "log_likelihood": float(fitted.likelihood[-1]),
        "rounds": len(fitted.likelihood),
        **mace_tables.left_out(data, counts.worker_part),
        **mace_tables.cautions(data, counts.worker_part, draws, model="Dawid and Skene's"),
    }


METHOD = PARAMS.as_method("Dawid-Skene", Labels, fit, internal=PART_OF_LABELS)
