"""The real nginx before containers of the app that get other addresses."""

from __future__ import annotations

import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from crowdqc.proxy import Proxy, certificate
from tests.security.proxy.site import NAMES, ProxiedSite, find_nginx, free_port
from tests.support.processes import until

pytestmark = pytest.mark.slow


class NameServer(socketserver.BaseRequestHandler):
    """Answers every question with one address."""

    address = "127.0.0.2"

    def handle(self) -> None:
        data, sender = self.request
        question = data[12 : data.index(b"\0", 12) + 5]
        record = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(self.address)
        sender.sendto(
            data[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question + record, self.client_address
        )


class App(BaseHTTPRequestHandler):
    """Answers with its own address."""

    def do_GET(self) -> None:
        body = f"{self.server.server_address[0]} {self.path}".encode()  # type: ignore[str-bytes-safe]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[int]:
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]  # type: ignore[index, misc]
        server.shutdown()


def test_proxy_follows_the_app_to_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nginx, https, app = find_nginx(), free_port(), free_port()
    tmp_path.chmod(0o755)
    pair = (tmp_path / "certificate.pem", tmp_path / "key.pem")
    certificate.write(*pair, NAMES)
    with ExitStack() as stack:
        names = stack.enter_context(
            serving(socketserver.ThreadingUDPServer(("127.0.0.1", 0), NameServer))
        )
        for address in ("127.0.0.2", "127.0.0.3"):
            stack.enter_context(serving(ThreadingHTTPServer((address, app), App)))
        setup = Proxy(
            state=tmp_path,
            names=NAMES,
            certificate=pair[0],
            key=pair[1],
            app=f"web:{app}",
            resolver=f"127.0.0.1:{names}",
            http=f"127.0.0.1:{free_port()}",
            https=f"127.0.0.1:{https}",
            public_port=https,
            access_log=str(tmp_path / "access.log"),
        )
        (tmp_path / "nginx.conf").write_text(setup.config())
        root = "user root; " if os.geteuid() == 0 else ""
        command = [nginx, "-c", str(tmp_path / "nginx.conf"), "-g", f"daemon off; {root}"]
        running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        stack.callback(running.wait, timeout=30)
        stack.callback(running.terminate)
        site = ProxiedSite(https, 0, app, pair[0])

        def answers(address: str) -> bool:
            try:
                return f"{address} /page?a=1".encode() in site.get("/page?a=1")
            except OSError:
                return False

        until(lambda: answers("127.0.0.2"), 10, "the first address")
        monkeypatch.setattr(NameServer, "address", "127.0.0.3")
        until(lambda: answers("127.0.0.3"), 10, "the second address")
