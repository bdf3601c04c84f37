"""One request to an OpenAI-compatible endpoint, and what came of it. Never retries by itself.

The request goes through ``crowdqc.outbound``: one deadline for all of it, a size limit, checked
numbers, and no redirect, which could lead the key elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from crowdqc import outbound
from crowdqc.files.json_input import Unreadable, read_json
from evaluation.llm.completion import (
    COMPLETIONS,
    EMBEDDINGS,
    TRANSCRIPTIONS,
    Completion,
    Link,
    Outcome,
    PromptToken,
    Top,
)
from evaluation.llm.endpoints import keys

if TYPE_CHECKING:
    from openai import APIStatusError

MB = 1024 * 1024
# Of one answer: an endpoint must not fill the memory. Vectors are long, what a model says is not.
MOST_MB = {EMBEDDINGS: 32}
MOST_MB_OTHERWISE = 4
LONGEST_WAIT = 3600.0  # seconds that an endpoint may ask us to wait


class Sender:
    """Connections to an endpoint, shared by a run's threads; to be closed at its end."""

    def __init__(self, link: Link) -> None:
        import openai  # not above: it takes 30 MB, and no page asks a model

        self.link = link
        self._errors = (openai.APITimeoutError, openai.APIStatusError, openai.APIConnectionError)
        most = max(MOST_MB.values())
        self._outbound = outbound.Client(seconds=link.timeout, most_bytes=most * MB)
        self.openai = openai.OpenAI(
            base_url=link.base_url,
            api_key=link.key,
            max_retries=0,
            timeout=link.timeout,
            http_client=self._outbound.http,
        )
        self._streaming = self.openai.with_streaming_response

    def close(self) -> None:
        """Close all connections; a request that still hangs on one of them fails."""
        self._outbound.close()

    def send(self, path: str, body: Mapping[str, Any]) -> Completion:
        """Send one request and read its answer; never raises for what an endpoint does.

        A transcription has the keys model, response_format and file (name, bytes, type); without
        ``file`` the recording may no longer leave, and nothing is sent.
        """
        if path == TRANSCRIPTIONS and body["file"] is None:
            reason = "The recording was removed, or its speaker no longer agrees."
            return Completion(outcome=Outcome.REJECTED, reason=reason, sent=False)
        timed_out, status_error, connection_error = self._errors
        began = time.monotonic()
        try:
            found = self._read(path, body)
        except (timed_out, outbound.TimedOut):
            reason = f"No whole answer within {self.link.timeout:g} seconds."
            found = Completion(outcome=Outcome.TIMEOUT, reason=reason, heals=True)
        except outbound.TooLong:
            found = _broken(f"The answer is longer than {_most_mb(path)} MB.")
        except status_error as error:
            found = _status(error, self.link)
        except connection_error as error:
            found = _unreached(error.__cause__ or error, self.link.timeout)
        except outbound.NetworkError as error:
            found = _unreached(error, self.link.timeout)
        return replace(found, latency_ms=round(1000 * (time.monotonic() - began)))

    def _read(self, path: str, body: Mapping[str, Any]) -> Completion:
        more: Any = {"extra_body": dict(body)}
        if path == TRANSCRIPTIONS:
            ready: Any = self._streaming.audio.transcriptions.create(**body)
        elif path == EMBEDDINGS:
            ready = self._streaming.embeddings.create(
                input="", model="", encoding_format="float", **more
            )
        elif path == COMPLETIONS:
            ready = self._streaming.completions.create(prompt="", model="", **more)
        else:
            ready = self._streaming.chat.completions.create(messages=[], model="", **more)
        with ready as response:
            status, content = response.status_code, bytearray()
            for piece in response.iter_bytes():
                content += piece
                if len(content) > _most_mb(path) * MB:
                    raise outbound.TooLong("the answer")
        try:
            told = read_json(bytes(content), any_text=True)
            return READERS.get(path, _answer)(told, status)
        except (Unreadable, ValueError, KeyError, IndexError, TypeError, AttributeError):
            return _broken("The answer is not what an OpenAI-compatible endpoint gives.", status)


def _most_mb(path: str) -> int:
    return MOST_MB.get(path, MOST_MB_OTHERWISE)


def _answer(told: Mapping[str, Any], status: int) -> Completion:
    choice = told["choices"][0]
    message, usage = choice["message"], told.get("usage") or {}
    refusal, finish = message.get("refusal") or "", str(choice.get("finish_reason") or "")
    base: dict[str, Any] = {
        "text": plain(message.get("content") or ""),
        "finish": finish,
        "status": status,
        "tokens_in": _count(usage.get("prompt_tokens")),
        "tokens_out": _count(usage.get("completion_tokens")),
    }
    if refusal or finish == "content_filter":
        why = f"The model declined: {refusal}" if refusal else "A filter kept the answer back."
        return Completion(**base, outcome=Outcome.REFUSED, reason=plain(why)[:300])
    tops = [
        Top(
            one["token"],
            [
                (other["token"], float(other["logprob"]))
                for other in one.get("top_logprobs") or [one]
            ],
        )
        for one in (choice.get("logprobs") or {}).get("content") or []
    ]
    return Completion(**base, tops=tops)


def _vectors(told: Mapping[str, Any], status: int) -> Completion:
    rows = sorted(told["data"], key=lambda row: row["index"])
    vectors = [[float(value) for value in row["embedding"]] for row in rows]
    usage = told.get("usage") or {}
    return Completion(
        status=status, vectors=vectors, tokens_in=_count(usage.get("prompt_tokens")), tokens_out=0
    )


def _echo(told: Mapping[str, Any], status: int) -> Completion:
    """The tokens of the prompt with their probabilities, where the endpoint tells them."""
    choice, usage = told["choices"][0], told.get("usage") or {}
    logprobs = choice.get("logprobs") or {}
    echoed = [
        PromptToken(str(token), None if chance is None else float(chance))
        for token, chance in zip(
            logprobs.get("tokens") or [], logprobs.get("token_logprobs") or [], strict=True
        )
    ]
    return Completion(
        status=status,
        echoed=echoed,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
    )


def _speech(told: Mapping[str, Any], status: int) -> Completion:
    """Read a transcript; ``tokens_in`` are seconds of sound, where the endpoint tells them."""
    usage = told.get("usage") or {}
    seconds = told.get("duration", usage.get("seconds"))
    known = isinstance(seconds, int | float) and math.isfinite(seconds)
    return Completion(
        status=status,
        spoken=plain(told["text"]),
        tokens_in=_count(math.ceil(seconds)) if known else None,
        tokens_out=0,
    )


READERS = {COMPLETIONS: _echo, EMBEDDINGS: _vectors, TRANSCRIPTIONS: _speech}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**31 else None


def plain(text: Any) -> str:
    """Remove what the database cannot store from a text: NUL and half surrogate pairs."""
    return str(text).replace("\0", "").encode("utf-8", "replace").decode()


# -- what went wrong -------------------------------------------------------------------------------


def _broken(reason: str, status: int | None = None) -> Completion:
    return Completion(outcome=Outcome.SERVER_ERROR, reason=reason, status=status, heals=True)


def _unreached(error: BaseException, seconds: float) -> Completion:
    """The connection could not be made, or was cut: then what was sent may have been billed."""
    reason = outbound.describe_error(error, seconds, "The endpoint")
    heals, sent = not outbound.is_private_address(error), not outbound.is_unsent(error)
    return Completion(outcome=Outcome.CONNECTION, reason=reason, heals=heals, sent=sent)


def _status(error: APIStatusError, link: Link) -> Completion:
    status = error.status_code
    said = plain(_error_text(error))
    if link.key != keys.NO_KEY:
        said = said.replace(link.key, "(key)")
    reason = f"HTTP {status}{f': {said}' if said else ''}"[:250]
    rate, broken = status == 429, status >= 500 or status in (408, 409, 425)
    if rate:
        heals = "insufficient_quota" not in said
        wait = asked_wait(error.response.headers)
        return Completion(
            outcome=Outcome.RATE_LIMITED,
            reason=reason,
            status=status,
            heals=heals,
            wait=wait,
            sent=False,
        )
    if broken:
        wait = asked_wait(error.response.headers)
        return Completion(
            outcome=Outcome.SERVER_ERROR,
            reason=reason,
            status=status,
            heals=True,
            wait=wait,
            sent=False,
        )
    return Completion(outcome=Outcome.REJECTED, reason=reason, status=status, sent=False)


def _error_text(error: APIStatusError) -> str:
    """The endpoint's own words about an error, with its code."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            words = [str(inner[name]) for name in ("message", "code") if inner.get(name)]
            return " ".join(dict.fromkeys(words))
        return str(inner)
    return str(body or "").strip()


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Parse Retry-After (a number or a date) into seconds, at most an hour.

    None if there is none.
    """
    told = headers.get("retry-after", "")
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(told).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(0.0, seconds), LONGEST_WAIT)
