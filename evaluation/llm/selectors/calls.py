"""Calls to models: the list with its filters and totals, and one call with all its attempts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from annotation.models import Project
from crowdqc.errors import Missing
from crowdqc.numbers import count, duration, parse_whole, percent
from evaluation.llm.selectors.models import CALL_MARKS, OUTCOME_MARKS, small
from evaluation.models import CallState, CallUse, LanguageModel, LLMAttempt, LLMCall, Run
from evaluation.models.llm import reachable
from evaluation.runs import run_types
from evaluation.runs.selectors.lists import title_of

SHORT = 120  # characters of an answer in the list


@dataclass(frozen=True)
class Filters:
    """What of the list is shown; "" or 0: everything."""

    run: int = 0
    model: int = 0
    prompt: str = ""
    state: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filters:
        """Read the filters from a query; invalid ones are ignored."""
        state = query.get("state", "")
        return cls(
            _number(query.get("run")),
            _number(query.get("model")),
            query.get("prompt", "")[:80],
            state if state in CallState.values else "",
        )

    @property
    def any(self) -> bool:
        return bool(self.run or self.model or self.prompt or self.state)


def _number(text: str | None) -> int:
    return parse_whole(text, high=10**9) or 0


def calls(project: Project, filters: Filters) -> QuerySet[LLMCall]:
    """Return the project's calls that match the filters, newest first."""
    rows = LLMCall.objects.filter(project=project).order_by("-pk")
    if filters.run:
        rows = rows.filter(pk__in=_used(Run.objects.filter(project=project, number=filters.run)))
    if filters.model:
        rows = rows.filter(model=filters.model)
    if filters.prompt:
        rows = rows.filter(prompt=filters.prompt)
    if filters.state:
        rows = rows.filter(state=filters.state)
    return rows.defer("messages", "params", "chances")


def of_run(run: Run) -> QuerySet[LLMCall]:
    """The calls that a run used, each once, whole."""
    return LLMCall.objects.filter(pk__in=_used(Run.objects.filter(pk=run.pk)))


def _used(runs: QuerySet[Run]) -> QuerySet[CallUse, int]:
    """Ids of the calls that these runs used."""
    return CallUse.objects.filter(run__in=runs).values_list("call", flat=True)


def rows_of(page: list[LLMCall], currency: str) -> list[dict[str, Any]]:
    """Convert calls to rows of the page; no query."""
    # A call as a line of the list.
    return [
        {
            "call": call,
            "mark": CALL_MARKS[CallState(call.state)],
            "word": CallState(call.state).label.capitalize(),
            "said": _short_error(call),
            "took": _seconds(call.latency_ms),
            "cost": small(call.cost, currency),
        }
        for call in page
    ]


def _short_error(call: LLMCall) -> str:
    if call.state == CallState.FAILED:
        return call.reason or _("No reason was given.")
    said = call.text or (json.dumps(call.value, ensure_ascii=False) if call.value else "")
    return said if len(said) <= SHORT else said[: SHORT - 1].rstrip() + "…"


def _seconds(milliseconds: int | None) -> str:
    return _("none") if milliseconds is None else duration(max(0.1, round(milliseconds / 1000, 1)))


def totals(project: Project, filters: Filters, currency: str) -> list[dict[str, Any]]:
    """Sum up the calls that match the filters by prompt: number, tokens and cost."""
    inner = calls(project, filters).values("pk")
    untried = ~Exists(LLMAttempt.objects.filter(call=OuterRef("pk")))
    found = (
        LLMCall.objects.filter(pk__in=inner)
        .values("prompt")
        .annotate(
            n=Count("pk"),
            done=Count("pk", filter=Q(state=CallState.DONE)),
            failed=Count("pk", filter=Q(state=CallState.FAILED)),
            tokens_to=Sum("tokens_in", filter=untried),
            tokens_from=Sum("tokens_out", filter=untried),
            spent=Sum("cost"),
            pace=Avg("latency_ms"),
        )
        .order_by("prompt")
    )
    # Tokens of all attempts, as the cost is; an imported call has none.
    attempts = {
        prompt: (sent, answered)
        for prompt, sent, answered in LLMAttempt.objects.filter(call__in=inner)
        .order_by()
        .values_list("call__prompt")
        .annotate(
            Sum("tokens_in", default=0),
            Sum("tokens_out", default=0),
        )
    }
    # The calls of one prompt and version.
    return [
        {
            "prompt": row["prompt"],
            "calls": row["n"],
            "done": row["done"],
            "failed": row["failed"],
            "tokens_in": (row["tokens_to"] or 0) + attempts.get(row["prompt"], (0, 0))[0],
            "tokens_out": (row["tokens_from"] or 0) + attempts.get(row["prompt"], (0, 0))[1],
            "latency": _seconds(round(row["pace"]) if row["pace"] is not None else None),
            "cost": small(row["spent"], currency),
        }
        for row in found
    ]


def choices(project: Project) -> dict[str, list[tuple[str, str]]]:
    """List the options of the filters: models, prompts, and runs with calls (three queries)."""
    reached = reachable(project.pk, "endpoint__")
    models = LanguageModel.objects.filter(reached).order_by("name", "pk")
    prompts = LLMCall.objects.filter(project=project).order_by("prompt").values_list("prompt")
    asking = Run.objects.filter(project=project, uses__isnull=False).distinct()
    runs = asking.order_by("-number").values_list("number", "method")[:100]
    return {
        "models": [(str(pk), name) for pk, name in models.values_list("pk", "name")],
        "prompts": [(ref, ref) for (ref,) in prompts.distinct()],
        "runs": [
            (str(number), f"{number}, {run_types.title_of(method)}") for number, method in runs
        ],
        "states": [(value, str(label)) for value, label in CallState.choices],
    }


@dataclass(frozen=True)
class Attempt:
    """One request that was sent."""

    row: LLMAttempt
    mark: str
    word: str
    took: str
    cost: str


def get_call(project: Project, call_id: int) -> LLMCall:
    """A call of the project; Missing where there is none."""
    found = LLMCall.objects.filter(project=project, pk=call_id).select_related("model__endpoint")
    call = found.defer("model__endpoint__key_sealed").first()
    if call is None:
        raise Missing(_("There is no such call in this project."))
    return call


def call_page(call: LLMCall, currency: str) -> dict[str, Any]:
    """The call, its attempts and the runs that used it."""
    state = CallState(call.state)
    value = json.dumps(call.value, ensure_ascii=False, indent=2) if call.value is not None else ""
    # One call with everything that is known of it.
    return {
        "call": call,
        "mark": CALL_MARKS[state],
        "word": state.label.capitalize(),
        "value": value,
        "chances": _chances(call.chances),
        "attempts": [_attempt(row, currency) for row in call.tries.all()],
        "uses": _uses(call),
        "took": _seconds(call.latency_ms),
        "cost": small(call.cost, currency),
        "recipe": _recipe(call),
    }


def _chances(told: Mapping[str, float] | None) -> list[tuple[str, str, float]]:
    """Answer, its probability in words, and as a number; the most probable first."""
    pairs = sorted((told or {}).items(), key=lambda pair: -pair[1])
    return [(word, percent(chance, 1), chance) for word, chance in pairs]


def _attempt(row: LLMAttempt, currency: str) -> Attempt:
    outcome = LLMAttempt.Outcome(row.outcome)
    mark = OUTCOME_MARKS.get(outcome, "bad")
    words = (outcome.label.capitalize(), _seconds(row.latency_ms), small(row.cost, currency))
    return Attempt(row, mark, *words)


def _uses(call: LLMCall) -> list[dict[str, Any]]:
    """List the runs that used the call, and for what; newest first, a hundred at most."""
    rows = call.uses.select_related("run__task__current").order_by("-run__number", "subject")[:100]
    return [
        {
            "run": row.run,
            "method": run_types.title_of(row.run.method),
            "subject": row.subject,
            "task": title_of(row.run.task) if row.run.task.current is not None else "",
        }
        for row in rows
    ]


def _recipe(call: LLMCall) -> list[tuple[str, str]]:
    pairs = [("model", call.model_name), ("prompt", call.prompt)]
    pairs += [(str(name), str(value)) for name, value in sorted(call.params.items())]
    if call.schema:
        pairs.append(("form", call.schema))
    if call.replicate:
        pairs.append(("replicate", count(call.replicate)))
    return [*pairs, ("key", call.key[:16])]
