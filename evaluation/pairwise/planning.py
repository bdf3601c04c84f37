"""The Plan page of a pairwise task: the chance to tell two systems apart, by judges per pair."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.models import Task
from crowdqc.numbers import count, interval, percent, plural, score
from evaluation.charts.labels import Reached, reached_curves
from evaluation.methods.core.inference import normal_quantile, normal_score
from evaluation.methods.core.params import Param, real_number, whole_number
from evaluation.models import Run
from evaluation.pairwise.measured import Measured, measured
from evaluation.pairwise.price import price_cells, price_sentence
from evaluation.runs.planning.precision import (
    SEED,
    VERSION,
    Planner,
    PlanPage,
    PlanStart,
    plan_reach,
)
from evaluation.runs.planning.price import Answers, Price, price_of

GAP = 0.10  # of net preference: 40 to 30 per cent, say, with 30 per cent ties
LEAST_GAP, MOST_GAP = 0.02, 0.5  # that are simulated
PAIRS, MOST_PAIRS = 50, 1000  # that put two systems side by side
MOST_PER_WORKER = 1000  # judgments
VOTES = tuple(range(1, 10))
# Tried where fewer do not do: steps of two digits, of 2 to 10 per cent.
MORE_PAIRS = (
    *(*range(3, 20), *range(20, 50, 2), *range(50, 100, 5), *range(100, 200, 10)),
    *range(200, MOST_PAIRS + 1, 20),
)
BUDGET = 100_000  # pairs that are simulated for each number of judges; 1 to 6 s for all of them
FEWEST, MOST = 250, 600  # studies for each number of judges


@dataclass(frozen=True)
class PairDesign:
    """Two systems that differ by ``gap``, and judges who give ``per_worker`` judgments of them.

    More pairs are judged by more people, not by the same ones: each judge's habits then weigh the
    same. Plan page and builder name the same figures, as both simulate these studies.
    """

    gap: float
    per_worker: int

    def reach(self, pairs: int, votes: int) -> dict[str, tuple[float, float, float]]:
        """Simulate so many pairs of the two, each with ``votes`` judges. Raises BadParameter."""
        workers = max(2, votes, math.ceil(pairs * votes / self.per_worker))
        study = {"workers": workers, "items": pairs, "votes": votes, "gap": self.gap}
        [found] = plan_reach("pairwise", count_studies(pairs), [study])
        return found

    def chance(self, pairs: int, votes: int) -> Reached:
        """Return the chance to tell the two apart, the right way round."""
        return Reached(votes, *self.reach(pairs, votes)["separated"])

    def fewest_pairs(self, votes: int, target: float, above: int) -> int | None:
        """Find the fewest pairs above a number that reach the target with so many judges each.

        As the Plan page decides it for that number; None where ``MOST_PAIRS`` do not reach it.
        """
        tried = [n for n in MORE_PAIRS if n > above]
        low, high = 0, len(tried)  # more pairs never tell less
        guess = above * _growth(self.chance(above, votes).share, target, above)
        while low < high:
            at = min(max(bisect_left(tried, guess), low), high - 1)
            chance = self.chance(tried[at], votes)
            if chance.low >= target:
                high = at
            else:
                low = at + 1
            guess = tried[at] * _growth(chance.share, target, tried[at])
        return tried[low] if low < len(tried) else None

    def recipe(self, pairs: int) -> str:
        """Describe the simulation: version, model, parameters and seed."""
        return (
            f"planning {VERSION}, pairwise: {pairs} pairs, {self.per_worker} judgments a worker, "
            f"gap {self.gap:g}; {count_studies(pairs)} replicates, seed {SEED}"
        )


def _growth(share: float, target: float, pairs: int) -> float:
    """Guess by how much more pairs bring a chance from ``share`` surely to the target.

    By the power of a normal test, whose distance from its threshold grows with their square root.
    """
    sure = target + normal_quantile(0.95) * math.sqrt(target * (1 - target) / count_studies(pairs))
    now, then = (
        normal_quantile(0.95) + normal_score(min(max(chance, 0.2), 0.99))
        for chance in (share, sure)
    )
    return (then / now) ** 2


def count_studies(pairs: int) -> int:
    """Return how many studies of so many pairs are simulated for each number of judges."""
    return min(max(BUDGET // pairs, FEWEST), MOST)


def pairs_of(build: Build) -> int | None:
    """Return how many pairs put two systems of a draft side by side; None without any."""
    meetings = PairBuild(build).meetings().values()
    return round(statistics.median(meetings)) if meetings else None


def judgments_per_worker(build: Build) -> int:
    """Return how many judgments of the same two systems one assignment of a draft holds."""
    pairs = pairs_of(build)
    if pairs is None:
        return build.version.items_per_assignment
    return max(1, round(pairs * build.version.redundancy / max(1, build.cost().assignments)))


class PairPlanner(Planner):
    """Two systems that differ by a stated net preference, on one dimension."""

    lead = gettext_lazy("How many judges per pair, to tell two systems apart.")
    limits = gettext_lazy(
        "The crowd agrees, ties and guesses as that of one published study did. Comparisons with "
        "third systems, which a ranking uses as well, and pairs that are asked again are not "
        "counted in. A measured difference is that of all votes, guesses included, so the plan "
        "rather asks for too many votes than too few."
    )
    units = {"target": "%"}

    def options(self, task: Task, run: Run | None) -> tuple[Param, ...]:
        build, found = Build(task), measured(task, run)
        return (
            real_number(
                "target",
                80,
                10,
                99.9,
                label=_("Wanted"),
                help=_("Chance to tell the two apart, the right way round."),
            ),
            real_number(
                "gap",
                GAP if found is None else start_of(found),
                LEAST_GAP,
                MOST_GAP,
                label=_("Difference"),
                help=_("Share for one system minus share for the other."),
            ),
            whole_number(
                "pairs",
                min(max(2, pairs_of(build) or PAIRS), MOST_PAIRS),
                2,
                MOST_PAIRS,
                label=_("Pairs of the two"),
                help=_("How many put the two systems side by side."),
            ),
            whole_number(
                "per_worker",
                min(judgments_per_worker(build), MOST_PER_WORKER),
                1,
                MOST_PER_WORKER,
                label=_("Judgments per worker"),
                help=_("Of these pairs. The same judgments from more workers tell more."),
            ),
            *price_of(task, build.version).options(_("Pay per judgment")),
        )

    def start(self, task: Task, run: Run | None, usual: Mapping[str, Any]) -> PlanStart | None:
        """The difference of the two leaders in the run shown, how sure it is, and other values."""
        found = measured(task, run)
        if found is None or run is None:
            return None
        return start_in_words(found, run.number, usual)

    def page(self, task: Task, run: Run | None, values: Mapping[str, Any]) -> PlanPage:
        target, gap, pairs = values["target"] / 100, values["gap"], values["pairs"]
        design, version = PairDesign(gap, values["per_worker"]), task.version_or_draft()
        found = [design.reach(pairs, votes) for votes in VOTES]
        reached = [
            Reached(votes, *one["separated"]) for votes, one in zip(VOTES, found, strict=True)
        ]
        price = price_of(task, version).given(values)
        verdict, note = verdict_of(reached, target, gap, pairs)
        enough = _enough(reached, target)
        if enough is not None:
            note = f"{note} {price_sentence(price, Answers.fill_items(enough.votes, pairs))}"
        else:
            more = _more_pairs(design, pairs, target, version.redundancy)
            note = f"{note} {_tell_more_pairs(pairs, more, price)}"
        note = f"{note} {_why_falling(reached)}".strip()
        last = reached[-1]
        return PlanPage(
            verdict,
            note,
            _("Chance to tell the two apart"),
            _("%(pairs)s pairs of the two, difference %(gap)s. Cost: these pairs alone.")
            % {"pairs": count(pairs), "gap": score(gap, 2)},
            reached_curves(
                reached,
                target=target,
                axis=_("judges per pair"),
                sentence=_(
                    "Chance to tell two systems apart by judges per pair; with %(n)s: %(share)s"
                )
                % {"n": last.votes, "share": percent(last.share)},
            ),
            (
                (
                    "interval",
                    _("share of %(n)s simulated studies, 95%% CI")
                    % {"n": count(count_studies(pairs))},
                ),
                ("reference", _("wanted, %(share)s") % {"share": percent(target)}),
            ),
            _columns(price),
            [
                [
                    (str(one.votes), ""),
                    (percent(one.share), "l1r"),
                    (f"{round(100 * one.low)}–{percent(one.high)}", "dim"),
                    (score(more["difference_width"][0] / 2, 2), ""),
                    (_half(more["difference_width"][1:]), "dim"),
                    *(
                        (text, "")
                        for text in price_cells(price, Answers.fill_items(one.votes, pairs))
                    ),
                ]
                for one, more in zip(reached, found, strict=True)
            ],
            design.recipe(pairs),
        )


def _columns(price: Price) -> tuple[str, ...]:
    return (
        _("Judges per pair"),
        _("Chance"),
        _("95% CI of the simulation"),
        _("Preference is known to ±"),
        _("95% of simulated studies"),
        _("Judgments"),
        _("Cost"),
        *([_("Days")] if price.a_day else []),
    )


def _more_pairs(design: PairDesign, pairs: int, target: float, own: int) -> tuple[int, int] | None:
    """Find how many pairs would do with the task's ``own`` judges per pair, else with the most.

    (pairs, judges); None where neither do.
    """
    for votes in dict.fromkeys((own, VOTES[-1])):
        found = design.fewest_pairs(votes, target, above=pairs)
        if found is not None:
            return found, votes
    return None


def _tell_more_pairs(pairs: int, more: tuple[int, int] | None, price: Price) -> str:
    """Say how many pairs and judges would do, and what they cost."""
    if more is None:
        told = {"pairs": count(MOST_PAIRS), "judges": plural(VOTES[-1], "judge")}
        return _("Even %(pairs)s pairs with %(judges)s each would not do.") % told
    told = {"pairs": count(more[0]), "judges": plural(more[1], "judge")}
    said = _("You need more pairs, about %(pairs)s with %(judges)s each.") % told
    return f"{said} {price_sentence(price, Answers.fill_items(more[1], more[0]))}"


def _half(width: Sequence[float]) -> str:
    """The range of half a width, from its lowest and highest."""
    return interval(width[0] / 2, width[1] / 2, 2)


def _falls(reached: Sequence[Reached], at: int) -> bool:
    """Whether more judges have less of a chance, beyond the simulation's error."""
    return any(later.high < reached[at].low for later in reached[at + 1 :])


def _why_falling(reached: Sequence[Reached]) -> str:
    """Say why the chance falls with more judges; "" where it does not."""
    if not any(_falls(reached, at) for at in range(len(reached))):
        return ""
    return _(
        "The chance falls at first: few votes often agree by chance, which makes their interval "
        "too narrow. Do not rely on those rows."
    )


def _enough(reached: Sequence[Reached], target: float) -> Reached | None:
    """The fewest judges per pair that reach the target, where more of them do not do worse."""
    return next(
        (one for at, one in enumerate(reached) if one.low >= target and not _falls(reached, at)),
        None,
    )


def verdict_of(reached: list[Reached], target: float, gap: float, pairs: int) -> tuple[str, str]:
    """The fewest judges per pair whose chance is above the target beyond the simulation's error."""
    last = reached[-1]
    enough = _enough(reached, target)
    told = {"wanted": percent(target), "gap": score(gap, 2), "pairs": plural(pairs, "pair")}
    if enough is None:
        told |= {"judges": plural(last.votes, "judge"), "share": percent(last.share)}
        said = _(
            "Not reached with %(pairs)s: %(judges)s per pair tell two systems apart with a chance "
            "of %(share)s."
        )
        if last.share >= target:
            said = _(
                "Not surely reached with %(pairs)s: %(judges)s per pair tell two systems apart "
                "with a chance of %(share)s."
            )
        note = _("Wanted is %(wanted)s, for systems that differ by %(gap)s.")
        return said % told, note % told
    told |= {"judges": plural(enough.votes, "judge"), "share": percent(enough.share)}
    return (
        _("%(judges)s per pair tell two systems apart with a chance of %(share)s.") % told,
        _("Wanted is %(wanted)s, for systems that differ by %(gap)s.") % told,
    )


def start_of(found: Measured) -> float:
    """The difference that the plan starts from, within what is simulated."""
    return min(max(round(found.gap, 2), LEAST_GAP), MOST_GAP)


def start_in_words(found: Measured, run: int, usual: Mapping[str, Any]) -> PlanStart:
    """Describe what the plan starts from, how certain it is, and the alternatives."""
    told = {
        "run": run,
        "first": found.first,
        "second": found.second,
        "on": found.dimension,
        "gap": score(found.gap, 2),
        "interval": interval(found.low, found.high, 2),
        "start": score(start_of(found), 2),
    }
    said = [
        _(
            "Run %(run)s measured a difference of %(gap)s on %(on)s between its two leaders, "
            "%(first)s and %(second)s. The plan starts from %(start)s."
        )
        % told
    ]
    start = start_of(found)
    is_cut = start != round(found.gap, 2)
    choices = [
        (start, _("Nearest that is simulated: %(gap)s") if is_cut else _("As measured: %(gap)s"))
    ]
    if found.low <= 0:
        said.append(
            _(
                "By the two intervals of the leaderboard it can lie anywhere in %(interval)s: the "
                "two may be equal. To be careful, plan for less."
            )
            % told
        )
        choices.append((max(round(start / 2, 2), LEAST_GAP), _("Half of that: %(gap)s")))
    else:
        said.append(
            _(
                "By the two intervals of the leaderboard it can lie anywhere in %(interval)s. To "
                "be careful, plan for the lower end."
            )
            % told
        )
        low = min(max(math.floor(100 * found.low) / 100, LEAST_GAP), MOST_GAP)
        choices.append((low, _("Lower end: %(gap)s")))
    choices.append((GAP, _("A small difference: %(gap)s")))
    return PlanStart(
        " ".join(said),
        [
            (words % {"gap": score(gap, 2)}, urlencode({**usual, "gap": f"{gap:g}"}))
            for gap, words in choices
        ],
    )
