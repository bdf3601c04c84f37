"""What came of one request, and how an endpoint is reached: plain data, without any client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from crowdqc.outbound import addresses
from evaluation.llm.endpoints import keys
from evaluation.models import Endpoint, LLMAttempt

Outcome = LLMAttempt.Outcome
CHAT, EMBEDDINGS = "/chat/completions", "/embeddings"
COMPLETIONS, TRANSCRIPTIONS = "/completions", "/audio/transcriptions"


@dataclass(frozen=True)
class Link:
    """How an endpoint is reached: taken once a run, so that threads need no database."""

    base_url: str
    key: str = field(repr=False)
    timeout: float


@dataclass(frozen=True)
class Top:
    """A token of an answer, and the most probable ones in its place with log-probabilities."""

    token: str
    others: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class PromptToken:
    """A token of a prompt that came back with it: its words and log-probability, if one is told."""

    text: str
    logprob: float | None


@dataclass(frozen=True)
class Completion:
    """What came of one request: an answer (``outcome`` ok), or why there is none.

    ``heals``: asking again may help. ``sent``: the request may have reached the endpoint, so that
    it may have been billed. ``wait``: seconds after which the endpoint wants to be asked again.
    """

    outcome: str = Outcome.OK
    text: str = ""
    finish: str = ""
    reason: str = ""
    status: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency_ms: int = 0
    heals: bool = False
    sent: bool = True
    wait: float | None = None
    tops: Sequence[Top] = ()
    vectors: Sequence[Sequence[float]] = ()
    echoed: Sequence[PromptToken] = ()  # the prompt and what was written after it
    spoken: str = ""  # what was said in a recording; apart from ``text``, which calls store


def link_of(endpoint: Endpoint) -> Link:
    """Return address and key of an endpoint.

    Raises Conflict where no key can be used, Invalid for a forbidden address.
    """
    addresses.check(endpoint.base_url)
    return Link(endpoint.base_url, keys.key_of(endpoint), float(endpoint.timeout_seconds))
