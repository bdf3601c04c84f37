"""The Plan page of a free-text task: what scores tell of workers, by answers per question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Task
from crowdqc.numbers import count, interval, money, plural, score
from evaluation.charts.labels import Reached, reached_curves
from evaluation.methods.core.params import Param, real_number, whole_number
from evaluation.methods.core.redundancy import FEW
from evaluation.models import Run
from evaluation.runs.planning.precision import SEED, VERSION, Planner, PlanPage, plan_reach
from evaluation.runs.planning.price import Answers, Price, price_of

MODEL = "f2"  # thirds of three qualities
VOTES = tuple(range(2, 9))
STUDIES = 20  # simulated for each; 20 ms each
OPEN = 0.12  # 1.96 / sqrt(STUDIES) standard deviations, of a range of 3.7
CELLS = 400  # workers x questions of one, about, as ``limits`` say


class TextPlanner(Planner):
    """How far AQER scores follow workers' quality, in a crowd of three qualities."""

    lead = gettext_lazy("How many answers per question, for scores that follow workers’ quality.")
    limits = gettext_lazy(
        "Workers are of three qualities, a third each, and answers are vectors. A part of the task "
        "is simulated, with about 400 pairs of worker and question. Real crowds reach less "
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
                label=_("Wanted"),
                help=_("Correlation of scores with workers’ quality, up to 1."),
            ),
            whole_number(
                "per_worker",
                min(max(2, per), 50),
                2,
                50,
                label=_("Answers per worker"),
                help=_("More answers tell more of a worker."),
            ),
            *price_of(task, build.version).options(_("Pay per answer")),
        )

    def page(self, task: Task, run: Run | None, values: Mapping[str, Any]) -> PlanPage:
        target, per = values["target"], values["per_worker"]
        designs = [design_of(votes, per) for votes in VOTES]
        found = plan_reach(MODEL, STUDIES, designs, inside=1.0)
        reached = [
            Reached(votes, *one["score_truth"]) for votes, one in zip(VOTES, found, strict=True)
        ]
        verdict, note = verdict_of(reached, target)
        build = Build(task)
        price = price_of(task, build.version).given(values)
        if (enough := least_of(reached, target)) is not None and build.questions:
            cost = price.limit(Answers.fill_items(max(enough, FEW), build.questions))
            told = _("Cost: %(cost)s.") % {"cost": cost}
            note = f"{note} {told}"
        last = reached[-1]
        return PlanPage(
            verdict,
            note,
            _("Correlation of scores with workers’ quality"),
            _("%(answers)s per worker, workers of three qualities")
            % {"answers": plural(per, "answer")},
            reached_curves(
                reached,
                target=target,
                axis=_("answers per question"),
                sentence=_("Correlation by answers per question; with %(votes)s: %(share)s")
                % {"votes": last.votes, "share": score(last.share, 2)},
                words=lambda value: score(value, 2),
            ),
            (
                (
                    "interval",
                    _("mean, lowest and highest of %(studies)s simulated studies")
                    % {"studies": STUDIES},
                ),
                ("reference", _("wanted, %(target)s") % {"target": score(target, 2)}),
            ),
            (
                _("Answers per question"),
                _("Correlation"),
                _("Lowest to highest of %(studies)s studies") % {"studies": STUDIES},
                _("A score is known to ±"),
                *([_("Answers"), _("Cost")] if build.questions else []),
                *([_("Days")] if build.questions and price.a_day else []),
            ),
            [
                [
                    (str(one.votes), ""),
                    (score(one.share), "l1r"),
                    (interval(one.low, one.high), "dim"),
                    (score(more["score_width"][0] / 2, 2), ""),
                    *_costs(price, one.votes, build.questions),
                ]
                for one, more in zip(reached, found, strict=True)
            ],
            f"planning {VERSION}, {MODEL}: {per} answers a worker; {STUDIES} replicates, "
            f"seed {SEED}",
        )


def design_of(votes: int, per: int) -> dict[str, int]:
    """Return a study of about CELLS cells in which each worker gives ``per`` answers."""
    items = max(per, int(math.sqrt(CELLS * per / votes)))
    return {
        "workers": max(3, votes, math.ceil(items * votes / per)),
        "items": items,
        "votes": votes,
    }


def _costs(price: Price, votes: int, items: int) -> list[tuple[str, str]]:
    """Cells of so many answers, their cost and days; none where the task has no questions yet."""
    answers = Answers.fill_items(votes, items)
    if not answers.n:
        return []
    days = [(count(price.days(answers)), "")] if price.a_day else []
    return [(count(answers.n), ""), (money(price.cost(answers), price.currency), ""), *days]


def least_of(reached: list[Reached], target: float) -> int | None:
    """The fewest answers per question that reach the target on average; None if no number does.

    The mean must lie above by more than the simulation leaves open: 1.96 of its errors are about
    OPEN of the range of STUDIES draws, which is 3.7 standard deviations.
    """
    return next(
        (one.votes for one in reached if one.share - OPEN * (one.high - one.low) >= target), None
    )


def verdict_of(reached: list[Reached], target: float) -> tuple[str, str]:
    """Say how many answers per question reach the target on average and in every simulation."""
    wanted, mean = score(target, 2), least_of(reached, target)
    sure = next((one.votes for one in reached if one.low >= target), None)
    if mean is None:
        last = reached[-1]
        return (
            _("%(votes)s answers per question do not reach a correlation of %(wanted)s.")
            % {"votes": last.votes, "wanted": wanted},
            _("They reach about %(share)s. More answers per worker bring more.")
            % {"share": score(last.share, 2)},
        )
    verdict = _(
        "%(answers)s per question reach a correlation of %(wanted)s on average, in "
        "simulated crowds."
    ) % {"answers": plural(mean, "answer"), "wanted": wanted}
    if mean < FEW:
        return verdict, (
            _(
                "Ask for %(few)s or more all the same: with fewer a score depends mostly on "
                "whose answers it was compared with."
            )
            % {"few": FEW}
        )
    if sure is None:
        return verdict, _("No number up to %(votes)s reaches it in all %(studies)s studies.") % {
            "votes": reached[-1].votes,
            "studies": STUDIES,
        }
    if sure == mean:
        return verdict, _("All %(studies)s simulated studies reach it.") % {"studies": STUDIES}
    return verdict, _("With %(answers)s per question all %(studies)s studies reach it.") % {
        "answers": plural(sure, "answer"),
        "studies": STUDIES,
    }
