"""A lost database server comes back at a chosen moment, and nobody is paid twice for it."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crowdqc.deployment.backup import recovery
from tests.support.processes import ROOT, until
from tests.support.servers import prolific
from tests.support.servers.archiving import (
    USER,
    ArchivingServer,
    archiving_server,
    server_programs,
)

pytestmark = [pytest.mark.slow, pytest.mark.long]
SECONDS = 8  # that may be lost
PEOPLE = 60
PASSPHRASE = "correct horse battery staple"


class Site:
    """The app on that server."""

    def __init__(self, server: ArchivingServer) -> None:
        self._environment = os.environ | {
            "DATABASE_URL": server.url,
            "SECRET_KEY": "one key for all acts of this test, as payments' tokens are sealed",
            "LOG_LEVEL": "ERROR",
            "CROWDQC_RECOVERY_FOLDER": str(server.repository),
            "CROWDQC_PAYMENT_CHECK": "0.01",
        }

    def start(self, *acts: list[str]) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.backup.payouts", json.dumps(acts)]
        return subprocess.Popen(
            command, cwd=ROOT, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def act(self, *acts: list[str]) -> Any:
        """What the acts give, in one process."""
        process = self.start(*acts)
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        return json.loads(out.splitlines()[-1])


def log_of(folder: Path) -> list[dict[str, Any]]:
    path = folder / "log"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def check_books(state: dict[str, Any]) -> None:
    """Each approved payout is owed once, and each confirmed payment booked once."""
    books = {"work": 0.0, "worker": 0.0, "paid": 0.0} | state["books"]
    assert len(set(state["approved"])) == len(state["approved"])
    assert books["work"] == pytest.approx(-2.30 * len(state["approved"]))
    assert books["paid"] == pytest.approx(state["done"])
    assert sum(books.values()) == pytest.approx(0)


@contextmanager
def site_on_archiving_server(
    settings: Any, platform: prolific.Platform
) -> Iterator[tuple[ArchivingServer, Site]]:
    """A site with people to pay, on a server that archives as our settings say."""
    programs = server_programs()
    assert programs is not None
    settings.CROWDQC_RECOVERY_SECONDS = SECONDS
    with archiving_server(programs, {"PGBACKREST_REPO1_CIPHER_PASS": PASSPHRASE}) as server:
        settings.CROWDQC_RECOVERY_FOLDER = str(server.repository)
        place = recovery.ServerPlace(str(server.data), str(server.folder), USER)
        (server.folder / "pgbackrest.conf").write_text(recovery.pgbackrest_config(place))
        server.create()
        server.start(recovery.server_config())
        server.run("createdb")
        site = Site(server)
        site.act(["prepare", platform.url, str(PEOPLE)])
        for n in range(PEOPLE):
            platform.submissions[f"s{n}"] = prolific.Submission(f"p{n}")
        yield server, site


def pay_until_lost(server: ArchivingServer, site: Site, folder: Path) -> float:
    """Payouts go on while a base backup is made, at a chosen moment, and when all is lost."""
    payer = site.start(["pay", str(folder)])

    def wait(condition: Callable[[list[dict[str, Any]]], bool], what: str) -> None:
        until(lambda: condition(log_of(folder)) or payer.poll() is not None, 60, what)
        assert payer.poll() is None, payer.communicate()

    try:
        wait(lambda log: len(log) > 3, "payouts")
        server.back_up()
        (folder / "choose").touch()
        wait(lambda log: any("moment" in one for one in log), "a moment")
        archived = time.time() + 1.5 * SECONDS
        wait(lambda log: log[-1]["after"] > archived, "payouts")
        lost_at = time.time()
        server.destroy()
    finally:
        payer.kill()
        payer.communicate()
    return lost_at


@pytest.mark.skipif(not server_programs(), reason="PostgreSQL or pgBackRest is not installed")
def test_a_lost_server_is_recovered_to_a_moment_amid_payouts_and_pays_nobody_twice(
    tmp_path: Path, settings: Any
) -> None:
    with (
        prolific.serving() as platform,
        site_on_archiving_server(settings, platform) as (server, site),
    ):
        lost_at = pay_until_lost(server, site, tmp_path)
        log = log_of(tmp_path)

        # To the last moment that is archived: no more is lost than was asked for.
        server.restore("--type=default")
        server.start()
        [latest] = site.act(["look"])
        check_books(latest)
        safe = {one["session"] for one in log if one["after"] < lost_at - SECONDS}
        assert safe and safe <= set(latest["approved"])
        assert len(latest["approved"]) < len(log), "nothing was lost: the test shows nothing"
        server.stop()

        # Further back: all of before the moment is there, and nothing of after it.
        (chosen,) = (one for one in log if "moment" in one)
        moment = dt.datetime.fromtimestamp(chosen["moment"], dt.UTC)
        server.restore(
            "--type=time", f"--target={moment.isoformat(' ')}", "--target-action=promote"
        )
        server.start()
        recovered, sent = site.act(["look"], ["send"])
        check_books(recovered)
        before = {one["session"] for one in log if one["after"] < chosen["moment"]}
        assert set(recovered["approved"]) == before
        waiting = [session for session, _, state in recovered["payments"] if state == "planned"]
        assert set(waiting) == {chosen["session"]}, "one was approved and not sent"

        # Workers that nobody stopped hold it by themselves; the operator's command does too.
        bonus = [chosen["session"], "bonus", "unclear"]
        assert bonus in sent["payments"]
        everybody = [one["session"] for one in log] + [f"s{PEOPLE - 1}"]
        finished, final = site.act(["finish_recovery"], ["approve_rest", *everybody])
        assert bonus in finished["payments"]

        # What was approved after the moment is approved once more, though it was paid.
        check_books(final)
        assert set(final["approved"]) == set(everybody)
        assert {len(platform.books()[one][1]) for one in everybody} == {1}
        open_then = {session for session, _, state in recovered["payments"] if state != "done"}
        lost = {one["session"] for one in log} - before
        held = {session for session, _, state in final["payments"] if state == "unclear"}
        assert held <= lost | open_then
        assert len(held & lost) >= len(lost) - 1 > 3, "the last one may not have been sent"
