"""Models' labels beside people's, one worker's labels, calibration, and the worker's card."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.urls import reverse

from annotation.formats.actions.system_answers import SystemAnswer, store_system_answers
from annotation.models import Answer, Item, Task
from annotation.task_types import Values
from evaluation.methods.core.units import wilson
from evaluation.methods.replacement.method import METHOD as REPLACEMENT
from evaluation.models import ItemLabel, Run, Snapshot, WorkerScore
from evaluation.overview import results
from evaluation.people.selectors.card import worker_card
from evaluation.runs.model_answers import model_answers, untested_models
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_study import client_of, page, text_of
from tests.evaluation.labels.test_runs import scored
from tests.evaluation.llm_runs.test_answering import finished, prompt_of
from tests.support import factories
from tests.support.pages import html_of
from tests.support.servers.llm import Body, make_model, serving

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def labelled_task(shared_rows: None) -> Task:
    return corpus.make_labelled(items=60, known=24, workers=8, guessing=1)


@pytest.fixture
def task(labelled_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=labelled_task.pk)


def by_model(task: Task, name: str, wrong: int) -> None:
    """Labels of every item by a model that takes the first ``wrong`` for another label."""
    items = Item.objects.filter(task=task).order_by("position")
    codes = [
        corpus.truth(at if at >= wrong else at + 1 if at % 5 < 4 else at - 1)
        for at in range(len(items))
    ]
    rows = [
        SystemAnswer(item.pk, Values(choices=[(corpus.FIELD, code, corpus.CODES.index(code))]))
        for item, code in zip(items, codes, strict=True)
    ]
    store_system_answers(by=task.project.owner, task=task, system=(name, "labels@1"), rows=rows)


def test_a_model_asked_over_the_network_stands_on_the_page_of_the_workers(task: Task) -> None:
    def answer(body: Body) -> str:
        number = int(re.findall(r"Claim number (\d+)", prompt_of(body))[0])
        return json.dumps({"verdict": corpus.truth(number), "tone": "calm"})

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        asked = finished(task, "answers", model=model.pk)
    run = scored(task)
    text = text_of(page(task, "label_results"))
    assert asked.state == run.state
    assert "1 model: share labelled as estimated from people; they never vote" in text
    same = sum(row.label == corpus.truth(row.item.position) for row in labels_of(run))
    low, high = wilson(same / 60, 60, 0.95)
    assert f"stub-1 labels@1, t=0 {of(same / 60)}" in text
    assert f"{of(low)}–{of(high)}" in text or f"{of(low)}-{of(high)}" in text
    assert "24 of 24" in text


def test_labels_of_models_are_no_new_answers_in_the_list_of_results(task: Task) -> None:
    scored(task)
    by_model(task, "late", wrong=3)
    assert [row.new for row in results.tasks(task.project)] == [0]
    items = list(Item.objects.filter(task=task, expected__isnull=True).order_by("position")[:3])
    worker = factories.make_worker(project=task.project)
    corpus.add_labels(task, worker, [(item, corpus.truth(item.position)) for item in items])
    assert [row.new for row in results.tasks(task.project)] == [3]


def test_labels_of_models_that_no_test_has_seen_are_named_with_the_way_to_test_them(
    task: Task,
) -> None:
    scored(task)
    finding = 'data-finding="models_untested"'
    assert finding not in page(task, "label_results")
    by_model(task, "late", wrong=3)
    html = page(task, "label_results")
    assert finding in html and "Nothing has changed" not in html
    found = untested_models(task)
    assert found and found.code == "models_untested" and "60 labels of 1 model" in found.text
    assert found.action and found.action.url == reverse(
        "replacement", args=[task.project_id, task.pk]
    )
    assert [(one.name, one.strategy, one.n) for one in model_answers(task)] == [
        ("late", "labels@1", 60)
    ]
    models = page(task, "task_models")
    assert 'id="answered"' in models and "No model is configured" not in models
    last = Answer.objects.filter(item__task=task).latest("pk").pk
    made = Run.objects.get(task=task)
    snapshot = Snapshot.objects.create(
        project=task.project,
        task=task,
        content_hash="x" * 64,
        answer_ids=[],
        counts={"max_id": last},
    )
    Run.objects.create(
        project=task.project,
        task=task,
        number=made.number + 1,
        method=REPLACEMENT.slug,
        state="done",
        snapshot=snapshot,
    )
    assert untested_models(task) is None


def of(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


def labels_of(run: Run) -> Any:
    return ItemLabel.objects.filter(run=run).exclude(label="").select_related("item")


def test_models_never_change_what_a_run_says_of_people(task: Task) -> None:
    before = scored(task)
    by_model(task, "always-wrong", 60)
    after = scored(task)
    assert before.snapshot_id == after.snapshot_id
    rows = [
        list(WorkerScore.objects.filter(run=run).order_by("worker").values_list("estimate", "low"))
        for run in (before, after)
    ]
    assert rows[0] == rows[1]
    text = text_of(page(task, "label_results"))
    assert "0 of 24" in text and "of 8 workers" in text


def test_items_show_what_models_say_and_where_it_differs(task: Task) -> None:
    scored(task)
    assert "models" not in text_of(page(task, "label_items"))
    by_model(task, "good", 0)
    html = page(task, "label_items")
    assert '<th scope="col">Model</th>' in html
    by_model(task, "wrong", 60)
    assert "2 models" in text_of(page(task, "label_items"))


def test_all_labels_of_a_worker_are_listed_from_the_workers_line(task: Task) -> None:
    run = scored(task)
    row = WorkerScore.objects.filter(run=run).select_related("worker").earliest("pk")
    opened = page(task, "label_results", query=f"?open={row.worker_id}")
    name = row.worker.pseudonym
    assert f"All labels of {name}" in text_of(opened)
    query = f"?worker={row.worker_id}&run={run.number}"
    assert query.replace("&", "&amp;") in opened
    text = text_of(page(task, "label_items", query=query))
    assert f"All labels of {name}" in text and f"All {row.n} " in text
    known = text_of(page(task, "label_items", query=f"{query}&show=known"))
    assert known.count("Claim number") == row.extra["known_n"]
    url = reverse("label_items", args=[task.project_id, task.pk])
    assert client_of(task).get(f"{url}?worker=999999").status_code == 404


def test_calibration_is_told_from_twenty_known_answers_on(task: Task) -> None:
    run = scored(task)
    text = text_of(page(task, "label_compare"))
    told = run.figures.get(name="compare").data
    rows = {row["method"]: row for row in (told if isinstance(told, list) else told["rows"])}
    assert f"Dawid-Skene {of(rows['dawid_skene']['calibration'])}" in text
    assert f"{rows['dawid_skene']['brier']:.3f}".lstrip("0") in text
    assert f"{rows['dawid_skene']['log_score']:.3f}".lstrip("0") in text
    points = [
        row for row in run.figures.get(name="reliability").data if row["method"] == "dawid_skene"
    ]
    assert sum(row["n"] for row in points) == rows["dawid_skene"]["n"]
    html = page(task, "label_compare")
    assert "Dawid-Skene: share of labels that are right by posterior." in html
    where = reverse("label_export", args=[task.project_id, task.pk])
    sent = client_of(task).get(f"{where}?table=reliability").content.decode()
    assert sent.splitlines()[0] == "method,confidence,right,low,high,n"
    assert sent.count("dawid_skene,") == len(points)
    few = corpus.make_labelled(items=30, known=6, workers=6, guessing=1)
    scored(few)
    text = text_of(page(few, "label_compare"))
    assert "Calibration needs 20 known answers; this run has 6." in text


def test_the_card_of_a_worker_speaks_of_known_answers_and_of_the_field(task: Task) -> None:
    run = scored(task)
    make_official(run)
    row = WorkerScore.objects.filter(run=run).select_related("worker").earliest("pk")
    card = worker_card(row.worker, page=1, work_page=1)
    [known] = card.attention
    assert (known.right, known.seen) == (row.extra["known_right"], row.extra["known_n"])
    assert known.passed.low == pytest.approx(row.extra["known_low"])
    [study] = card.scores.pairs
    assert [line["label"] for line in study.lines] == ["Verdict"]
    url = reverse("worker_card", args=[task.project_id, row.worker_id])
    text = text_of(html_of(client_of(task).get(url)))
    assert f"{known.right} of {known.seen}" in text and "Share right" in text
    assert "how often the right label is given, by field" in text
    for wrong in ("ttention", "dimension", "Dimension", "shared pairs"):
        assert wrong not in text


def test_the_page_of_an_item_says_as_the_results_do_that_models_never_vote(task: Task) -> None:
    by_model(task, "Alder", wrong=3)
    item = task.items.filter(expected__isnull=True).order_by("position")[0]
    text = text_of(page(task, "task_item", item.pk))
    assert "Compared with people; models never vote" in text
    people = item.answers.filter(worker__isnull=False, counts=True).count()
    assert f"{people} answers count" in text
    assert people and len(re.findall(r"Counts Do not count", text)) == people


def test_known_answers_are_added_in_their_own_part_of_the_builder() -> None:
    task = corpus.make_labelled(items=12, known=0, workers=6, guessing=1)
    scored(task)
    build = reverse("task_build", args=[task.project_id, task.pk])
    for name in ("label_results", "label_compare"):
        assert f'href="{build}?part=known"' in page(task, name)
