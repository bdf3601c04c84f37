"""One POST to an address that somebody entered: to the checked numbers, within a whole deadline.

The name is resolved once, checked (``crowdqc.addresses``) and connected to by its numbers, so that
it cannot lead into our network in between. No redirect is followed, no proxy is used, and of the
answer's body only the beginning is read.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpcore2

from crowdqc.addresses import reachable
from crowdqc.errors import Invalid

CONNECT_SECONDS = 5.0
NUMBERS_TRIED = 3
MOST_READ = 1200  # bytes of an answer's body


@dataclass(frozen=True)
class Told:
    """What came of it: a status and the beginning of the body, or why there is none."""

    status: int | None
    said: str
    error: str
    took_ms: int


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Told:
    """Send it; never raises for what the other side does."""
    began = time.monotonic()
    status, said, error = None, "", ""
    timeouts = {"connect": CONNECT_SECONDS, "read": seconds, "write": seconds, "pool": seconds}
    pool = httpcore2.ConnectionPool(_tls(), network_backend=_Pinned(began + seconds))
    try:
        with pool, pool.stream(
            "POST", url, headers=[("content-type", "application/json"), *headers.items()],
            content=body, extensions={"timeout": timeouts},
        ) as answer:  # fmt: skip
            status = answer.status
            said = _beginning(answer.iter_stream())
    except Invalid as refused:
        error = next(iter(refused.fields.values()), refused.message)
    except httpcore2.TimeoutException:
        error = f"No whole answer within {seconds:g} seconds."
    except (httpcore2.NetworkError, ssl.SSLError) as problem:
        secure = isinstance(problem.__cause__ or problem, ssl.SSLError)
        error = "Its certificate is not accepted." if secure else "It cannot be reached."
    except httpcore2.ProtocolError:
        error = "The answer is not HTTP."
    return Told(status, said, error, round(1000 * (time.monotonic() - began)))


def _beginning(pieces: Iterable[bytes]) -> str:
    found = b""
    for piece in pieces:
        found += piece
        if len(found) >= MOST_READ:
            break
    return found[:MOST_READ].decode("utf-8", "replace").replace("\0", "").strip()


@cache
def _tls() -> ssl.SSLContext:
    return httpcore2.default_ssl_context()


class _Pinned(httpcore2.NetworkBackend):
    """Connections to the numbers that were checked, which end with the deadline."""

    def __init__(self, deadline: float) -> None:
        self._deadline, self._plain = deadline, httpcore2.SyncBackend()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None,
        local_address: str | None = None, socket_options: Any = None,
    ) -> httpcore2.NetworkStream:  # fmt: skip
        numbers = reachable(host, port)[:NUMBERS_TRIED]
        for number in numbers:
            try:
                stream = self._plain.connect_tcp(number, port, timeout, None, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if number == numbers[-1]:
                    raise
            else:
                return _Within(stream, self._deadline)
        raise httpcore2.ConnectError(f"nothing stands behind {host}")


class _Within(httpcore2.NetworkStream):
    """A stream whose reads and writes together end with the deadline, however small the pieces."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def _left(self, timeout: float | None) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout
        return left if timeout is None else min(left, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:  # fmt: skip
        secured = self._stream.start_tls(ssl_context, server_hostname, self._left(timeout))
        return _Within(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
