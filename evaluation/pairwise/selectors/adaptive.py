"""What the page of adaptive collection shows: settings, what was simulated, what was saved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Task
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count, plural
from evaluation.charts import boards as charts
from evaluation.methods.adaptive.simulation import ACCURACY, TAU, Design, simulate
from evaluation.methods.core.base import BadParameter, Result
from evaluation.models import AdaptivePlan, SystemScore
from evaluation.pairwise import adaptive
from evaluation.pairwise.selectors.live import CollectedCounts, collected_counts
from evaluation.results.columns import Column, head_column
from evaluation.results.stored_texts import translate_all
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.official.selectors import official_run

REPLICATES, SEED = 40, 20417
MOST_PAIRS = 250  # a larger study is simulated by a part of it: the saving is a share
FEWEST_WORKERS = 20
WORDS = {
    "label": (ACCURACY, "share of pairs whose label is found"),
    "ranking": (TAU, "Kendall’s τ of the systems’ order to the true one"),
}


def design_of(plan: AdaptivePlan) -> tuple[Design, str]:
    """Return the study to simulate for a plan, and where its spread of systems comes from."""
    task = plan.task
    have = adaptive.count_votes(task, plan.dimension)
    assert task.current is not None  # noqa: S101 (counted refuses a task without a version)
    pairs = len(have.items)
    workers = math.ceil(pairs * task.current.redundancy / task.current.items_per_assignment)
    spread, source = _spread(task, plan.dimension)
    return Design(
        workers=max(workers, plan.ceiling, FEWEST_WORKERS),
        pairs=min(pairs, MOST_PAIRS),
        systems=len(set(have.first.tolist()) | set(have.second.tolist())),
        merit_sd=spread,
        ties=0.35 if have.neutral else 0.0,
        equal=task.current.redundancy,
        floor=plan.floor,
        ceiling=plan.ceiling,
        certainty=plan.certainty,
        target=plan.target,
    ), source


def _spread(task: Task, dimension: str) -> tuple[float, str]:
    """Standard deviation of the sources' log-merits: of the official run, else a usual one."""
    run = official_run(task)
    merits = SystemScore.objects.filter(run=run, dimension=dimension, component=1).values_list(
        "estimate", flat=True
    )
    known = [merit for merit in merits if merit is not None] if run else []
    spread = float(np.std(known)) if len(known) > 1 else 0.0
    if run is None or spread <= 0:
        return 1.0, "a log-merit spread of 1, since no official run has measured theirs yet"
    return spread, f"the log-merit spread of run {run.number}, {spread:.2f}"


def run(plan: AdaptivePlan) -> dict[str, Any]:
    """Simulate what the plan would save, as rows in words; Invalid on settings it cannot try."""
    design, source = design_of(plan)
    try:
        found = simulate(design, rng=np.random.default_rng(SEED), replicates=REPLICATES)
    except BadParameter as error:
        raise Invalid(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    notes = [
        f"{text[:1].upper()}{text[1:]}." for text in translate_all(found.diagnostics["warnings"])
    ]
    crowd = (
        f"Simulated: {plural(design.pairs, 'pair')}, {plural(design.systems, 'source')} with "
        f"{source}; {plural(design.workers, 'worker')}, one in five of whom does not look."
    )
    return {"replicates": REPLICATES, "rows": rows(found, design), "warnings": [crowd, *notes]}


def _number(value: float, digits: int = 2) -> str:
    return "none" if math.isnan(value) else f"{value:.{digits}f}".replace("0.", ".", 1)


def rows(found: Result, design: Design) -> list[dict[str, str]]:
    """Make the rows of the simulation's table, each with its Monte Carlo error."""
    measure, what = WORDS[design.target]
    saving = found.estimates["saving"]
    at = int(np.flatnonzero((saving["measure"] == measure) & (saving["equal"] == design.equal))[0])
    share, error = float(saving["saving"][at]), float(saving["mc_error"][at])
    needed = float(saving["needed"][at])
    covered, missed = (
        found.estimates["coverage"]["covered"],
        found.estimates["coverage"]["mc_error"],
    )
    return [
        {
            "label": gettext_noop("Votes saved for the same result"),
            "value": gettext_noop("not reached") if math.isnan(share) else f"{100 * share:.0f}%",
            "error": "" if math.isnan(error) else f"{100 * error:.0f}%",
            "says": f"equal {what}: {_number(float(saving['value'][at]))}",
        },
        {
            "label": gettext_noop("Votes a pair"),
            "value": "" if math.isnan(needed) else f"{needed:.1f}",
            "error": "",
            "says": f"instead of {design.equal} on every pair",
        },
        {
            "label": gettext_noop("Intervals that hold, even votes"),
            "value": f"{100 * float(covered[0]):.0f}%",
            "error": f"{100 * float(missed[0]):.0f}%",
            "says": gettext_noop("of the systems’ 95% CIs"),
        },
        {
            "label": gettext_noop("Intervals that hold, adaptive"),
            "value": f"{100 * float(covered[1]):.0f}%",
            "error": f"{100 * float(missed[1]):.0f}%",
            "says": gettext_noop("at as many votes; what it costs"),
        },
    ]


def page(task: Task, plan: AdaptivePlan) -> dict[str, Any]:
    """Return the context of the adaptive page; ``now``: what the settings would do at present."""
    try:
        have, found = adaptive.planned_votes(task, plan)
        now, why = adaptive.planning_in_words(task, have, found), ""
    except (Invalid, Conflict) as problem:
        now, why = {}, problem.message
    simulated = plan.simulated if plan.simulated.get("of") == adaptive.signature(plan) else {}
    if simulated:
        simulated = {**simulated, "table": simulated_table(simulated["rows"])}
    return {
        "plan": plan,
        "now": now,
        "why": why,
        "simulated": simulated,
        "outdated": bool(plan.simulated) and not simulated,
        "figures": figures(now, collected_counts(task), on=plan.enabled) if now else [],
        "sentence": sentence(plan, now),
        "chart": histogram(now),
        "most": len(now["histogram"]) - 1 if now else 0,
    }


@dataclass(frozen=True)
class SimulatedFigure:
    """A figure with its Monte Carlo error and what it says."""

    label: str
    value: str
    error: str
    says: str


def simulated_table(rows: Sequence[Mapping[str, str]]) -> ResultTable:
    """Rows as they were kept, in the language of the page; what has numbers is English."""
    columns = [
        head_column("label", _("Figure")),
        Column.number("value", _("Value"), is_main=True),
        Column.number("error", _("Monte Carlo error"), _("Error"), classes="dim"),
        Column.text("says", _("What it says"), classes="dim"),
    ]
    title = _("Adaptive collection against the same number of votes for every pair, simulated")
    figures = [
        SimulatedFigure(
            **{name: _(row[name]) if row[name] else "" for name in ("label", "value", "says")},
            error=row["error"],
        )
        for row in rows
    ]
    return plain_table(title, columns, figures, classes="data")


def figures(now: dict[str, Any], came: CollectedCounts, *, on: bool) -> list[dict[str, Any]]:
    """Judgments, certain pairs, and what is saved or spent elsewhere, or would be if it were on."""
    most = now["budget"] + came.wanted_repeats  # the plan leaves repeats as they are
    return [
        {
            "label": _("Judgments"),
            "value": count(came.given),
            "of": _("of %(most)s") % {"most": count(most)},
            "done": came.given,
            "total": most,
        },
        {
            "label": _("Pairs that are certain"),
            "value": count(now["certain"]),
            "of": _("of %(pairs)s") % {"pairs": count(now["pairs"])},
        },
        {
            "label": _("Stopped early") if on else _("Would stop now"),
            "value": plural(now["early"], "pair"),
            "note": _("with fewer votes than the task asks for"),
        },
        {
            "label": _("Votes saved there") if on else _("Votes it would save"),
            "value": count(now["saved"]),
            "note": _("free for other pairs, or never collected"),
        },
        {
            "label": _("Pairs with more") if on else _("Would get more"),
            "value": plural(now["beyond"], "pair"),
            "note": _("than the task asks for, since they are in doubt"),
        },
    ]


def sentence(plan: AdaptivePlan, now: dict[str, Any]) -> str:
    """Say in one line whether the plan is on and what it does."""
    if not now:
        return _("The settings do not fit the task yet.")
    if not plan.enabled:
        return _(
            "Every pair asks for the same number of votes. Nothing changes until you switch it on."
        )
    if now["finished"]:
        return _("Nothing more is asked for: every pair is certain, at its most, or out of budget.")
    return _(
        "%(votes)s asked for beyond those given, %(in_work)s of the study’s pairs in progress."
    ) % {"votes": plural(now["asked"], "vote"), "in_work": count(now["in_work"])}


def histogram(now: dict[str, Any]) -> Any:
    """Pairs by the number of votes they have."""
    if not now or not sum(now["histogram"]):
        return None
    bins = now["histogram"]
    return charts.histogram(
        bins,
        0,
        len(bins),
        labels=(_("0 votes"), plural(len(bins) - 1, "vote")),
        what=_("Pairs by the number of their votes"),
    )
