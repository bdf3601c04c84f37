"""The live evaluation of docs/examples, against a running server with scripted workers."""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches

from annotation.models import Assignment, HookDelivery, Project
from annotation.notifications.actions import webhooks
from crowdqc_client import Client, Conflict
from evaluation import jobs
from tests.support import factories as make
from tests.support.studies.live import outputs, votes_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
PEOPLE, PROMPTS = 8, 200


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """What closes the clients of a test."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example, and no trace of it afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module("live")
    sys.modules.pop("live", None)


def work(worker: Any, task: int, rng: random.Random) -> None:
    """One assignment, judged by what its page shows."""
    assignment = worker.work.claim(task)
    shown = [(entry.item, *entry.texts) for entry in assignment.entries]
    worker.work.submit(assignment.id, votes_on(shown, rng))


def test_the_example_ends_by_its_precision_within_its_budget(
    *,
    live_server: Any,
    capsys: Any,
    script: Any,
    clients: ExitStack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(script, "HALF_WIDTH", 0.3)
    caches["shared"].clear()
    token = make.api_token(make.make_user(), ["read", "write"])
    file = tmp_path / "outputs.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in outputs(PROMPTS)))
    monkeypatch.setenv("CROWDQC_URL", live_server.url)
    monkeypatch.setenv("CROWDQC_TOKEN", token)
    script.main("open", str(file))
    said = capsys.readouterr().out
    assert f"{PROMPTS} pairs of ash, birch" in said
    task = int(re.findall(r"task (\d+)", said)[0])
    invitation = said.rsplit("/join/", 1)[1].strip("/\n")
    project = Project.objects.get()
    webhooks.add_hook(
        by=project.owner, project=project, url="https://a.example/in", events=["live.ended"]
    )
    tokens = [make.api_token(make.make_user(), ["work"], per_minute=6000) for _ in range(PEOPLE)]
    workers = [clients.enter_context(Client(live_server.url, token)) for token in tokens]
    for worker in workers:
        worker.work.join(invitation)
        worker.work.agree(project.pk, worker.work.consent(project.pk).number)
    client, rng = clients.enter_context(Client()), random.Random(2)
    for turn in range(PROMPTS // script.BUNDLE):
        work(workers[turn % PEOPLE], task, rng)
        if jobs.check_live():
            break
    result = client.live.get(task)
    assert result.state == "ended" and result.reason == "precise"
    assert result.board.half_width <= script.HALF_WIDTH < 0.5
    assert result.money <= Decimal(script.BUDGET)
    assert result.money == Decimal(script.PAY) * Assignment.objects.count()
    with pytest.raises(Conflict):
        workers[0].work.claim(task)
    script.main("watch", str(task))
    assert "ended: precise" in capsys.readouterr().out
    [told] = HookDelivery.objects.all()
    assert told.payload["data"]["reason"] == "precise"
    assert told.payload["data"]["result"]["votes"] == result.board.votes
