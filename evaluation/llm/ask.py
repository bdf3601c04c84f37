"""A question to a model, and the reply; ``calls.ask_all`` asks many at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from crowdqc.errors import Conflict
from evaluation.llm.prompting import Rendered
from evaluation.llm.schemas import Schema

# What a question is about, by its row: erasing follows this, and searches no texts.
SUBJECT = re.compile(r"(answer|item|pair|text|checklist|recording):(\d+)(?=\D|$)")
NOBODYS = ("steps",)  # about a definition, and no person's text


class BudgetSpent(Conflict):
    """The hard budget does not allow the next call; what was answered so far is kept."""


class CapReached(BudgetSpent):
    """What a run may cost (``Run.limits``) does not allow its next call; the rest goes unasked."""


class EndpointFails(Conflict):
    """The endpoint fails call after call; the run stops, and what was answered so far is kept."""


@dataclass(frozen=True)
class ModelQuestion:
    """One question to a model: what it is about, the prompt, the form of the answer.

    ``subject`` begins with the row whose texts stand in the prompt, and names a second one where
    there are two: "answer:12", "item:7/b", "answer:12/answer:15".
    ``tries``: how often an answer in a wrong form is asked for again before it is given up;
    faults of the endpoint are retried beyond that. ``by_chance``: take the most probable of the
    schema's words where the endpoint tells probabilities, and keep these.
    """

    subject: str
    prompt: Rendered
    schema: Schema
    params: Mapping[str, Any] = field(default_factory=dict)  # temperature, max_tokens, seed
    replicate: int = 0
    tries: int = 3
    by_chance: bool = False

    def __post_init__(self) -> None:
        if not SUBJECT.match(self.subject) and self.subject not in NOBODYS:
            raise ValueError(f"{self.subject!r} names no row, so nobody could erase the question")


@dataclass(frozen=True)
class Reply:
    """What came of one question: ``value`` is None where there is none, and ``reason`` says why."""

    subject: str
    call_id: int
    value: dict[str, Any] | None
    text: str
    reason: str = ""
    cached: bool = False
    chances: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Preview:
    """What a run would ask and cost, before it is started.

    ``cost`` is what is to be expected and ``at_most`` what will be reserved, in the project's
    currency; both None where a price is not known. ``minutes`` at the endpoint's limits.
    """

    calls: int
    cached: int
    tokens_in: int
    tokens_out: int
    cost: Decimal | None
    at_most: Decimal | None
    minutes: float | None
    problems: Sequence[str] = ()  # what keeps it from starting
    warnings: Sequence[str] = ()  # the soft budget, an unknown price
