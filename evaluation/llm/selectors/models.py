"""The endpoints of a project with their models, as the page of models shows them. No keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Max, Q, QuerySet

from annotation.models import Project
from crowdqc.errors import Conflict, Missing
from crowdqc.numbers import NBSP, count, money
from evaluation.llm.endpoints import keys
from evaluation.llm.endpoints.probing import under_way
from evaluation.llm.selectors.words import abilities, price, small
from evaluation.models import CallState, Endpoint, LanguageModel

# What needs a model, and what does not: said wherever none is configured.
NEEDS = (
    ("Answers by models", "to stand beside people in AQER, in rankings and in pairwise tasks"),
    ("Models as judges", "of single texts and of pairs, in both orders"),
    ("Rescaling of ratings by their explanations", "each explanation becomes a score"),
    ("Attributes and checklists by a model", "thinking aloud, grouping, questions, answers"),
    ("Vectors of an endpoint as encoder", "for AQER; the one that comes with it needs none"),
)
WITHOUT = (
    ("Competence of people", "AQER and MACE, with their intervals"),
    ("Rankings and agreement", "of people’s judgments and ratings"),
    ("What models said elsewhere", "answers and judgments are imported as files"),
    ("Published scores", "imported as though they had been asked for here"),
    ("Checklists that people write and answer", "every stage can be filled in by hand"),
)


@dataclass(frozen=True)
class ModelRow:
    """A model as a line of its endpoint."""

    model: LanguageModel
    price_in: str
    price_out: str
    can: str
    calls: int
    failed: int
    probing: bool  # a job is at it


@dataclass(frozen=True)
class Budget:
    """An endpoint's money: ``total`` is what a full bar stands for, None without a budget."""

    spent: str
    reserved: str
    soft: str
    hard: str
    done: float
    total: float | None
    state: str  # "", "warn" (over the soft budget), "bad" (nothing is left)
    sentence: str


@dataclass(frozen=True)
class EndpointRow:
    """An endpoint: whether its key is there, what it may cost, how fast it may be asked."""

    endpoint: Endpoint
    key_mark: str
    key_word: str
    budget: Budget
    limits: list[tuple[str, str]]
    models: list[ModelRow]


def endpoints(project: Project) -> list[EndpointRow]:
    """The endpoints in use with their models, in two queries."""
    found = list(Endpoint.objects.filter(project=project, archived_at__isnull=True))
    models = (
        LanguageModel.objects.filter(endpoint__in=[one.pk for one in found])
        .filter(archived_at__isnull=True)
        .annotate(
            n=Count("calls"),
            bad=Count("calls", filter=Q(calls__state=CallState.FAILED)),
            last=Max("calls__finished_at"),
        )
        .order_by("name", "use")
    )
    held: dict[int, list[ModelRow]] = {one.pk: [] for one in found}
    for model in models:
        held[model.endpoint_id].append(_model_row(model))
    return [_row(one, held[one.pk], project.currency) for one in found]


def _model_row(model: LanguageModel) -> ModelRow:
    counts = (getattr(model, "n", 0), getattr(model, "bad", 0))
    words = (price(model.price_in), price(model.price_out), abilities(model))
    return ModelRow(model, *words, *counts, under_way(model.probe_asked_at))


def line_of(model: LanguageModel) -> ModelRow:
    """A model as its line shows it, without the counts of its calls."""
    return _model_row(model)


def _row(endpoint: Endpoint, models: list[ModelRow], currency: str) -> EndpointRow:
    mark, word = key_state(endpoint)
    return EndpointRow(
        endpoint, mark, word, budget_of(endpoint, currency), limits_of(endpoint), models
    )


def key_state(endpoint: Endpoint) -> tuple[str, str]:
    """Mark and words on the key: where it is kept, and whether it can be used. Never the key."""
    try:
        found = keys.key_of(endpoint)
    except Conflict:
        return "bad", keys.state_of(endpoint)
    return ("draft" if found == keys.NO_KEY else "done"), keys.state_of(endpoint)


def budget_of(endpoint: Endpoint, currency: str) -> Budget:
    """What is spent and in flight of the budgets, in words and as a bar."""
    used = endpoint.spent + endpoint.reserved
    most = endpoint.hard_budget if endpoint.hard_budget is not None else endpoint.soft_budget
    state, sentence = "", ""
    if endpoint.hard_budget is not None and used >= endpoint.hard_budget:
        state, sentence = "bad", "The hard budget is used up: nothing more is asked."
    elif endpoint.soft_budget is not None and used >= endpoint.soft_budget:
        state, sentence = "warn", "Over the soft budget: every run must be agreed to."
    elif endpoint.hard_budget is None and endpoint.soft_budget is None:
        sentence = "No budget is set: only its prices bound what a run may cost."
    return Budget(
        small(endpoint.spent, currency),
        small(endpoint.reserved, currency),
        _budget(endpoint.soft_budget, currency),
        _budget(endpoint.hard_budget, currency),
        float(used),
        float(most) if most else None,
        state,
        sentence,
    )


def _budget(value: Decimal | None, currency: str) -> str:
    return "none" if value is None else money(value, currency)


def limits_of(endpoint: Endpoint) -> list[tuple[str, str]]:
    """How fast the endpoint may be asked: name and value."""
    free = "no limit"
    requests, tokens = endpoint.requests_per_minute, endpoint.tokens_per_minute
    return [
        ("Requests a minute", count(requests) if requests else free),
        ("Tokens a minute", count(tokens) if tokens else free),
        ("At the same time", count(endpoint.parallel)),
        ("Waits for an answer", f"{endpoint.timeout_seconds}{NBSP}s"),
    ]


def get_endpoint(project: Project, endpoint_id: int) -> Endpoint:
    """An endpoint in use; Missing where there is none in this project."""
    found = Endpoint.objects.filter(project=project, pk=endpoint_id, archived_at__isnull=True)
    endpoint = found.first()
    if endpoint is None:
        raise Missing("There is no such endpoint in this project.")
    endpoint.project = project
    return endpoint


def get_model(project: Project, model_id: int) -> LanguageModel:
    """A model in use of an endpoint in use; Missing where there is none in this project."""
    model = usable(project).filter(pk=model_id).first()
    if model is None:
        raise Missing("There is no such model in this project.")
    model.endpoint.project = project
    return model


def usable(project: Project, use: str = "") -> QuerySet[LanguageModel]:
    """Models that can be asked: neither they nor their endpoint is archived."""
    rows = LanguageModel.objects.filter(
        endpoint__project=project, endpoint__archived_at__isnull=True, archived_at__isnull=True
    ).select_related("endpoint")
    return rows.filter(use=use) if use else rows


def summary(rows: Sequence[EndpointRow], currency: str) -> str:
    """The header's sentence: what was spent in all, of which budgets."""
    spent = sum((row.endpoint.spent for row in rows), Decimal(0))
    hard = [row.endpoint.hard_budget for row in rows if row.endpoint.hard_budget is not None]
    of = f" of {money(sum(hard, Decimal(0)), currency)}" if len(hard) == len(rows) else ""
    return f"{small(spent, currency)}{of} spent on calls so far."


def state(rows: Sequence[EndpointRow]) -> tuple[str, str]:
    """The header's mark and word, where there are models: whether one of them was heard of."""
    models = [line.model for row in rows for line in row.models]
    if any(model.can for model in models):
        return "open", "Ready"
    if any(model.probe_note for model in models):
        return "bad", "No model could be probed"
    return "draft", "No model is probed yet"
