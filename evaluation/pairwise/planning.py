"""The Plan page of a pairwise task: the chance to tell two systems apart, by judges per pair."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.models import Task
from crowdqc.numbers import count, interval, percent, plural, score
from evaluation.charts.labels import Reached, reached_curves
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
from evaluation.runs.planning.price import Price, price_of

GAP = 0.10  # of net preference: 40 to 30 per cent, say, with 30 per cent ties
LEAST_GAP, MOST_GAP = 0.02, 0.5  # that are simulated
PAIRS, MOST_PAIRS = 50, 1000  # that put two systems side by side
VOTES = tuple(range(1, 10))
# Tried where fewer do not do.
MORE_PAIRS = (
    *(5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400, 500, 600),
    *(800, MOST_PAIRS),
)
BUDGET = 2_000_000  # votes that are simulated, all in all; about 2 s
FEWEST, MOST = 50, 400  # studies for each number of judges


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
        meetings = PairBuild(Build(task)).meetings().values()
        usual = round(statistics.median(meetings)) if meetings else PAIRS
        found = measured(task, run)
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
                min(max(2, usual), MOST_PAIRS),
                2,
                MOST_PAIRS,
                label=_("Pairs of the two"),
                help=_("How many put the two systems side by side."),
            ),
            *price_of(task, task.version_or_draft()).options(_("Pay per judgment")),
        )

    def start(self, task: Task, run: Run | None, usual: Mapping[str, Any]) -> PlanStart | None:
        """The difference of the two leaders in the run shown, how sure it is, and other values."""
        found = measured(task, run)
        if found is None or run is None:
            return None
        return start_in_words(found, run.number, usual)

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
        price = price_of(task, build.version).given(values)
        verdict, note = verdict_of(reached, target, gap, pairs)
        enough = _enough(reached, target)
        if enough is not None:
            note = f"{note} {price_sentence(price, pairs * enough.votes, pairs)}"
        else:
            own = min(max(build.version.redundancy, VOTES[0]), VOTES[-1])
            more = _more_pairs(pairs, target, gap, each, own)
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
                    _("share of %(n)s simulated studies, 95%% CI") % {"n": count(studies)},
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
                    *((text, "") for text in price_cells(price, pairs * one.votes, pairs)),
                ]
                for one, more in zip(reached, found, strict=True)
            ],
            f"planning {VERSION}, pairwise: {pairs} pairs, gap {gap:g}; {studies} replicates, "
            f"seed {SEED}",
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


def _design(pairs: int, votes: int, each: float, gap: float) -> dict[str, Any]:
    """A study of so many pairs and judges per pair; ``each``: assignments per judge of a pair."""
    workers = max(2, votes, math.ceil(each * votes))
    return {"workers": workers, "items": pairs, "votes": votes, "gap": gap}


def _more_pairs(
    pairs: int, target: float, gap: float, each: float, own: int
) -> tuple[int, int] | None:
    """Find how many pairs would do with the task's ``own`` judges per pair, else with the most.

    (pairs, judges) by further simulations; None where none of ``MORE_PAIRS`` would do.
    """
    tried = [n for n in MORE_PAIRS if n > pairs]
    for votes in dict.fromkeys((own, VOTES[-1])):

        def enough(at: int, votes: int = votes) -> bool:
            n = tried[at]
            studies = min(max(BUDGET // (4 * n * votes), FEWEST), MOST)
            design = _design(n, votes, each * n / pairs, gap)
            [found] = plan_reach("pairwise", studies, [design])
            return Reached(votes, *found["separated"]).low >= target

        at = bisect_left(range(len(tried)), True, key=enough)  # more pairs never tell less
        if at < len(tried):
            return tried[at], votes
    return None


def _tell_more_pairs(pairs: int, more: tuple[int, int] | None, price: Price) -> str:
    """Say how many pairs and judges would do, and what they cost."""
    if more is None:
        told = {"pairs": count(max(pairs, MOST_PAIRS)), "judges": plural(VOTES[-1], "judge")}
        return _("Even %(pairs)s pairs with %(judges)s each would not do.") % told
    told = {"pairs": count(more[0]), "judges": plural(more[1], "judge")}
    said = _("You need more pairs, about %(pairs)s with %(judges)s each.") % told
    return f"{said} {price_sentence(price, more[0] * more[1], more[0])}"


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
        _("%(judges)s per pair tell two systems apart with a chance of %(wanted)s.") % told,
        _("They reach %(share)s, if the two differ by %(gap)s on %(pairs)s.") % told,
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
    choices = [(start, _("As measured: %(gap)s"))]
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
