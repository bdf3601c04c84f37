"""What stands beside a board: warnings, small facts, convergence in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.work.snapshots import answers
from crowdqc.numbers import count, general, plural, power_of_ten, score
from evaluation.free_text.messages import MESSAGES
from evaluation.free_text.selectors import findings
from evaluation.free_text.selectors.movement import bound_part
from evaluation.models import Run, RunState, WorkerScore
from evaluation.results.boards import Row
from evaluation.results.cells import link
from evaluation.results.columns import Column, head_column
from evaluation.results.findings import Action, Screen, arrange
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.next_actions import choose_action
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors import verdicts
from evaluation.runs.selectors.verdicts import Place
from evaluation.runs.study_state import StudyState


def rail(run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts and recipe for the side of the workers' page."""
    return {
        "facts": facts(told),
        "fine_facts": fine_facts(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
        "leave_one_out": leave_one_out(run, told),
        "redundancy": redundancy(told),
    }


def redundancy(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the redundancy of each board, its reliability, and that with one more answer."""
    found = []
    for one in told.get("redundancy", []):
        least, most = one["least"], one["most"]
        found.append(
            {
                **one,
                "spread": f"{least}" if least == most else f"{least}–{most}",
                "typical": general(one["answers"]),
                "more": general(one["answers"] + 1),
            }
        )
    return found


def facts(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Small facts: name and value."""
    parts = told.get("components", [])
    missing, cells = sum(p["missing"] for p in parts), sum(p["cells"] for p in parts)
    found = [
        (
            _("Answers missing"),
            _("%(missing)s of %(cells)s") % {"missing": count(missing), "cells": count(cells)}
            if missing
            else _("none"),
        )
    ]
    left = told.get("left_out", {})
    if left.get("uncounted"):
        found.append((_("Do not count"), count(left["uncounted"])))
    if left.get("repeated"):
        found.append((_("Given twice, left out"), count(left["repeated"])))
    return found


def fine_facts(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the facts of the run that only statisticians need, as (name, value)."""
    parts = told.get("components", [])
    rounds = max((part["rounds"] for part in parts), default=0)
    found = [
        (_("Rounds until it converged"), count(rounds)),
        (_("Graph"), plural(len(parts), "component")),
    ]
    bounds = [one for one in told.get("bounds", []) if "worst" in one and not one["vacuous"]]
    if bounds:
        found.append((_("Error bound, eq. (8)"), score(bounds[0]["worst"], 2)))
    return found


def leave_one_out(run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the board with a run that has leave-one-out switched the other way; {} if none."""
    own = bool(run.params.get("leave_one_out"))
    other = (
        Run.objects.filter(
            task=run.task,
            snapshot=run.snapshot_id,
            state=RunState.DONE,
            method=run.method,
            params={**run.params, "leave_one_out": not own},
        )
        .order_by("-id")
        .first()
    )
    if other is None:
        return {"on": own, "other": None}
    ranks = {
        pk: dict(WorkerScore.objects.filter(run=pk).values_list("worker_id", "extra__rank"))
        for pk in (run.pk, other.pk)
    }
    moved = sum(rank != ranks[other.pk].get(worker) for worker, rank in ranks[run.pk].items())
    return {"on": own, "other": other, "moved": moved}


def first_place(rows: Sequence[Row], noun: str) -> Place:
    """Say who can be first on a run's board."""
    by = plural(sum(row.n for row in rows), "answer")
    return verdicts.first_place(rows, noun=noun, by=by)


def workers_screen(
    run: Run,
    place: Place,
    figures: Mapping[str, Any],
    names: Mapping[int, str],
    study: StudyState | None,
    *,
    chooses: bool,
) -> Screen:
    """The verdict on workers, what to do, and what to read first; two queries."""
    few = any(one["few"] for one in figures.get("redundancy", []))
    candidate = None
    if place.open and chooses and not few:
        url = reverse("panel_choose", args=[run.project_id, run.number])
        candidate = MESSAGES.find(
            "choose_panel", action=Action(_("Choose a panel"), url, requester=True)
        )
    return arrange(
        [
            place.finding(),
            choose_action(study, candidate, settled=not few and not place.unknown),
            *findings.warnings_of_run(run, figures, names, findings.item_numbers(run)),
            *findings.computation_notes(figures, names),
        ]
    )


@dataclass(frozen=True)
class Round:
    """How much the weights changed in a round."""

    number: int
    change: str


@dataclass(frozen=True)
class Swap:
    """Two workers whose order the iterating turned round."""

    up: SafeString
    up_ranks: str
    down: SafeString
    down_ranks: str
    sure_word: str


ROUNDS = (
    Column.number("number", gettext_lazy("Round")),
    Column.number("change", gettext_lazy("Change")),
)
SWAPS = (
    head_column("up", gettext_lazy("Now above"), classes="nowrap"),
    Column.number("up_ranks", gettext_lazy("Rank before, now")),
    Column.text("down", gettext_lazy("Now below"), classes="nowrap"),
    Column.number("down_ranks", gettext_lazy("Rank before, now")),
    Column.text("sure_word", gettext_lazy("Sure"), classes="dim"),
)


def _trace(part: Mapping[str, Any], *, many: bool) -> ResultTable:
    number = _("Board %(number)s") % {"number": part["number"]}
    rows = [Round(at, power_of_ten(value)) for at, value in enumerate(part["trace"], 1)]
    title = number if many else _("Change of the weights")
    return plain_table(title, ROUNDS, rows, classes="data narrow", shows_title=many)


def _swap(run: Run, pair: Mapping[str, Any], names: Mapping[int, str]) -> Swap:
    up, down = (
        link(reverse("worker_card", args=[run.project_id, pair[end]]), names.get(pair[end], ""))
        for end in ("up", "down")
    )
    before, after = ("{}, {}".format(*pair[f"{end}_ranks"]) for end in ("up", "down"))
    return Swap(up, before, down, after, _("yes") if pair["sure"] else _("no"))


def convergence(run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the charts and table of convergence, workers whose order swapped, and bounds."""
    listed = [pair for part in told.get("swaps", []) for pair in part["listed"]]
    names = answers.pseudonyms({pk for pair in listed for pk in (pair["up"], pair["down"])})
    line = told["convergence"]
    many = len(line["components"]) > 1
    return {
        "many": many,
        "charts": reads.convergence_charts(line),
        "stop": power_of_ten(line["stop"]),
        "most": line["most"],
        "thin": max((len(part["resamples"]) for part in line["components"]), default=0),
        "traces": [_trace(part, many=many) for part in line["components"]],
        "rounds": max(len(part["trace"]) for part in line["components"]),
        "swapped": sum(part["swapped"] for part in told.get("swaps", [])),
        "pairs": sum(part["pairs"] for part in told.get("swaps", [])),
        "screen": _swaps_screen(told.get("swaps", [])),
        "swaps": plain_table(
            _("Pairs whose order the iterating turned round"),
            SWAPS,
            [_swap(run, pair, names) for pair in listed],
            classes="data",
        ),
        "listed": len(listed),
        "bounds": told.get("bounds", []),
        "bound_charts": [bound_part(one) for one in told.get("bounds", []) if _has_quality(one)],
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }


def _has_quality(bound: Mapping[str, Any]) -> bool:
    """Whether the run's own quality is a cosine above 0, so that its curve says something."""
    return "worst" in bound and 0 < bound["quality"] <= 1


def _swaps_screen(swaps: Sequence[Mapping[str, Any]]) -> Screen:
    """Whether iterating changed who is above whom, by pairs whose order is sure."""
    pairs = sum(part["pairs"] for part in swaps)
    sure = sum(pair["sure"] for part in swaps for pair in part["listed"])
    if not pairs:
        return Screen()
    if not sure:
        return arrange([MESSAGES.find("no_swaps")])
    see = Action(_("See the pairs"), "#swaps")
    return arrange(
        [
            MESSAGES.find("swaps", n=count(sure), pairs=count(pairs)),
            MESSAGES.find("read_swaps", action=see),
        ]
    )
