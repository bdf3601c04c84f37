"""The proxy as in production: the repository's proxy configuration before gunicorn."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.test import override_settings

from annotation.models import User
from crowdqc.proxy import Proxy, certificate
from tests.support.processes import ROOT, test_database_url, until

NAMES = ["localhost"]
KEY = "Zq3xW8vT1nB6yL0kR5mJ9dF2hS7gC4pA-eUoIiEaYtQw_QsD5fGk"


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def find_nginx() -> str:
    """nginx of this machine; without it the tests skip, and fail in CI."""
    found = shutil.which("nginx", path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")
    if found is None:
        reason = "no nginx on this machine (install the package nginx-light)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def web_command() -> list[str]:
    """What the image runs."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    line = next(line for line in text.splitlines() if line.startswith("CMD ["))
    command: list[str] = json.loads(line.removeprefix("CMD "))
    return command


@dataclass
class ProxiedSite:
    """The running pair, and the ways to it."""

    https: int
    http: int
    app: int
    certificate: Path

    @cached_property
    def trusted(self) -> ssl.SSLContext:
        """What checks its certificate."""
        return ssl.create_default_context(cafile=str(self.certificate))

    @property
    def url(self) -> str:
        """Where a browser goes."""
        return f"https://localhost:{self.https}"

    def connect(self, source: str = "127.0.0.1") -> ssl.SSLSocket:
        """A TLS connection, checked against the certificate, from a loopback address."""
        plain = socket.create_connection(
            ("127.0.0.1", self.https), timeout=20, source_address=(source, 0)
        )
        return self.trusted.wrap_socket(plain, server_hostname="localhost")

    def raw(self, request: bytes, enough: bytes = b"") -> bytes:
        """What is answered to these very bytes, until the connection ends or ``enough`` came."""
        answer = b""
        with self.connect() as sender, contextlib.suppress(OSError):
            sender.sendall(request)
            while piece := sender.recv(65536):
                answer += piece
                if enough and enough in answer:
                    break
        return answer

    def get(self, path: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
        """The whole answer to an ordinary request over a connection of its own."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: localhost:{self.https}", "Connection: close"]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return self.raw("\r\n".join([*lines, *headers, "", ""]).encode() + body)


@contextmanager
def run_site(folder: Path, **proxy: object) -> Iterator[ProxiedSite]:
    """nginx with the repository's configuration before the image's gunicorn, on this database."""
    nginx = find_nginx()
    folder.chmod(0o755)
    https, http, app = free_port(), free_port(), free_port()
    pair = (folder / "certificate.pem", folder / "key.pem")
    certificate.write(*pair, NAMES)
    setup = Proxy(
        state=folder,
        names=NAMES,
        certificate=pair[0],
        key=pair[1],
        app=f"127.0.0.1:{app}",
        http=f"127.0.0.1:{http}",
        https=f"127.0.0.1:{https}",
        public_port=https,
        access_log=str(folder / "access.log"),
        **proxy,  # type: ignore[arg-type]
    )
    (folder / "nginx.conf").write_text(setup.config())
    env = {
        **{k: v for k, v in os.environ.items() if k not in {"BROKER_URL", "CROWDQC_DEBUG"}},
        "DJANGO_SETTINGS_MODULE": "tests.security.proxy.site_settings",
        "CROWDQC_ENV": "production",
        "SECRET_KEY": KEY,
        "ALLOWED_HOSTS": "localhost",
        "DATABASE_URL": test_database_url(),
        "BROKER_URL": "redis://127.0.0.1:1/0",
        "EMAIL_URL": "smtp://127.0.0.1:1",
        "CROWDQC_TRUSTED_PROXIES": "127.0.0.1",
        "STATIC_ROOT": str(folder / "static"),
        "TMPDIR": str(folder),
        "LOG_LEVEL": "WARNING",
    }
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, cwd=ROOT, env=env, check=True)
    command = [sys.executable, "-m", *web_command()]
    command[command.index("0.0.0.0:8000")] = f"127.0.0.1:{app}"
    root = "user root; " if os.geteuid() == 0 else ""
    proxied = [nginx, "-c", str(folder / "nginx.conf"), "-g", f"daemon off; {root}"]
    with open(folder / "log", "ab") as log:
        running = [
            subprocess.Popen(line, cwd=ROOT, env=env, stdout=log, stderr=log)
            for line in (command, proxied)
        ]
    site = ProxiedSite(https, http, app, pair[0])
    try:
        until(lambda: _answers(site, running), 60, "the proxy to answer")
        yield site
    finally:
        print((folder / "log").read_text()[-3000:])  # shown where a test fails
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=30)


def session_cookie(user: User) -> str:
    """The key of a session of this person, as the site's SECRET_KEY signs it."""
    with override_settings(SECRET_KEY=KEY):
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
    key: str = session.session_key
    return key


def _answers(site: ProxiedSite, running: list[subprocess.Popen[bytes]]) -> bool:
    assert all(process.poll() is None for process in running), "a server ended"
    try:
        return b" 200 OK" in site.get("/healthz")[:20]
    except OSError:
        return False


class Health(threading.Thread):
    """Asks ``/healthz`` over and over, each time anew; keeps how long each answer took."""

    def __init__(self, site: ProxiedSite) -> None:
        super().__init__()
        self.site, self.times, self.wrong = site, list[float](), list[bytes]()
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.02):
            began = time.monotonic()
            try:
                answer = self.site.get("/healthz")
            except OSError as error:
                answer = repr(error).encode()
            self.times.append(time.monotonic() - began)
            if not answer.startswith(b"HTTP/1.1 200 "):
                self.wrong.append(answer[:200])
