"""The scripts in docs/examples, by the client, against a running server."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches

from annotation.models import Assignment, LedgerEntry, PayoutBatch, Project, Role
from crowdqc_client import ApiError, Client, PermissionDenied
from evaluation.runs import engine as runs
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.labels.test_runs import scored
from tests.security.accounts.factors import code_of, set_up_app
from tests.support import factories as make

pytestmark = [pytest.mark.django_db(transaction=True)]
EXAMPLES = Path(__file__).resolve().parent.parent / "docs" / "examples"


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """What closes the clients of a test."""
    with ExitStack() as stack:
        yield stack


def test_the_examples_collect_run_read_and_pay(
    live_server: Any, capsys: Any, monkeypatch: Any, clients: ExitStack
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    collect, pay = (importlib.import_module(name) for name in ("collect", "pay"))
    caches["shared"].clear()
    url, owner = live_server.url, make.make_user(password=make.PASSWORD)
    least = clients.enter_context(Client(url, ""))
    least.sign_in(owner.username, make.PASSWORD)
    with pytest.raises(PermissionDenied, match="missing-scope"):
        least.projects.create("Tides")
    with pytest.raises(ApiError, match="second-factor-needed"):
        least.sign_in(owner.username, make.PASSWORD, scopes=["read", "pay"])
    secret = set_up_app(owner)
    client = clients.enter_context(Client(url, ""))
    made = client.sign_in(
        owner.username,
        make.PASSWORD,
        code=code_of(secret),
        scopes=["read", "write", "run", "pay"],
    )
    monkeypatch.setenv("CROWDQC_URL", url)
    monkeypatch.setenv("CROWDQC_TOKEN", made.token)

    collect.main()
    printed = capsys.readouterr().out
    task = int(re.findall(r"task (\d+)", printed)[0])
    invitation = printed.rsplit("/join/", 1)[1].strip("/\n")
    project = Project.objects.get()
    for number in range(2):
        worker_token = make.api_token(make.make_user(), ["work"])
        worker = clients.enter_context(Client(url, worker_token))
        worker.work.join(invitation)
        worker.work.agree(project.pk, worker.work.consent(project.pk).number)
        assignment = worker.work.claim(task)
        answers = {entry.item: {"text": f"By the moon, {number}."} for entry in assignment.entries}
        assert worker.work.submit(assignment.id, answers).state == "submitted"
        with pytest.raises(PermissionDenied, match="missing-scope"):
            worker.answers.list(task).first()
    collect.main(str(task))
    assert capsys.readouterr().out.count("By the moon") == 4

    for done in Assignment.objects.filter(state="submitted"):
        make.took(done)  # what took no time is held back for somebody to look at

    run = client.runs.start(task, params={"encoder": "char-svd", "resamples": 0})
    runs.execute(run.id)
    assert client.runs.wait(run.id).number == client.runs.find(project.pk, run.number).number
    assert len(client.results.workers(task, run=run.number).to_list()) in (0, 2)

    for _ in range(2):  # a script that died may be run again
        pay.main("propose", str(task))
    assert PayoutBatch.objects.count() == 1
    assert re.search(r"proposal 1: .*nothing waits", capsys.readouterr().out, re.DOTALL)
    total = client.payouts.get(project.pk, 1).total
    with pytest.raises(ApiError, match=r"may-not-approve|not-allowed"):
        pay.main("approve", str(project.pk), "1", str(total))
    manager = make.make_member(project, Role.MANAGER).user
    monkeypatch.setenv("CROWDQC_TOKEN", make.api_token(manager, ["read", "pay"]))
    for _ in range(2):
        pay.main("approve", str(project.pk), "1", str(total))
    assert "is approved" in capsys.readouterr().out
    booked = [row.amount for row in client.payouts.ledger(project.pk)]
    assert sum(booked) == total == Decimal("3.00")
    assert LedgerEntry.objects.count() == 2
    for name in ("collect", "pay"):
        sys.modules.pop(name, None)


def test_the_pandas_example_reads_the_labels_of_a_page_by_their_run_number(
    live_server: Any, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    pandas_labels = importlib.import_module("pandas_labels")
    task = label_corpus.make_labelled(items=8, known=2, workers=6)
    run = scored(task)
    viewer = make.make_member(task.project, Role.VIEWER).user
    monkeypatch.setenv("CROWDQC_URL", live_server.url)
    monkeypatch.setenv("CROWDQC_TOKEN", make.api_token(viewer, ["read"]))
    client = Client()
    assert client.runs.find(task.project_id, run.number).id == run.pk
    labels = {one.item_id: one.decided_label or one.label for one in client.results.labels(task.pk)}
    frame = pandas_labels.label_frame(client, task.pk)
    assert len(labels) > 5 and dict(zip(frame["item_id"], frame["label"], strict=True)) == labels
    assert frame["certainty"].between(0, 1).all()
    pandas_labels.main(str(task.pk))
    assert "certainty" in capsys.readouterr().out
    sys.modules.pop("pandas_labels", None)
