"""Summarise a label study as counts; the package that shows it writes the sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import Result, Table
from evaluation.methods.labels.items import METHODS
from evaluation.methods.labels.method import BETTER, ONE_LABEL, UNKNOWN


@dataclass(frozen=True)
class Verdict:
    """Counts and figures that the sentences of a label study's verdict are made of.

    Workers: ``better`` than guessing, ``unknown`` (cannot be told from guessing), ``one_label``,
    ``not_scored`` (share no item with anybody); ``reliable`` and ``not_reliable`` against the
    threshold set, None without one. ``votes`` of whom cannot be told or give one label:
    ``doubtful_votes``. Items: ``items`` with votes, ``level_items`` without a majority, ``differ``
    (majority and Dawid-Skene), ``any_differ`` (any two methods), ``single`` with one vote. Alpha
    (nominal) of ``all`` votes with its bounds, None where it is not known. ``known`` answers;
    ``tops``: the methods whose labels are right most often on them, and ``told_apart``: every
    other method's interval lies below theirs, on the same items.

    What a count may be said to mean: ``better`` are surely better than guessing, all workers
    compared at once (claims.py); ``unknown`` may label well and have given too few labels;
    ``one_label`` gave one label always or nearly always, which says nothing of their reasons.
    """

    workers: int
    better: int
    unknown: int
    one_label: int
    not_scored: int
    reliable: int | None
    not_reliable: int | None
    votes: float
    doubtful_votes: float
    items: int
    single: int
    level_items: int
    differ: int
    any_differ: int
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    alpha_better: float | None
    known: int
    tops: tuple[str, ...]
    told_apart: bool


def verdict(result: Result) -> Verdict:
    """The parts of the verdict of a label study's result."""
    worker, item = result.estimates["worker"], result.estimates["item"]
    summary = result.estimates["summary"].rows()[0]
    scored = worker["component"] > 0
    group = np.where(scored, worker["group"], -1)
    doubtful = scored & (group != BETTER)
    threshold = not np.isnan(worker["reliable"]).all()
    alpha = _alpha(result.estimates["agreement"])
    tops, apart = _best(result.estimates["compare"])
    return Verdict(
        workers=len(worker),
        better=int((group == BETTER).sum()),
        unknown=int((group == UNKNOWN).sum()),
        one_label=int((group == ONE_LABEL).sum()),
        not_scored=int((~scored).sum()),
        reliable=int((worker["reliable"] == 1).sum()) if threshold else None,
        not_reliable=int((worker["reliable"] == 0).sum()) if threshold else None,
        votes=float(worker["n"].sum()),
        doubtful_votes=float(worker["n"][doubtful].sum()),
        items=int((item["n"] > 0).sum()),
        single=int((item["n"] == 1).sum()),
        level_items=summary["level_items"],
        differ=summary["differ"],
        any_differ=summary["any_differ"],
        alpha=alpha["value"],
        alpha_low=alpha["low"],
        alpha_high=alpha["high"],
        alpha_better=summary["alpha_better"],
        known=summary["known"],
        tops=tops,
        told_apart=apart,
    )


def _alpha(agreement: Table) -> dict[str, float | None]:
    return next(
        row
        for row in agreement.rows()
        if row["coefficient"] == "krippendorff_nominal" and row["scope"] == "all"
    )


def _best(compare: Table) -> tuple[tuple[str, ...], bool]:
    """The methods most often right, and whether every other one's interval lies below theirs."""
    right, low, high = compare["right"], compare["low"], compare["high"]
    if not compare["n"].any():
        return (), False
    share = right / np.maximum(compare["n"], 1)
    top = share >= share.max() - 1e-9
    names = tuple(name for name, best in zip(METHODS, top, strict=True) if best)
    if top.all() or np.isnan(low).any() or len(set(compare["n"])) > 1:
        return names, False
    return names, bool(high[~top].max() < low[top].min())
