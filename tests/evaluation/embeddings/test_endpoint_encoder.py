"""An endpoint's embedding model as the encoder of a run of AQER."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from evaluation.embeddings.embeddings import get_encoder
from evaluation.llm import engine
from evaluation.models import Embedding, Endpoint, LLMCall, Run, RunState, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs.forms import RunForm
from evaluation.runs.run_types import run_types
from tests.evaluation.corpora import texts as corpus
from tests.support.factories import make_project
from tests.support.servers.llm import make_model, serving

pytestmark = pytest.mark.django_db


def scored(task: object, encoder: str) -> Run:
    options = {"encoder": encoder, "resamples": 200}
    run = runs.start(by=task.project.owner, task=task, params=options)  # type: ignore[attr-defined]
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def test_aqer_runs_on_the_vectors_of_an_endpoint_and_pays_for_each_text_once() -> None:
    task = corpus.make_answered()
    with serving(lambda body: "") as stub:
        model = make_model(
            task.project, stub.base_url, name="stub-vectors", use="embedding", hard_budget=1
        )
        run = scored(task, f"endpoint:{model.pk}")
        assert (run.state, run.error) == (RunState.DONE, "")
        asked = len(stub.asked)
        again = scored(task, f"endpoint:{model.pk}")
        assert (again.state, len(stub.asked)) == (RunState.DONE, asked)
    assert again.result_hash == run.result_hash
    assert WorkerScore.objects.filter(run=run).count() == 12
    texts = [text for body in stub.asked for text in body["input"]]
    assert len(texts) == len(set(texts)) == Embedding.objects.count() > 20
    identity = get_encoder(f"endpoint:{model.pk}").identity
    assert stub.base_url in identity and "stub-vectors" in identity
    assert set(Embedding.objects.values_list("encoder", flat=True)) == {identity}
    calls = LLMCall.objects.all()
    assert calls.count() == run.uses.count() == asked
    assert sum(len(call.messages[0]["hashes"]) for call in calls) == len(texts)
    assert Endpoint.objects.get().spent == asked * Decimal("0.00001")
    form = RunForm(options=run_types()["aqer"].options, noun="answer")
    form.offer(task.project_id)
    assert f"endpoint:{model.pk}" in dict(form.fields["encoder"].widget.choices)


def test_a_budget_that_is_spent_and_a_model_that_changed_stop_the_run_in_words() -> None:
    task = corpus.make_answered()
    with serving(lambda body: "") as stub:
        model = make_model(task.project, stub.base_url, use="embedding")
        Endpoint.objects.update(hard_budget=Decimal("0.00"))
        poor = scored(task, f"endpoint:{model.pk}")
        assert poor.state == RunState.FAILED
        assert "allows no further call" in poor.error
        assert not stub.asked
        Endpoint.objects.update(hard_budget=None)
        stub.width = 12
        changed = scored(task, f"endpoint:{model.pk}")
        assert "now gives vectors of 12 numbers where it gave 16" in changed.error
        assert not Embedding.objects.exists()


def test_a_model_of_another_project_and_one_that_is_not_there_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "BACKOFF", 0.01)
    task = corpus.make_answered()
    theirs = make_model(make_project(), "http://127.0.0.1:9/v1", use="embedding")
    refused = scored(task, f"endpoint:{theirs.pk}")
    assert refused.error == f"There is no encoder 'endpoint:{theirs.pk}'."
    ours = make_model(task.project, "http://127.0.0.1:9/v1", use="embedding")
    gone = scored(task, f"endpoint:{ours.pk}")
    assert "The endpoint cannot be reached" in gone.error


def test_vectors_come_back_in_the_order_of_the_texts() -> None:
    with serving(lambda body: "") as stub:
        model = make_model(make_project(), stub.base_url, use="embedding", parallel=3)
        texts = [chr(97 + n % 7) * (1 + n % 11) for n in range(150)]
        found = get_encoder(f"endpoint:{model.pk}").encode(texts)
    assert found.shape == (150, 16)
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert [int(row.argmax()) for row in found] == [n % 7 for n in range(150)]
