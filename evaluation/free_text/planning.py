"""The Plan page of a free-text task: what scores tell of workers, by answers per question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Task
from crowdqc.numbers import interval, plural, score
from evaluation.charts.labels import Reached, reached_curves
from evaluation.methods.core.params import Param, real_number, whole_number
from evaluation.methods.core.redundancy import FEW
from evaluation.models import Run
from evaluation.runs.planning.precision import SEED, VERSION, Planner, PlanPage, plan_reach

MODEL = "f2"  # thirds of three qualities
VOTES = tuple(range(2, 9))
STUDIES = 20  # simulated for each; 20 ms each
OPEN = 0.12  # 1.96 / sqrt(STUDIES) standard deviations, of a range of 3.7
CELLS = 400  # workers x questions of one, about
RANGE = f"Lowest to highest of {STUDIES} studies"


class TextPlanner(Planner):
    """How far AQER scores follow workers' quality, in a crowd of three qualities."""

    lead = "How many answers per question, for scores that follow workers’ quality."
    limits = (
        "Workers are of three qualities, a third each, and answers are vectors. A part of the task "
        f"is simulated, with about {CELLS} pairs of worker and question. Real crowds reach less "
        "than simulated ones."
    )

    def options(self, task: Task, run: Run | None) -> tuple[Param, ...]:
        build = Build(task)
        per = build.cost().per_assignment if build.questions else 0
        return (
            real_number(
                "target",
                0.9,
                0.1,
                0.999,
                label="Wanted",
                help="Correlation of scores with workers’ quality, up to 1.",
            ),
            whole_number(
                "per_worker",
                min(max(2, per), 50),
                2,
                50,
                label="Answers per worker",
                help="More answers tell more of a worker.",
            ),
        )

    def page(self, task: Task, run: Run | None, values: Mapping[str, Any]) -> PlanPage:
        target, per = values["target"], values["per_worker"]
        designs = [design_of(votes, per) for votes in VOTES]
        found = plan_reach(MODEL, STUDIES, designs, inside=1.0)
        reached = [
            Reached(votes, *one["score_truth"]) for votes, one in zip(VOTES, found, strict=True)
        ]
        verdict, note = verdict_of(reached, target)
        last = reached[-1]
        return PlanPage(
            verdict,
            note,
            "Correlation of scores with workers’ quality",
            f"{plural(per, 'answer')} per worker, workers of three qualities",
            reached_curves(
                reached,
                target=target,
                axis="answers per question",
                sentence=f"Correlation by answers per question; with {last.votes}: "
                f"{score(last.share, 2)}",
                words=lambda value: score(value, 2),
            ),
            (
                ("interval", f"mean, lowest and highest of {STUDIES} simulated studies"),
                ("reference", f"wanted, {score(target, 2)}"),
            ),
            ("Answers per question", "Correlation", RANGE, "A score is known to ±"),
            [
                [
                    (str(one.votes), ""),
                    (score(one.share), "l1r"),
                    (interval(one.low, one.high), "dim"),
                    (score(more["score_width"][0] / 2, 2), ""),
                ]
                for one, more in zip(reached, found, strict=True)
            ],
            f"planning {VERSION}, {MODEL}: {per} answers a worker; {STUDIES} replicates, "
            f"seed {SEED}",
        )


def design_of(votes: int, per: int) -> dict[str, int]:
    """A study of about CELLS cells in which everybody gives ``per`` answers."""
    items = max(per, int(math.sqrt(CELLS * per / votes)))
    return {
        "workers": max(3, votes, math.ceil(items * votes / per)),
        "items": items,
        "votes": votes,
    }


def verdict_of(reached: list[Reached], target: float) -> tuple[str, str]:
    """How many answers per question the target takes, on average and in every simulated study.

    The mean must lie above by more than the simulation leaves open: 1.96 of its errors are about
    OPEN of the range of STUDIES draws, which is 3.7 standard deviations.
    """
    wanted = score(target, 2)
    mean = next(
        (one.votes for one in reached if one.share - OPEN * (one.high - one.low) >= target), None
    )
    sure = next((one.votes for one in reached if one.low >= target), None)
    if mean is None:
        last = reached[-1]
        return (
            f"{last.votes} answers per question do not reach a correlation of {wanted}.",
            f"They reach about {score(last.share, 2)}. More answers per worker bring more.",
        )
    verdict = (
        f"{plural(mean, 'answer')} per question reach a correlation of {wanted} on average, in "
        "simulated crowds."
    )
    if mean < FEW:
        return verdict, (
            f"Ask for {FEW} or more all the same: with fewer a score depends mostly on whose "
            "answers it was compared with."
        )
    if sure is None:
        return verdict, f"No number up to {reached[-1].votes} reaches it in all {STUDIES} studies."
    if sure == mean:
        return verdict, f"All {STUDIES} simulated studies reach it."
    return verdict, f"With {plural(sure, 'answer')} per question all {STUDIES} studies reach it."
