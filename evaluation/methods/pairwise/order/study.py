"""Order effects, repeats, and how dimensions hang together, as tables of a pairwise study."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.core.base import IntArray, Table, of_rows
from evaluation.methods.core.units import share
from evaluation.methods.pairwise.judgments import MISSING, Judgments, ShownVotes
from evaluation.methods.pairwise.order.effects import (
    across_item_alpha,
    interdependence,
    neutral_drift,
    side_preference,
    straight_lining,
    within_item_alpha,
)
from evaluation.methods.pairwise.tables import EVERY, LABELS, count_votes, numbered

STRAIGHT = ("share", "se", "low", "high", "chance", "n", "workers", "reason")
STRAIGHT_WORKER = ("worker", "share", "n")
REPEAT = (
    "dimension",
    "same",
    "low",
    "high",
    "chance",
    "others",
    "n",
    "workers",
    "reason",
)
REPEAT_WORKER = ("worker", "same", "n")
TAU = ("first", "second", "n", "tau_b", "low", "high", "reason")


def order_tables(
    data: Judgments, settings: dict[str, Any], *, rng: np.random.Generator
) -> dict[str, Table]:
    """``position``, ``drift``, ``side``, ``within_item``, ``across_item``, ``straight`` and
    ``straight_worker``, each as said where it is made."""
    votes, names, level = data.votes, data.dimensions, settings["level"]
    drawing = {"resamples": settings["resamples"], "confidence": level, "units": data.units}
    one, two = rng.spawn(2)
    # Side and drift, each of every dimension and of all; one dimension is all.
    family = 2 * (len(names) + 1 if len(names) > 1 else 1)
    straight, by_worker = _straight(votes, level)
    return {
        "position": by_position(votes, level),
        "drift": numbered(
            neutral_drift(votes, split=settings["early"], confidence=level, family=family),
            names,
            every=True,
        ),
        "side": numbered(
            side_preference(votes, confidence=level, units=data.units, family=family),
            names,
            every=True,
        ),
        "within_item": numbered(within_item_alpha(votes, rng=one, **drawing), names),
        "across_item": numbered(
            across_item_alpha(votes, rng=two, split=settings["early"], **drawing), names
        ),
        "straight": straight,
        "straight_worker": by_worker,
    }


def _straight(votes: ShownVotes, level: float) -> tuple[Table, Table]:
    """One label on every dimension; there is nothing to say of a single dimension."""
    if len(votes.dimensions) < 2:
        return of_rows([], STRAIGHT), of_rows([], STRAIGHT_WORKER)
    found = straight_lining(votes, confidence=level)
    same = found.share
    row = {
        "share": same.estimate,
        "se": same.se,
        "low": same.low,
        "high": same.high,
        "chance": found.chance,
        "n": int(found.worker["n"].sum()),
        "workers": same.clusters,
        "reason": same.reason,
    }
    return of_rows([row], STRAIGHT), found.worker


def interdependence_table(
    data: Judgments, gold: IntArray, settings: dict[str, Any], *, rng: np.random.Generator
) -> Table:
    """Kendall's tau-b of gold labels (pairs, d) between every two dimensions, as numbers."""
    if len(data.dimensions) < 2:
        return of_rows([], TAU)
    found = interdependence(
        gold,
        data.dimensions,
        size=LABELS,
        rng=rng,
        resamples=settings["resamples"],
        confidence=settings["level"],
        units=data.units,
    )
    return numbered(found, data.dimensions, "first", "second")


def repeats(data: Judgments, level: float) -> tuple[Table, Table]:
    """Measure how often workers who judged a pair again say the same.

    A row a dimension and one (EVERY) for all: ``same``, the share of first and next votes on a
    pair that are equal, clustered by worker; ``chance``, what the labels' shares among these votes
    alone would give; ``others``, the share that two different workers give on a pair. And a row a
    worker. Empty where nobody repeated.
    """
    votes = data.votes
    code = votes.worker * len(votes.pairs) + votes.pair
    order = np.argsort(code, kind="stable")
    again = np.flatnonzero(code[order][1:] == code[order][:-1])
    if not len(again):
        return of_rows([], REPEAT), of_rows([], REPEAT_WORKER)
    before, after = order[again], order[again + 1]
    vote, worker = votes.canonical(), votes.worker[before]
    both = (vote[before] != MISSING) & (vote[after] != MISSING)
    same = both & (vote[before] == vote[after])
    others = _agreement_of_others(data)
    rows = []
    for k in range(EVERY, len(data.dimensions)):
        columns = list(range(len(data.dimensions))) if k == EVERY else [k]
        n, hits = both[:, columns].sum(axis=1), same[:, columns].sum(axis=1)
        found = share(hits.astype(np.float64), n.astype(np.float64), worker, level)
        chance = [
            _chance(np.concatenate([vote[rows, j][both[:, j]] for rows in (before, after)]))
            for j in columns
        ]
        weight = both[:, columns].sum(axis=0)
        rows.append(
            {
                "dimension": k,
                "same": found.estimate,
                "low": found.low,
                "high": found.high,
                "chance": _weighted(np.array(chance), weight),
                "others": _weighted(others[columns], weight),
                "n": int(n.sum()),
                "workers": found.clusters,
                "reason": found.reason,
            }
        )
    each = np.bincount(worker, weights=both.sum(axis=1), minlength=len(votes.workers))
    equal = np.bincount(worker, weights=same.sum(axis=1), minlength=len(votes.workers))
    known = np.flatnonzero(each)
    by_worker = {"worker": known, "same": equal[known] / each[known], "n": each[known].astype(int)}
    return of_rows(rows, REPEAT), Table(by_worker)


def _chance(label: IntArray) -> float:
    share = np.bincount(label, minlength=LABELS) / max(len(label), 1)
    return float(np.square(share).sum())


def _weighted(values: IntArray, weight: IntArray) -> float:
    total = float(weight.sum())
    return float((np.nan_to_num(values) * weight).sum() / total) if total else float("nan")


def _agreement_of_others(data: Judgments) -> IntArray:
    """Share of pairs of votes by different workers on a pair that are equal, by dimension (d,)."""
    once = data.votes.first_votes()
    found = []
    for vote in once.canonical().T:
        counts = count_votes(vote, once.pair, len(once.pairs))
        n = counts.sum(axis=1)
        met = float((n * (n - 1)).sum())
        found.append(float((counts * (counts - 1)).sum()) / met if met else np.nan)
    return np.array(found)


POSITION = ("position", "neutral", "low", "high", "n", "workers", "reason")
MOST = 60  # places; what comes later is rare, and no plot is wide enough for it


def by_position(votes: ShownVotes, level: float) -> Table:
    """A row a position (from 1, ``MOST`` at most) that anybody reached.

    ``neutral`` is the share of neutral answers on the dimensions that anybody was neutral on, all
    together, with an interval clustered by worker at ``level``; ``n`` answers, ``workers``;
    ``reason`` where there is no interval. No rows where nobody was ever neutral.
    """
    votes = votes.take(votes.order_known)
    side = votes.side()
    offered = (side == 0).any(axis=0)
    neutral = (side[:, offered] == 0).sum(axis=1).astype(np.float64)
    given = (~np.isnan(side[:, offered])).sum(axis=1).astype(np.float64)
    rows = []
    for place in range(1, min(int(votes.position.max(initial=0)), MOST) + 1):
        here = (votes.position == place) & (given > 0)
        if not here.any():
            continue
        found = share(neutral[here], given[here], votes.worker[here], level)
        rows.append(
            {
                "position": place,
                "neutral": found.estimate,
                "low": found.low,
                "high": found.high,
                "n": int(given[here].sum()),
                "workers": found.clusters,
                "reason": found.reason,
            }
        )
    return of_rows(rows, POSITION)
