"""A task type that is one class: its builder, its worker's pages and its pay need no part of it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import items, tasks
from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Task
from annotation.payouts.actions.bonus_rule import bases_of
from annotation.payouts.selectors import proposals
from annotation.task_types import TYPES
from annotation.task_types.base import TaskType, Values
from annotation.task_types.scales import truth
from crowdqc.errors import Invalid
from tests.support import factories


class Keywords(TaskType):
    """A few words to a question; thrown away after the test."""

    slug = "keywords"
    label = "Keywords"
    sentence = "A few words to each question."
    shape = "keywords"
    answer_noun = "keyword"
    answer_template = "annotation/task_types/free_text_answer.html"
    item_template = "annotation/work/item.html"
    builder_template = "annotation/task_types/free_text_settings.html"

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {"skippable": truth(raw.get("skippable", False))}

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {"text": str(raw.get("text", ""))}

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(draft.get("text"))

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        if not self.is_answered(draft):
            raise Invalid("There is no keyword yet.")
        return Values(texts=[("keyword", 0, draft["text"])])


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setitem(TYPES, Keywords.slug, Keywords())
    project = factories.make_project()
    return tasks.create_task(by=project.owner, project=project, type=Keywords.slug, title="Words")


@pytest.mark.django_db
def test_a_type_without_a_builder_of_its_own_has_the_usual_one(task: Task) -> None:
    client = Client()
    client.force_login(task.project.owner)

    def page(name: str, **query: str) -> str:
        answer = client.get(reverse(name, args=[task.project_id, task.pk]), query)
        assert answer.status_code == 200
        return answer.content.decode()

    for part in ("text", "questions", "order", "time", "consent"):
        assert f'id="part-{part}"' in page("task_build", part=part)
    assert "The task has no question" in page("task_build")
    assert "No question yet" in page("task_preview")
    items.save_item(by=task.project.owner, task=task, question="Which birds?")
    assert Build(task).missing() == []
    for name in ("task_build", "task_preview"):
        shown = page(name)
        assert "Which birds?" in shown and "None" not in shown.partition("</main>")[0]
    assert Build(task).cost().minutes > 0
    assert "per question" in page("task_publish")
    tasks.publish(by=task.project.owner, task=task)


@pytest.mark.django_db
def test_a_type_without_pages_of_its_own_is_worked_on_with_the_usual_ones(task: Task) -> None:
    for question in ("Which birds?", "Which trees?"):
        items.save_item(by=task.project.owner, task=task, question=question)
    tasks.publish(by=task.project.owner, task=task)
    task.refresh_from_db()
    worker = factories.make_worker(task.project)
    client = Client()
    client.force_login(worker.user)
    held = factories.claim(task, worker)

    def said(name: str, *args: Any, form: Mapping[str, Any] | None = None) -> str:
        url = reverse(name, args=args)
        answer = client.get(url) if form is None else client.post(url, form, follow=True)
        assert answer.status_code == 200
        return answer.content.decode()

    assert "the text of your answers" in said("work_item", held.pk, 1)
    then = said("work_item", held.pk, 1, form={"text": "owl", "go": "next", "seq": 1})
    assert "Question 2 of 2" in then and "There is no keyword yet" not in then
    listed = said("work_assignment", held.pk)
    assert "1 question still to complete" in listed and "Submit 1 keyword" in listed
    token = {"authorization": f"Token {factories.api_token(worker.user)}"}
    told = Client().get(reverse("api_assignment", args=[held.pk]), headers=token).json()
    one = told["entries"][0]
    assert (one["style"], one["passages"], one["samples"]) == (None, None, [])
    said("work_item", held.pk, 2, form={"text": "oak", "go": "next", "seq": 1})
    said("work_submit", held.pk, form={"key": uuid.uuid4()})
    assert "Submitted, thank you" in said("work_done", held.pk)
    assert "2 keywords and 0 events" in said("work_record_assignment", held.pk)
    assert bases_of(task) == () and proposals.noun_of(task) == "keyword"
