"""The share of traces that fail in each week, and which weeks differ from the others.

A week is estimated as all traces are (``rates``), from its own traces and draws. Weeks with too few
reviews for an interval are left out; the intervals of the others hold all at once (Bonferroni),
whatever they have in common.

A week differs where the interval of its share minus that of the other weeks together excludes 0,
at the level of one of as many comparisons as there are weeks; of two weeks there is one. Bounds are
recovered from those of both shares (Zou and Donner 2008, Statistics in Medicine 27, equation 4).
Traces of two weeks are drawn independently. Reviewers are the same, and stricter ones are so in
both weeks, which the difference does not have, so its interval is too wide rather than too narrow.

Measured at a stated .95, 200 populations of 4 weeks each, of which none differs but in the last
column, where one fails three times as often (``python -m tests.studies.trace_rates 200 weeks``):

====================  ==============  =================  =============  ====
crowd                 reviews a week  all weeks covered  false verdict  seen
====================  ==============  =================  =============  ====
good judge                       986              1.000           .000  1.00
weak judge                     1,474              1.000           .010  1.00
useless judge                  1,832               .995           .000  1.00
rare failures                  1,184              1.000           .000  1.00
few reviews                      236              1.000           .000  1.00
backlog                          594              1.000           .000  1.00
useless, backlog                 917               .990           .015  1.00
strict reviewers                 983               .955           .000   .84
4 strict reviewers               983               .980           .000   .11
====================  ==============  =================  =============  ====
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.methods.core.base import BadShape, IntArray
from evaluation.methods.core.inference import Claim, family_level
from evaluation.methods.traces.rates import Draws, Population, estimate_rates

NO_DIFFERENCE = Claim("week_differs", float("nan"), float("nan"), float("nan"), reason="one_week")


@dataclass(frozen=True, slots=True)
class Week:
    """The share of a week's traces that fails, and by how much it differs from the other weeks'."""

    rate: Claim
    difference: Claim = NO_DIFFERENCE


def estimate_weeks(
    draws: Draws,
    week: IntArray,
    populations: Sequence[Population],
    *,
    with_judge: bool,
    level: float = 0.95,
) -> tuple[Week, ...]:
    """Estimate the share that fails in each week; ``week`` (n,) of a draw indexes ``populations``.

    These have the same strata. ``with_judge``: by its verdicts, too. Rates without an interval have
    a reason. Raises BadShape, and DataError as ``estimate_rates`` does.
    """
    if len(week) != len(draws.value) or ((week < 0) | (week >= len(populations))).any():
        raise BadShape("every draw needs a week that has a population")

    def rate(weeks: Sequence[int], level: float) -> Claim:
        own = draws.take(np.isin(week, weeks))
        found = estimate_rates(own, _together([populations[at] for at in weeks]), level=level)
        return found.both if with_judge else found.people

    alone = [rate([at], level) for at in range(len(populations))]
    shown = [at for at, claim in enumerate(alone) if claim.has_interval]
    of_each = family_level(level, len(shown))
    weeks = [Week(claim) for claim in alone]
    for at in shown:
        weeks[at] = Week(_of_family(rate([at], of_each), level, len(shown)))
    # Of two weeks, the one differs from the other as the other does from it.
    compared = shown if len(shown) > 2 else shown[1:]
    of_each = family_level(level, len(compared))
    for at in compared:
        others = [one for one in shown if one != at]
        found = _difference(rate([at], of_each), rate(others, of_each))
        weeks[at] = replace(weeks[at], difference=_of_family(found, level, len(compared)))
    return tuple(weeks)


def _together(populations: Sequence[Population]) -> Population:
    count = np.sum([one.count for one in populations], axis=0)
    return Population(count, populations[0].blind, sum(one.outside for one in populations))


def _of_family(claim: Claim, level: float, size: int) -> Claim:
    """Return a claim at the level of one of a family of this size as one that holds with all."""
    adjustment = "bonferroni" if size > 1 else ""
    return replace(
        claim, level=level, compared_with=size, simultaneous_over=size, adjustment=adjustment
    )


def _difference(one: Claim, other: Claim) -> Claim:
    """Claim of a difference of independent shares by recovered variances."""
    estimate = one.estimate - other.estimate
    below = float(np.hypot(one.estimate - one.low, other.high - other.estimate))
    above = float(np.hypot(one.high - one.estimate, other.estimate - other.low))
    return Claim(
        "week_differs",
        estimate,
        estimate - below,
        estimate + above,
        n=one.n + other.n,
        effective=min(one.effective, other.effective),
        reason=one.reason or other.reason,
    )
