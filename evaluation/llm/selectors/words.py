"""How pages write what models cost, what they can do, and how their calls ended."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from crowdqc.numbers import amount, small_money
from evaluation.llm.schemas import JSON_OBJECT, JSON_SCHEMA
from evaluation.models import CallState, LanguageModel, LLMAttempt

# State of a call -> its mark.
CALL_MARKS = {
    CallState.QUEUED: "waiting",
    CallState.SENT: "running",
    CallState.DONE: "done",
    CallState.FAILED: "bad",
}
OUTCOME_MARKS = {LLMAttempt.Outcome.OK: "done", LLMAttempt.Outcome.SENT: "running"}
FORMATS = {
    JSON_SCHEMA: "held to a JSON schema",
    JSON_OBJECT: "answers in JSON, its form is checked here",
}


def small(value: Decimal | float | None, currency: str) -> str:
    """Money with two digits that matter: ``€1.80``, ``€0.0042``, ``€0``; None reads "not known"."""
    return "not known" if value is None else small_money(value, currency)


def price(value: Decimal | None) -> str:
    """A price for a million tokens, without its sign: ``0.15``, ``12.00``, "not known"."""
    if value is None:
        return "not known"
    plain = value.normalize()
    return f"{plain:f}" if plain != plain.quantize(Decimal("0.01")) else amount(plain)


def abilities(model: LanguageModel) -> str:
    """What the probe found, in words; "" where none was made."""
    can: Mapping[str, Any] = model.can
    if not can:
        return ""
    if model.use == LanguageModel.Use.EMBEDDING:
        return f"vectors of {can['dim']} numbers" if can.get("dim") else "gives vectors"
    found = [FORMATS.get(can.get("format", ""), "plain text, its form is read and checked here")]
    if can.get("logprobs"):
        found.append("tells token probabilities")
    if can.get("seed"):
        found.append("takes a seed")
    return "; ".join(found)
