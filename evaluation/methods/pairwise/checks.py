"""Nulls and intervals of a pairwise study: what the core's figures must be read against.

Agreement after removing low-competence votes comes only with what the same recipe finds in
shuffled votes and with competence from other pairs (``corrected_alpha``); who lowers agreement
comes with a test, since somebody always lowers it most; grades come with what other workers of
the same crowd might have given.

How steady are gold labels and grades, had other workers of the same crowd judged? Every resample
gives each worker a random weight (exponential with mean 1: Rubin's Bayesian bootstrap, 1981), so
that no pair loses all its votes; MACE and the grades are found again from scratch. That covers who
judged and how they voted, not which topics and texts were chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from evaluation.methods.agreement.corrected_alpha import CrossFit, corrected_alpha
from evaluation.methods.agreement.counts import alpha_rows, draw_sums, grouped
from evaluation.methods.core.base import (
    BadParameter,
    DataError,
    EmptyData,
    FloatArray,
    Hooks,
    Result,
    Table,
    of_rows,
)
from evaluation.methods.core.inference import (
    bell_mccaffrey,
    effective_clusters,
    t_quantile,
    too_few_clusters,
)
from evaluation.methods.core.params import LEVEL, Params, choice, flag, real_number, whole_number
from evaluation.methods.core.units import AGREEMENT, LEAST
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.agreement import (
    WORKERS,
    alphas,
    differentiable,
    leave_one_out_alpha,
    split_alphas,
)
from evaluation.methods.pairwise.gold import quick_labels, spam_fits
from evaluation.methods.pairwise.grades import candidates
from evaluation.methods.pairwise.judgments import Judgments, ShownVotes
from evaluation.methods.pairwise.tables import (
    EVERY,
    LABELS,
    count_votes,
    mean_of,
    one_hot,
    votes_behind,
)

RESAMPLED = "estimated labels resampled"
STABILITY = ("dimension", "pair", "s_first", "s_neutral", "s_second")
INTERVAL = ("dimension", "topic", "component", "candidate", "grade", "low", "high")
RESTARTS = 3


def resampled_gold(
    data: Judgments,
    people: ShownVotes,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> dict[str, Table]:
    """``label_stability``: in which share of resamples each label was the gold one (NaN where no
    label was ever found). ``candidate_interval``: the grade of each candidate and the quantiles of
    its grades at ``level``. Both empty without ``gold_resamples``. Raises Cancelled.
    """
    size, level = settings["gold_resamples"], settings["level"]
    if not size:
        return {
            "label_stability": of_rows([], STABILITY),
            "candidate_interval": of_rows([], INTERVAL),
        }
    chosen = {name: settings[name] for name in ("algorithm", "pooled", "prevalence")}
    one, two = rng.spawn(2)
    # The first are the votes as they are.
    weights = np.ones((size + 1, len(people.workers)))
    weights[1:] = two.standard_exponential((size, len(people.workers)))
    hooks.step(RESAMPLED, 0, 2 * size)
    found = quick_labels(
        data, people, {**chosen, "restarts": RESTARTS}, weights, rng=one, hooks=hooks.quiet()
    )
    votes = votes_behind(people)
    base = candidates(data, found[0], votes)
    seen = np.zeros((*votes.shape, LABELS))
    grades = np.empty((size, len(base)))
    for b, labels in enumerate(found[1:]):
        hooks.step(RESAMPLED, size + b, 2 * size)
        seen += one_hot(labels.ravel()).reshape(seen.shape)
        # Weights drop no vote, so the same texts are graded every time, in the same order.
        grades[b] = candidates(data, labels, votes)["grade"]
    hooks.step(RESAMPLED, 2 * size, 2 * size)
    return {"label_stability": _stability(seen), "candidate_interval": _spread(base, grades, level)}


def _stability(seen: FloatArray) -> Table:
    total = seen.sum(axis=2, keepdims=True)
    share = np.divide(seen, total, out=np.full_like(seen, np.nan), where=total > 0)
    pairs, size = seen.shape[:2]
    flat = share.transpose(1, 0, 2).reshape(-1, LABELS)
    columns = {
        "dimension": np.repeat(np.arange(size), pairs),
        "pair": np.tile(np.arange(pairs), size),
        **dict(zip(STABILITY[2:], flat.T, strict=True)),
    }
    return Table(columns)


def _spread(base: Table, grades: FloatArray, level: float) -> Table:
    if not len(base):
        return of_rows([], INTERVAL)
    tail = (1 - level) / 2
    low, high = np.quantile(grades, [tail, 1 - tail], axis=0)
    bounds = {"low": np.minimum(low, base["grade"]), "high": np.maximum(high, base["grade"])}
    columns = {**base.columns, **bounds}
    return Table({name: columns[name] for name in INTERVAL})


NAME, VERSION = "pairwise_checks", "1.4"
FEWEST = 100  # resamples that intervals take at least
PARAMS = Params(
    NAME,
    (
        choice("algorithm", "vb", ("vb", "em")),
        flag("pooled", False),
        choice("prevalence", "uniform", ("uniform", "mirrored")),
        whole_number("restarts", 10, 1, 200),
        real_number("threshold", 0.7, 0, 1),
        whole_number("folds", 5, 2),
        whole_number("shuffles", 10, 1),
        whole_number("resamples", 2000, FEWEST, 20_000, label="Resamples"),
        whole_number("permutations", 9_999, 99),
        whole_number("worst", 5, 0),
        whole_number("agreeing", None, 1),
        real_number("share", 0.6, 0.01, 1),
        whole_number("gold_resamples", 200, FEWEST, or_zero=True),
        LEVEL,
    ),
    version=VERSION,
)
NULLS, WORST, PAIRS = "nulls and cross-fitting", "without the worst", "differentiability"
STAGES = (NULLS, WORKERS, WORST, PAIRS, RESAMPLED)  # in the order in which hooks report them
FIGURES = (
    "uncorrected",
    "low",
    "high",
    "corrected",
    "shuffled_null",
    "cross_fitted",
    "cross_low",
    "cross_high",
    "removed_share",
    "thin_share",
    "unknown_share",
)
CORRECTED = ("dimension", "n", *FIGURES, "reason")
LOWEST = (
    *("worker", "alpha", "change", "cross_fitted", "cross_change", "cross_low", "cross_high"),
    *("n", "reason"),
)
MOST_LOWERING = 12  # workers, beside the ``worst``, who are left out since they lower plain alpha


def fit(
    data: Judgments, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Check a study.

    Parameters (defaults in DEFAULTS): ``algorithm``, ``pooled``, ``prevalence`` (as of
    ``pairwise``) and ``restarts`` of MACE;
    ``threshold`` of spam above which a worker's votes are dropped (CrowdRAG: .7); ``folds`` and
    ``shuffles`` of ``corrected_alpha``; ``resamples`` of alpha's intervals; ``permutations`` of
    the test who lowers agreement, and how many of the ``worst`` are also left out of the
    cross-fitted alpha; a pair is differentiable where ``agreeing`` dimensions (None: 5 of 7 in
    proportion) have ``share`` of their votes on one label; ``gold_resamples`` of gold labels and
    grades (0: none); ``level`` of intervals.

    Tables (dimension -1: means over the dimensions): ``corrected``: ``uncorrected`` alpha with
    low and high, ``corrected``, ``shuffled_null``, ``cross_fitted`` with cross_low and cross_high,
    removed_share of votes, thin_share of pairs left with fewer than 3, unknown_share, as of
    ``corrected_alpha``; the bounds of a mean are means of bounds, which is too wide where
    dimensions err apart. ``without``: as of ``without_each``. ``worst``: worker, alpha (mean,
    without this worker) and change, cross_fitted and cross_change likewise, n; cross_low and
    cross_high of the cross_change, at ``level`` for all workers at once, or the ``reason`` why
    there are none (whoever ``lowers`` plain alpha is among them). ``pair``: pair,
    agreeing, differentiable, n; ``split``: as of ``split_alphas``. ``label_stability`` and
    ``candidate_interval``: as of ``resampled_gold``.

    Raises BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    people = data.votes.first_votes()
    rngs, level = rng.spawn(5), settings["level"]
    needed = _needed(settings["agreeing"], len(data.dimensions))
    seed = int(rngs[0].integers(2**62))  # every cross-fitted figure is from the same folds
    corrected = _corrected(data, people, settings, seed=seed, hooks=hooks)
    without = leave_one_out_alpha(
        people, rng=rngs[1], permutations=settings["permutations"], level=level, hooks=hooks
    )
    worst = _worst(data, people, without, settings, seed=seed, rng=rngs[2], hooks=hooks)
    hooks.step(PAIRS, 0, 1)
    split = {"needed": needed, "share": settings["share"]}
    pairs = differentiable(data, people, **split)
    parts = split_alphas(data, people, **split, rng=rngs[3], shuffles=settings["shuffles"])
    hooks.step(PAIRS, 1, 1)
    resampled = resampled_gold(data, people, settings, rng=rngs[4], hooks=hooks)
    return PARAMS.result(
        settings,
        {
            "corrected": corrected,
            "without": without,
            "worst": worst,
            "pair": pairs,
            "split": parts,
            **resampled,
        },
        {"needed": needed, "warnings": _warnings(data, corrected)},
    )


def _needed(agreeing: int | None, dimensions: int) -> int:
    """Dimensions that must agree: 5 of 7, in proportion; never more than there are."""
    return max(1, min(round(dimensions * 5 / 7) if agreeing is None else agreeing, dimensions))


def _corrected(
    data: Judgments,
    people: ShownVotes,
    settings: dict[str, Any],
    *,
    seed: int,
    hooks: Hooks,
) -> Table:
    rows = []
    for k in range(len(data.dimensions)):
        hooks.step(NULLS, k, len(data.dimensions))
        found = _dimension_figures(
            data, people, k, settings, rng=np.random.default_rng(seed), hooks=hooks
        )
        rows.append({"dimension": k, **found})
    hooks.step(NULLS, len(rows), len(rows))
    means = {name: mean_of([row[name] for row in rows]) for name in FIGURES}
    n = int(sum(row["n"] for row in rows))
    why = next((row["reason"] for row in rows), "") if np.isnan(means["low"]) else ""
    return of_rows([{"dimension": EVERY, "n": n, **means, "reason": why}, *rows], CORRECTED)


def _dimension_figures(
    data: Judgments,
    people: ShownVotes,
    dimension: int,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> dict[str, Any]:
    """The figures of one dimension, or NaN with the reason."""

    def competences(many: Iterable[Labels]) -> Iterator[FloatArray]:
        for spam in spam_fits(((votes, rng) for votes in many), settings, hooks=hooks.quiet()):
            yield 1 - spam

    n = int((people.vote[:, dimension] >= 0).sum())
    try:
        found = corrected_alpha(
            {data.dimensions[dimension]: data.labels(people, dimension)},
            competences=competences,
            rng=rng,
            threshold=1 - settings["threshold"],
            shuffles=settings["shuffles"],
            units=data.units,
            folds=_fold_count(settings, people),
            resamples=settings["resamples"],
            confidence=settings["level"],
            hooks=hooks.quiet(),
        )
    except (DataError, BadParameter) as problem:
        return {"n": n, **dict.fromkeys(FIGURES, np.nan), "reason": str(problem)}
    row = found.dimension.rows()[0]
    values = {name: np.nan if row[name] is None else row[name] for name in FIGURES}
    return {"n": n, **values, "reason": row["reason"]}


def _worst(
    data: Judgments,
    people: ShownVotes,
    without: Table,
    settings: dict[str, Any],
    *,
    seed: int,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Table:
    """The cross-fitted alpha without those who lower the plain one most, one at a time."""
    tested = [row for row in without.rows() if row["dimension"] == EVERY]
    ranked = sorted(tested, key=lambda row: -row["change"])
    size = settings["worst"]
    rows = ranked[:size]
    if size:
        rows += [row for row in ranked[size:] if row["lowers"]][:MOST_LOWERING]
    if not rows:
        return of_rows([], LOWEST)
    hooks.step(WORST, 0, len(rows) + 1)
    cases = [people, *(people.take(people.worker != row["worker"]) for row in rows)]
    crossed = _crossed(data, cases, settings, seed=seed, hooks=hooks)
    hooks.step(WORST, len(rows) + 1, len(rows) + 1)
    spans, reason = _spans(data, crossed, settings, workers=len(tested), rng=rng)
    whole = mean_of(crossed.alpha[0])
    changes = [mean_of(one) - whole for one in crossed.alpha[1:]]
    return of_rows(
        [
            {
                **row,
                "cross_fitted": whole + change,
                "cross_change": change,
                "cross_low": low,
                "cross_high": high,
                "reason": reason,
            }
            for row, change, (low, high) in zip(rows, changes, spans, strict=True)
        ],
        LOWEST,
    )


@dataclass(frozen=True, eq=False)
class _Crossed:
    """Cross-fitted ``alpha`` (cases, d), NaN where it is not defined.

    ``rows`` (pairs, cases, d, s) is what each pair adds to its sums.
    """

    alpha: FloatArray
    rows: FloatArray


def _crossed(
    data: Judgments, cases: list[ShownVotes], settings: dict[str, Any], *, seed: int, hooks: Hooks
) -> _Crossed:
    """The cross-fitted alpha of each case, each from the same folds."""
    fits: list[tuple[int, int, CrossFit, np.random.Generator]] = []
    for k, case in product(range(len(data.dimensions)), range(len(cases))):
        own = np.random.default_rng(seed)
        try:
            votes = data.labels(cases[case], k)
        except EmptyData:
            continue
        fit = CrossFit(
            votes,
            folds=_fold_count(settings, cases[case]),
            threshold=1 - settings["threshold"],
            level="ordinal",
            rng=own,
        )
        fits.append((k, case, fit, own))
    every = ((votes, own) for *_, fit, own in fits for votes in fit.others)
    spam = spam_fits(every, settings, hooks=hooks.quiet())
    pairs, size = len(cases[0].pairs), LABELS * LABELS + LABELS
    alpha = np.full((len(cases), len(data.dimensions)), np.nan)
    rows = np.zeros((pairs, len(cases), len(data.dimensions), size))
    for k, case, fit, _ in fits:
        kept = fit.kept_votes([1 - next(spam) for _ in fit.others])
        alpha[case, k] = fit.alpha(kept)
        # Where neutral is not offered, the second label is the third of all.
        label = fit.votes.label[kept] * (2 if data.forced[k] else 1)
        rows[:, case, k] = alpha_rows(count_votes(label, fit.votes.item[kept], pairs))
    return _Crossed(alpha, rows)


def _spans(
    data: Judgments,
    found: _Crossed,
    settings: dict[str, Any],
    *,
    workers: int,
    rng: np.random.Generator,
) -> tuple[list[tuple[float, float]], str]:
    """Intervals of the changes of cross-fitted alpha, or why there are none.

    Units are drawn with replacement, the same for the figure with and without a worker; the
    standard error of the change is that of the draws, competences taken as known. Somebody always
    changes it most, so the intervals hold at once for all ``workers`` that could have been left
    out, not only for those that were (Bonferroni), by t quantiles of Bell and McCaffrey's degrees
    of freedom for the units' shares of the votes.
    """
    cases = len(found.alpha) - 1
    shared = (found.rows[:, 0, :, -LABELS:].sum(axis=2) > 0).any(axis=1)
    units = data.units
    if not shared.any():
        return [(np.nan, np.nan)] * cases, "no two votes left are on one pair"
    flat = found.rows[shared].reshape(int(shared.sum()), -1)
    drawn = grouped(flat, units.of[shared])
    n = len(drawn)
    mass = drawn.reshape(n, *found.rows.shape[1:])[:, 0, :, -LABELS:].sum(axis=(1, 2))
    effective = effective_clusters(mass)
    if reason := too_few_clusters(n, effective, units.noun, LEAST[AGREEMENT]):
        return [(np.nan, np.nan)] * cases, reason
    size = settings["resamples"]
    sums = draw_sums(drawn, np.ones(n), rng, size).reshape(size, *found.rows.shape[1:])
    means = _means(alphas(sums))
    moved = means[:, 1:] - means[:, :1]
    error = np.array([_deviation(one) for one in moved.T])
    error *= np.sqrt(effective / (effective - 1))
    reach = float(t_quantile(settings["level"], bell_mccaffrey(mass / mass.sum()), workers)) * error
    change = np.array([mean_of(one) for one in found.alpha])
    change = change[1:] - change[0]
    return list(zip((change - reach).tolist(), (change + reach).tolist(), strict=True)), ""


def _deviation(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")


def _means(alpha: FloatArray) -> FloatArray:
    """Means (..., cases) of alpha (..., cases, d) over the dimensions that have one."""
    known = ~np.isnan(alpha)
    total = np.where(known, alpha, 0.0).sum(axis=-1)
    count = known.sum(axis=-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _fold_count(settings: dict[str, Any], people: ShownVotes) -> int:
    return min(int(settings["folds"]), max(2, len(people.pairs)))


def _warnings(data: Judgments, corrected: Table) -> list[str]:
    rows = corrected.rows()
    said = [
        f"{data.dimensions[row['dimension']]}: {row['reason']}."
        for row in rows[1:]
        if row["reason"] and row["uncorrected"] is None
    ]
    mean = rows[0]
    if mean["shuffled_null"] is not None and mean["shuffled_null"] > 0.05:
        said.append(
            f"Dropping low-competence votes finds an agreement of {mean['shuffled_null']:.2f} in "
            "shuffled votes: read the corrected agreement against that, or use the cross-fitted."
        )
    return said


METHOD = PARAMS.as_method("Nulls and intervals of a pairwise study", Judgments, fit)
