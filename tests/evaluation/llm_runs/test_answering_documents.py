"""Models answer the questions about a rating task's documents; people rate the answers."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import drafts, tasks
from annotation.models import Task
from annotation.pairs.actions import rating_documents
from evaluation.llm_runs.answering.documents import DocumentQuestions
from evaluation.llm_runs.start import ways_of
from evaluation.models import RunState
from tests.evaluation.llm_runs.test_answering import asked, finished, prompt_of
from tests.support import factories
from tests.support.servers.llm import make_model, serving
from tests.support.studies import judging, ratings

pytestmark = pytest.mark.django_db


def texts(task: Task) -> list[tuple[str, str, int, str, str]]:
    """Every answer of the newest version: document, question, sentence, source, text."""
    newest = task.versions.order_by("-number").first()
    assert newest is not None
    rows = task.items.in_version(newest.number).select_related("group", "first__system")
    return [
        (
            row.group.key,
            row.question,
            row.settings["anchor"],
            row.first.system.name if row.first else "",
            row.first.text if row.first else "",
        )
        for row in rows
    ]


def test_answers_of_a_model_come_into_the_draft_once_and_people_rate_them() -> None:
    world = factories.make_world(1)
    task = ratings.make_documents(world.project, documents=2, per_document=2)
    with serving(lambda body: "The answer is: Ice stopped the ferry.") as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "answers", model=model.pk, replicates=2)
        again = finished(task, "answers", model=model.pk, replicates=2)
        assert (run.state, again.state, run.error) == (RunState.DONE, RunState.DONE, "")
        # An answer that a person took out stays out; another question is asked.
        new = next(item for item in task.items.select_related("first__system") if "-m" in item.key)
        rating_documents.remove_answer(by=task.project.owner, task=task, item=new)
        rating_documents.add_answer(
            by=task.project.owner,
            task=task,
            group=task.groups.get(key="doc-1"),
            question="Who spoke?",
            anchor=4,
            answer="The captain.",
            system="human",
        )
        finished(task, "answers", model=model.pk, replicates=2)
    assert ratings.DOCUMENT in prompt_of(stub.asked[0])
    # Each question once a replicate, whoever answered it before.
    assert asked(run)["counts"]["answered"] == 4 and asked(again)["counts"]["there"] == 4
    added = [row for row in texts(task) if row[3] == "stub-1"]
    assert sorted(row[:3] for row in added) == sorted(
        [("doc-1", ratings.QUESTION, 3), *[("doc-2", ratings.QUESTION, 3)] * 2]
        + [("doc-1", "Who spoke?", 4)] * 2
    )
    assert {row[4] for row in added} == {"Ice stopped the ferry."}
    tasks.publish(by=task.project.owner, task=task)
    held = factories.claim(task, world.worker)
    assert "m" in "".join(held.entries.values_list("item__key", flat=True))
    ratings.submit(held)


def test_models_are_asked_in_a_task_of_documents_alone_and_before_it_is_published() -> None:
    world = factories.make_world(1)
    plain = judging.make_ratings(world.project, 1)
    assert "answers" not in dict(ways_of(plain))
    task = tasks.create_task(
        by=world.project.owner, project=world.project, type="rating", title="Answers"
    )
    assert not DocumentQuestions().fits(task)
    drafts.edit_draft(by=world.project.owner, task=task, fields={"settings": ratings.SETTINGS})
    client = Client()
    client.force_login(world.project.owner)
    ask = reverse("task_ask", args=[task.project_id, task.pk, "answers"])
    builder = reverse("task_build", args=[task.project_id, task.pk])
    assert ask not in client.get(builder, {"part": "documents"}).content.decode()
    rating_documents.add_documents(by=world.project.owner, task=task, rows=ratings.rows(1, 1))
    assert ask in client.get(builder, {"part": "documents"}).content.decode()
    with serving(lambda body: "The answer is: Ice.") as stub:
        model = make_model(task.project, stub.base_url)
        form = {"model": model.pk, "strategy": "sentence@1", "passage": "on", "temperature": 0}
        form |= {"max_tokens": 600, "replicates": 1}
        shown = client.get(ask).content.decode()
        assert "Show the model the document" in shown
        answer = client.post(ask, form)
        assert answer.status_code == 302
        assert client.get(answer.url).status_code == 200
        run = finished(task, "answers", model=model.pk)
    assert run.state == RunState.DONE
    assert [row[3] for row in texts(task)] == ["model 0", "stub-1"]


def test_models_are_not_asked_once_a_draft_turned_away_from_documents() -> None:
    world = factories.make_world(1)
    task = ratings.make_documents(world.project, documents=1, per_document=1)
    assert DocumentQuestions().fits(task)
    drafts.edit_draft(by=world.requester, task=task, fields={"settings": {"layout": "text"}})
    assert not DocumentQuestions().fits(task)
