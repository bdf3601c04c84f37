"""Language models as judges, held against people (CrowdRAG, section 5.4, Table 9, put right).

The published code leaves the gold labels as displayed, so half of them are upside down, and pools
two calls and two gold labels of a pair into one alpha, so that a model's agreement with itself
counts as agreement with people. Here everything is in canonical coordinates, and a unit is one call
with one gold label. Beside a model's share of agreement stands that of one worker, each held
against the majority of the others, for whom nobody's own vote counts.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from evaluation.methods.agreement.counts import (
    NoVariation,
    alpha_rows,
    alpha_statistic,
    estimate,
    grouped,
)
from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import FloatArray, IntArray, Table, of_rows
from evaluation.methods.core.units import Clustered, share
from evaluation.methods.pairwise.judgments import MISSING, NEUTRAL, ShownVotes, Units
from evaluation.methods.pairwise.tables import (
    EVERY,
    LABELS,
    agreement_with_others,
    count_votes,
    mean_of,
    one_hot,
)

JUDGE = (
    "machine",
    "dimension",
    "n",
    "neutral",
    "alpha",
    "alpha_low",
    "alpha_high",
    "decisive",
    "decisive_low",
    "decisive_high",
    "decisive_n",
    "majority",
    "majority_low",
    "majority_high",
    "majority_n",
    "consistency",
    "consistency_low",
    "consistency_high",
    "same",
    "pairs_both",
    "rho",
    "reason",
)
PERSON = (
    "dimension",
    "majority",
    "majority_low",
    "majority_high",
    "majority_n",
    "workers",
    "reason",
)
JUDGE_PAIR = (
    "machine_a",
    "machine_b",
    "dimension",
    "alpha",
    "alpha_low",
    "alpha_high",
    "n",
    "reason",
)
NOTHING = (np.nan, np.nan, np.nan, "")
SUMS = ("n", "decisive_n", "majority_n")
Span = tuple[float, float, float, str]  # estimate, bounds, why there are none


def judge_tables(
    machine: ShownVotes | None,
    gold: IntArray,
    people: ShownVotes,
    *,
    rng: np.random.Generator,
    resamples: int,
    level: float,
    units: Units | None = None,
) -> dict[str, Table]:
    """``judge``, ``judge_pair`` and ``person``, described at ``pairwise.fit``.

    ``gold`` (pairs, d) is in canonical coordinates, MISSING where there is no label. Of several
    calls of a model on a pair shown the same way round the first counts. Intervals are over
    ``units``, the pairs unless topics are given; those of one person over workers and units.
    ``reason`` says why a row has none.
    """
    calls, units = first_calls(machine), units or Units.pairs(people)
    drawing = {"rng": rng, "resamples": resamples, "confidence": level, "units": units}
    lead = [
        np.sign(count_votes(vote, people.pair, len(people.pairs)) @ (np.arange(LABELS) - NEUTRAL))
        for vote in people.canonical().T
    ]
    rows: list[dict[str, Any]] = []
    for m, own in calls.items():
        found = [
            {"dimension": k, **_judged(own, k, gold[:, k], lead[k], drawing), "rho": rho}
            for k, rho in enumerate(_mean_rho(own.canonical()))
        ]
        rows += [{"machine": m, **row} for row in (_mean_row(found), *found)]
    pairs = [
        {"machine_a": a, "machine_b": b, **row}
        for a, b in combinations(calls, 2)
        for row in _two(calls[a], calls[b], drawing)
    ]
    return {
        "judge": of_rows(rows, JUDGE),
        "judge_pair": of_rows(pairs, JUDGE_PAIR),
        "person": _people(people, level, units),
    }


def first_calls(machine: ShownVotes | None) -> dict[int, ShownVotes]:
    """The first call of each model on each pair and way round; models without calls have none."""
    found: dict[int, ShownVotes] = {}
    if machine is None:
        return found
    for m in np.unique(machine.worker).tolist():
        own = machine.take(machine.worker == m)
        _, first = np.unique(2 * own.pair + own.flipped, return_index=True)
        found[m] = own.take(first)
    return found


def _judged(
    own: ShownVotes, k: int, gold: IntArray, lead: FloatArray, drawing: dict[str, Any]
) -> dict[str, Any]:
    """One model on one dimension; calls are sorted by pair, then by the way it was shown."""
    label, unit = own.canonical()[:, k], drawing["units"].of[own.pair]
    truth = gold[own.pair]
    both = (label != MISSING) & (truth != MISSING)
    counts = (one_hot(label) + one_hot(truth))[both]
    decisive = both & (label != NEUTRAL) & (truth != NEUTRAL)
    known = (label != MISSING) & (label != NEUTRAL) & (lead[own.pair] != 0)
    # The lead is that of the second candidate where it is positive.
    with_gold = _share(decisive & (label == truth), decisive, unit, drawing)
    side = np.where(lead[own.pair] > 0, LABELS - 1, 0)
    majority = _share(known & (label == side), known, unit, drawing)
    one = np.flatnonzero(np.diff(own.pair) == 0)
    twice = one[(label[one] != MISSING) & (label[one + 1] != MISSING)]
    itself = one_hot(label[twice]) + one_hot(label[twice + 1])
    given = label != MISSING
    gold_alpha = _alpha(counts, unit[both], drawing)
    own_alpha = _alpha(itself, unit[twice], drawing)
    return {
        "n": int(both.sum()),
        "neutral": float((label[given] == NEUTRAL).mean()) if given.any() else np.nan,
        **_named("alpha", gold_alpha),
        **_named("decisive", with_gold),
        "decisive_n": int(decisive.sum()),
        **_named("majority", majority),
        "majority_n": int(known.sum()),
        **_named("consistency", own_alpha),
        "same": float((label[twice] == label[twice + 1]).mean()) if len(twice) else np.nan,
        "pairs_both": len(twice),
        "reason": next(filter(None, (s[3] for s in (gold_alpha, majority, own_alpha))), ""),
    }


def _named(name: str, span: Span) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), span[:3], strict=True))


def _alpha(counts: FloatArray, unit: IntArray, drawing: dict[str, Any]) -> Span:
    """Ordinal alpha of counts (n, LABELS) of two labels, with an interval over units (n,)."""
    if not len(counts):
        return NOTHING
    rows = grouped(alpha_rows(counts), unit)
    drawing = {**drawing, "noun": drawing["units"].noun}
    del drawing["units"]
    statistic = alpha_statistic("ordinal", np.arange(float(LABELS)))
    try:
        found = estimate(rows, np.ones(len(rows)), statistic, **drawing)
    except NoVariation:
        return NOTHING
    return found.estimate, found.low, found.high, found.reason


def _share(hit: Any, used: Any, unit: IntArray, drawing: dict[str, Any]) -> Span:
    found = share(
        hit.astype(np.float64),
        used.astype(np.float64),
        unit,
        drawing["confidence"],
        nouns=(drawing["units"].noun, ""),
    )
    return _span(found)


def _span(found: Clustered) -> Span:
    return found.estimate, found.low, found.high, found.reason


def _mean_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of all dimensions: means, of bounds too, and sums of what was counted."""
    found: dict[str, Any] = {"dimension": EVERY}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in SUMS:
            found[name] = int(np.sum(values))
        elif name == "pairs_both":
            found[name] = int(max(values))
        elif name == "reason":
            found[name] = next(filter(None, values), "")
        elif name != "dimension":
            found[name] = mean_of(values)
    return found


def _mean_rho(label: IntArray) -> FloatArray:
    """Mean Spearman correlation of each dimension's labels with those of the others (d,)."""
    size = label.shape[1]
    rho = np.full((size, size), np.nan)
    for a in range(size):
        for b in range(a):
            both = (label[:, a] != MISSING) & (label[:, b] != MISSING)
            if both.sum() > 1:
                found = spearman(label[both, a], label[both, b])
                rho[a, b] = rho[b, a] = found.value[0]
    return np.array([mean_of(row) for row in rho])


def _two(one: ShownVotes, two: ShownVotes, drawing: dict[str, Any]) -> list[dict[str, Any]]:
    """Agreement of two models on the pairs that both saw the same way round."""
    _, a, b = np.intersect1d(
        2 * one.pair + one.flipped,
        2 * two.pair + two.flipped,
        assume_unique=True,
        return_indices=True,
    )
    rows: list[dict[str, Any]] = []
    for k in range(len(one.dimensions)):
        labels = one.canonical()[a, k], two.canonical()[b, k]
        both = (labels[0] != MISSING) & (labels[1] != MISSING)
        counts = (one_hot(labels[0]) + one_hot(labels[1]))[both]
        span = _alpha(counts, drawing["units"].of[one.pair[a][both]], drawing)
        rows.append(
            {"dimension": k, **_named("alpha", span), "n": int(both.sum()), "reason": span[3]}
        )
    means = {name: mean_of([row[name] for row in rows]) for name in _named("alpha", NOTHING)}
    why = next(filter(None, (str(row["reason"]) for row in rows)), "")
    every = {"dimension": EVERY, **means, "n": int(sum(row["n"] for row in rows)), "reason": why}
    return [every, *rows]


def _people(people: ShownVotes, level: float, units: Units) -> Table:
    """Compare each worker with the majority of the others, by dimension and over all of them."""
    met = [
        agreement_with_others(vote, people.pair, len(people.pairs)) for vote in people.canonical().T
    ]
    used, same = (np.stack([one[part] for one in met], axis=1) for part in (0, 1))
    rows = []
    for k in range(EVERY, used.shape[1]):
        columns = slice(None) if k == EVERY else slice(k, k + 1)
        n, hits = used[:, columns].sum(axis=1), same[:, columns].sum(axis=1)
        found = share(
            hits.astype(np.float64),
            n.astype(np.float64),
            people.worker,
            level,
            crossed=units.of[people.pair],
            nouns=("workers", units.noun),
        )
        rows.append(
            {
                "dimension": k,
                **_named("majority", _span(found)),
                "majority_n": int(n.sum()),
                "workers": found.clusters,
                "reason": found.reason,
            }
        )
    return of_rows(rows, PERSON)
