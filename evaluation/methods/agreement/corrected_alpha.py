"""Agreement after removing the votes of low-competence workers, and what is wrong with it.

CrowdRAG, section 5.1, Table 4 (C*): competence is estimated from the votes, the votes of workers
below a threshold are dropped, alpha is computed from what is left. That is circular: whoever
disagrees with the rest counts as incompetent and goes, so agreement rises even in noise. So the
corrected alpha comes only together with the same recipe on shuffled votes (what pure noise
gives), the cross-fitted value (competence from other items than those it is used on), the share
of votes removed and the share of items left with fewer than three votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.coefficients import alpha_interval, krippendorff_alpha
from evaluation.methods.agreement.counts import NoVariation, TooFewVotes, check_resampling
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Table,
    of_rows,
)
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.judgments import Units

# Votes -> competence of each worker (workers,), in [0, 1] where it is a probability; NaN: unknown.
Competence = Callable[[Labels], FloatArray]
# The same of many tables of votes at once, which are made as they are asked for.
Competences = Callable[[Iterable[Labels]], Iterable[FloatArray]]


@dataclass(frozen=True, eq=False)
class CorrectedAlpha:
    """Means over the dimensions; ``dimension`` has a row for each, ``recipe`` how it was done.

    ``uncorrected`` alpha of all votes, ``corrected`` of those kept, ``shuffled_null`` the
    corrected alpha of shuffled votes, ``cross_fitted`` the corrected alpha with competence from
    other items; all on the same items. ``removed_share`` of the votes, ``thin_share`` of the
    items with fewer than ``thin`` votes left. ``unknown_share`` of the votes came from workers
    whose competence nobody could say when cross-fitting; these stay.

    The columns of ``dimension``: ``dimension``, ``n`` (votes), then the same names, with ``low``
    and ``high`` of the uncorrected and ``cross_low`` and ``cross_high`` of the cross-fitted alpha
    (over units, competences taken as known), and ``reason`` where a value or an interval is NaN.
    """

    uncorrected: float
    corrected: float
    shuffled_null: float
    cross_fitted: float
    removed_share: float
    thin_share: float
    unknown_share: float
    dimension: Table
    recipe: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Plan:
    competences: Competences
    threshold: float
    level: str
    values: FloatArray | None
    scored: NDArray[np.bool_]
    fold: IntArray
    group: IntArray
    units: Units
    shuffles: int
    resamples: int
    confidence: float
    thin: int


def _by_dimension(
    data: Mapping[str, Labels], plan: _Plan, rng: np.random.Generator, hooks: Hooks
) -> Table:
    rows = []
    for done, (name, votes) in enumerate(data.items()):
        hooks.step("corrected alpha", done, len(data))
        rows.append({"dimension": name, **_dimension(votes, plan, rng)})
    hooks.step("corrected alpha", len(data), len(data))
    return of_rows(rows)


TOLD = ("threshold", "level", "shuffles", "thin", "resamples", "confidence")  # of a plan


def corrected_alpha(
    data: Mapping[str, Labels],
    competence: Competence | None = None,
    *,
    competences: Competences | None = None,
    rng: np.random.Generator,
    threshold: float = 0.3,
    level: str = "ordinal",
    values: FloatArray | None = None,
    scored: NDArray[np.bool_] | None = None,
    group: IntArray | None = None,
    units: Units | None = None,
    folds: int = 2,
    shuffles: int = 1,
    resamples: int = 1000,
    confidence: float = 0.95,
    thin: int = 3,
    hooks: Hooks | None = None,
) -> CorrectedAlpha:
    """The corrected alpha of each dimension, never without what it must be read against.

    Parameters
    ----------
    data : dimension -> Labels, all on the same items and workers.
    competence : called with the votes of a dimension (all items, or those of the other folds);
        returns (workers,). For MACE: 1 - spam. A vote counts unless its worker's competence is
        known to be below ``threshold`` (CrowdRAG: spam over .7). Or ``competences``, called once a
        dimension with all tables of votes, for fits that are quicker together.
    scored : (items,) bool, items that alpha is computed on (CrowdRAG: one direction of each
        pair); competence is fitted on all. Default all.
    group : (items,) what stays together in folds (both directions of a pair).
    units : what intervals draw anew, the topics of the items; default the groups, called items.
    folds, shuffles : parts for cross-fitting, and shuffled copies to average over; competence is
        fitted 1 + folds + shuffles times a dimension.
    level, values, resamples, confidence : as in ``agreement``.

    Raises BadParameter, BadShape, EmptyData, TooFewVotes, NoVariation (uncorrected), Cancelled.
    """
    items = _items(data)
    plan = _Plan(
        _batch_competence(competence, competences),
        threshold,
        level,
        values,
        np.ones(items, dtype=bool) if scored is None else _aligned("scored", scored, items, bool),
        *(parts := _folds(items, group, folds, rng)),
        units or Units(parts[1], "items"),
        shuffles,
        resamples,
        confidence,
        thin,
    )
    _check(plan)
    table = _by_dimension(data, plan, rng, hooks or Hooks())
    recipe = {name: getattr(plan, name) for name in TOLD} | {
        "folds": folds,
        "scored": int(plan.scored.sum()),
    }
    means = {name: _mean(table[name]) for name in _MEANS}
    return CorrectedAlpha(**means, dimension=table, recipe=recipe)


_MEANS = (
    "uncorrected",
    "corrected",
    "shuffled_null",
    "cross_fitted",
    "removed_share",
    "thin_share",
    "unknown_share",
)


def _batch_competence(one: Competence | None, several: Competences | None) -> Competences:
    if (one is None) == (several is None):
        raise BadParameter("competence or competences must be given, and not both")
    return several or partial(map, one)


def _items(data: Mapping[str, Labels]) -> int:
    if not data:
        raise EmptyData("there is no dimension")
    one = next(iter(data.values()))
    for name, votes in data.items():
        if votes.items != one.items or votes.workers != one.workers:
            raise BadShape(f"dimension {name!r} is on other items or workers")
    return len(one.items)


def _aligned(name: str, values: Any, items: int, kind: Any) -> Any:
    found = np.asarray(values)
    if found.shape != (items,) or (kind is bool and found.dtype != np.bool_):
        raise BadShape(f"{name} is {found.dtype} {found.shape}; it must have one {kind} per item")
    return found


def _folds(
    items: int, group: IntArray | None, folds: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """The fold (items,) and the group (items,) of each item; a group is in one fold."""
    given = np.arange(items) if group is None else _aligned("group", group, items, int)
    _, place = np.unique(given, return_inverse=True)
    count = int(place.max()) + 1
    if not 2 <= folds <= count:
        raise BadParameter(f"folds is {folds}; it must lie between 2 and the {count} groups")
    return rng.permutation(np.arange(count) % folds)[place], place


def _check(plan: _Plan) -> None:
    check_resampling(plan.resamples, plan.confidence)
    if plan.shuffles < 1:
        raise BadParameter(f"shuffles is {plan.shuffles}; the null needs at least one")
    if not np.isfinite(plan.threshold):
        raise BadParameter(f"threshold is {plan.threshold}; it must be a number")


def _dimension(votes: Labels, plan: _Plan, rng: np.random.Generator) -> dict[str, Any]:
    ours = plan.scored[votes.item]
    if not ours.any():
        raise EmptyData("no vote is on a scored item")
    drawing: dict[str, Any] = {
        "rng": rng,
        "resamples": plan.resamples,
        "confidence": plan.confidence,
        "group": plan.units.of,
        "noun": plan.units.noun,
    }
    plain = alpha_interval(votes.take(ours), plan.level, plan.values, **drawing)
    folds, noises = _Folds(votes, plan.fold), list[Labels]()

    def asked() -> Iterator[Labels]:
        yield votes
        yield from folds.others()
        for _ in range(plan.shuffles):
            noises.append(shuffled(votes, rng))
            yield noises[-1]

    given = [np.asarray(one, dtype=np.float64) for one in plan.competences(asked())]
    kept = _split_votes(given[0], votes, votes, plan.threshold)[0]
    crossed, unknown = folds.kept_votes(given[1 : 1 + len(folds)], plan.threshold)
    nulls = []
    for one, noise in zip(given[1 + len(folds) :], noises, strict=True):
        keep = _split_votes(one, noise, noise, plan.threshold)[0]
        nulls.append(_alpha(noise, keep & plan.scored[noise.item], plan.level, plan.values))
    cross = _alpha(votes, crossed & ours, plan.level, plan.values)
    bounds, why = (np.nan, np.nan), plain.reason
    if not np.isnan(cross):
        found = alpha_interval(votes.take(crossed & ours), plan.level, plan.values, **drawing)
        bounds, why = (found.low, found.high), plain.reason or found.reason
    weight, left = (
        votes.weight * ours,
        np.bincount(votes.item, weights=votes.weight * (kept & ours), minlength=len(votes.items)),
    )
    had = np.bincount(votes.item, weights=weight, minlength=len(votes.items)) > 0
    row = {
        "n": float(weight.sum()),
        "uncorrected": plain.estimate,
        "low": plain.low,
        "high": plain.high,
        "corrected": _alpha(votes, kept & ours, plan.level, plan.values),
        "shuffled_null": _mean(np.array(nulls)),
        "cross_fitted": cross,
        "cross_low": bounds[0],
        "cross_high": bounds[1],
        "removed_share": float((weight * ~kept).sum() / weight.sum()),
        "thin_share": float((left[had] < plan.thin).mean()),
        "unknown_share": float((weight * unknown).sum() / weight.sum()),
    }
    missing = any(np.isnan(row[name]) for name in ("corrected", "shuffled_null", "cross_fitted"))
    reason = "the votes left do not vary, or none share an item" if missing else why
    return {**row, "reason": reason}


def _split_votes(
    found: FloatArray, fitted: Labels, used: Labels, threshold: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which votes of ``used`` (n,) stay under ``fitted``, and which are unknown."""
    if found.shape != (len(fitted.workers),):
        raise BadShape(f"competence gave {found.shape}; it must give ({len(fitted.workers)},)")
    known = np.zeros(len(found), dtype=bool)
    known[fitted.worker] = True
    known &= ~np.isnan(found)
    dropped = known & (np.where(known, found, np.inf) < threshold)
    return ~dropped[used.worker], ~known[used.worker]


class _Folds:
    """The votes of each fold against competence from the others; ``fold`` (items,)."""

    def __init__(self, votes: Labels, fold: IntArray) -> None:
        part = fold[votes.item]
        self.votes, parts = votes, [part == number for number in np.unique(part)]
        # All votes in one fold: there are no others to learn from.
        self.parts = [] if len(parts) == 1 else parts
        self.rest = [votes.take(~here) for here in self.parts]

    def __len__(self) -> int:
        return len(self.parts)

    def others(self) -> list[Labels]:
        """The votes outside each fold."""
        return self.rest

    def kept_votes(
        self, found: list[FloatArray], threshold: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which votes (n,) stay, and whose competence is unknown."""
        keep = np.ones(len(self.votes), dtype=bool)
        unknown = np.full(len(self.votes), not self.parts)
        for here, one, rest in zip(self.parts, found, self.rest, strict=True):
            kept, missing = _split_votes(one, rest, self.votes, threshold)
            keep[here], unknown[here] = kept[here], missing[here]
        return keep, unknown


class CrossFit:
    """The cross-fitted alpha alone, in two steps, so that many can be fitted together.

    ``others``: the votes outside each of ``folds`` random parts of the items; ``kept``: the votes
    that stay under competence from them; ``alpha``: of these, NaN where it is not defined. Raises
    BadParameter.
    """

    def __init__(
        self,
        votes: Labels,
        *,
        folds: int,
        threshold: float,
        level: str,
        rng: np.random.Generator,
    ) -> None:
        self.threshold, self.level = threshold, level
        self.votes, self.folds = votes, _Folds(votes, _folds(len(votes.items), None, folds, rng)[0])
        self.others = self.folds.others()

    def kept_votes(self, competence: list[FloatArray]) -> NDArray[np.bool_]:
        """Return which votes (n,) stay under the competence (workers,) of each of ``others``."""
        return self.folds.kept_votes(competence, self.threshold)[0]

    def alpha(self, kept: NDArray[np.bool_]) -> float:
        """Return the cross-fitted alpha of the votes that are ``kept``.

        NaN where it is undefined.
        """
        return _alpha(self.votes, kept, self.level, None)


def _alpha(votes: Labels, rows: NDArray[np.bool_], level: str, values: FloatArray | None) -> float:
    """Alpha of these rows, NaN where it is not defined."""
    if not rows.any():
        return float("nan")
    try:
        return krippendorff_alpha(votes.take(rows), level, values)
    except (TooFewVotes, NoVariation):
        return float("nan")


def shuffled(votes: Labels, rng: np.random.Generator) -> Labels:
    """Permute the labels among the votes, keeping workers and items."""
    row = np.repeat(np.arange(len(votes)), votes.weight.astype(np.int64))
    drawn = rng.permutation(row)
    return Labels.build(
        votes.worker[row],
        votes.item[row],
        votes.label[drawn],
        workers=votes.workers,
        items=votes.items,
        labels=votes.labels,
        shown=votes.shown[drawn],
    )


def _mean(values: Any) -> float:
    """Mean of what is defined; NaN where nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
