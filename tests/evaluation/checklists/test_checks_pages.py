"""The pages of a checklist's results: scorers, questions, texts, conditions, human scores."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.models import Task, User
from evaluation.checklists.filled.text_scores import JUDGE, publish
from evaluation.models import Run
from tests.evaluation.checklists.test_checks_runs import done, model_of
from tests.evaluation.corpora import checks as corpus
from tests.support.factories import make_project, make_worker

pytestmark = [pytest.mark.django_db]


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(task: Task, **query: Any) -> str:
    address = reverse("checklist_results", args=[task.project_id, task.pk])
    answer = client_of(task.project.owner).get(address, query)
    assert answer.status_code == 200
    return answer.content.decode()


def filled() -> Task:
    """A task filled by people and a model, scored, beside a rating by form and a judge."""
    task = corpus.make_study()
    with corpus.answering() as stub:
        model = model_of(task.project, stub.base_url, logprobs=True)
        done(task, "checklist_answers", model=model.pk)
        done(task, "g_eval", model=model.pk, definition="What helps to make the tea.")
    corpus.score_by_people(task, role=JUDGE, name="a published judge")
    done(task, "checklist", resamples=200)
    return task


def test_people_a_model_a_rating_and_a_judge_stand_beside_one_another() -> None:
    task = filled()
    text = page(task)
    for said in (
        "Most people",
        "stub-1",
        "a published judge",
        "rating by a form, after G-Eval",
        "mean probability of yes",
        "two readers",
        "written by hand",
    ):
        assert said in text, said
    assert "Sources without ρ" not in text  # each scorer has a correlation in each source
    assert "Over all texts" in text
    pooled = page(task, setting="texts")
    assert "all texts at once" in pooled and "Sources without ρ" not in pooled
    questions = page(task, view="questions")
    assert "Does the note give the time?" in questions and "time of brewing" in questions
    assert "of 4 questions carry signal" in questions and "People: α, and yes" in questions
    other = page(task, view="questions", by=3)
    assert "in the answers of stub-1" in other
    texts = page(task, view="texts")
    assert "tea-0-0" in texts and "1 to 25 of 30" in texts and "2 of 2 yes" in texts
    conditions = page(task, view="conditions")
    assert "As published: z" in conditions and "rating by a form, after G-Eval" in conditions


def test_a_tint_marks_the_own_scorers_only_where_others_stand_beside_them() -> None:
    task = corpus.make_study()

    def tinted() -> tuple[int, int]:
        done(task, "checklist", resamples=200)
        text = page(task)
        body = text[text.index("scorers") :].partition("<tbody>")[2].partition("</tbody>")[0]
        return len(re.findall(r"<tr class=", body)), body.count("<tr")

    some, rows = tinted()
    assert rows > 1 and some == 0  # all are its own
    corpus.score_by_people(task, role=JUDGE, name="a published judge")
    some, rows = tinted()
    assert 0 < some < rows


def test_before_the_first_run_the_page_says_what_to_do_with_and_without_a_model() -> None:
    project = make_project()
    task = tasks.create_task(by=project.owner, project=project, type="checklist", title="Empty")
    assert "publish it" in page(task)
    task = corpus.make_task(project, topics=1)
    text = page(task, view="questions")
    assert "No language model is configured" in text and "Invite people" in text
    model_of(project, "http://127.0.0.1:9/v1")
    assert "or let a model answer every question" in page(task)
    corpus.fill(task, [make_worker(project)])
    assert "There are filled checklists to score" in page(task, view="texts")
    done(task, "checklist", resamples=200)
    assert "no human scores are known" in page(task)
    assert "Without human scores no signal" in page(task, view="questions")
    assert "Take some human scores in" in page(task, view="conditions")


def test_human_scores_are_taken_in_on_the_page_and_bad_rows_are_named() -> None:
    task = corpus.make_study(scored=False, topics=2)
    client = client_of(task.project.owner)
    address = reverse("checklist_scores", args=[task.project_id, task.pk])

    def send(content: str, name: str = "") -> Any:
        upload = SimpleUploadedFile("ours.csv", content.encode(), "text/csv")
        return client.post(address, {"file": upload, "name": name}, follow=True)

    refused = send("key,dimension,score\ntea-0-0,Helpfulness,good\n", "We")
    assert refused.status_code == 422
    told = refused.content.decode()
    assert "The score is no number." in told and 'value="We"' in told
    assert client.post(address, {}).status_code == 422
    rows = [f"tea-{a}-{b},Helpfulness,{b + 1}" for a in range(2) for b in range(5)]
    taken = send("\n".join(["key,dimension,score", *rows]), "Two readers")
    assert taken.status_code == 200 and "10 human scores are kept" in taken.content.decode()
    assert Run.objects.get(method="published").params["name"] == "Two readers"
    done(task, "checklist", resamples=200)
    text = page(task)
    assert "Correlation with Two readers" in text
    assert "the row tea-0-0,Helpfulness,1.00 says" in text
    assert "Scores so far lie between 1.00 and 5.00: keep to the same scale." in text


def test_the_number_of_queries_does_not_grow_with_scorers_and_texts() -> None:
    counts = []
    for topics, judges in ((2, 1), (3, 3)):
        task = corpus.make_study(topics=topics)
        for number in range(judges):
            given = {
                text.pk: float(text.pk % 7) for text in corpus.make_texts(task.project, topics)
            }
            publish(
                by=task.project.owner,
                task=task,
                name=f"judge {number}",
                version="t",
                role=JUDGE,
                scores={"helpfulness": given},
            )
        done(task, "checklist", resamples=200)
        found = []
        for view in ("scores", "questions", "texts", "conditions"):
            page(task, view=view)
            with CaptureQueriesContext(
                connection,
            ) as queries:
                page(task, view=view)
            found.append(len(queries))
        counts.append(found)
    assert counts[0] == counts[1]


def test_other_tasks_and_unknown_sections_are_not_found() -> None:
    task = corpus.make_study(topics=1, people=1)
    client = client_of(task.project.owner)
    address = reverse("checklist_results", args=[task.project_id, task.pk])
    human = Run.objects.get(method="published")
    assert client.get(address, {"run": human.number}).status_code == 200
    for query in ({"view": "nothing"}, {"setting": "nothing"}, {"run": "99"}):
        assert client.get(address, query).status_code == 404
    done(task, "checklist", resamples=200)
    assert client.get(address, {"view": "questions", "by": "77"}).status_code == 404
