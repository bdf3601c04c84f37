"""Agreement in the fields of a labels task that no model of labels takes: sets of options, spans.

Every row is {coefficient, value, low, high, units (items), reason}, as those of the labels method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evaluation.methods.agreement import spans
from evaluation.methods.agreement.coefficients import distance_alpha, distance_interval
from evaluation.methods.agreement.counts import NoVariation, TooFewVotes
from evaluation.methods.agreement.sets import masi_distances
from evaluation.methods.agreement.spans import Span, SpanAgreement
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.inference import cluster_spread
from evaluation.methods.core.units import AGREEMENT, LEAST, MEAN, SAME, too_few_units
from evaluation.methods.core.votes import Labels

MASI, EXACT, OVERLAP, CHARACTERS = "masi", "spans_exact", "spans_overlap", "spans_characters"
MOST_SETS = 2000  # different sets, whose distances are told
Row = dict[str, Any]
EMPTY: Row = {"value": np.nan, "low": np.nan, "high": np.nan, "units": 0, "reason": ""}


def set_agreement(
    given: Mapping[str, Mapping[str, frozenset[str]]],
    *,
    rng: np.random.Generator,
    resamples: int = 1000,
    level: float = 0.95,
) -> list[Row]:
    """Krippendorff's alpha of sets of options by MASI distances, with a bootstrap interval.

    ``given`` is item -> worker -> the options they ticked. 0 ``resamples``: no interval.
    """
    votes = [
        (item, worker, tuple(sorted(ticked)))
        for item, by_worker in given.items()
        for worker, ticked in by_worker.items()
    ]
    kinds = sorted({ticked for _, _, ticked in votes})
    row = {**EMPTY, "coefficient": MASI, "units": _shared(given)}
    if not row["units"]:
        return [{**row, "reason": "no item was answered by two workers"}]
    if len(kinds) > MOST_SETS:
        return [{**row, "reason": f"more than {MOST_SETS:,} different sets of options"}]
    place = {ticked: at for at, ticked in enumerate(kinds)}
    workers = sorted({worker for _, worker, _ in votes})
    items = list(given)
    worker_at = {name: at for at, name in enumerate(workers)}
    item_at = {name: at for at, name in enumerate(items)}
    data = Labels.build(
        [worker_at[worker] for _, worker, _ in votes],
        [item_at[item] for item, _, _ in votes],
        [place[ticked] for _, _, ticked in votes],
        workers=workers,
        items=items,
        labels=[" ".join(ticked) for ticked in kinds],
    )
    distance = masi_distances([set(ticked) for ticked in kinds])
    try:
        if not resamples:
            why = "no resamples were asked for"
            return [{**row, "value": distance_alpha(data, distance), "reason": why}]
        found = distance_interval(data, distance, rng=rng, resamples=resamples, confidence=level)
    except (NoVariation, TooFewVotes, BadParameter) as problem:
        return [{**row, "reason": str(problem)}]
    told = {"value": found.estimate, "low": found.low, "high": found.high}
    return [{**row, **told, "units": found.n, "reason": found.reason}]


def span_agreement(
    given: Mapping[str, Mapping[str, Sequence[Span]]], *, level: float = 0.95
) -> list[Row]:
    """F1 of every two workers who marked the same item, over all items: three ways to match.

    ``given`` is item -> worker -> their spans, none where there was nothing to mark. The interval
    treats the items as the sample. It corrects for no chance (see ``spans``).
    """
    measures: tuple[tuple[str, Callable[..., SpanAgreement]], ...] = (
        (EXACT, spans.exact_agreement),
        (OVERLAP, spans.overlap_agreement),
        (CHARACTERS, spans.token_agreement),
    )
    return [
        {"coefficient": name, **_ratio([_item(own.values(), one) for own in given.values()], level)}
        for name, one in measures
    ]


def _item(given: Iterable[Sequence[Span]], measure: Callable[..., SpanAgreement]) -> list[int]:
    """Marks with a partner and all marks of an item's pairs of workers; their sum of pairs."""
    found = [measure(one, two) for one, two in combinations(given, 2)]
    return [
        sum(sum(pair.matched) for pair in found),
        sum(pair.first + pair.second for pair in found),
        len(found),
    ]


def _ratio(rows: Sequence[Sequence[int]], level: float) -> Row:
    """F1 = marks with a partner / all marks, over the items that two workers or more answered."""
    told = np.array([row for row in rows if row[2]], dtype=np.float64).reshape(-1, 3)
    units = len(told)
    matched, marks = told[:, 0], told[:, 1]
    row = {**EMPTY, "units": units}
    if not units:
        return {**row, "reason": "no item was answered by two workers"}
    if not marks.sum():
        return {**row, "reason": "nobody marked anything"}
    row["value"] = value = float(matched.sum() / marks.sum())
    if reason := too_few_units(units, "items", AGREEMENT):
        return {**row, "reason": reason}
    # An item weighs by its marks; one without any has no say.
    spread = cluster_spread(
        (matched - value * marks) / marks.sum(), marks, np.arange(units), noun="items with marks"
    )
    if reason := spread.why_no_interval(LEAST[MEAN]):
        return {**row, "reason": reason}
    if spread.se < SAME:
        return {**row, "reason": "every item gives this value, so no interval"}
    reach = spread.reach(level)
    return {**row, "low": max(0.0, value - reach), "high": min(1.0, value + reach)}


def _shared(given: Mapping[str, Mapping[str, Any]]) -> int:
    """Items that two workers or more answered."""
    return sum(len(own) > 1 for own in given.values())
