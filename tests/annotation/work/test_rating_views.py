"""The pages around ratings of documents: authoring them, reading a round, words to requesters."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.models import Task
from annotation.panels.actions import panels
from evaluation.payouts.selectors import review
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies import ratings

pytestmark = pytest.mark.django_db
QUERIES = {"task_rounds": 10, "task_round": 12, "task_feedback": 8}


@pytest.fixture
def project() -> Any:
    return factories.make_project()


@pytest.fixture
def requester(client: Client, project: Any) -> Client:
    client.force_login(project.owner)
    return client


def post(client: Client, name: str, task: Task, query: str = "", **data: Any) -> Any:
    return client.post(reverse(name, args=[task.project_id, task.pk]) + query, data)


def read(client: Client, name: str, task: Task, *more: int) -> str:
    response = client.get(reverse(name, args=[task.project_id, task.pk, *more]))
    assert response.status_code == 200
    return html_of(response)


def test_a_task_of_documents_is_authored_in_the_browser_and_published(
    requester: Client, project: Any
) -> None:
    task = tasks.create_task(by=project.owner, project=project, type="rating", title="Ice")
    for fields in (
        {"layout": "document"},
        {"explanation_wanted": "required"},
        {"explanation_min_words": "8"},
        {"evidence": "required"},
        {"has_feedback": "1", "feedback": "1"},
        {"release_assignments": "20", "release_hours": "12"},
    ):
        assert (
            post(requester, "task_build_rating", task, "?part=rules", **fields).status_code == 302
        )
    post(requester, "task_build_document_step", task, "?part=documents", to="add")
    group = task.groups.get()
    here = f"?part=documents&text={group.key}"
    post(requester, "task_build_document", task, here, title="Ice", passage=ratings.DOCUMENT)
    for answer in ratings.ANSWERS[:2]:
        post(
            requester,
            "task_build_document_step",
            task,
            here,
            to="answer",
            new_anchor="3",
            new_question=ratings.QUESTION,
            new_answer=answer,
            new_system="model 1",
        )
    task.refresh_from_db()
    item = task.items.order_by("pk").first()
    assert item is not None
    changed = f"{here}&question={item.key}"
    post(requester, "task_build_document", task, changed, question="Why did it stop?", anchor="2")
    refused = post(requester, "task_build_document", task, changed, anchor="9")
    assert refused.status_code == 422
    assert "no sentence 9" in refused.content.decode()
    assert post(requester, "task_publish", task).status_code == 302
    task.refresh_from_db()
    assert task.current is not None
    settings = task.current.settings
    assert settings["explanation"] == {"wanted": "required", "min_words": 8}
    assert settings["release"] == {"assignments": 20, "hours": 12}
    assert [scale["name"] for scale in settings["scales"]] == ["completeness", "correctness"]
    item.refresh_from_db()
    assert (item.question, item.settings["anchor"], item.settings["sentences"]) == (
        "Why did it stop?",
        2,
        7,
    )
    page = read(requester, "task_preview", task)
    assert 'id="sentence-7"' in page
    assert "misses a little" in page
    for part in ("rules", "documents", "asked", "text", "time"):
        shown = requester.get(
            reverse("task_build", args=[project.pk, task.pk]) + f"?part={part}&text={group.key}"
        )
        assert shown.status_code == 200


def test_a_changed_document_asks_its_answers_anew_with_the_new_number_of_sentences(
    requester: Client, project: Any
) -> None:
    task = ratings.make_documents(project)
    group = task.groups.get()
    here = f"?part=documents&text={group.key}"
    post(requester, "task_build_document", task, here, passage=ratings.DOCUMENT + " One more.")
    live = task.items.filter(until__isnull=True)
    assert set(live.values_list("settings__sentences", flat=True)) == {8}
    assert set(live.values_list("since", flat=True)) == {2}
    short = post(requester, "task_build_document", task, here, passage="One sentence.")
    assert short.status_code == 422
    refused = short.context["refused"].fields
    assert refused == {
        "passage": "A question arose from sentence 3, which would go. Change that first."
    }


def qualifying(project: Any) -> tuple[Task, Any]:
    task = ratings.make_documents(project)
    tasks.move(by=project.owner, task=task, to="pause")
    panels.set_panels(by=project.owner, task=task, qualifies="Trained", asks_for="")
    tasks.move(by=project.owner, task=task, to="resume")
    task.refresh_from_db()
    worker = factories.make_worker(project)
    return task, ratings.submit(factories.claim(task, worker), feedback="The ice was thin.")


def test_a_round_is_read_beside_its_document_and_decided_with_words(
    requester: Client, project: Any
) -> None:
    task, held = qualifying(project)
    assert "1 round waits" in read(requester, "task_rounds", task)
    page = read(requester, "task_round", task, held.pk)
    for shown in (
        ratings.WHY,
        'class="sentence chosen" id="sentence-4"',
        "misses a little",
        "The ice was thin.",
    ):
        assert shown in page
    url = reverse("task_round", args=[project.pk, task.pk, held.pk])
    empty = requester.post(url, {"verdict": "admitted", "feedback": ""})
    assert empty.status_code == 422
    assert "Write what the worker should read" in empty.content.decode()
    assert requester.post(url, {"verdict": "admitted", "feedback": "Well seen."}).status_code == 302
    assert "on the panel" in read(requester, "task_rounds", task)
    client = Client()
    client.force_login(held.worker.user)
    home = html_of(client.get(reverse("work_home")))
    assert "Well seen." in home
    assert "You are on the panel “Trained”" in home
    record = client.get(reverse("work_record_assignment", args=[held.pk])).content.decode()
    for shown in (
        "Completeness: misses a little, Correctness: correct",
        ratings.WHY,
        "Sentences that show it: 1, 4",
        "The ice was thin.",
        "Well seen.",
    ):
        assert shown in record


def test_a_reviewer_reads_the_points_and_sentences_beside_the_reason(project: Any) -> None:
    _, held = qualifying(project)
    read_as = {row.text for row in review.read_answers(held.pk, None)}
    assert read_as == {
        f"Completeness: misses a little, Correctness: correct\n{ratings.WHY}\n"
        "Sentences that show it: 1, 4\nTo the people who made the task: The ice was thin."
    }


def test_tools_of_others_take_the_first_scale_where_none_is_named(
    requester: Client, project: Any
) -> None:
    task, _ = qualifying(project)
    for what in ("crowdkit-labels", "reliability"):
        found = requester.get(reverse("task_export", args=[project.pk, task.pk, what, "csv"]))
        assert found.status_code == 200
        assert "70" in b"".join(found.streaming_content).decode()  # type: ignore[attr-defined]


def test_words_to_the_requester_are_read_on_a_page_of_their_own(
    requester: Client, project: Any
) -> None:
    task, _ = qualifying(project)
    assert "The ice was thin." in read(requester, "task_feedback", task)


def test_without_scripts_the_server_says_beside_the_field_what_is_missing(project: Any) -> None:
    task = ratings.make_documents(project)
    held = factories.claim(task, factories.make_worker(project))
    client = Client()
    client.force_login(held.worker.user)
    url = reverse("work_item", args=[held.pk, 1])
    answer = client.post(url, {**ratings.draft(explanation=ratings.QUESTION), "go": "next"})
    assert answer["Location"] == f"{url}?check=1"
    page = client.get(answer["Location"]).content.decode()
    assert "This repeats the question or the answer." in page
    assert "it counts if its place is still free" in page  # shown when the time is over
    assert client.post(url, {**ratings.draft(), "go": "next", "seq": str(2**50)})[
        "Location"
    ] == reverse("work_item", args=[held.pk, 2])


def test_an_answer_without_its_document_says_so_and_can_be_rated(project: Any) -> None:
    task = ratings.make_documents(project, settings={"evidence": "none"})
    task.groups.update(passage="")
    held = factories.claim(task, factories.make_worker(project))
    client = Client()
    client.force_login(held.worker.user)
    page = client.get(reverse("work_item", args=[held.pk, 1])).content.decode()
    assert "The document is not here." in page
    assert "data-evidence" not in page


@pytest.mark.parametrize("workers", [2, 5])
def test_rounds_and_a_page_of_documents_take_as_many_queries_for_many_as_for_few(
    requester: Client, project: Any, workers: int
) -> None:
    task = ratings.make_documents(project, workers, 3, redundancy=9)
    held = [
        ratings.submit(factories.claim(task, factories.make_worker(project)), feedback="Clear.")
        for _ in range(workers)
    ]
    at = [project.pk, task.pk]
    # Who asks, the project's tabs and the lists themselves; nothing a round or a document.
    pages = {"task_rounds": at, "task_round": [*at, held[0].pk], "task_feedback": at}
    counts = {}
    for name, place in pages.items():
        with CaptureQueriesContext(connection) as found:
            assert requester.get(reverse(name, args=place)).status_code == 200
        counts[name] = len(found)
    assert counts == QUERIES
