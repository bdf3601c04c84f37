"""Labels of the parts of conversations: agreement, workers, shares and when things go wrong.

A unit is a turn or a tool call, and units of one conversation are alike: whoever starts badly goes
on badly. So every interval here is over conversations, not over units: agreement by a bootstrap
of conversations, shares by their clustered variance (``core.inference``), competence by leaving
out groups of conversations (the jackknife). Labels are MACE's on units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.methods.agreement import coefficients
from evaluation.methods.agreement.counts import NoVariation, TooFewVotes
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    TooFewWorkers,
    index_array,
    of_rows,
)
from evaluation.methods.core.inference import (
    cluster_spread,
    jackknife_spread,
    scale_interval,
    too_few_clusters,
)
from evaluation.methods.core.params import LEVEL, Params, whole_number
from evaluation.methods.core.votes import Labels
from evaluation.methods.turns.survival import survival

NAME, VERSION = "turn_study", "1.0"
PARAMS = Params(NAME, (whole_number("resamples", 1000, 200, 20_000), LEVEL), version=VERSION)
GROUPS = 20  # of conversations that the jackknife leaves out
LEAST = 5  # conversations below which a share has no interval
SHOWN_PLACES = 30


@dataclass(frozen=True, eq=False)
class Turns:
    """Votes of workers on units, and what each unit is part of.

    ``votes`` has units as its items. ``conversation`` (units,) indexes ``conversations``,
    ``place`` (units,) counts the units of one from 1, ``kind`` (units,) indexes ``kinds`` (the
    tool that was called). ``good`` is the label that means that nothing is wrong. ``machine``
    (systems, units) are the labels of models, -1 for none.
    """

    votes: Labels
    conversation: IntArray
    place: IntArray
    kind: IntArray
    good: int
    conversations: tuple[str, ...]
    kinds: tuple[str, ...] = ("",)
    machine: IntArray | None = None
    systems: tuple[str, ...] = ()

    @classmethod
    def build(
        cls,
        votes: Labels,
        conversation: Sequence[int] | IntArray,
        place: Sequence[int] | IntArray,
        *,
        good: int,
        conversations: Sequence[str],
        kind: Sequence[int] | IntArray | None = None,
        kinds: Sequence[str] = ("",),
        machine: IntArray | None = None,
        systems: Sequence[str] = (),
    ) -> Turns:
        """Check the arrays. Raises BadShape, UnknownIndex and BadParameter."""
        units = len(votes.items)
        kind = np.zeros(units, dtype=np.int64) if kind is None else kind
        found = index_array("conversation", conversation, len(conversations))
        kind = index_array("kind", kind, len(kinds))
        place = np.asarray(place, dtype=np.int64)
        if not len(found) == len(place) == len(kind) == units:
            raise BadShape(f"conversation, place and kind need {units} values, one a unit")
        if not 0 <= good < len(votes.labels):
            raise BadParameter(f"good is {good}; there are {len(votes.labels)} labels")
        if machine is not None and machine.shape != (len(systems), units):
            raise BadShape(f"machine has shape {machine.shape}; it must be {(len(systems), units)}")
        return cls(
            votes, found, place, kind, good,
            tuple(conversations), tuple(kinds), machine, tuple(systems),
        )  # fmt: skip


def fit(
    data: Turns, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Estimate everything about the units of conversations.

    Estimates: ``unit`` (label, posterior of it, ``wrong``: the chance that it is not the good
    one, -1 and NaN where not scored), ``worker`` (competence with low and high, n votes, reason),
    ``agreement`` (coefficient, value, low, high, units, reason), ``share`` (what: "all", "place"
    or "kind"; which; estimate of the share that is wrong, low, high, units, conversations,
    reason), ``survival`` (place, at_risk, share, low, high), ``system`` (agreement of each model
    with people's labels, low, high, units, reason).

    Raises TooFewWorkers, TooFewLabels, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    hooks = hooks or Hooks()
    level = settings["level"]
    fitted = mace.fit(data.votes, rng=rng, hooks=hooks, resamples=0, beside=False, restarts=10)
    label = np.asarray(fitted.estimates["item"]["label"])
    chance = _chances(data, fitted)
    scored = np.isfinite(chance[:, 0])
    wrong = np.where(scored, 1 - chance[:, data.good], np.nan)
    left = leave_out(data, rng)
    alive = survival(
        data.conversation[scored], data.place[scored], wrong[scored], rng=rng, level=level
    )
    estimates = {
        "unit": of_rows(
            [
                {
                    "label": int(label[at]),
                    "posterior": float(chance[at].max()) if scored[at] else float("nan"),
                    "wrong": float(wrong[at]),
                }
                for at in range(len(label))
            ],
            ("label", "posterior", "wrong"),
        ),
        "worker": _workers(data, fitted, left, level),
        "agreement": _agreement(data, rng=rng, settings=settings),
        "share": _shares(data, wrong, left, level),
        "survival": of_rows(
            [
                {"place": int(place), "at_risk": int(risk), "share": s, "low": low, "high": high}
                for place, risk, s, low, high in zip(
                    alive.place[:SHOWN_PLACES],
                    alive.at_risk,
                    map(float, alive.share),
                    map(float, alive.low),
                    map(float, alive.high),
                    strict=False,
                )
            ],
            ("place", "at_risk", "share", "low", "high"),
        ),
        "system": _systems(data, chance, level),
    }
    diagnostics = {"warnings": list(fitted.diagnostics.get("warnings", ())), "units": len(label)}
    return PARAMS.result(settings, estimates, diagnostics, converged=fitted.converged)


def _chances(data: Turns, fitted: Result) -> FloatArray:
    """Posterior of each label of each unit (units, labels); NaN where it is not scored."""
    found = np.full((len(data.votes.items), len(data.votes.labels)), np.nan)
    rows = fitted.estimates["posterior"]
    item = np.asarray(rows["item"], dtype=np.int64)
    found[item] = 0.0
    found[item, np.asarray(rows["label"], dtype=np.int64)] = rows["probability"]
    return found


def _agreement(data: Turns, *, rng: np.random.Generator, settings: Any) -> Table:
    over = {"group": data.conversation, "noun": "conversations", "confidence": settings["level"]}
    drawn = {**over, "rng": rng, "resamples": settings["resamples"]}
    rows = []
    for name, measure, how in (
        ("krippendorff_nominal", coefficients.alpha_interval, drawn),
        ("percent", coefficients.percent_interval, over),
    ):
        row: dict[str, Any] = {"coefficient": name, "value": np.nan, "low": np.nan, "high": np.nan}
        try:
            found = measure(data.votes, **how)
            row |= {"value": found.estimate, "low": found.low, "high": found.high}
            row |= {"units": len(data.conversations), "reason": found.reason}
        except (NoVariation, TooFewVotes) as problem:
            row |= {"units": 0, "reason": str(problem)}
        rows.append(row)
    return of_rows(rows, ("coefficient", "value", "low", "high", "units", "reason"))


@dataclass(frozen=True, eq=False)
class RefitsWithout:
    """Fits without one group of conversations each.

    ``group`` (conversations,) is the group of each; ``competence`` (groups, workers) and
    ``share`` (groups,) of wrong units are those of the fits, NaN where too few workers were left.
    """

    group: IntArray
    competence: FloatArray
    share: FloatArray

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.share)


def leave_out(data: Turns, rng: np.random.Generator) -> RefitsWithout:
    """Fit again without each of GROUPS groups of conversations, drawn at random."""
    votes, size = data.votes, len(data.conversations)
    groups = min(GROUPS, size)
    group = rng.permutation(size) % groups
    of_vote, of_unit = group[data.conversation[votes.item]], group[data.conversation]
    competence = np.full((groups, len(votes.workers)), np.nan)
    share = np.full(groups, np.nan)
    for at in range(groups):
        inside = of_vote != at
        if len(np.unique(votes.worker[inside])) < 3:
            continue
        try:
            refit = mace.fit(votes.take(inside), rng=rng, resamples=0, beside=False, restarts=4)
        except (TooFewWorkers, EmptyData):  # no unit of the others has two votes
            continue
        competence[at] = refit.estimates["worker"]["competence"]
        good = _chances(data, refit)[of_unit != at, data.good]
        if np.isfinite(good).any():
            share[at] = 1 - np.nanmean(good)
    return RefitsWithout(group, competence, share)


def _workers(data: Turns, fitted: Result, left: RefitsWithout, level: float) -> Table:
    """Competence of each worker, with an interval over groups of conversations."""
    votes = data.votes
    found = np.asarray(fitted.estimates["worker"]["competence"], dtype=np.float64)
    count = np.bincount(votes.worker, weights=votes.weight, minlength=len(votes.workers))
    of_vote = left.group[data.conversation[votes.item]]
    rows = []
    for worker, value in enumerate(found):
        mass = np.bincount(of_vote[votes.worker == worker], minlength=left.groups).astype(float)
        usable = np.isfinite(left.competence[:, worker]) & (mass > 0)
        row: dict[str, Any] = {"competence": float(value), "n": int(count[worker])}
        row |= {"low": np.nan, "high": np.nan}
        row["reason"] = "" if np.isfinite(value) else "not scored"
        if np.isfinite(value):
            spread = jackknife_spread(
                left.competence[usable, worker], mass[usable], noun="groups of conversations"
            )
            conversations = len(np.unique(data.conversation[votes.item[votes.worker == worker]]))
            row["reason"] = spread.why_no_interval(LEAST)
            if row["reason"] and conversations < LEAST:
                row["reason"] = too_few_clusters(
                    conversations, conversations, "conversations", LEAST
                )
            if not row["reason"]:
                # A worker who is never contradicted still gave only so many labels.
                least = float(value * (1 - value)) / max(int(count[worker]), 1)
                spread = replace(spread, variance=max(spread.variance, least))
                row["low"], row["high"] = scale_interval(float(value), spread, level, (0.0, 1.0))
        rows.append(row)
    return of_rows(rows, ("competence", "low", "high", "n", "reason"))


def _shares(data: Turns, wrong: FloatArray, left: RefitsWithout, level: float) -> Table:
    """Shares of units that are wrong: of all, at each place, and of each kind.

    That of all knows how far the fits without some conversations differ; the others take the
    labels as the fit has them.
    """
    mass = np.bincount(left.group[data.conversation], minlength=left.groups).astype(float)
    known = np.isfinite(left.share)
    refits = jackknife_spread(left.share[known], mass[known]).variance if known.sum() > 2 else 0.0
    parts: list[tuple[str, str, Any]] = [("all", "", np.isfinite(wrong))]
    places = np.unique(data.place)
    parts += [("place", str(at), data.place == at) for at in places[:SHOWN_PLACES]]
    if len(data.kinds) > 1:
        parts += [("kind", name, data.kind == at) for at, name in enumerate(data.kinds)]
    return of_rows(
        [
            {
                "what": what,
                "which": which,
                **share_row(data, wrong, mask, level, least=refits if what == "all" else 0.0),
            }
            for what, which, mask in parts
            if (mask & np.isfinite(wrong)).any()
        ],
        ("what", "which", "estimate", "low", "high", "units", "conversations", "reason"),
    )


def share_row(
    data: Turns, values: FloatArray, mask: Any, level: float, *, least: float = 0.0
) -> dict[str, Any]:
    """Mean of ``values`` (units,) where ``mask``, with an interval over conversations.

    ``least``: the variance is not below this.
    """
    mask = mask & np.isfinite(values)
    chosen, cluster = values[mask], data.conversation[mask]
    mean = float(chosen.mean())
    # A chance between 0 and 1 is a label not known: it may turn out either way.
    unknown = float((chosen * (1 - chosen)).sum()) / len(chosen) ** 2
    spread = cluster_spread(
        (chosen - mean) / len(chosen), np.ones(len(chosen)), cluster, noun="conversations"
    )
    are_alike = len(np.unique(chosen > 0.5)) == 1  # then a conversation is one trial
    trials = max(spread.effective, 1.0) if are_alike else float(len(chosen))
    independent = mean * (1 - mean) / trials
    row: dict[str, Any] = {"estimate": mean, "low": np.nan, "high": np.nan, "units": len(chosen)}
    row |= {"conversations": spread.clusters, "reason": spread.why_no_interval(LEAST)}
    if not row["reason"]:
        variance = max(max(spread.variance, independent) + unknown, least)
        widened = replace(spread, variance=variance)
        row["low"], row["high"] = scale_interval(mean, widened, level, (0.0, 1.0))
        if are_alike:
            sure = scale_interval(round(mean), replace(spread, variance=0.0), level, (0.0, 1.0))
            row["low"], row["high"] = min(row["low"], sure[0]), max(row["high"], sure[1])
    return row


def _systems(data: Turns, chance: FloatArray, level: float) -> Table:
    """How often each model's label is people's, with an interval over conversations."""
    rows = []
    for at, name in enumerate(data.systems):
        given = data.machine[at] if data.machine is not None else np.array([], dtype=np.int64)
        known = (given >= 0) & np.isfinite(chance[:, 0])
        right = np.full(len(given), np.nan)
        right[known] = chance[known, given[known]]
        if known.any():
            rows.append({"system": name, **share_row(data, right, known, level)})
    return of_rows(rows, ("system", "estimate", "low", "high", "units", "conversations", "reason"))


METHOD = PARAMS.as_method("Study of turns", Turns, fit)
