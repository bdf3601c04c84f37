"""The live evaluation of docs/examples, against a running server with scripted workers."""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches

from annotation.models import Assignment, HookDelivery, Project
from annotation.notifications.actions import webhooks
from evaluation import jobs
from tests.support import factories as make
from tests.support.studies.live import outputs, votes_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
PEOPLE, PROMPTS = 8, 200


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The client and the script, and no trace of them afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    names = ("crowdqc_client", "live")
    yield [importlib.import_module(name) for name in names]
    for name in names:
        sys.modules.pop(name, None)


def work(worker: Any, task: int, rng: random.Random) -> None:
    """One assignment, judged by what its page shows."""
    held = worker.claim(task)
    shown = [(one["item"], *one["texts"]) for one in held["entries"]]
    worker.submit(held["id"], votes_on(shown, rng))


def test_the_example_ends_by_its_precision_within_its_budget(
    live_server: Any,
    capsys: Any,
    modules: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api, script = modules
    monkeypatch.setattr(script, "HALF_WIDTH", 0.3)
    caches["shared"].clear()
    token = make.api_token(make.make_user(), ["read", "write"])
    file = tmp_path / "outputs.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in outputs(PROMPTS)))
    script.main("open", live_server.url, token, str(file))
    said = capsys.readouterr().out
    assert f"{PROMPTS} pairs of ash, birch" in said
    task = int(re.findall(r"task (\d+)", said)[0])
    invitation = said.rsplit("/join/", 1)[1].strip("/\n")
    project = Project.objects.get()
    webhooks.add_hook(
        by=project.owner, project=project, url="https://a.example/in", events=["live.ended"]
    )
    workers = [
        api.Client(live_server.url, make.api_token(make.make_user(), ["work"], per_minute=6000))
        for _ in range(PEOPLE)
    ]
    for worker in workers:
        worker.join(invitation)
        worker.agree(project.pk)
    client, rng = api.Client(live_server.url, token), random.Random(2)
    for turn in range(PROMPTS // script.BUNDLE):
        work(workers[turn % PEOPLE], task, rng)
        if jobs.check_live():
            break
    found = client.live(task)
    assert found.over and found.reason == "precise"
    assert found.board["half_width"] <= script.HALF_WIDTH < 0.5
    assert Decimal(found.money) <= Decimal(script.BUDGET)
    assert Decimal(found.money) == Decimal(script.PAY) * Assignment.objects.count()
    with pytest.raises(api.Refused, match="conflict"):
        workers[0].claim(task)
    script.main("watch", live_server.url, token, str(task))
    assert "ended: precise" in capsys.readouterr().out
    [told] = HookDelivery.objects.all()
    assert told.payload["data"]["reason"] == "precise"
    assert told.payload["data"]["result"]["votes"] == found.board["votes"]
