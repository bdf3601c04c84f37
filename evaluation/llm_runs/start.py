"""Before a run that asks models: its options checked, its plan, its cost, and then its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Task, User
from crowdqc.errors import Conflict, Missing
from evaluation.llm.ask import Preview
from evaluation.llm.estimate import preview
from evaluation.llm.quotas import require_spend
from evaluation.models import LanguageModel, Run
from evaluation.runs import engine as runs
from evaluation.runs import run_types
from evaluation.runs.asking import LLMRunSpec, Plan

LANE = 160  # characters of Run.lane


@dataclass(frozen=True)
class Prepared:
    """What a run would ask, and what that would cost; nothing is written yet.

    ``over_soft``: the soft budget of the endpoint would be passed, so a person has to agree.
    """

    asking: LLMRunSpec
    params: dict[str, Any]
    plan: Plan
    preview: Preview
    lane: str
    over_soft: bool


def ways_of(task: Task) -> list[tuple[str, LLMRunSpec]]:
    """The ways of asking that fit the task, in the order of their registry."""
    kinds = run_types.run_types().items()
    return [(slug, kind.asking) for slug, kind in kinds if kind.asking and kind.fits(task)]


def find_run_spec(task: Task, method: str) -> LLMRunSpec:
    """Return how a method asks models in this task; Missing if it does not fit the task."""
    found = dict(ways_of(task)).get(method)
    if found is None:
        raise Missing(_("Models cannot be asked for this in this task."))
    return found


def prepare(*, task: Task, method: str, raw: Mapping[str, Any]) -> Prepared:
    """Check the options and plan the run with its cost; nothing is stored.

    Raises Invalid (an option, named), Missing (no such way, no such model) and whatever the plan
    says is lacking.
    """
    asking = find_run_spec(task, method)
    params = run_types.run_types()[method].clean_params(raw)
    plan = asking.plan(task, params)
    found = preview(plan.model, plan.asks, task.project_id)
    return Prepared(
        asking, params, plan, found, lane_of(asking, params), over_soft(plan.model, found)
    )


def lane_of(asking: LLMRunSpec, params: Mapping[str, Any]) -> str:
    """Return the model and options that distinguish runs which may be in work at once."""
    words = [
        str(params.get(name))
        for name in sorted(asking.options.defaults)
        if _is_short_text(params.get(name))
    ]
    return "/".join([str(params.get("model", "")), *words])[:LANE]


def _is_short_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 40


def over_soft(model: LanguageModel, found: Preview) -> bool:
    """Whether the run, at its most expensive, would pass the endpoint's soft budget."""
    endpoint = model.endpoint
    if endpoint.soft_budget is None or found.cached >= found.calls:
        return False
    return endpoint.spent + endpoint.reserved + (found.at_most or Decimal(0)) > endpoint.soft_budget


def start(
    *,
    by: User,
    task: Task,
    method: str,
    raw: Mapping[str, Any],
    agreed: bool = False,
    trigger: str = "browser",
) -> Run:
    """Start the run; Conflict where something keeps it, or where the soft budget needs a word."""
    ready = prepare(task=task, method=method, raw=raw)
    if ready.preview.problems:
        raise Conflict(ready.preview.problems[0])
    require_spend(ready.plan.model, task.project)
    if ready.over_soft and not agreed:
        raise Conflict(
            _("This run may pass the soft budget of the endpoint."),
            fields={"agreed": _("Agree to it first.")},
            code="soft-budget",
        )
    return runs.start(
        by=by, task=task, method=method, params=ready.params, trigger=trigger, lane=ready.lane
    )
