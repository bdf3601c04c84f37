"""Every method on the same workers: started from the form, shown beside AQER and experts."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Role, Task
from crowdqc.errors import Invalid
from evaluation.grading import actions as grading
from evaluation.methods.aqer_study.workers import TITLES
from evaluation.models import Run, RunFigure, RunState, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.support import factories
from tests.support.pages import html_of

pytestmark = [pytest.mark.django_db]
QUICK = {"encoder": "char-svd", "resamples": 100, "subsets": 10, "seed": 1}


@pytest.fixture
def task() -> Task:
    return corpus.make_answered()


def started(task: Task, **options: Any) -> tuple[Client, Run]:
    """A finished comparison, started from the form of a run."""
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("run_start", args=[task.project_id, task.pk]) + "?method=text_methods"
    assert "Roy et al. (2016)" in html_of(client.get(address))
    ticked = {slug: "on" for slug in TITLES if slug != "bert_score"}
    response = client.post(address, {**QUICK, **ticked, **options})
    assert response.status_code == 302, html_of(response)
    run = Run.objects.get(task=task, method="text_methods")
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    return client, run


def test_every_method_scores_the_same_workers_beside_aqer(task: Task) -> None:
    client, run = started(task)
    rows = WorkerScore.objects.filter(run=run)
    assert set(rows.values_list("dimension", flat=True)) == set(TITLES) - {"bert_score"}
    for slug in ("aqer", "rasa", "roy", "bag_of_words", "bleu1", "rouge_l"):
        good, wrong = (
            [
                row.estimate
                for row in rows.filter(dimension=slug, worker__external_id__startswith=who)
            ]
            for who in ("good", "wrong")
        )
        assert min(good) > max(wrong), slug
    sure = rows.get(dimension="roy", worker__external_id="good-0")
    assert sure.low < sure.estimate < sure.high and sure.rank_low >= 1
    address = reverse("text_compare", args=[task.project_id, task.pk])
    text = text_of(html_of(client.get(f"{address}?board=roy")))
    assert "No worker’s answer has a grade of experts" in text
    assert "Workers by AQER and by Roy et al. (2016)" in text
    assert f"{sure.estimate:.3f}".lstrip("0") in text
    with pytest.raises(Invalid, match="chai"):
        runs.start(by=task.project.owner, task=task, method="chai")
    figures = reads.figures_of(run, "classes", "frame")
    assert figures["frame"]["asked"] == 8
    assert "classes of answers" in text
    shares = {row["answer"] for row in figures["classes"]}
    assert shares <= set(Answer.objects.filter(item__task=task).values_list("pk", flat=True))
    told = {row["method"]: row for row in reads.figures_of(run, "against")["against"]}
    assert told["roy"]["low"] < told["roy"]["r"] < told["roy"]["high"]
    assert f"{told['roy']['r']:.2f}".lstrip("0") in text


def test_with_grades_of_workers_answers_each_method_is_held_against_the_experts(task: Task) -> None:
    owner = task.project.owner
    other = factories.make_member(task.project, Role.MANAGER).user
    found = grading.open_grading(by=owner, task=task, first=owner, second=other, of="workers")
    marks = {"good": 90, "mixed": 65, "thin": 40, "wrong": 5, "two": 90}
    for number, pk in enumerate(found.answer_ids):
        who = Answer.objects.get(pk=pk).worker.external_id.partition("-")[0]
        for user in (owner, other):
            grading.grade(by=user, grading=found, answer_id=pk, value=marks[who] + number % 7)
    client, run = started(task)
    told = {row["method"]: row for row in reads.figures_of(run, "experts")["experts"]}
    assert told["aqer"]["r"] > 0.8 and told["aqer"]["low"] < told["aqer"]["r"]
    assert told["majority"]["difference"] == pytest.approx(
        told["majority"]["r"] - told["aqer"]["r"], abs=1e-9
    )
    both = {(r["measure"], r["method"]): r for r in reads.figures_of(run, "measures")["measures"]}
    assert both["pearson", "aqer"]["r"] == pytest.approx(told["aqer"]["r"])
    assert both["spearman", "roy"]["low"] < both["spearman", "roy"]["r"]
    assert both["spearman", "roy"]["p"] <= both["spearman", "roy"]["adjusted"] <= 1
    text = text_of(html_of(client.get(reverse("text_compare", args=[task.project_id, task.pk]))))
    assert f"{both['spearman', 'roy']['r']:.2f}".lstrip("0") in text
    sizes = [row for row in reads.figures_of(run, "curves")["curves"] if row["kind"] == "questions"]
    assert sizes[0]["subsets"] <= 10 and sizes[-1]["whole"] and sizes[-1]["r"] > 0.8
    assert "Subsets with p" in text
    RunFigure.objects.filter(run=run, name="curves").delete()
    RunFigure.objects.filter(run=run, name="measures").delete()  # a run from before them
    older = html_of(client.get(reverse("text_compare", args=[task.project_id, task.pk])))
    assert 'id="measures"' not in older and 'id="curves"' not in older
    assert "mean grade of their answers" in text and "cannot be separated" in text
    assert f"{told['aqer']['r']:.2f}".lstrip("0") in text


def test_answers_are_held_against_the_right_answers_that_graders_agreed_on(task: Task) -> None:
    owner = task.project.owner
    other = factories.make_member(task.project, Role.MANAGER).user
    found = grading.open_grading(by=owner, task=task, first=owner, second=other, of="workers")
    right: dict[int, str] = {}
    for pk in found.answer_ids:
        answer = Answer.objects.get(pk=pk)
        who = answer.worker.external_id.partition("-")[0]
        text = answer.texts.get().text
        if who == "good":
            right.setdefault(answer.item_id, text)
        # The best grade goes to the right answer itself: the ends of the grades are shown.
        mark = {"good": 90, "mixed": 60}.get(who, 10) + pk % 5
        if text == right.get(answer.item_id):
            mark = 100
        for user in (owner, other):
            grading.grade(by=user, grading=found, answer_id=pk, value=mark)
    client = Client()
    client.force_login(other)
    args = [task.project_id, task.pk]
    client.post(reverse("grading_keys", args=args), {f"key-{pk}": t for pk, t in right.items()})
    found.refresh_from_db()
    assert found.keys == {str(pk): text for pk, text in right.items()}
    mark = client.get(reverse("grading_mark", args=args) + f"?answer={found.answer_ids[0]}")
    assert right[Answer.objects.get(pk=found.answer_ids[0]).item_id] in html_of(mark)
    client, run = started(task)
    figures = reads.figures_of(run, "keys", "key_examples", "recipe")
    table = {(row["measure"], row["method"]): row for row in figures["keys"]}
    assert table["pearson", "key"]["r"] > 0.5 and table["spearman", "key"]["r"] > 0.5
    assert table["pearson", "key"]["n"] == len(right)
    assert figures["recipe"]["right_answers"]["n"] == len(right)
    by_grade = sorted(figures["key_examples"], key=lambda row: row["grade"])
    best, worst = (
        [row["cosine"] for row in by_grade if (row["grade"] >= 90) == good]
        for good in (True, False)
    )
    assert sum(best) / len(best) > sum(worst) / len(worst)
    same = [
        row
        for row in by_grade
        if Answer.objects.get(pk=row["answer"]).texts.get().text == row["key"]
    ]
    assert same and all(row["cosine"] == pytest.approx(1, abs=1e-5) for row in same)
    assert by_grade[-1]["key"] in html_of(client.get(reverse("text_compare", args=args)))
    stranger = Client()
    stranger.force_login(factories.make_user())
    assert stranger.post(reverse("grading_keys", args=args), {}).status_code == 404


def test_a_method_that_is_none_of_the_tasks_is_not_found(task: Task) -> None:
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("run_start", args=[task.project_id, task.pk])
    for other in ("labels", "aqer_study", "mace", "nothing"):
        assert client.get(f"{address}?method={other}").status_code == 404
