"""What adaptive collection would save on a simulated crowd, and what it does to intervals.

Both policies see the same votes: uniform allocation takes the first k of every pair, adaptive
collection as many as ``adaptive.plan_votes`` asks for, plan after plan. Systems are ranked in both
by the merits of the plan (Bradley-Terry, a pair's votes counting as many as they are worth).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.methods.adaptive.beliefs import beliefs, next_vote
from evaluation.methods.adaptive.crowd import Design, Drawn, draw
from evaluation.methods.adaptive.method import LABEL, plan_votes
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result, Table, of_rows
from evaluation.methods.core.inference import normal_quantile
from evaluation.methods.core.votes import Pairs
from evaluation.methods.simulation.simulation import whole_number

NAME, VERSION = "adaptive-simulation", "1.0"
UNIFORM, ADAPTIVE = "uniform", "adaptive"
TAU, ACCURACY = "tau", "accuracy"
FINE = 4  # points of the adaptive curve per vote a pair
SHORT = 0.75  # votes at which adaptive collection is held against all of uniform allocation's
RESAMPLES = 400  # of the replicates, for the error of a saving
LEVEL, NEAR = 0.95, 0.02  # of intervals, and how far off is worth a warning


@dataclass(frozen=True, eq=False)
class Trace:
    """One replicate. ``uniform`` (levels, 2): tau and label accuracy at 1, 2, ... votes a pair;
    ``adaptive`` (plans, 3): votes a pair, tau and accuracy after each plan; ``covered`` (2,): share
    of systems whose interval holds, uniform at the equal share and adaptive at that many votes.
    """

    uniform: FloatArray
    adaptive: FloatArray
    covered: FloatArray


def simulate(
    design: Design, *, rng: np.random.Generator, replicates: int = 200, hooks: Hooks | None = None
) -> Result:
    """Compare the two policies over ``replicates`` studies drawn from ``design``.

    Tables: ``curve`` (policy; votes a pair; tau and accuracy, means over replicates, with their
    standard errors ``tau_error`` and ``accuracy_error``). Tau is Kendall's, of the systems' merits
    to the true ones; accuracy the share of pairs whose likeliest answer is the true label.
    ``saving``, for each ``measure`` and ``equal`` votes a pair of uniform allocation: the ``value``
    it reaches, the ``least`` votes with which uniform allocation gets there, those ``needed`` by
    adaptive collection (both on mean curves, made monotone; NaN where it does not get there with
    one more than the equal share), the ``saving`` 1 - needed / least, its Monte Carlo error
    (replicates redrawn, both policies together) and 95 % interval, and ``reached``, the share of
    redraws that get there (where it is below 1, error and interval are of those). ``short``:
    adaptive at SHORT of the votes less uniform at all of them, with error and interval.
    ``coverage``: policy, votes, share of systems whose 95 % interval (sandwich, clustered by pair)
    holds what Bradley-Terry tends to under uniform allocation, and its error.

    Diagnostics: replicates, the mean votes a pair at the end, and ``warnings`` in words. Adaptive
    stopping biases: the saving holds for crowds like this one only, and intervals of adaptive votes
    are not to be trusted beyond their coverage here.

    Raises BadParameter, Cancelled.
    """
    design.check()
    whole_number("replicates", replicates, 2)
    hooks = hooks or Hooks()
    traces = []
    for k in range(replicates):
        hooks.step("replicates", k, replicates)
        traces.append(_replicate(design, draw(design, rng), design.equal + 1))
    seed = int(rng.integers(2**63))
    curves = Curves.of(traces, design)
    saving = _savings(curves, design, np.random.default_rng(seed))
    short = _short(curves, design)
    coverage = _coverage(traces, design)
    return Result(
        name=NAME,
        version=VERSION,
        estimates={"curve": curves.table(), "saving": saving, "short": short, "coverage": coverage},
        intervals={},
        diagnostics={
            "replicates": replicates,
            "votes_at_end": float(np.mean([trace.adaptive[-1, 0] for trace in traces])),
            "warnings": _warnings(saving, coverage, design),
        },
        converged=True,
        recipe={
            "method": NAME,
            "version": VERSION,
            "params": {**asdict(design), "replicates": replicates},
        },
    )


def _replicate(design: Design, drawn: Drawn, levels: int) -> Trace:
    truth = design.limit(drawn.merit)
    uniform, covered = np.empty((levels, 2)), np.empty(2)
    for k in range(1, levels + 1):
        counts = drawn.counts(np.full(design.pairs, k, dtype=np.int64))
        found = beliefs(counts, drawn.first, drawn.second, design.systems)
        guess = next_vote(found.posterior(counts))
        uniform[k - 1] = drawn.tau(found.merit), (guess.argmax(axis=1) == drawn.label).mean()
        if k == design.equal:
            covered[0] = _held(drawn, counts, truth)
    steps, votes = collect(design, drawn, levels)
    covered[1] = _held(drawn, drawn.counts(votes), truth)
    return Trace(uniform, steps, covered)


def collect(design: Design, drawn: Drawn, levels: int) -> tuple[FloatArray, IntArray]:
    """Simulate adaptive collection with at most ``levels`` votes per pair.

    Returns its steps (plans, 3) as in Trace, and the votes (p,) of pairs when the equal share was
    spent, or at the end.
    """
    votes = np.zeros(design.pairs, dtype=np.int64)
    counts, steps, equal = drawn.counts(votes), [], votes
    while True:
        plan = plan_votes(
            counts,
            drawn.first,
            drawn.second,
            floor=design.floor,
            ceiling=design.ceiling,
            certainty=design.certainty,
            budget=levels * design.pairs,
            target=design.target,
            batch=design.batch,
        )
        if votes.any():
            right = (next_vote(plan.shape).argmax(axis=1) == drawn.label).mean()
            steps.append((votes.mean(), drawn.tau(plan.merit), right))
        if plan.finished:
            return np.array(steps), equal
        votes = plan.wanted
        counts = drawn.counts(votes)
        if votes.sum() <= design.equal * design.pairs:
            equal = votes


def _held(drawn: Drawn, counts: FloatArray, truth: FloatArray) -> float:
    """Share of systems whose interval holds ``truth``; all votes on a pair are one cluster."""
    pair, outcome = np.nonzero(counts)
    data = Pairs.build(
        drawn.first[pair],
        drawn.second[pair],
        outcome,
        players=[str(k) for k in range(len(truth))],
        judge=pair,
        judges=[str(k) for k in range(len(counts))],
        weight=counts[pair, outcome],
    )
    chosen = {**bradley_terry.DEFAULTS, "cluster": "judge", "resamples": 0, "level": LEVEL}
    fitted = bradley_terry.fit_units(data, chosen, rng=np.random.default_rng(0), hooks=Hooks())
    table = fitted.estimates["player"]
    return float(((table["low"] <= truth) & (truth <= table["high"])).mean())


@dataclass(frozen=True, eq=False)
class Curves:
    """All replicates: ``uniform`` (r, levels, 2) at ``levels`` votes a pair, and ``adaptive``
    (r, points, 3) at budgets ``points``: votes a pair, tau, accuracy. Who is finished stays put.
    """

    uniform: FloatArray
    adaptive: FloatArray
    levels: FloatArray
    points: FloatArray

    @classmethod
    def of(cls, traces: Sequence[Trace], design: Design) -> Curves:
        """Put the steps of all replicates on one grid of budgets."""
        top = len(traces[0].uniform)
        points = np.linspace(design.floor, top, (top - design.floor) * FINE + 1)
        adaptive = np.empty((len(traces), len(points), 3))
        for r, trace in enumerate(traces):
            for k in range(3):
                adaptive[r, :, k] = np.interp(points, trace.adaptive[:, 0], trace.adaptive[:, k])
        uniform = np.stack([trace.uniform for trace in traces])
        return cls(uniform, adaptive, np.arange(1.0, top + 1), points)

    def take(self, rows: IntArray) -> Curves:
        """Select replicates, with repeats if ``rows`` has them."""
        return Curves(self.uniform[rows], self.adaptive[rows], self.levels, self.points)

    def needed(self, measure: int) -> tuple[FloatArray, FloatArray]:
        """Return the votes per pair that uniform and adaptive collection need for equal results."""
        reached = np.maximum.accumulate(self.uniform[:, :, measure].mean(axis=0))
        mean = self.adaptive.mean(axis=0)
        return (
            _votes_for(reached, self.levels, reached),
            _votes_for(reached, mean[:, 0], mean[:, 1 + measure]),
        )

    def table(self) -> Table:
        """Table of both curves with their Monte Carlo errors."""
        root = len(self.uniform) ** 0.5
        both = [
            (UNIFORM, self.levels, self.uniform),
            (ADAPTIVE, self.adaptive[:, :, 0].mean(axis=0), self.adaptive[:, :, 1:]),
        ]
        columns: dict[str, list[Any]] = {
            "policy": [np.full(len(votes), name, dtype=object) for name, votes, _ in both],
            "votes": [votes for _, votes, _ in both],
        }
        for k, name in enumerate((TAU, ACCURACY)):
            columns[name] = [values[:, :, k].mean(axis=0) for _, _, values in both]
            columns[f"{name}_error"] = [
                values[:, :, k].std(axis=0, ddof=1) / root for _, _, values in both
            ]
        return Table({name: np.concatenate(parts) for name, parts in columns.items()})


def _votes_for(values: FloatArray, votes: FloatArray, curve: FloatArray) -> FloatArray:
    """Votes at which the curve, made monotone, first reaches each value; NaN where it does not."""
    rising, first = np.unique(np.maximum.accumulate(curve), return_index=True)
    found = np.interp(values, rising, votes[first])
    return np.asarray(np.where(values > rising[-1], np.nan, found), dtype=np.float64)


def _savings(curves: Curves, design: Design, rng: np.random.Generator) -> Table:
    r = len(curves.uniform)
    redrawn = [curves.take(rng.integers(0, r, r)) for _ in range(RESAMPLES)]
    rows: list[dict[str, Any]] = []
    for k, measure in enumerate((TAU, ACCURACY)):
        least, needed = curves.needed(k)
        again = np.array([other.needed(k) for other in redrawn])
        for level in range(max(2, design.floor + 1), design.equal + 1):
            at = level - 1
            saved = 1 - again[:, 1, at] / again[:, 0, at]
            known = saved[np.isfinite(saved)]
            error, low, high = np.nan, np.nan, np.nan
            if len(known):
                error, (low, high) = known.std(), np.quantile(known, [0.025, 0.975])
            rows.append(
                {
                    "measure": measure,
                    "equal": level,
                    "value": curves.uniform[:, at, k].mean(),
                    "least": least[at],
                    "needed": needed[at],
                    "saving": 1 - needed[at] / least[at],
                    "mc_error": error,
                    "low": low,
                    "high": high,
                    "reached": len(known) / RESAMPLES,
                }
            )
    return of_rows(rows)


def _short(curves: Curves, design: Design) -> Table:
    """Adaptive collection at SHORT of the votes against uniform allocation at all of them."""
    votes = SHORT * design.equal
    rows = []
    for k in range(2):
        part = np.array([np.interp(votes, curves.points, one[:, 1 + k]) for one in curves.adaptive])
        gap = part - curves.uniform[:, design.equal - 1, k]
        error = gap.std(ddof=1) / len(gap) ** 0.5
        reach = normal_quantile(LEVEL) * error
        rows.append((votes, gap.mean(), error, gap.mean() - reach, gap.mean() + reach))
    names = ("votes", "difference", "mc_error", "low", "high")
    columns = dict(zip(names, np.array(rows).T, strict=True))
    return Table({"measure": np.array([TAU, ACCURACY], dtype=object), **columns})


def _coverage(traces: Sequence[Trace], design: Design) -> Table:
    held = np.array([trace.covered for trace in traces])
    return Table(
        {
            "policy": np.array([UNIFORM, ADAPTIVE], dtype=object),
            "votes": np.full(2, design.equal),
            "covered": held.mean(axis=0),
            "mc_error": held.std(axis=0, ddof=1) / len(held) ** 0.5,
        }
    )


def _warnings(saving: Table, coverage: Table, design: Design) -> list[str]:
    aim = ACCURACY if design.target == LABEL else TAU
    at = np.flatnonzero((saving["measure"] == aim) & (saving["equal"] == design.equal))[0]
    found = [
        "where votes are taken depends on the votes before them: intervals of adaptive votes, "
        "and agreement, are not those of a fixed design"
    ]
    if saving["reached"][at] < 1:
        found.append(
            f"adaptive collection may never reach what {design.equal} votes on every pair do"
        )
    elif not saving["low"][at] > 0:
        found.append("no saving can be told from none on such a crowd")
    uniform, adaptive = coverage["covered"]
    if adaptive < min(LEVEL, uniform) - NEAR:
        found.append(
            f"intervals that claim {LEVEL:.0%} hold in {adaptive:.1%} with adaptive votes, "
            f"in {uniform:.1%} with as many on every pair"
        )
    return found
