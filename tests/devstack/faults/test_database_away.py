"""The database is restarted, or its disk is full: pages say so, and go on without a restart."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
import pytest
from psycopg import sql

from crowdqc.devstack import Cluster
from crowdqc.devstack.places import server_account
from tests.support.migrated import migrated
from tests.support.processes import ROOT, test_database_url, until

pytestmark = [pytest.mark.slow]
# Saves drafts of a worker on a database whose disk gets full, and says what each was answered.
FULL = """
import contextlib, json, os, secrets, sys
import django
django.setup()
from django.test import Client
from django.urls import reverse
from annotation.models import AssignmentItem
from tests.support import factories as make
world = make.make_world(4)
held = make.claim(world.task, world.worker)
client = Client(raise_request_exception=False)
client.force_login(world.worker.user)
entry = held.entries.first()
def save(seq, text="a short draft"):
    body = {"item": entry.item_id, "draft": {"text": text}, "seq": seq}
    url = reverse("work_draft", args=[held.pk])
    json_only = {"Accept": "application/json"}
    return client.post(url, body, content_type="application/json", headers=json_only)
said = {"before": save(1, "before").status_code}
# The server may write meanwhile: fills what is left of the disk, then gives a little back.
with open(os.path.join(sys.argv[1], "filler"), "wb", buffering=0) as filler:
    with contextlib.suppress(OSError):
        while filler.write(b"x" * 4096):
            pass
    filler.truncate(max(0, filler.tell() - 400_000))
for seq in range(2, 400):  # such texts cannot be packed, so that the table has to grow
    answer = save(seq, secrets.token_hex(6_000))
    if answer.status_code != 200:
        break
said["full"], said["after"] = answer.status_code, answer.headers.get("Retry-After")
said["read"] = client.get(reverse("work_item", args=[held.pk, 1])).status_code
kept = AssignmentItem.objects.get(pk=entry.pk)
said["kept"] = kept.draft_seq == seq - 1  # the last one that was answered with 200
os.remove(os.path.join(sys.argv[1], "filler"))
said["again"] = save(seq, "afterwards").status_code
print(json.dumps(said))
"""


@pytest.fixture
def small_disk(open_folder: Path) -> Iterator[Path]:
    """A folder on a disk of its own that is soon full."""
    place = open_folder / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80m,mode=0711", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def small_site(
    small_disk: Path, django_db_setup: None, django_db_blocker: Any
) -> Iterator[dict[str, str]]:
    """The environment of a site whose tables lie on that disk, on the tests' own server."""
    if "CROWDQC_TEST_EMBEDDED" not in os.environ:
        pytest.skip("a server elsewhere does not see this disk")
    (tables := small_disk / "tables").mkdir()
    account = server_account()
    os.chown(tables, account.uid, account.gid)
    with django_db_blocker.unblock():
        here = urlsplit(test_database_url())
    with psycopg.connect(urlunsplit(here._replace(path="/postgres")), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(str(tables)))
        try:
            template = sql.Identifier(migrated())
            made = "CREATE DATABASE small TEMPLATE {} TABLESPACE small"
            admin.execute(sql.SQL(made).format(template))
            yield environment(urlunsplit(here._replace(path="/small")), small_disk / "home")
        finally:
            admin.execute("DROP DATABASE IF EXISTS small WITH (FORCE)")
            admin.execute("DROP TABLESPACE small")


def environment(url: str, home: Path) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        "DATABASE_URL": url,
        "BROKER_URL": "",
        "CROWDQC_HOME": str(home),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="needs a small disk to mount")
def test_on_a_full_disk_saving_is_refused_reading_works_and_nothing_acknowledged_is_lost(
    small_disk: Path, small_site: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(small_disk)],
        cwd=ROOT,
        env=small_site,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == {
        "before": 200,
        "full": 503,
        "after": "15",
        "read": 200,
        "kept": True,
        "again": 200,
    }


def answer_of(port: int, path: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Host": "localhost"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as found:
            return found.status, dict(found.headers), found.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def part(port: int, name: str) -> Any:
    return json.loads(answer_of(port, f"/readyz?parts={name}")[2])["parts"][name]


class Waiting:
    """Clients that ask for one page over and over; what they were answered, and how late."""

    def __init__(self, port: int, path: str, clients: int = 12) -> None:
        self.port, self.path = port, path
        self.answers: list[tuple[int, float]] = []
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def _ask(self) -> None:
        while not self._end.is_set():
            began = time.monotonic()
            try:
                status = answer_of(self.port, self.path)[0]
            except OSError:
                status = 0
            self.answers.append((status, time.monotonic() - began))
            self._end.wait(0.2)

    def __enter__(self) -> Waiting:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()


def slowest(port: int, path: str, times: int = 10) -> float:
    """The longest that this page took."""
    longest = 0.0
    for _ in range(times):
        began = time.monotonic()
        answer_of(port, path)
        longest = max(longest, time.monotonic() - began)
        time.sleep(0.1)
    return longest


@contextlib.contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """A server that is there and says nothing."""
    server = psutil.Process(cluster.pid())
    stopped = [server, *server.children(recursive=True)]
    for one in stopped:
        one.suspend()
    try:
        yield
    finally:
        for one in reversed(stopped):
            one.resume()


def test_probes_answer_while_the_database_is_away_or_frozen_and_pages_go_on_after_it(
    open_folder: Path,
) -> None:
    cluster = Cluster(open_folder / "home", durable=False)
    cluster.start(tied=True)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        port = listener.getsockname()[1]
        command = [
            *(sys.executable, "-m", "gunicorn", "--config", "python:crowdqc.web.server"),
            *("--log-level", "error", "--bind", f"fd://{listener.fileno()}", "crowdqc.wsgi"),
        ]
        own = environment(cluster.url, cluster.home) | {"CROWDQC_WEB_PROCESSES": "2"}
        server = subprocess.Popen(command, cwd=ROOT, env=own, pass_fds=[listener.fileno()])
        try:
            until(lambda: len(psutil.Process(server.pid).children()) == 2, 150, "two processes")
            web = {child.pid for child in psutil.Process(server.pid).children()}
            assert part(port, "database") == {"ok": True}
            # Such a process takes no requests yet: the database is empty.
            assert answer_of(port, "/readyz?parts=migrations")[0] == 503
            cluster.stop()
            with Waiting(port, "/boards/any/") as clients:
                until(lambda: len(clients.answers) > 12, 30, "clients to be refused")
                # It lives: a restart would mend nothing.
                assert answer_of(port, "/healthz")[0] == 200
                assert slowest(port, "/healthz") < 1  # generous: it takes milliseconds
                assert slowest(port, "/readyz", 1) < 5
                assert part(port, "database") == {"ok": False, "problem": "does not answer"}
            assert {status for status, _ in clients.answers} == {503}
            assert max(waited for _, waited in clients.answers) < 6  # was: 10 s each
            status, headers, body = answer_of(port, "/boards/any/")
            assert (status, headers["Retry-After"]) == (503, "15")
            assert b"Not available right now" in body
            cluster.start(tied=True)
            assert part(port, "database") == {"ok": True}
            # It has no tables, so that a page fails otherwise: by what the database answers.
            until(lambda: answer_of(port, "/boards/any/")[0] == 500, 30, "an answer of it")
            with Waiting(port, "/boards/any/"), frozen(cluster):
                time.sleep(1)
                assert slowest(port, "/healthz") < 1
                assert slowest(port, "/readyz", 1) < 5
            until(lambda: answer_of(port, "/boards/any/")[0] == 500, 30, "an answer of it")
            assert {child.pid for child in psutil.Process(server.pid).children()} == web
        finally:
            server.terminate()
            server.wait(30)
            cluster.stop()
