"""The database is restarted, or its disk is full: pages say so, and go on without a restart."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
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
import json, os, secrets, shutil, sys
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
left = shutil.disk_usage(sys.argv[1]).free
with open(os.path.join(sys.argv[1], "filler"), "wb") as filler:
    filler.write(b"x" * max(0, left - 400_000))
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


def database_part(port: int) -> Any:
    return json.loads(answer_of(port, "/readyz")[2])["parts"]["database"]


def test_pages_go_on_after_a_restart_of_the_database(open_folder: Path) -> None:
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
        pooled = environment(cluster.url, cluster.home) | {
            "DJANGO_SETTINGS_MODULE": "tests.devstack.faults.away_settings",
            "CROWDQC_WEB_PROCESSES": "2",
        }
        server = subprocess.Popen(command, cwd=ROOT, env=pooled, pass_fds=[listener.fileno()])
        try:
            until(lambda: len(psutil.Process(server.pid).children()) == 2, 150, "two processes")
            web = {child.pid for child in psutil.Process(server.pid).children()}
            assert database_part(port) == {"ok": True}
            cluster.stop()
            assert answer_of(port, "/healthz")[0] == 200  # it lives; a restart would mend nothing
            assert database_part(port) == {"ok": False, "problem": "does not answer"}
            status, headers, body = answer_of(port, "/boards/any/")
            assert (status, headers["Retry-After"]) == (503, "15")
            assert b"Not available right now" in body
            cluster.start(tied=True)
            for _ in range(10):  # both processes, and connections that died
                assert database_part(port) == {"ok": True}
            assert {child.pid for child in psutil.Process(server.pid).children()} == web
        finally:
            server.terminate()
            server.wait(30)
            cluster.stop()
