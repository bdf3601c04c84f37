"""The Plan page of a pairwise task: the chance to tell two sources apart, by judges per pair."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.models import Task
from crowdqc.numbers import count, interval, percent, plural, score
from evaluation.charts.labels import Reached, reached_curves
from evaluation.methods.core.params import Param, real_number, whole_number
from evaluation.models import Run
from evaluation.runs.planning.precision import SEED, VERSION, Planner, PlanPage, plan_reach

GAP = 0.10  # of net preference: 40 to 30 per cent, say, with 30 per cent ties
PAIRS, MOST_PAIRS = 50, 1000  # that put two sources side by side
VOTES = tuple(range(1, 10))
MORE_PAIRS = (75, 100, 150, 200, 300, 400, 500, 600, 800, MOST_PAIRS)  # tried where few do not do
BUDGET = 2_000_000  # votes that are simulated, all in all; about 2 s
FEWEST, MOST = 50, 400  # studies for each number of judges


class PairPlanner(Planner):
    """Two sources that differ by a stated net preference, on one dimension."""

    lead = "How many judges per pair, to tell two sources apart."
    limits = (
        "The crowd agrees, ties and guesses as that of one published study did. Comparisons with "
        "third sources, which a ranking uses as well, and pairs that are asked again are not "
        "counted in."
    )
    units = {"target": "%"}

    def options(self, task: Task, run: Run | None) -> tuple[Param, ...]:
        meetings = PairBuild(Build(task)).meetings().values()
        usual = round(statistics.median(meetings)) if meetings else PAIRS
        return (
            real_number(
                "target",
                80,
                10,
                99.9,
                label="Wanted",
                help="Chance to tell the two apart, the right way round.",
            ),
            real_number(
                "gap",
                GAP,
                0.02,
                0.5,
                label="Difference",
                help="Share for one source minus share for the other.",
            ),
            whole_number(
                "pairs",
                min(max(2, usual), MOST_PAIRS),
                2,
                MOST_PAIRS,
                label="Pairs of the two",
                help="How many put the two sources side by side.",
            ),
        )

    def page(self, task: Task, run: Run | None, values: Mapping[str, Any]) -> PlanPage:
        target, gap, pairs = values["target"] / 100, values["gap"], values["pairs"]
        studies = min(max(BUDGET // (pairs * sum(VOTES)), FEWEST), MOST)
        build = Build(task)
        # As many people more as there are judgments more, each with one assignment.
        each = build.cost().assignments / max(1, build.version.redundancy)
        designs = [_design(pairs, votes, each, gap) for votes in VOTES]
        found = plan_reach("pairwise", studies, designs)
        reached = [
            Reached(votes, *one["separated"]) for votes, one in zip(VOTES, found, strict=True)
        ]
        verdict, note = verdict_of(reached, target, gap, pairs)
        if all(one.low < target for one in reached):
            note = f"{note} {_more_pairs(pairs, target, gap, each)}"
        last = reached[-1]
        return PlanPage(
            verdict,
            note,
            "Chance to tell the two apart",
            f"{count(pairs)} pairs of the two, net preference {score(gap, 2)}",
            reached_curves(
                reached,
                target=target,
                axis="judges per pair",
                sentence=f"Chance to tell two sources apart by judges per pair; with {last.votes}: "
                f"{percent(last.share)}",
            ),
            (
                ("interval", f"share of {studies} simulated studies, 95% CI"),
                ("reference", f"wanted, {percent(target)}"),
            ),
            (
                "Judges per pair",
                "Chance",
                "95% CI of the simulation",
                "Preference is known to ±",
                "95 of 100 studies",
            ),
            [
                [
                    (str(one.votes), ""),
                    (percent(one.share), "l1r"),
                    (f"{round(100 * one.low)}–{percent(one.high)}", "dim"),
                    (score(more["difference_width"][0] / 2, 2), ""),
                    (_half(more["difference_width"][1:]), "dim"),
                ]
                for one, more in zip(reached, found, strict=True)
            ],
            f"planning {VERSION}, pairwise: {pairs} pairs, gap {gap:g}; {studies} replicates, "
            f"seed {SEED}",
        )


def _design(pairs: int, votes: int, each: float, gap: float) -> dict[str, Any]:
    """A study of so many pairs and judges per pair; ``each``: assignments per judge of a pair."""
    workers = max(2, votes, math.ceil(each * votes))
    return {"workers": workers, "items": pairs, "votes": votes, "gap": gap}


def _more_pairs(pairs: int, target: float, gap: float, each: float) -> str:
    """How many pairs would do with the most judges, by further simulations."""
    votes, tried = VOTES[-1], [n for n in MORE_PAIRS if n > pairs]

    def enough(at: int) -> bool:
        n = tried[at]
        studies = min(max(BUDGET // (4 * n * votes), FEWEST), MOST)
        design = _design(n, votes, each * n / pairs, gap)
        [found] = plan_reach("pairwise", studies, [design])
        return Reached(votes, *found["separated"]).low >= target

    at = bisect_left(range(len(tried)), True, key=enough)  # more pairs never tell less
    if at < len(tried):
        return f"You need more pairs, about {count(tried[at])} with {plural(votes, 'judge')} each."
    most = max(pairs, MOST_PAIRS)
    return f"Even {count(most)} pairs with {plural(votes, 'judge')} each would not do."


def _half(width: Sequence[float]) -> str:
    """The range of half a width, from its lowest and highest."""
    return interval(width[0] / 2, width[1] / 2, 2)


def verdict_of(reached: list[Reached], target: float, gap: float, pairs: int) -> tuple[str, str]:
    """The fewest judges per pair whose chance is above the target beyond the simulation's error."""
    wanted, last = percent(target), reached[-1]
    enough = next((one for one in reached if one.low >= target), None)
    if enough is None:
        return (
            f"{'Not surely' if last.share >= target else 'Not'} reached with "
            f"{plural(pairs, 'pair')}: {plural(last.votes, 'judge')} per pair tell two sources "
            f"apart with a chance of {percent(last.share)}.",
            f"Wanted is {wanted}, for sources that differ by {score(gap, 2)}.",
        )
    return (
        f"{plural(enough.votes, 'judge')} per pair tell two sources apart with a chance of "
        f"{wanted}.",
        f"They reach {percent(enough.share)}, if the two differ by {score(gap, 2)} on "
        f"{plural(pairs, 'pair')}.",
    )
