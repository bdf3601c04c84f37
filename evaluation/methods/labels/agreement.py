"""Agreement of a crowd's labels: every coefficient, on all votes, without guessers, by class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement import coefficients
from evaluation.methods.agreement.counts import NoVariation, TooFewVotes
from evaluation.methods.agreement.pairs import mean_kappa
from evaluation.methods.core.base import BadParameter, Table, of_rows
from evaluation.methods.core.votes import Labels

COEFFICIENTS = (
    "krippendorff_nominal",
    "krippendorff_ordinal",
    "krippendorff_interval",
    "krippendorff_own",
    "fleiss",
    "gwet_ac1",
    "cohen_mean",
)
COLUMNS = ("coefficient", "scope", "label", "value", "low", "high", "units", "reason")
Row = dict[str, Any]


def agreement_table(
    data: Labels,
    better: NDArray[np.bool_],
    *,
    ordered: bool,
    distance: Any,
    rng: np.random.Generator,
    resamples: int,
    level: float,
) -> Table:
    """A row a coefficient and scope; ``better`` (workers,) are those who beat guessing.

    By class only nominal alpha, of the label against all others.
    """
    drawing = {"rng": rng, "resamples": resamples, "confidence": level}
    kept = better[data.worker]
    rows: list[Row] = []
    for scope, votes in (("all", data), ("better", data.take(kept) if kept.any() else None)):
        for name in wanted(data.labels, ordered=ordered, distance=distance):
            rows.append(agreement_row(name, scope, votes, distance=distance, drawing=drawing))
    if len(data.labels) > 2:  # of two labels, one against the other is the whole
        for label, votes in enumerate(_one_against_others(data)):
            rows.append(
                agreement_row("krippendorff_nominal", "class", votes, label=label, drawing=drawing)
            )
    return of_rows(rows, COLUMNS)


def wanted(labels: tuple[str, ...], *, ordered: bool, distance: Any) -> list[str]:
    """List the coefficients that suit such labels; interval alpha needs labels that are numbers."""
    left_out = set()
    if not ordered or not _numbers(labels):
        left_out.add("krippendorff_interval")
    if not ordered:
        left_out.add("krippendorff_ordinal")
    if distance is None:
        left_out.add("krippendorff_own")
    return [name for name in COEFFICIENTS if name not in left_out]


def _numbers(labels: tuple[str, ...]) -> bool:
    try:
        return bool(np.isfinite([float(label) for label in labels]).all())
    except ValueError:
        return False


def _one_against_others(data: Labels) -> Iterator[Labels]:
    for label in range(len(data.labels)):
        yield Labels.build(
            data.worker,
            data.item,
            (data.label == label).astype(np.int64),
            workers=data.workers,
            items=data.items,
            labels=("other", data.labels[label]),
            weight=data.weight,
        )


def agreement_row(
    name: str,
    scope: str,
    votes: Labels | None,
    *,
    drawing: Mapping[str, Any],
    label: int = -1,
    distance: Any = None,
) -> Row:
    """Return one coefficient of agreement as a row; ``reason`` says what is undefined and why."""
    row: Row = {
        "coefficient": name,
        "scope": scope,
        "label": label,
        "value": np.nan,
        "low": np.nan,
        "high": np.nan,
        "units": 0,
        "reason": "",
    }
    if votes is None:
        return row | {"reason": "no worker can be told from guessing"}
    try:
        return row | _measured(name, votes, distance, drawing)
    except (NoVariation, TooFewVotes, BadParameter) as problem:
        return row | {"reason": str(problem)}


def _measured(name: str, votes: Labels, distance: Any, drawing: Mapping[str, Any]) -> Row:
    if name == "cohen_mean":
        mean = mean_kappa(votes, rng=drawing["rng"], confidence=drawing["confidence"])
        return {
            "value": mean.estimate,
            "low": mean.low if drawing["resamples"] else np.nan,
            "high": mean.high if drawing["resamples"] else np.nan,
            "units": mean.units,
            "reason": mean.reason,
        }
    point, interval = _functions(name, distance)
    if not drawing["resamples"]:
        shared = int((np.bincount(votes.item, weights=votes.weight) > 1).sum())
        return {"value": point(votes), "units": shared, "reason": "no resamples were asked for"}
    found = interval(votes, **drawing)
    return {
        "value": found.estimate,
        "low": found.low,
        "high": found.high,
        "units": found.n,
        "reason": found.reason,
    }


def _functions(name: str, distance: Any) -> tuple[Callable[..., float], Callable[..., Any]]:
    """The point estimate and the one with an interval."""
    if name == "fleiss":
        return coefficients.fleiss_kappa, coefficients.kappa_interval
    if name == "gwet_ac1":
        return coefficients.gwet_ac1, coefficients.gwet_interval
    if name == "krippendorff_own":
        return (
            lambda votes: coefficients.distance_alpha(votes, distance),
            lambda votes, **drawing: coefficients.distance_interval(votes, distance, **drawing),
        )
    scale = name.removeprefix("krippendorff_")
    return (
        lambda votes: coefficients.krippendorff_alpha(votes, scale),
        lambda votes, **drawing: coefficients.alpha_interval(votes, scale, **drawing),
    )
