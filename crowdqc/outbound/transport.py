"""The network below every call to another system: checked numbers, one deadline, a size limit.

A name is looked up once and connected to by the numbers that were checked, so that it cannot lead
into our network in between. The deadline is that of the whole request: look-up, connection, TLS,
every write and every read together, however small the pieces are. Bodies are never unpacked.
"""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpcore2
import httpx2

from crowdqc.errors import DomainError
from crowdqc.outbound import addresses
from crowdqc.outbound.web_request import forbid_in_web_request

CONNECT_SECONDS = 10.0
NUMBERS_TRIED = 3
KEPT_OPEN = 64  # connections that wait for the next request
_this_thread = threading.local()


class TooLong(httpx2.ReadError):
    """The body is longer than what its caller reads."""


class Transport(httpx2.HTTPTransport):
    """A transport of httpx2 whose requests end with ``seconds`` and read ``most_bytes`` at most."""

    def __init__(self, seconds: float, most_bytes: int, *, inside: bool = False) -> None:
        self.seconds, self.most_bytes = seconds, most_bytes
        # Made here, as only so it takes a network of ours.
        self._pool = httpcore2.ConnectionPool(
            _certificates(),
            max_connections=None,
            max_keepalive_connections=KEPT_OPEN,
            keepalive_expiry=5.0,
            network_backend=_Network(inside),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        forbid_in_web_request("Another system")
        deadline = time.monotonic() + self.seconds
        request.headers["accept-encoding"] = "identity"
        waits = dict.fromkeys(("read", "write", "pool"), self.seconds)
        request.extensions["timeout"] = {"connect": CONNECT_SECONDS, **waits}
        with _with_deadline(deadline):
            response = super().handle_request(request)
        # What comes packed all the same is left packed: a few bytes of it may be gigabytes.
        response.headers.pop("content-encoding", None)
        response.stream = _Bounded(response.stream, deadline, self.most_bytes)
        return response


class _Bounded(httpx2.SyncByteStream):
    """A body that is read within its request's deadline, and up to a size."""

    def __init__(self, stream: Any, deadline: float, most_bytes: int) -> None:
        self._stream, self._deadline, self._most_bytes = stream, deadline, most_bytes

    def __iter__(self) -> Iterator[bytes]:
        pieces, size = iter(self._stream), 0
        while True:
            with _with_deadline(self._deadline):
                piece = next(pieces, None)
            if piece is None:
                return
            size += len(piece)
            if size > self._most_bytes:
                raise TooLong(f"The answer is longer than {self._most_bytes:,} bytes.")
            yield piece

    def close(self) -> None:
        self._stream.close()


@contextlib.contextmanager
def _with_deadline(deadline: float) -> Iterator[None]:
    """End this thread's reads and writes in the block at the deadline."""
    before = getattr(_this_thread, "deadline", None)
    _this_thread.deadline = deadline
    try:
        yield
    finally:
        _this_thread.deadline = before


def _remaining_seconds(timeout: float | None) -> float | None:
    """Seconds left, at most ``timeout``, 0 or less when overdue; ``timeout`` without deadline."""
    deadline = getattr(_this_thread, "deadline", None)
    if deadline is None:
        return timeout
    left = deadline - time.monotonic()
    return left if timeout is None else min(left, timeout)


@cache
def _certificates() -> ssl.SSLContext:
    """Loaded once a process: it takes longer than a request."""
    return httpx2.create_ssl_context()


class _Network(httpcore2.NetworkBackend):
    """Connections to the numbers that were checked."""

    def __init__(self, inside: bool) -> None:
        self._plain, self._inside = httpcore2.SyncBackend(), inside

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore2.NetworkStream:
        numbers = self._numbers(host, port, _remaining_seconds(timeout) or 0.0)
        for number in numbers:
            left = _remaining_seconds(timeout)
            if left is not None and left <= 0:
                break
            try:
                stream = self._plain.connect_tcp(number, port, left, None, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if number == numbers[-1]:
                    raise
            else:
                return _Stream(stream)
        raise httpcore2.ConnectTimeout(f"nothing behind {host} answered in time")

    def _numbers(self, host: str, port: int, seconds: float) -> list[str]:
        try:
            found = addresses.resolve(host, port, seconds=seconds, inside=self._inside)
            return found[:NUMBERS_TRIED]
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("the name was not looked up in time") from error
        except (OSError, DomainError) as error:
            raise httpcore2.ConnectError(str(error)) from error


class _Stream(httpcore2.NetworkStream):
    """A connection whose reads and writes end with the deadline of the request they belong to."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _remaining_seconds(timeout)
        if left is not None and left <= 0:
            raise httpcore2.ReadTimeout
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write it piece by piece: whoever takes a byte now and then gains no time."""
        socket, view = self._stream.get_extra_info("socket"), memoryview(buffer)
        while view:
            left = _remaining_seconds(timeout)
            if left is not None and left <= 0:
                raise httpcore2.WriteTimeout
            try:
                socket.settimeout(left)
                view = view[socket.send(view) :]
            except TimeoutError as error:
                raise httpcore2.WriteTimeout(str(error)) from error
            except OSError as error:
                raise httpcore2.WriteError(str(error)) from error

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _remaining_seconds(timeout)
        if left is not None and left <= 0:
            raise httpcore2.ConnectTimeout
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
