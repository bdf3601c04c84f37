"""A writing task authored in the browser: topics, passages, styles, rules and questionnaires."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks, writing_forms, writing_topics
from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Task, User
from crowdqc.errors import Conflict, Invalid
from tests.support import factories
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
PASSAGES = [
    {"key": "d1", "title": "Tides", "text": "The moon pulls the sea."},
    {"key": "d2", "title": "", "text": "The sun pulls it less."},
]


@pytest.fixture
def task() -> Task:
    project = factories.make_project()
    return tasks.create_task(by=project.owner, project=project, type="writing", title="Tides")


def by(task: Task) -> User:
    return task.project.owner


def add(task: Task, *keys: str) -> int:
    rows = [{"topic": key, "query": f"Why {key}?", "passages": PASSAGES} for key in keys]
    return writing_topics.add_topics(by=by(task), task=task, rows=rows)


def keys(task: Task) -> list[str]:
    return list(Build(task).items.values_list("key", flat=True))


def post(task: Task, name: str, data: dict[str, Any], **query: str) -> Any:
    client = Client()
    client.force_login(by(task))
    path = reverse(name, args=[task.project_id, task.pk])
    path += "?" + "&".join(f"{k}={v}" for k, v in query.items())
    return client.post(path, data, headers=HTMX)


def test_each_topic_gives_an_item_for_each_style(task: Task) -> None:
    assert add(task, "t1", "t2") == 2
    assert keys(task) == ["t1-bullet", "t1-essay", "t1-news", "t2-bullet", "t2-essay", "t2-news"]
    item = task.items.get(key="t2-essay")
    assert item.settings == {"style": "essay", "passages": 2} and item.question == "Why t2?"
    assert item.group.passages == PASSAGES
    assert add(task, "t2", "t3") == 1


def test_items_follow_the_styles_of_the_draft(task: Task) -> None:
    add(task, "t1")
    writing_forms.remove_row(by=by(task), task=task, which="styles", name="essay")
    assert keys(task) == ["t1-bullet", "t1-news"]
    name = writing_forms.add_row(by=by(task), task=task, which="styles", label="A letter")
    writing_forms.move_row(by=by(task), task=task, which="styles", name=name, step=-1)
    assert keys(task) == ["t1-bullet", "t1-a_letter", "t1-news"]
    only = {"settings": {"styles": [{"label": "Verse"}]}}
    tasks.edit_draft(by=by(task), task=task, fields=only)
    assert keys(task) == ["t1-verse"]
    with pytest.raises(Conflict, match="One style stays"):
        writing_forms.remove_row(by=by(task), task=task, which="styles", name="verse")


def test_what_was_published_stays_and_a_change_taken_back_brings_it_again(task: Task) -> None:
    add(task, "t1", "t2")
    tasks.publish(by=by(task), task=task)
    before = {item.key: item.pk for item in Build(task).items}
    topic = task.groups.get(key="t1")
    writing_topics.change_passages(by=by(task), task=task, key="t1", change=lambda rows: rows[:1])
    shown = {item.key: item for item in Build(task).items}
    assert shown["t1-essay"].settings["passages"] == 1
    assert shown["t1-essay"].pk != before["t1-essay"]
    assert shown["t2-essay"].pk == before["t2-essay"]
    topic.refresh_from_db()
    assert topic.passages == PASSAGES and topic.until == 2
    writing_topics.change_passages(
        by=by(task), task=task, key="t1", change=lambda rows: list(PASSAGES)
    )
    assert {item.key: item.pk for item in Build(task).items} == before
    writing_forms.remove_row(by=by(task), task=task, which="styles", name="news")
    assert len(keys(task)) == 4
    writing_forms.use_template(by=by(task), task=task, which="styles")
    assert {item.key: item.pk for item in Build(task).items} == before


def test_a_topic_is_written_by_hand_with_passages_pasted(task: Task) -> None:
    answer = post(task, "task_build_topic_step", {"to": "add"}, part="topics")
    assert answer.status_code == 200 and b"Topic 1 has no query" in answer.content
    place = {"part": "topics", "text": "topic-1"}
    post(task, "task_build_topic", {"query": "Why do tides turn?"}, **place)
    pasted = "The moon pulls\r\nthe sea.\r\n\r\n \r\nThe sun pulls it less.\r\n"
    answer = post(task, "task_build_topic_step", {"to": "paste", "pasted": pasted}, **place)
    group = Build(task).group("topic-1")
    assert group is not None and group.title == "Why do tides turn?"
    assert [(row["key"], row["text"]) for row in group.passages] == [
        ("p1", "The moon pulls\nthe sea."),
        ("p2", "The sun pulls it less."),
    ]
    post(task, "task_build_topic_step", {"to": "one", "pasted": "One.\n\nStill."}, **place)
    post(task, "task_build_topic", {"passage_title": "Sun"}, **place, question="p2")
    post(task, "task_build_topic_step", {"to": "passage-up"}, **place, question="p2")
    answer = post(task, "task_build_topic_step", {"to": "passage-remove"}, **place, question="p1")
    group = Build(task).group("topic-1")
    assert group is not None
    assert [(row["key"], row["title"]) for row in group.passages] == [("p2", "Sun"), ("p3", "")]
    assert b"It can be published." in answer.content
    assert set(Build(task).items.values_list("settings__passages", "question")) == {
        (2, "Why do tides turn?")
    }


@pytest.mark.parametrize(
    ("passages", "said"),
    [
        ([{"text": "x"}] * 201, "200 is the most"),
        ([{"text": "x" * 20_001}], "20,000 is the most"),
        ([{"text": " "}], "passage 1 has no text"),
        ([{"key": "a", "text": "x"}, {"key": "a", "text": "y"}], "passage 2: a is there twice"),
    ],
)
def test_passages_that_cannot_be_kept_are_named(
    task: Task, passages: list[dict[str, str]], said: str
) -> None:
    with pytest.raises(Invalid, match=said):
        writing_topics.add_topics(
            by=by(task), task=task, rows=[{"topic": "t", "query": "Q", "passages": passages}]
        )
    assert not task.groups.exists()


def test_topics_are_moved_and_removed_with_their_items(task: Task) -> None:
    add(task, "t1", "t2")
    post(task, "task_build_topic_step", {"to": "up"}, part="topics", text="t2")
    assert keys(task)[:3] == ["t2-bullet", "t2-essay", "t2-news"]
    post(task, "task_build_topic_step", {"to": "remove"}, part="topics", text="t2")
    assert keys(task) == ["t1-bullet", "t1-essay", "t1-news"]


def test_a_question_of_a_form_is_authored_in_the_browser(task: Task) -> None:
    forms = {"part": "forms"}
    post(task, "task_build_rows_step", {"to": "add-exit", "new-exit": "Effort"}, **forms)
    place = {**forms, "question": "exit.effort"}
    post(task, "task_build_rows", {"question": "How hard was it?"}, **place)
    post(task, "task_build_rows", {"label-0": "easy"}, **place)
    answer = post(task, "task_build_rows", {"value-1": "1"}, **place)
    assert answer.status_code == 422
    assert "Each choice its own number." in answer.content.decode()
    post(task, "task_build_rows_step", {"to": "fewer"}, **place)
    post(task, "task_build_rows", {"has_required": "1"}, **place)
    row = task.versions.get().settings["exit"][-1]
    assert (row["question"], row["required"]) == ("How hard was it?", False)
    assert [point["value"] for point in row["points"]] == [1, 2, 3, 4]
    assert row["points"][0]["label"] == "easy"
    answer = post(task, "task_build_rows", {"kind": "text"}, **place)
    assert "in words" in answer.content.decode()
    post(task, "task_build_rows_step", {"to": "template-exit"}, **forms)
    assert len(task.versions.get().settings["exit"]) == 4
    for name in ("knowledge", "expertise", "answerable", "controversial"):
        post(task, "task_build_rows_step", {"to": "remove"}, **forms, question=f"entry.{name}")
    assert task.versions.get().settings["entry"] == []


def test_rules_are_saved_and_a_wrong_one_is_refused_in_its_place(task: Task) -> None:
    answer = post(task, "task_build", {"min_words": "400", "target_words": "250"}, part="styles")
    assert answer.status_code == 422 and "At least 400." in answer.content.decode()
    post(task, "task_build", {"tools": "allowed"}, part="styles")
    post(task, "task_build", {"has_once_a_topic": "1"}, part="order")
    settings = task.versions.get().settings
    assert (settings["tools"], settings["once_a_topic"]) == ("allowed", False)
    assert len(settings["styles"]) == 3


@pytest.mark.parametrize("part", ["text", "styles", "topics", "forms", "order", "time", "consent"])
def test_every_part_opens_and_shows_the_worker_s_page_beside_it(task: Task, part: str) -> None:
    add(task, "t1")
    client = Client()
    client.force_login(by(task))
    opened = {
        "styles": "&question=essay",
        "forms": "&question=entry.knowledge",
        "topics": "&text=t1&question=d2",
    }
    path = reverse("task_build", args=[task.project_id, task.pk])
    page = html_of(client.get(f"{path}?part={part}{opened.get(part, '')}"))
    assert "Live preview" in page and "Why t1?" in page
    assert "each for about 7 min" in page


def test_what_is_missing_is_said_with_its_place(task: Task) -> None:
    assert [one.sentence for one in Build(task).missing()] == ["The task has no topic"]
    rows = [{"topic": "t1", "query": "", "passages": []}]
    writing_topics.add_topics(by=by(task), task=task, rows=rows)
    said = [(one.sentence, one.part, one.text) for one in Build(task).missing()]
    assert said == [
        ("Topic 1 has no query", "topics", "t1"),
        ("Topic 1 has no passages; one has to be cited", "topics", "t1"),
    ]
    with pytest.raises(Invalid, match="no query"):
        tasks.publish(by=by(task), task=task)
    task.items.filter(key="t1-news").delete()
    assert "nothing in the style “News article”" in Build(task).missing()[-1].sentence


def test_a_response_is_priced_by_what_it_takes(task: Task) -> None:
    long = [{"text": "word " * 100} for _ in range(20)]
    writing_topics.add_topics(
        by=by(task), task=task, rows=[{"topic": "t1", "query": "Q", "passages": long}]
    )
    cost = Build(task).cost()
    assert 10 <= cost.minutes <= 11.5  # 10:22 were measured for 250 words in the published study
    assert (cost.assignments, cost.per_assignment) == (3, 1)
