"""The whole stack, while a platform, three key sets, a model and a webhook drip (B8, B9)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import jwt
import pytest

from annotation import jobs
from annotation.formats.actions import export_files
from annotation.models import ExportFile, HookDelivery, KeySet, Payment, PaymentAttempt, Recruitment
from annotation.notifications.actions import webhooks as hooks
from annotation.payouts.actions import proposals as payouts
from annotation.recruitment.actions import ways_in as recruitments
from annotation.recruitment.platforms.entry_params import entry_token
from crowdqc.devstack.supervisor import open_socket
from crowdqc.jobs import worker
from crowdqc.jobs.queues import ROLES
from crowdqc.sealing import sealed
from evaluation.llm.endpoints import probe as probing
from evaluation.models import LanguageModel
from tests.security.outbound.hostile import Hostile, hostile
from tests.support import factories
from tests.support.processes import ROOT, empty_queue, test_database_url, until
from tests.support.servers import prolific
from tests.support.servers.llm import make_model

pytestmark = [pytest.mark.db, pytest.mark.slow]
# A payment and a webhook may take this long, so that both are at it until the test ends.
HELD = 60.0
WAYS_IN = 3  # one process tries their keys, one after the other, a second each


@contextmanager
def running(*words: str, log: Path, **env: str) -> Iterator[None]:
    """A program of ours on the test's database, until the end of the block."""
    whole = os.environ | {"DATABASE_URL": test_database_url(), **env}
    with open(log, "ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=ROOT,
            env=whole,
            stdout=out,
            stderr=out,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:  # it would wait for what drips
            process.kill()
            process.wait()


@contextmanager
def stack(folder: Path, **env: str) -> Iterator[str]:
    """A web process of four threads, and the workers of all queues; gives the web's address."""
    server, port = open_socket("127.0.0.1", 28_000 + os.getpid() % 1000)
    server.close()
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as programs:
        web = (
            "gunicorn",
            "crowdqc.wsgi:application",
            "--bind",
            f"127.0.0.1:{port}",
            "--threads",
            "4",
            "--no-control-socket",
        )
        programs.enter_context(running(*web, log=folder / "web.log", **env))
        shares = (f"{role}={3 if role == 'platforms' else 1}" for role in ROLES)
        workers = ("crowdqc.jobs.workers", *shares)
        programs.enter_context(running(*workers, log=folder / "workers.log", **env))

        def up() -> bool:
            ages = [worker.heartbeat_age(worker.worker_name(role)) for role in ROLES]
            return all(age is not None for age in ages) and get(f"{address}/healthz")[0] == 200

        try:
            until(up, 90, "the stack to be up")
        except AssertionError as error:
            said = "".join(path.read_text()[-2000:] for path in sorted(folder.glob("*.log")))
            raise AssertionError(f"{error}\n{said}") from error
        yield address


def get(url: str) -> tuple[int, float, str]:
    """Status, seconds and body of a request; status 0 where none came."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            status, body = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            status, body = error.code, error.read().decode()
    except OSError as error:
        status, body = 0, str(error)
    return status, time.monotonic() - began, body


def dripping_ways_in(world: factories.World, enemy: Hostile) -> list[Recruitment]:
    """Ways in whose platforms send their keys a byte at a time."""
    start = {"entry": "jwt", "active": True, "parameter_participant": "pid", "audience": "x"}
    return [
        recruitments.add(
            by=world.requester,
            task=world.task,
            kind="panel",
            fields={**start, "name": f"Panel {n}", "jwks_url": f"{enemy.url('drip')}/{n}"},
        )
        for n in range(WAYS_IN)
    ]


def entries(address: str, ways: list[Recruitment]) -> list[str]:
    """Addresses by which somebody comes with a signature under a key that nobody has seen."""
    token = jwt.encode({"aud": "x"}, "a secret of whoever comes in here", headers={"kid": "k"})
    return [f"{address}/enter/{entry_token(way)}/?pid=anna&token={token}" for way in ways]


@pytest.mark.django_db(transaction=True)
def test_what_drips_holds_up_no_page_and_no_other_job(tmp_path: Path) -> None:
    """(B8) (B9) Pages answer at once, an export is written, and what drips is given up."""
    empty_queue()
    world = factories.make_world(n=1, redundancy=9)
    times = {
        "CROWDQC_KEYS_TIMEOUT": "1",
        "CROWDQC_PAYMENT_TIMEOUT": str(HELD),
        "CROWDQC_WEBHOOK_TIMEOUT": str(HELD),
    }
    with hostile() as enemy, stack(tmp_path, **times) as address:
        usual = max(get(f"{address}/{page}")[1] for page in ("healthz", "login/") * 5)
        _hold_the_platforms_queue(world, enemy)
        ways = dripping_ways_in(world, enemy)
        export = export_files.request_export(
            by=world.requester,
            project=world.project,
            task=world.task,
            what="answers",
            form="csv",
        )

        worst, codes = _pages_meanwhile(address, ways)
        assert worst < 1.0 + 3 * usual and codes == {200, 503}, (worst, usual, codes)
        done = ExportFile.objects.filter(pk=export.pk, state="done")
        until(done.exists, 40, "the export to be written")
        # All of it while the platform and the webhook were still at it.
        assert Payment.objects.get().attempts == 1 and not PaymentAttempt.objects.exists()
        assert not HookDelivery.objects.exclude(last_at=None).exists()
        until(lambda: not KeySet.objects.filter(tried_at=None), 40, "the key sets to be given up")
        assert "1 seconds" in KeySet.objects.first().problem
        until(lambda: not _probing(), 40, "the probe to be given up")
        assert "within 1 seconds" in LanguageModel.objects.get().probe_note


def _hold_the_platforms_queue(world: factories.World, enemy: Hostile) -> None:
    """An approved payment to a platform that drips, a webhook that drips, a model that drips."""
    study = prolific.make_recruitment(
        world.task, api_url=enemy.url("drip"), token_sealed=sealed.seal("t", prolific.PURPOSE)
    )
    [visit] = prolific.make_visited(study)
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid4(),
        lines=[payouts.ProposedLine(visit.assignment_id)],
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    hook, _ = hooks.add_hook(
        by=world.requester, project=world.project, url=enemy.url("drip-headers"), events=()
    )
    hooks.ping(by=world.requester, hook=hook)
    jobs.send_payments.delay()
    jobs.deliver_hooks.delay()
    model = make_model(world.project, enemy.url("drip"), timeout_seconds=1)
    probing.request_probe(by=world.requester, model=model)
    until(lambda: len(enemy.hits) >= 3, 40, "all three to be called")


def _probing() -> bool:
    return LanguageModel.objects.filter(probe_asked_at__isnull=False).exists()


def _pages_meanwhile(address: str, ways: list[Recruitment]) -> tuple[float, set[int]]:
    """The slowest of many requests of many people, and the statuses that came."""
    wanted = [*entries(address, ways) * 10, *[f"{address}/healthz", f"{address}/login/"] * 8]
    with ThreadPoolExecutor(4) as people:
        found = list(people.map(get, wanted))
    return max(took for _, took, _ in found), {status for status, _, _ in found}
