"""Systems that mean harm: real servers on loopback, each slow, endless or misleading in its way.

The path's first part says how a request is treated; ``hits`` are the paths of all that came.
"""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIP_SECONDS = 0.05
# What a server may do to whoever asks it; "mute" and "mute-tls" have ports of their own.
WAYS = (
    "drip",
    "drip-headers",
    "endless",
    "endless-headers",
    "packed",
    "redirect",
    "mute",
    "mute-tls",
    "deaf",
)


class Hostile:
    """Running servers; ``url(way)`` is where one of them is."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.stop = threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.mute = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, way: str) -> str:
        port = (self.mute if way.startswith("mute") else self.server).getsockname()[1]
        return f"http{'s' if way == 'mute-tls' else ''}://127.0.0.1:{port}/{way}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(120)
            line = connection.recv(65536).split(b"\r\n")[0].decode()
            path = line.split(" ")[1]
            self.hits.append(path)
            way = path.split("/")[1]
            getattr(self, f"_{way.replace('-', '_')}", self._leak)(connection)

    def _slowly(self, connection: socket.socket, head: bytes, piece: bytes) -> None:
        connection.sendall(head)
        while not self.stop.wait(DRIP_SECONDS):
            connection.sendall(piece)

    def _drip(self, connection: socket.socket) -> None:
        self._slowly(connection, HEAD + b"Content-Length: 100000\r\n\r\n", b" ")

    def _drip_headers(self, connection: socket.socket) -> None:
        self._slowly(connection, HEAD, b"X: y\r\n")

    def _endless(self, connection: socket.socket) -> None:
        connection.sendall(HEAD + b"\r\n")
        while not self.stop.is_set():
            connection.sendall(b" " * 65536)

    def _endless_headers(self, connection: socket.socket) -> None:
        connection.sendall(HEAD)
        while not self.stop.is_set():
            connection.sendall(b"X: y\r\n" * 1000)

    def _packed(self, connection: socket.socket) -> None:
        """A body that is small as it is sent and 100 MB unpacked."""
        packer = zlib.compressobj(wbits=31)
        body = b"".join(packer.compress(b" " * 100_000) for _ in range(1000)) + packer.flush()
        length = f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        connection.sendall(HEAD + length + body)

    def _redirect(self, connection: socket.socket) -> None:
        head = b"HTTP/1.1 302 Found\r\nLocation: /secret\r\nContent-Length: 0\r\n\r\n"
        connection.sendall(head)

    def _deaf(self, connection: socket.socket) -> None:
        """Reads no more of what is sent, and says nothing."""
        self.stop.wait(120)

    def _leak(self, connection: socket.socket) -> None:
        connection.sendall(HEAD + b'Content-Length: 12\r\n\r\n{"keys": []}')

    def close(self) -> None:
        self.stop.set()
        for server in (self.server, self.mute):
            server.close()


@contextmanager
def hostile() -> Iterator[Hostile]:
    """The servers for the time of the block."""
    running = Hostile()
    try:
        yield running
    finally:
        running.close()
