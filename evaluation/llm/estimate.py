"""What questions would cost, and what keeps them from being asked, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _

from crowdqc.errors import DomainError
from crowdqc.numbers import small_money
from evaluation.llm import completion, wording
from evaluation.llm.ask import ModelQuestion, Preview
from evaluation.llm.organisation import organisation_of, use_of
from evaluation.models import CallState, Endpoint, LanguageModel, LLMCall

PART = 500


def blocking(model: LanguageModel) -> list[str]:
    """List why a model cannot be asked at all: archived, no key, no price for a budget."""
    endpoint, problems = model.endpoint, []
    if endpoint.archived_at is not None or model.archived_at is not None:
        what = endpoint.name if endpoint.archived_at is not None else model.name
        problems.append(_("%(what)s is archived.") % {"what": what})
    if endpoint.hard_budget is not None and wording.unpriced(model):
        problems.append(
            _(
                "The price of %(model)s is not known, so the budget of %(endpoint)s cannot "
                "be kept. Enter the prices, or remove the hard budget."
            )
            % {"model": model.name, "endpoint": endpoint.name}
        )
    organisation = organisation_of(endpoint)
    if organisation and organisation.model_budget is not None and wording.unpriced(model):
        problems.append(
            _("The price of %(model)s is not known, so the budget of %(name)s cannot be kept.")
            % {"model": model.name, "name": organisation.name}
        )
    try:
        completion.link_of(endpoint)
    except DomainError as problem:
        problems.append(problem.message)
    return problems


def preview(model: LanguageModel, asks: Sequence[ModelQuestion], project_id: int) -> Preview:
    """Estimate what these questions would cost a project, without asking them.

    Tokens to be expected: a token for four bytes, and answers half as long as they may be.
    """
    sizes, cached = _sizes(model, asks, project_id)
    tokens_in = sum(size.expected_in for size in sizes)
    tokens_out = sum((size.most_out + 1) // 2 for size in sizes)
    cost, at_most = wording.cost_of(model, tokens_in, tokens_out), None
    if cost is not None and not wording.unpriced(model):
        at_most = sum((wording.highest_cost(model, size) for size in sizes), Decimal())
    else:
        cost = None
    problems: list[str] = []
    warnings: list[str] = []
    if sizes:
        now = Endpoint.objects.get(pk=model.endpoint_id)
        problems = blocking(model)
        short, warnings = _budget(now, cost, at_most)
        problems += short
        if not model.can and model.use == LanguageModel.Use.CHAT:
            warnings.append(
                _(
                    "%(model)s was never probed: the run begins with up to 8 short requests that "
                    "find out what it can do."
                )
                % {"model": model.name}
            )
    return Preview(
        calls=len(asks),
        cached=cached,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=cost,
        at_most=at_most,
        minutes=_minutes(model.endpoint, sizes),
        problems=problems,
        warnings=warnings,
    )


def _sizes(
    model: LanguageModel, asks: Sequence[ModelQuestion], project_id: int
) -> tuple[list[wording.Size], int]:
    """Sizes of the requests still to be made, and how many questions are answered already."""
    sizes, cached, seen = [], 0, set()
    for start in range(0, len(asks), PART):
        told = [(ask, wording.messages_of(model, ask)) for ask in asks[start : start + PART]]
        keys = [wording.key_of(model, ask, messages) for ask, messages in told]
        rows = LLMCall.objects.filter(project_id=project_id, key__in=keys, state=CallState.DONE)
        done = set(rows.values_list("key", flat=True))
        for key, (ask, messages) in zip(keys, told, strict=True):
            if key in done:
                cached += 1
            elif key not in seen:
                seen.add(key)
                sizes.append(wording.size_of_request(model, ask, messages))
    return sizes, cached


def _budget(
    endpoint: Endpoint, cost: Decimal | None, at_most: Decimal | None
) -> tuple[list[str], list[str]]:
    """Problems and warnings about money."""
    currency = endpoint.owner.currency
    if cost is None or at_most is None:
        return [], [_("The price of this model is not known, so no cost can be told.")]
    problems, warnings = [], []
    for name, left in _budgets_left(endpoint):
        told = {
            "left": small_money(left, currency),
            "endpoint": name,
            "cost": small_money(cost, currency),
        }
        if cost > left:
            text = _("%(left)s is left of the budget of %(endpoint)s; about %(cost)s is needed.")
            problems.append(text % told)
        elif at_most > left:
            text = _(
                "%(left)s is left of the budget of %(endpoint)s; the run may stop before its end "
                "if answers are long."
            )
            warnings.append(text % told)
    soft = endpoint.soft_budget
    if soft is not None and endpoint.spent + cost > soft:
        text = (
            _("The soft budget of %(endpoint)s, %(soft)s, is passed already.")
            if endpoint.spent > soft
            else _("The soft budget of %(endpoint)s, %(soft)s, would be passed.")
        )
        warnings.append(text % {"endpoint": endpoint.name, "soft": small_money(soft, currency)})
    return problems, warnings


def _budgets_left(endpoint: Endpoint) -> Iterator[tuple[str, Decimal]]:
    """Yield what is left of each budget that holds calls back, with whose it is."""
    if endpoint.hard_budget is not None:
        left = endpoint.hard_budget - endpoint.spent - endpoint.reserved
        yield endpoint.name, max(Decimal(), left)
    organisation = organisation_of(endpoint)
    if organisation is not None and organisation.model_budget is not None:
        use = use_of(organisation)
        left = organisation.model_budget - use.spent - use.reserved
        yield organisation.name, max(Decimal(), left)


def _minutes(endpoint: Endpoint, sizes: Sequence[wording.Size]) -> float | None:
    """Minutes that the endpoint's limits make it take; None where there are none."""
    found = []
    if endpoint.requests_per_minute is not None:
        found.append(len(sizes) / endpoint.requests_per_minute)
    if endpoint.tokens_per_minute is not None:
        found.append(sum(size.granted for size in sizes) / endpoint.tokens_per_minute)
    return max(found) if found else None
