"""The endpoints of a project with their models, as the page of models shows them. No keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Max, Q
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext as _

from annotation.models import Organisation, Project
from crowdqc.errors import Conflict, Missing
from crowdqc.money import round_money
from crowdqc.numbers import NBSP, amount, count, money, plain_decimal, small_money
from evaluation.llm import prompting
from evaluation.llm.endpoints import keys
from evaluation.llm.endpoints.probe import is_probe_pending
from evaluation.llm.schemas import JSON_OBJECT, JSON_SCHEMA
from evaluation.llm.wording import MILLION
from evaluation.models import CallState, Endpoint, LanguageModel, LLMAttempt
from evaluation.models.llm import owned_by, reachable

MINUTE, PRICE_PLACES = 60, 6  # seconds that a price of speech is for; digits of a stored price
# State of a call -> its mark.
CALL_MARKS = {
    CallState.QUEUED: "waiting",
    CallState.SENT: "running",
    CallState.DONE: "done",
    CallState.FAILED: "bad",
}
OUTCOME_MARKS = {LLMAttempt.Outcome.OK: "done", LLMAttempt.Outcome.SENT: "running"}
FORMATS = {
    JSON_SCHEMA: gettext_noop("held to a JSON schema"),
    JSON_OBJECT: gettext_noop("answers in JSON, its form is checked here"),
}


def small(value: Decimal | float | None, currency: str) -> str:
    """Format a small amount of money, like ``€0.0042``; "not known" for None."""
    return _("not known") if value is None else small_money(value, currency)


def price(value: Decimal | None) -> str:
    """A price for a million tokens, without its sign: ``0.15``, ``12.00``, "not known"."""
    if value is None:
        return _("not known")
    return plain_decimal(value) if value != round_money(value) else amount(value)


def minute_price(model: LanguageModel) -> Decimal:
    """The price of a minute of sound, of a model that writes down speech."""
    return round_money((model.price_in or Decimal()) * MINUTE / MILLION, PRICE_PLACES)


def abilities(model: LanguageModel) -> str:
    """Describe what a probe found the model can do; "" if it was not probed."""
    can: Mapping[str, Any] = model.can
    if not can:
        return ""
    if model.use == LanguageModel.Use.EMBEDDING:
        return (
            _("vectors of %(dim)s numbers") % {"dim": can["dim"]}
            if can.get("dim")
            else _("gives vectors")
        )
    if model.use == LanguageModel.Use.SPEECH:
        return _("transcribes recordings")
    plain = gettext_noop("plain text, its form is read and checked here")
    found = [_(FORMATS.get(can.get("format", ""), plain))]
    if can.get("logprobs"):
        found.append(_("tells token probabilities"))
    if can.get("seed"):
        found.append(_("takes a seed"))
    return "; ".join(found)


def prompts() -> list[dict[str, Any]]:
    """List every version of every built-in prompt, by name, newest first."""
    return [
        _prompt(name, number, newest=number == numbers[-1])
        for name, numbers in sorted(prompting.versions().items())
        for number in reversed(numbers)
    ]


def _prompt(name: str, version: int, *, newest: bool) -> dict[str, Any]:
    found = prompting.load(name, version)
    # One version of a prompt: its text with places, and which of them may stay empty.
    return {
        "ref": found.ref,
        "name": name,
        "version": version,
        "newest": newest,
        "system": found.system,
        "user": found.user,
        "needed": sorted(found.needed),
        "optional": sorted(found.places - found.needed),
    }


# What needs a model, and what does not: said wherever none is configured.
NEEDS = (
    (
        gettext_noop("Answers by models"),
        gettext_noop("to stand beside people in AQER, in rankings and in pairwise tasks"),
    ),
    (
        gettext_noop("Models as judges"),
        gettext_noop("of single texts and of pairs, in both orders"),
    ),
    (
        gettext_noop("Rescaling of ratings by their explanations"),
        gettext_noop("each explanation becomes a score"),
    ),
    (
        gettext_noop("Attributes and checklists by a model"),
        gettext_noop("thinking aloud, grouping, questions, answers"),
    ),
    (
        gettext_noop("Vectors of an endpoint as encoder"),
        gettext_noop("for AQER; the one that comes with it needs none"),
    ),
)
WITHOUT = (
    (gettext_noop("Competence of people"), gettext_noop("AQER and MACE, with their intervals")),
    (gettext_noop("Rankings and agreement"), gettext_noop("of people’s judgments and ratings")),
    (
        gettext_noop("What models said elsewhere"),
        gettext_noop("answers and judgments are imported as files"),
    ),
    (
        gettext_noop("Published scores"),
        gettext_noop("imported as though they had been asked for here"),
    ),
    (
        gettext_noop("Checklists that people write and answer"),
        gettext_noop("every stage can be filled in by hand"),
    ),
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


def endpoints(owner: Project | Organisation) -> list[dict[str, Any]]:
    """The endpoints in use with their models, in two queries.

    To a project those of its organisation too, with its own calls alone.
    """
    here = reachable(owner.pk) if isinstance(owner, Project) else Q(organisation=owner)
    rows = Endpoint.objects.filter(here, archived_at__isnull=True).select_related("organisation")
    found = list(rows.order_by(F("project").asc(nulls_last=True), "name"))
    own = Q(calls__project=owner) if isinstance(owner, Project) else Q(calls__isnull=False)
    models = (
        LanguageModel.objects.filter(endpoint__in=[one.pk for one in found])
        .filter(archived_at__isnull=True)
        .annotate(
            n=Count("calls", filter=own),
            bad=Count("calls", filter=own & Q(calls__state=CallState.FAILED)),
            last=Max("calls__finished_at"),
        )
        .order_by("name", "use")
    )
    held: dict[int, list[ModelRow]] = {one.pk: [] for one in found}
    for model in models:
        held[model.endpoint_id].append(_model_row(model))
    return [_row(one, held[one.pk], owner) for one in found]


def _model_row(model: LanguageModel) -> ModelRow:
    counts = (getattr(model, "n", 0), getattr(model, "bad", 0))
    sent = price(model.price_in)
    if model.use == LanguageModel.Use.SPEECH and model.price_in is not None:
        sent = _("%(price)s a minute") % {"price": price(minute_price(model))}
    words = (sent, price(model.price_out), abilities(model))
    return ModelRow(model, *words, *counts, is_probe_pending(model.probe_asked_at))


def line_of(model: LanguageModel) -> ModelRow:
    """Return the row of one model, without the counts of its calls."""
    return _model_row(model)


def _row(
    endpoint: Endpoint, models: list[ModelRow], owner: Project | Organisation
) -> dict[str, Any]:
    mark, word = key_state(endpoint)
    # An endpoint: whether its key is there, what it may cost, how fast it may be asked.
    return {
        "endpoint": endpoint,
        "key_mark": mark,
        "key_word": word,
        "budget": budget_of(endpoint, owner.currency),
        "limits": limits_of(endpoint),
        "models": models,
        "shared": isinstance(owner, Project) and endpoint.project_id is None,
    }


def key_state(endpoint: Endpoint) -> tuple[str, str]:
    """Return mark and text on where the key is stored and whether it works."""
    try:
        found = keys.key_of(endpoint)
    except Conflict:
        return "bad", keys.state_of(endpoint)
    return ("draft" if found == keys.NO_KEY else "done"), keys.state_of(endpoint)


def budget_of(endpoint: Endpoint, currency: str) -> dict[str, Any]:
    """Return the endpoint's use of its budget as text and as a bar."""
    used = endpoint.spent + endpoint.reserved
    most = endpoint.hard_budget if endpoint.hard_budget is not None else endpoint.soft_budget
    state, sentence = "", ""
    if endpoint.hard_budget is not None and used >= endpoint.hard_budget:
        state, sentence = "bad", _("The hard budget is used up: nothing more is asked.")
    elif endpoint.soft_budget is not None and used >= endpoint.soft_budget:
        state, sentence = "warn", _("Over the soft budget: every run must be agreed to.")
    elif endpoint.hard_budget is None and endpoint.soft_budget is None:
        sentence = _("No budget is set: only its prices bound what a run may cost.")
    # An endpoint's money: ``total`` is what a full bar stands for, None without a budget.
    return {
        "spent": small(endpoint.spent, currency),
        "reserved": small(endpoint.reserved, currency),
        "soft": _budget(endpoint.soft_budget, currency),
        "hard": _budget(endpoint.hard_budget, currency),
        "done": float(used),
        "total": float(most) if most else None,
        # "", "warn" (over the soft budget), "bad" (nothing is left)
        "state": state,
        "sentence": sentence,
    }


def _budget(value: Decimal | None, currency: str) -> str:
    return gettext("none") if value is None else money(value, currency)


def limits_of(endpoint: Endpoint) -> list[tuple[str, str]]:
    """List the endpoint's rate limits as (name, value)."""
    free = _("no limit")
    requests, tokens = endpoint.requests_per_minute, endpoint.tokens_per_minute
    return [
        (_("Requests a minute"), count(requests) if requests else free),
        (_("Tokens a minute"), count(tokens) if tokens else free),
        (_("At the same time"), count(endpoint.parallel)),
        (_("Waits for an answer"), f"{endpoint.timeout_seconds}{NBSP}s"),
    ]


def get_endpoint(owner: Project | Organisation, endpoint_id: int) -> Endpoint:
    """An endpoint in use of the owner's own; Missing where there is none."""
    found = Endpoint.objects.filter(
        **owned_by(owner), pk=endpoint_id, archived_at__isnull=True
    ).first()
    if found is None:
        raise Missing(_("There is no such endpoint here."))
    return found


def get_model(owner: Project | Organisation, model_id: int) -> LanguageModel:
    """A model in use of an endpoint in use of the owner's own; Missing where there is none."""
    rows = LanguageModel.objects.select_related("endpoint").filter(
        **{f"endpoint__{name}": value for name, value in owned_by(owner).items()}
    )
    model = rows.filter(
        pk=model_id, archived_at__isnull=True, endpoint__archived_at__isnull=True
    ).first()
    if model is None:
        raise Missing(_("There is no such model here."))
    return model


def summary(rows: Sequence[dict[str, Any]], currency: str) -> str:
    """The header's sentence: what was spent in all, of which budgets."""
    spent = sum((row["endpoint"].spent for row in rows), Decimal(0))
    hard = [row["endpoint"].hard_budget for row in rows if row["endpoint"].hard_budget is not None]
    text = (
        _("%(spent)s of %(hard)s spent on calls so far.")
        if len(hard) == len(rows)
        else _("%(spent)s spent on calls so far.")
    )
    return text % {
        "spent": small(spent, currency),
        "hard": money(sum(hard, Decimal(0)), currency),
    }


def state(rows: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Return mark and word for the state of a project's models: ready, failed or unknown."""
    models = [line.model for row in rows for line in row["models"]]
    if any(model.can for model in models):
        return "open", _("Ready")
    if any(model.probe_note for model in models):
        return "bad", _("No model could be probed")
    return "draft", _("No model is probed yet")
