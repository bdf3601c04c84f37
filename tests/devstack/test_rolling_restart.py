"""Web processes are replaced while people use the site, and no request fails."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import reverse_lazy

from tests.support.processes import ROOT, test_database_url, until
from tests.support.web_load import Load, answered, load_new_program, serving, workers

PAGES = ("/healthz", reverse_lazy("login"))
# An upgrade from a release takes over in the same way, in every run of the suite.
pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture
def web(transactional_db: None, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """gunicorn as production starts it: its port, and the file with its process id."""
    file = tmp_path / "gunicorn.pid"
    with serving(ROOT, test_database_url(), file) as port:
        yield port, file


def test_new_processes_take_over_without_a_failed_request(web: tuple[int, Path]) -> None:
    """HUP: settings are read anew, the program stays."""
    port, file = web
    master = int(file.read_text())
    with Load(port, PAGES) as load:
        until(answered(load, 40), 90, "the site to be in use")
        for _ in range(2):
            before = workers(master)
            os.kill(master, signal.SIGHUP)
            until(
                lambda old=before: (now := workers(master)) and not now & old,
                90,
                "the old processes to be gone",
            )
            until(answered(load, 40), 90, "the site to be in use after it")
    assert load.failures == []
    print(f"{load.answered} requests, the longest {load.longest:.2f} s")


def test_a_new_program_takes_over_without_a_failed_request(web: tuple[int, Path]) -> None:
    """USR2: a new program is loaded beside the old one, which is ended when it serves."""
    port, file = web
    with Load(port, PAGES) as load:
        until(answered(load, 40), 90, "the site to be in use")
        load_new_program(file, load)
    assert load.failures == []
    print(f"{load.answered} requests, the longest {load.longest:.2f} s")
    # Its parent killed, a child with a request that has begun holds the address no longer.
    with socket.create_connection(("127.0.0.1", port)) as begun:
        begun.sendall(b"GET /healthz HTTP/1.1\r\n")
        os.kill(int(file.read_text()), signal.SIGKILL)
        until(lambda: is_free(port), 15, "the address to be free")


def is_free(port: int) -> bool:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", port))
            other.listen()
        except OSError:
            return False
        return True
