"""Disagreement as a result: who the camps are, and what each of them says to a question."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Task
from evaluation.free_text.selectors.disagreement import on_question, overview
from evaluation.models import Run, RunFigure
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.free_text.test_pages import scored
from tests.support import factories
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


def make_divided() -> Task:
    """Six workers who say what is right, and four who share other answers."""
    task = corpus.make_task()
    given = {f"good-{at}": corpus.answers([corpus.GOOD], turn=at % 2) for at in range(6)}
    given |= {f"other-{at}": corpus.answers([corpus.WRONG]) for at in range(4)}
    factories.make_answers(task, given)
    return task


def text_of(task: Task, name: str, *args: int) -> str:
    client = Client()
    client.force_login(task.project.owner)
    found = client.get(reverse(name, args=[task.project_id, task.pk, *args]))
    assert found.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", html_of(found)).split())


def with_camps(run: Run) -> None:
    """As though the run had found the two groups, whatever its small corpus allows to be told."""
    workers = {one.external_id: one.pk for one in run.project.memberships.filter(role="worker")}
    good = [pk for name, pk in workers.items() if name.startswith("good")]
    other = [pk for name, pk in workers.items() if name.startswith("other")]
    groups = [
        {"workers": other, "within": 1.0, "share_of_answers": 0.4, "share_of_weight": 0.2},
        {"workers": good, "within": 0.7, "share_of_answers": 0.6, "share_of_weight": 0.8},
    ]
    camps = [{"number": 1, "found": True, "between": 0.2, "groups": groups}]
    RunFigure.objects.filter(run=run, name="camps").update(data=camps)


def test_a_question_shows_both_camps_with_the_answers_typical_of_each() -> None:
    task = make_divided()
    run = scored(task)
    with_camps(run)
    item = task.items.order_by("position").first()
    assert item is not None
    said = text_of(task, "task_results_question", item.pk)
    told = next(iter(corpus.QUESTIONS.values()))
    first, second = said.split("Two camps")[1].split("Camp B", 1)
    assert any(one in first for one in told[corpus.GOOD]) and "given 4 times" in second
    assert told[corpus.WRONG][0] in second and told[corpus.WRONG][0] not in first
    assert "80%" in first and "20%" in second
    listed = text_of(task, "task_results_questions")
    assert "The workers form two camps." in listed and "alike by .20" in listed


def test_the_typical_answers_are_those_most_like_the_others_of_their_camp() -> None:
    texts = ["rapeseed oil", "oil of rapeseed", "rapeseed oil it was", "coal gas"]
    rows = [
        {"worker_id": at, "text": text, "author": f"w-{at}"} for at, text in enumerate(texts, 1)
    ]
    groups = [
        {"workers": [1, 2, 3], "share_of_weight": 0.9},
        {"workers": [4, 5], "share_of_weight": 0.1},
    ]
    told = {"camps": [{"found": True, "groups": groups}], "recipe": {"encoder": "none"}}
    large, small = on_question(Run(), told, rows)
    assert re.findall(r'serif">([^<]*)', large.typical) == ["rapeseed oil", "oil of rapeseed"]
    assert (large.answers, small.answers) == (3, 1)
    assert on_question(Run(), {"camps": [{"found": False}]}, rows) == []


def test_a_run_without_camps_says_so_or_why_they_were_not_examined() -> None:
    task = corpus.make_answered()
    scored(task)
    assert "Disagreement" in text_of(task, "task_results_questions")
    few = {"camps": [{"found": None, "reason": "it needs 6 workers and 8 questions"}]}
    assert "it needs 6 workers" in overview(Run(), few, {}, "")["why_none"]
