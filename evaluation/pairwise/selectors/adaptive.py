"""What the page of adaptive collection shows: settings, what was simulated, what was saved."""

from __future__ import annotations

from typing import Any

from annotation.models import Task
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count, plural
from evaluation.charts import boards as charts
from evaluation.models import AdaptivePlan
from evaluation.pairwise import adaptive


def page(task: Task, plan: AdaptivePlan) -> dict[str, Any]:
    """The context of the page; ``now`` is what the settings would do with the votes there are."""
    try:
        have, found = adaptive.planned(task, plan)
        now, why = adaptive.said(task, have, found), ""
    except (Invalid, Conflict) as problem:
        now, why = {}, problem.message
    simulated = plan.simulated if plan.simulated.get("of") == adaptive.signature(plan) else {}
    return {
        "plan": plan,
        "now": now,
        "why": why,
        "simulated": simulated,
        "outdated": bool(plan.simulated) and not simulated,
        "figures": figures(now, on=plan.enabled) if now else [],
        "sentence": sentence(plan, now),
        "chart": histogram(now),
        "most": len(now["histogram"]) - 1 if now else 0,
    }


def figures(now: dict[str, Any], *, on: bool) -> list[dict[str, Any]]:
    """Votes, certain pairs, and what is saved or spent elsewhere, or would be if it were on."""
    return [
        {
            "label": "Votes given",
            "value": count(now["votes"]),
            "of": f"of {count(now['budget'])}",
            "done": now["votes"],
            "total": now["budget"],
        },
        {
            "label": "Pairs that are certain",
            "value": count(now["certain"]),
            "of": f"of {count(now['pairs'])}",
        },
        {
            "label": "Stopped early" if on else "Would stop now",
            "value": plural(now["early"], "pair"),
            "note": "with fewer votes than the task asks for",
        },
        {
            "label": "Votes saved there" if on else "Votes it would save",
            "value": count(now["saved"]),
            "note": "free for other pairs, or never collected",
        },
        {
            "label": "Pairs with more" if on else "Would get more",
            "value": plural(now["beyond"], "pair"),
            "note": "than the task asks for, since they are in doubt",
        },
    ]


def sentence(plan: AdaptivePlan, now: dict[str, Any]) -> str:
    """The state in one line."""
    if not now:
        return "The settings do not fit the task yet."
    if not plan.enabled:
        return (
            "Every pair asks for the same number of votes. Nothing changes until you switch it on."
        )
    if now["finished"]:
        return "Nothing more is asked for: every pair is certain, at its most, or out of budget."
    return (
        f"{plural(now['asked'], 'vote')} asked for beyond those given, "
        f"{count(now['in_work'])} of the study’s pairs in progress."
    )


def histogram(now: dict[str, Any]) -> Any:
    """Pairs by the number of votes they have."""
    if not now or not sum(now["histogram"]):
        return None
    bins = now["histogram"]
    return charts.histogram(
        bins,
        0,
        len(bins),
        labels=("0 votes", plural(len(bins) - 1, "vote")),
        what="Pairs by the number of their votes",
    )
