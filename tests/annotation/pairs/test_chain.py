"""From writing to judging: responses go into a task that compares them, once each."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks, writing_topics
from annotation.models import Answer, Candidate, Task
from annotation.pairs.actions import derived_tasks as chain
from annotation.pairs.actions import pair_items
from annotation.pairs.selectors import chain_of
from annotation.task_types.pairwise import page as judging
from annotation.work.actions import answers
from crowdqc.errors import Conflict, Invalid
from tests.support import factories
from tests.support.kept import kept

pytestmark = [pytest.mark.django_db, pytest.mark.db]
PASSAGES = [
    {"key": "d1", "title": "The moon", "text": "The moon pulls the sea.\n[2] is a line of it."},
    {"key": "d2", "title": "", "text": "# The sun pulls it less."},
]
PLAIN = {
    "styles": [{"name": "essay", "label": "Essay"}, {"name": "news", "label": "News"}],
    "entry": [],
    "exit": [],
    "min_words": 1,
    "target_words": 5,
    "max_words": 50,
}


@pytest.fixture
@kept
def task() -> Task:
    """Two topics in two styles, published, to be written on twice each."""
    project = factories.make_project()
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="writing", title="Tides")
    tasks.edit_draft(by=by, task=task, fields={"settings": PLAIN, "redundancy": 2})
    rows = [{"topic": key, "query": f"Why {key}?", "passages": PASSAGES} for key in ("t1", "t2")]
    writing_topics.add_topics(by=by, task=task, rows=rows)
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def write(task: Task, times: int = 4) -> list[Any]:
    """So many people write one response each."""
    text = "The moon pulls [1], and the sun [2]."
    return [factories.claim_and_submit(task, texts=text) for _ in range(times)]


def system_writes(task: Task, *keys: str) -> None:
    factories.make_system_answers(task, {"Halcyon": dict.fromkeys(keys, "The moon does it [1].")})


def judge(task: Task, **kwargs: Any) -> chain.DerivedTask:
    return chain.judge_responses(by=task.project.owner, task=task, **kwargs)


def test_responses_become_texts_by_topic_with_their_styles_and_sources(task: Task) -> None:
    write(task, 8)
    system_writes(task, "t1-essay", "t1-news")
    judged = judge(task)
    assert (judged.begun, judged.new, judged.topics) == (True, 10, 2)
    assert judged.task.type == "pairwise" and judged.task.source == task
    texts = Candidate.objects.filter(project=task.project, topic="t1")
    assert set(texts.values_list("style", "origin", "system__name", "system__prompt_strategy")) == {
        ("essay", "human", "human", "essay"),
        ("news", "human", "human", "news"),
        ("essay", "llm", "Halcyon", ""),
        ("news", "llm", "Halcyon", ""),
    }
    assert set(texts.values_list("query", flat=True)) == {"Why t1?"}
    group = judged.task.groups.get(key="t1")
    sources = judging.sources_of(group.passage)
    assert [source.number for source in sources] == [1, 2]
    assert "[2] is a line of it." in sources[0].html and "<h1" not in sources[1].html
    shown = judging.candidate_context(texts.filter(origin="human")[0], "left", {1, 2})
    assert 'href="#source-1"' in shown.html and shown.cited == 2


def test_pressed_again_nothing_comes_twice_and_what_is_new_comes_in(task: Task) -> None:
    write(task, 4)
    first = judge(task)
    again = judge(task)
    assert (again.task, again.begun, again.new) == (first.task, False, 0)
    assert Task.objects.filter(source=task).count() == 1
    assert chain_of(task).new == 0
    system_writes(task, "t2-news")
    assert chain_of(task).new == 1
    third = judge(task)
    assert (third.task, third.new) == (first.task, 1)
    assert Candidate.objects.filter(project=task.project).count() == 5
    pair_items.make_pairs(by=task.project.owner, task=first.task)
    tasks.publish(by=task.project.owner, task=first.task)
    judge(task)
    assert first.task.versions.count() == 1  # nothing new begins no version


def test_who_wrote_a_response_is_given_no_pair_of_it(task: Task) -> None:
    written = write(task, 8)
    judged = judge(task).task
    pair_items.make_pairs(by=task.project.owner, task=judged)
    tasks.edit_draft(by=task.project.owner, task=judged, fields={"items_per_assignment": 40})
    pair_items.make_pairs(by=task.project.owner, task=judged)
    tasks.publish(by=task.project.owner, task=judged)
    author = written[0].worker
    lease = factories.claim(judged, author)
    authors = lease.entries.values_list("item__first__author", "item__second__author")
    assert authors and all(author.pk not in pair for pair in authors)


def test_only_what_counts_and_answers_what_is_asked_now_is_taken(task: Task) -> None:
    write(task, 4)
    by = task.project.owner
    with pytest.raises(Invalid, match="No response"):
        for answer in Answer.objects.filter(item__task=task):
            answers.set_counts(by=by, answer=answer, counts=False, reason="off topic")
        judge(task)
    assert not Task.objects.filter(source=task).exists()
    for answer in Answer.objects.filter(item__task=task):
        answers.set_counts(by=by, answer=answer, counts=True)
    there = Answer.objects.filter(item__task=task, item__group__key="t1").count()
    writing_topics.change_passages(by=by, task=task, key="t1", change=lambda rows: rows[::-1])
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    assert judge(task).new == 4 - there  # what cites the other order of passages stays out


def test_the_button_of_the_task_s_page_leads_to_the_texts(task: Task) -> None:
    client = Client()
    client.force_login(task.project.owner)
    page = reverse("task", args=[task.project_id, task.pk])
    assert b"no response counts yet" in client.get(page).content
    write(task, 4)
    assert b"Judge these responses" in client.get(page).content
    path = reverse("task_judge", args=[task.project_id, task.pk])
    builder = client.post(path, follow=True)
    assert builder.redirect_chain[-1][0].endswith("?part=texts")
    assert b"A task that judges these responses is begun: 4 new texts." in builder.content
    assert b"Nothing new" in client.post(path, follow=True).content
    rated = client.post(path, {"type": "rating"}, follow=True).content.decode()
    assert "is begun" in rated and Task.objects.filter(source=task, type="rating").count() == 1
    client.post(path, {"type": "free_text"})
    assert Task.objects.filter(source=task).count() == 2


def test_a_draft_has_nothing_to_be_judged(task: Task) -> None:
    new = tasks.create_task(
        by=task.project.owner, project=task.project, type="writing", title="Another"
    )
    with pytest.raises(Conflict, match="Publish the task first"):
        judge(new)
