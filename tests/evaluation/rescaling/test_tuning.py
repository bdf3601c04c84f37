"""The file of scored explanations that a language model can be tuned on."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role
from evaluation.models import AuditVerdict, LLMCall
from evaluation.rescaling import audits
from evaluation.rescaling.calls import given_scores
from tests.evaluation.corpora import rescaling as corpus
from tests.evaluation.rescaling.test_pages import page
from tests.evaluation.rescaling.test_runs import by_words, start
from tests.support import factories
from tests.support.servers.llm import make_model, serving

pytestmark = pytest.mark.django_db


def test_the_tuning_file_has_each_prompt_and_its_score_once_without_doubted_ones() -> None:
    task = corpus.make_rated(items=4)
    with serving(by_words) as stub:
        run = start(task, model=make_model(task.project, stub.base_url).pk)
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("rescaling_tuning", args=[task.project_id, task.pk])

    def lines() -> list[dict[str, list[dict[str, str]]]]:
        sent = client.get(f"{address}?run={run.number}")
        assert sent.status_code == 200
        return [json.loads(line) for line in b"".join(sent.streaming_content).splitlines()]

    given = {one.call_id: one.score for one in given_scores(run) if one.score is not None}
    calls = LLMCall.objects.in_bulk(given)
    expected = {json.dumps(calls[pk].messages): score for pk, score in given.items()}
    found = {
        json.dumps(one["messages"][:-1]): json.loads(one["messages"][-1]["content"])["score"]
        for one in lines()
    }
    assert found == expected and len(lines()) == len(given) > 0
    assert {one["messages"][-1]["role"] for one in lines()} == {"assistant"}
    # What a judge disagrees with is no example.
    judge = factories.make_member(task.project, Role.MANAGER).user
    assert judge is not None
    audit = audits.open_audit(by=task.project.owner, task=task, judge=judge, each=2)
    doubted = next(one for one in given_scores(run) if one.score is not None)
    sharing = sum(one.call_id == doubted.call_id for one in given_scores(run))
    AuditVerdict.objects.create(audit=audit, answer_id=doubted.answer_id, agrees=False)
    assert len(lines()) == len(given) - (sharing == 1)
    assert f"{address}?run={run.number}" in page(client, task, view="scorer")
    # A call whose text was erased is no example.
    LLMCall.objects.filter(uses__run=run).update(messages=[])
    assert lines() == []
