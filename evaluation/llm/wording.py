"""A question as it is sent, and an answer as it is read: formats, limits, probabilities."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from crowdqc.money import round_money
from evaluation.llm.ask import ModelQuestion
from evaluation.llm.completion import Completion, Outcome, Top
from evaluation.llm.schemas import JSON_OBJECT, JSON_SCHEMA, PLAIN, Schema, WrongForm, telling
from evaluation.models import LanguageModel

# Tokens an answer may have where the question does not say: without a bound nothing can be
# reserved for it.
DEFAULT_LIMIT = 1024
# Tokens beyond the texts: a chat template around each message, and what it adds before them.
A_MESSAGE, A_REQUEST = 16, 64
BYTES_A_TOKEN = 4  # of English, about; only for what is to be expected
MILLION, COST_PLACES = Decimal(1_000_000), 8
TOPS = 20  # most probable tokens to be told, where the endpoint allows it
VALUE = re.compile(r'\{\s*"[^"]*"\s*:\s*"?')
Message = dict[str, str]


def messages_of(model: LanguageModel, ask: ModelQuestion) -> list[Message]:
    """Return the messages to send: the prompt, with the answer's form in words if needed."""
    messages = [dict(message) for message in ask.prompt.messages]
    if model.can.get("format", PLAIN) != JSON_SCHEMA and telling(ask.schema):
        messages[-1]["content"] += f"\n\n{telling(ask.schema)}"
    return messages


def params_of(ask: ModelQuestion) -> dict[str, Any]:
    """The parameters of a question, always with a limit of the answer's tokens."""
    return {"max_tokens": DEFAULT_LIMIT, **ask.params}


def key_of(model: LanguageModel, ask: ModelQuestion, messages: Sequence[Mapping[str, str]]) -> str:
    """Hash everything that an answer depends on, as the key of its call."""
    parts = [
        model.endpoint.base_url,
        model.name,
        messages,
        params_of(ask),
        ask.schema.name,
        schema_json(ask.schema),
        ask.prompt.ref,
        ask.replicate,
        ask.by_chance,
    ]
    told = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()


@lru_cache(maxsize=64)
def _schema_of(form: type[BaseModel]) -> dict[str, Any]:
    return form.model_json_schema()


def schema_json(schema: Schema) -> dict[str, Any]:
    """The schema as JSON; made once for each form, as it takes as long as a small request."""
    return _schema_of(schema.model) if schema.model is not None else {}


def body_of(
    model: LanguageModel, ask: ModelQuestion, messages: Sequence[Message]
) -> dict[str, Any]:
    """Return the body of a request, in the best format that the model supports."""
    params = params_of(ask)
    limit = params.pop("max_tokens")
    body: dict[str, Any] = {"model": model.name, "messages": messages, **params}
    body[model.can.get("limit", "max_tokens")] = limit
    if not model.can.get("seed", True):
        body.pop("seed", None)
    form = model.can.get("format", PLAIN)
    if ask.schema.model is not None and form == JSON_SCHEMA:
        name = ask.schema.name.split("@")[0]
        told = {"name": name, "schema": schema_json(ask.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": told}
    elif ask.schema.model is not None and form == JSON_OBJECT:
        body["response_format"] = {"type": "json_object"}
    if by_chance(model, ask):
        body["logprobs"], body["top_logprobs"] = True, model.can.get("top_logprobs", TOPS)
    return body


def by_chance(model: LanguageModel, ask: ModelQuestion) -> bool:
    """Return whether the answer is read from the probabilities of its words."""
    return ask.by_chance and bool(ask.schema.words) and bool(model.can.get("logprobs"))


# -- size and cost ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """Tokens of a request: to be expected, and at most (a token is a byte or more)."""

    expected_in: int
    most_in: int
    most_out: int

    @property
    def granted(self) -> int:
        """Tokens that count against the limit per minute."""
        return self.expected_in + self.most_out


def size_of(messages: Sequence[Mapping[str, str]], schema: Schema | None, limit: int) -> Size:
    """Estimate the size in tokens of a request with these messages and answer schema."""
    told = sum(len(message["content"].encode("utf-8", "replace")) for message in messages)
    form = len(json.dumps(schema_json(schema))) if schema and schema.model else 0
    over = A_REQUEST + A_MESSAGE * len(messages)
    return Size(told // BYTES_A_TOKEN + over // 4, told + form + over, limit)


def size_of_request(model: LanguageModel, ask: ModelQuestion, messages: Sequence[Message]) -> Size:
    """Estimate the size of a question; for speech in seconds instead of tokens."""
    params = params_of(ask)
    if model.use == LanguageModel.Use.SPEECH:
        seconds = math.ceil(params["seconds"])
        return Size(seconds, seconds, 0)
    return size_of(messages, ask.schema, params["max_tokens"])


def unpriced(model: LanguageModel) -> bool:
    """Return whether a price is missing that the model's calls need."""
    chat = model.use == LanguageModel.Use.CHAT
    return model.price_in is None or (chat and model.price_out is None)


def highest_cost(model: LanguageModel, size: Size) -> Decimal:
    """Return the highest cost that a request can have; 0 if no price is known."""
    return cost_of(model, size.most_in, size.most_out) or Decimal()


def cost_of(model: LanguageModel, tokens_in: int, tokens_out: int) -> Decimal | None:
    """Return the price of so many tokens, rounded up; None if a price is unknown."""
    if model.price_in is None or (model.price_out is None and tokens_out):
        return None
    total = model.price_in * tokens_in + (model.price_out or 0) * tokens_out
    return round_money(total / MILLION, COST_PLACES, up=True)


# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParsedAnswer:
    """What an answer says: a value, or the reason why there is none and the outcome it means."""

    value: dict[str, Any] | None = None
    chances: dict[str, float] | None = None
    outcome: str = Outcome.OK
    reason: str = ""


def read(model: LanguageModel, ask: ModelQuestion, found: Completion) -> ParsedAnswer:
    """The value of an answer that came.

    A text that was cut off at its limit is taken where any text will do, and says so; a form that
    was cut off is none.
    """
    if by_chance(model, ask) and found.tops:
        chances = chances_of(ask.schema, found.tops)
        if chances is not None:
            best = max(chances, key=lambda word: chances[word])
            return ParsedAnswer(dict(ask.schema.words[best]), chances)
    cut = found.finish == "length"
    try:
        value = ask.schema.parse(found.text)
    except WrongForm as problem:
        if cut:
            limit = params_of(ask)["max_tokens"]
            why = f"Cut off after {limit} tokens: {problem}"
            return ParsedAnswer(outcome=Outcome.TRUNCATED, reason=why[:300])
        return ParsedAnswer(outcome=Outcome.WRONG_FORM, reason=str(problem)[:300])
    if cut and ask.schema.model is None:
        return ParsedAnswer(
            value, outcome=Outcome.TRUNCATED, reason="Cut off at the limit of its tokens."
        )
    return ParsedAnswer(value)


def chances_of(schema: Schema, tops: Sequence[Top]) -> dict[str, float] | None:
    """Return the probabilities of the schema's words at the answer's value; None if unavailable.

    Endpoints tell log-probabilities of the whole vocabulary even where a grammar leaves but a few
    tokens, so those of the words are summed over their spellings and normalised over the words.
    None where no word is among the tokens told.
    """
    place = _value_place(tops)
    if place is None:
        return None
    found = dict.fromkeys(schema.words, 0.0)
    for token, logprob in tops[place].others:
        word = _word(schema, token)
        if word is not None:
            found[word] += math.exp(min(logprob, 0.0))
    total = sum(found.values())
    if total <= 0:
        return None
    return {word: round(mass / total, 6) for word, mass in found.items()}


def _value_place(tops: Sequence[Top]) -> int | None:
    """The place of the token that the value begins with: after the name in JSON, else the first."""
    text = "".join(top.token for top in tops)
    match = VALUE.search(text)
    begins, at = match.end() if match else 0, 0
    for place, top in enumerate(tops):
        at += len(top.token)
        if at > begins and _bare(top.token):
            return place
    return None


def _bare(token: str) -> str:
    return re.sub(r"[\W_]+", "", token).casefold()


def _word(schema: Schema, token: str) -> str | None:
    """The word that a token spells, or begins where no other begins so."""
    bare = _bare(token)
    if not bare:
        return None
    exact = [word for word in schema.words if _bare(word) == bare]
    begun = exact or [word for word in schema.words if _bare(word).startswith(bare)]
    return begun[0] if len(begun) == 1 else None
