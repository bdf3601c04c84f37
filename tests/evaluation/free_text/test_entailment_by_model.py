"""A language model says which answers entail which, and AQER begins by its votes."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Task
from evaluation.models import LLMCall, Run, RunState, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.support import factories
from tests.support.pages import html_of
from tests.support.servers.llm import Body, Chances, make_model, serving

pytestmark = pytest.mark.django_db
FORM = {"encoder": "char-svd", "rank_by": "auto", "similarity": "cosine", "start": "entailment"}


def judged(body: Body) -> Chances:
    """What the stub says: the more words of the second answer stand in the first, the surer."""
    told = body["messages"][-1]["content"]
    first, second = re.search(
        r"First answer:\n\n(.*?)\n\nSecond answer:\n\n(.*?)\n\nDoes", told, re.DOTALL
    ).groups()  # type: ignore[union-attr]
    words = second.lower().split()
    share = 0.1 + 0.8 * sum(word in first.lower().split() for word in words) / len(words)
    return Chances("Yes" if share > 0.5 else "No", {"Yes": share, "No": 1 - share})


def answered(questions: int) -> Task:
    """Answers to the first questions alone: each is held against every other of its question."""
    task = factories.make_task(
        n=questions,
        passage=corpus.PASSAGE,
        questions=list(corpus.QUESTIONS)[:questions],
        redundancy=5,
    )
    some = corpus.keys()[:questions]
    given = {who: {key: told[key] for key in some} for who, told in corpus.people()}
    factories.make_answers(task, given)
    return task


def client_of(task: Task) -> Client:
    client = Client()
    client.force_login(task.project.owner)
    return client


def test_the_model_is_asked_at_a_cost_that_is_shown_and_aqer_begins_by_its_votes() -> None:
    task = answered(3)
    client, at = client_of(task), [task.project_id, task.pk]
    with serving(judged) as stub:
        model = make_model(task.project, stub.base_url)
        model.can = {**model.can, "logprobs": True}
        model.save(update_fields=["can"])
        ask = reverse("task_ask", args=[*at, "entailment"])
        preview = reverse("task_ask_preview", args=[*at, "entailment"])
        shown = text_of(html_of(client.post(preview, {"model": model.pk})))
        assert "ordered pairs of answers to one question, by the probability of yes" in shown
        assert not LLMCall.objects.exists()
        assert client.post(ask, {"model": model.pk}).status_code == 302
        asked = Run.objects.get(task=task)
        assert runs.execute(asked.pk) == RunState.DONE, Run.objects.get(pk=asked.pk).error
        told = reads.figures_of(asked)
        counts = told["asked"]["counts"]
        assert counts["answered"] == counts["asked"] > len(stub.asked) >= len(told["entailed"])
        sent = len(stub.asked)
        page = text_of(html_of(client.get(reverse("run", args=[task.project_id, asked.number]))))
        assert "AQER can begin its first round by these votes." in page
        start = reverse("run_start", args=at)
        assert f"{model.name}, as run {asked.number} asked" in html_of(client.get(start))
        given = {**FORM, "entailment": f"run:{asked.number}", "resamples": 100, "seed": 1}
        assert client.post(start, given).status_code == 302
        run = Run.objects.get(task=task, method="aqer")
        assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
        assert len(stub.asked) == sent  # AQER itself asks nobody
    scores = WorkerScore.objects.filter(run=run)
    good, wrong = (
        [row.estimate for row in scores.filter(worker__external_id__startswith=who)]
        for who in ("good", "wrong")
    )
    assert min(good) > max(wrong)
    recipe = reads.figures_of(run, "recipe")["recipe"]
    assert recipe["entailment"] == f"{model.name} (run {asked.number})"
    page = client.get(reverse("task_results", args=at) + f"?run={run.number}")
    assert f"start entailment by {model.name} (run {asked.number})" in text_of(html_of(page))


def test_a_run_that_asked_nobody_or_too_little_is_refused_by_name() -> None:
    task = answered(1)
    client, at = client_of(task), [task.project_id, task.pk]
    start = reverse("run_start", args=at)
    form = html_of(client.get(start))
    assert "no model was asked" in form
    with serving(judged) as stub:
        model = make_model(task.project, stub.base_url)
        client.post(reverse("task_ask", args=[*at, "entailment"]), {"model": model.pk})
        asked = Run.objects.get(task=task)
        assert runs.execute(asked.pk) == RunState.DONE
    figure = asked.figures.get(name="entailed")
    figure.data = figure.data[5:]  # as if answers had come since
    figure.save()
    run = runs.start(
        by=task.project.owner,
        task=task,
        params={"encoder": "char-svd", "start": "entailment", "entailment": f"run:{asked.number}"},
    )
    assert runs.execute(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert f"Run {asked.number} has no vote on" in run.error
    given = {**FORM, "entailment": "run:99", "resamples": 100, "seed": 1}
    response = client.post(start, given)
    assert response.status_code == 422
