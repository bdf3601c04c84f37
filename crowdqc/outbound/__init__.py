"""Calls to other systems: platforms, key sets, language models, webhooks. There is no other way.

Every request has one deadline, a size limit for what is read, and goes to numbers that were
checked (``transport``). No redirect is followed, no proxy of the environment is used, and a web
request can make none: jobs call, pages show what they wrote. The identity provider alone is asked
while a browser waits, by one thread of a process at a time (``web_request.one_may_wait``).
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2

from crowdqc.outbound.addresses import AddressRefused
from crowdqc.outbound.transport import TooLong, Transport

__all__ = [
    "Answer",
    "Client",
    "Download",
    "NetworkError",
    "NoAnswer",
    "NotAllowedThere",
    "NotReached",
    "OutboundError",
    "TimedOut",
    "Told",
    "TooLong",
    "describe_error",
    "is_private_address",
    "is_unsent",
    "post",
]
PIECE = 256 * 1024  # bytes of a download at a time
MOST_SAID = 1200  # bytes that are read of the answer to a webhook
# What the bare client (``Client.http``) may raise, for a library that is handed it.
TimedOut, NetworkError = httpx2.TimeoutException, httpx2.TransportError


class OutboundError(Exception):
    """A request to another system failed; ``str()`` says why, ``status`` is the code, if any."""

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.status = status


class NotReached(OutboundError):
    """The request was not sent: nothing happened at the other end."""


class NotAllowedThere(NotReached):
    """The address leads into a private network, so trying again cannot help."""


class NoAnswer(OutboundError):
    """The request was sent but no whole answer came: its effect is unknown."""


@dataclass(frozen=True)
class Answer:
    """A response with its body as sent and lower-case header names."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Download:
    """A response whose body is read as it comes, in pieces."""

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


class Client:
    """Requests to one system, each within ``seconds``; used as a context, by any number of threads.

    ``http`` is the client of httpx2 itself, for a library that wants one. ``inside`` lets it reach
    our own network, for a host that the installation's owner named.
    """

    def __init__(
        self,
        *,
        seconds: float,
        most_bytes: int,
        base_url: str = "",
        headers: Mapping[str, str] | None = None,
        inside: bool = False,
    ) -> None:
        self.seconds = seconds
        self.http = httpx2.Client(
            base_url=base_url,
            headers={"user-agent": "crowdqc", **(headers or {})},
            transport=Transport(seconds, most_bytes, inside=inside),
            follow_redirects=False,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a request that hangs on one of them fails."""
        self.http.close()

    def send(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        beginning: int | None = None,
    ) -> Answer:
        """Send a request and return the answer, whatever its status code.

        With ``beginning`` only so many bytes of the body are read.

        Raises NotReached and NoAnswer.
        """
        status = None
        try:
            with self.http.stream(
                method, url, json=json, content=content, headers=headers
            ) as answer:
                status, body = answer.status_code, bytearray()
                for piece in answer.iter_bytes():
                    body += piece
                    if beginning is not None and len(body) >= beginning:
                        break
                return Answer(status, bytes(body[:beginning]), dict(answer.headers))
        except (httpx2.InvalidURL, httpx2.TransportError) as error:
            raise self._failure(error, status) from error

    @contextmanager
    def download(self, url: str) -> Iterator[Download]:
        """Get a file piece by piece, whatever the status code.

        Raises NotReached and NoAnswer, also while the pieces are read.
        """
        status = None
        try:
            with self.http.stream("GET", url) as answer:
                status = answer.status_code
                yield Download(status, dict(answer.headers), answer.iter_bytes(PIECE))
        except (httpx2.InvalidURL, httpx2.TransportError) as error:
            raise self._failure(error, status) from error

    def _failure(self, error: Exception, status: int | None) -> OutboundError:
        """What a failed request is to its caller."""
        if isinstance(error, httpx2.InvalidURL):
            return NotReached("The address cannot be read.")
        words = describe_error(error, self.seconds)
        if is_private_address(error):
            return NotAllowedThere(words)
        return NotReached(words) if is_unsent(error) else NoAnswer(words, status)


def is_unsent(error: BaseException) -> bool:
    """Whether the connection failed before anything was sent."""
    return isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)


def is_private_address(error: BaseException) -> bool:
    """Whether the address led into a private network."""
    return _cause(error, AddressRefused) is not None


def describe_error(error: BaseException, seconds: float, it: str = "It") -> str:
    """Describe an error in a sentence for a person."""
    refused = _cause(error, AddressRefused)
    cut = "disconnected" in str(error) or "closed connection" in str(error)
    if isinstance(refused, AddressRefused):
        words = next(iter(refused.fields.values()), refused.message)
    elif isinstance(error, httpx2.TimeoutException):
        words = f"No whole answer within {seconds:g} seconds."
    elif isinstance(error, TooLong):
        words = str(error)
    elif _cause(error, ssl.SSLError) is not None:
        words = "Its certificate is not accepted."
    elif is_unsent(error):
        words = f"{it} cannot be reached."
    elif isinstance(error, httpx2.ProtocolError | httpx2.UnsupportedProtocol) and not cut:
        words = "The answer is not HTTP."
    else:
        words = "The connection was cut before the answer came."
    return words


def _cause(error: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """The error of this kind behind it; the libraries between raise some "from None"."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


@dataclass(frozen=True)
class WebhookReply:
    """The result of a webhook: status and start of the body, or the failure."""

    status: int | None
    said: str
    error: str
    took_ms: int


def post_webhook(
    url: str, body: bytes, headers: Mapping[str, str], *, seconds: float
) -> WebhookReply:
    """Send a webhook; never raises for what the other side does."""
    began = time.monotonic()
    status, said, error = None, "", ""
    try:
        with Client(seconds=seconds, most_bytes=2**20) as client:
            answer = client.send(
                "POST",
                url,
                content=body,
                beginning=MOST_SAID,
                headers={"content-type": "application/json", **headers},
            )
        status, said = answer.status, _text(answer.body)
    except OutboundError as problem:
        status, error = problem.status, str(problem)
    return WebhookReply(status, said, error, round(1000 * (time.monotonic() - began)))


def _text(body: bytes) -> str:
    return body.decode("utf-8", "replace").replace("\0", "").strip()
