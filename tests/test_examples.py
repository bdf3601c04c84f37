"""The client in docs/examples, and the scripts beside it, against a running server."""

from __future__ import annotations

import importlib
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches

from annotation.models import Assignment, LedgerEntry, PayoutBatch, Project, Role
from evaluation.runs import engine as runs
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.labels.test_runs import scored
from tests.security.accounts.factors import code_of, set_up_app
from tests.support import factories as make

pytestmark = [pytest.mark.django_db(transaction=True)]
EXAMPLES = Path(__file__).resolve().parent.parent / "docs" / "examples"


def test_the_examples_collect_run_read_and_pay(
    live_server: Any, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    api, collect, pay = (
        importlib.import_module(name) for name in ("crowdqc_client", "collect", "pay")
    )
    caches["shared"].clear()
    url, owner = live_server.url, make.make_user(password=make.PASSWORD)
    least = api.Client.sign_in(url, owner.username, make.PASSWORD)
    with pytest.raises(api.Refused, match="missing-scope"):
        least.begin_project("Tides")
    with pytest.raises(api.Refused, match="second-factor-needed"):
        api.Client.sign_in(url, owner.username, make.PASSWORD, scopes=["read", "pay"])
    secret = set_up_app(owner)
    client = api.Client.sign_in(
        url,
        owner.username,
        make.PASSWORD,
        code=code_of(secret),
        scopes=["read", "write", "run", "pay"],
    )

    collect.main(url, client.token)
    said = capsys.readouterr().out
    task, token = re.findall(r"task (\d+)", said)[0], said.rsplit("/join/", 1)[1].strip("/\n")
    project = Project.objects.get()
    for number in range(2):
        worker = api.Client(url, make.api_token(make.make_user(), ["work"]))
        worker.join(token)
        worker.agree(project.pk)
        held = worker.claim(int(task))
        drafts = {entry["item"]: {"text": f"By the moon, {number}."} for entry in held["entries"]}
        assert worker.submit(held["id"], drafts)["state"] == "submitted"
        with pytest.raises(api.Refused, match="missing-scope"):
            next(worker.answers(int(task)))
    collect.main(url, client.token, task)
    assert capsys.readouterr().out.count("By the moon") == 4
    pages = list(client.rows(f"/api/tasks/{task}/answers/?page_size=1"))
    assert len(pages) == 4  # of one row each

    for done in Assignment.objects.filter(state="submitted"):
        make.took(done)  # what took no time is held back for somebody to look at

    run = client.start_run(int(task), encoder="char-svd", resamples=0)
    runs.execute(run.id)
    assert client.wait_for(run.id).over
    assert len(list(client.worker_scores(run.id))) in (0, 2)

    for _ in range(2):  # a script that died may be run again
        pay.main("propose", url, client.token, task)
    assert PayoutBatch.objects.count() == 1
    said = capsys.readouterr().out
    assert "proposal 1: " in said and "nothing waits" in said
    total = client.payout(project.pk, 1).total
    with pytest.raises(api.Refused, match=r"may-not-approve|not-allowed"):
        pay.main("approve", url, client.token, str(project.pk), "1", total)
    manager = make.make_member(project, Role.MANAGER).user
    second = make.api_token(manager, ["read", "pay"])
    for _ in range(2):
        pay.main("approve", url, second, str(project.pk), "1", total)
    assert "is approved" in capsys.readouterr().out
    booked = [Decimal(row["amount"]) for row in client.ledger(project.pk)]
    assert sum(booked) == Decimal(total) == Decimal("3.00")
    assert LedgerEntry.objects.count() == 2
    for name in ("crowdqc_client", "collect", "pay"):
        sys.modules.pop(name, None)


def test_the_pandas_example_reads_the_labels_of_a_page_by_their_run_number(
    live_server: Any, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    api, pandas_labels = (
        importlib.import_module(name) for name in ("crowdqc_client", "pandas_labels")
    )
    task = label_corpus.make_labelled(items=8, known=2, workers=6)
    run = scored(task)
    viewer = make.make_member(task.project, Role.VIEWER).user
    client = api.Client(live_server.url, make.api_token(viewer, ["read"]))
    assert client.run(task.project_id, run.number).id == run.pk
    labels = {one.item_id: one.final for one in client.labels(run.pk)}
    frame = pandas_labels.label_frame(client, task.pk)
    assert len(labels) > 5 and dict(zip(frame["key"], frame["label"], strict=True)) == labels
    assert frame["certainty"].between(0, 1).all()
    pandas_labels.main(live_server.url, client.token, str(task.pk))
    assert "certainty" in capsys.readouterr().out
    for name in ("crowdqc_client", "pandas_labels"):
        sys.modules.pop(name, None)
