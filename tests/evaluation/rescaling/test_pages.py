"""The pages of rescaled ratings: every section, what is said without a model, imported scores."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, Task
from evaluation.models import AnswerScore, Run, RunState, WorkerScore
from evaluation.rescaling.selectors.boards import VIEWS, figures_and_names
from evaluation.rescaling.selectors.pairs import SharedCounts, pairs
from evaluation.rescaling.selectors.use import has_turned_labels
from evaluation.runs import engine as runs
from tests.evaluation.corpora import rescaling as corpus
from tests.support.servers.llm import make_model, serving

pytestmark = [pytest.mark.django_db]


def owner_of(task: Task) -> Client:
    client = Client()
    client.force_login(task.project.owner)
    return client


def page(client: Client, task: Task, **query: object) -> str:
    answer = client.get(reverse("rescaling", args=[task.project_id, task.pk]), query)
    assert answer.status_code == 200
    return answer.content.decode().replace("\xa0", " ")


def rescaled(task: Task, variant: str = "article", score: int = 40) -> Run:
    with serving(lambda body: f'{{"score": {score}}}') as stub:
        model = make_model(task.project, stub.base_url)
        run = runs.start(
            by=task.project.owner,
            task=task,
            method="rescaling",
            params={"model": model.pk, "variant": variant, "draws": 2},
            lane=variant,
        )
        runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.error
    return run


def scores_file(task: Task) -> SimpleUploadedFile:
    """A score for every rating, from its label."""
    rows = (
        Answer.objects.filter(item__task=task)
        .order_by("pk")
        .values_list("item__key", "worker__external_id", "choices__ordinal")
    )
    lines = ["item_id,worker_id,score,raw"]
    lines += [f"{item},{worker},{max(0, value - 5)},Score {value}" for item, worker, value in rows]
    return SimpleUploadedFile("scores.csv", "\n".join(lines).encode())


def test_without_a_model_the_page_says_what_can_be_done() -> None:
    task = corpus.make_rated()
    text = page(owner_of(task), task)
    assert "Nothing rescaled yet" in text and "No model is set up" in text
    assert "Import scores" in text and "Rescale with a model" not in text


def test_a_file_of_scores_is_taken_in_and_rescaled_without_any_endpoint() -> None:
    task = corpus.make_rated()
    client = owner_of(task)
    args = [task.project_id, task.pk]
    form = {
        "file": scores_file(task),
        "model_name": "elsewhere-1",
        "prompt": "label and words",
        "scale": "completeness",
    }
    answer = client.post(reverse("rescaling_scores", args=args), form)
    assert answer.status_code == 302
    held = Run.objects.get()
    answer = client.post(
        reverse("rescaling_run", args=args), {"imported": held.pk, "ensemble": "0"}
    )
    assert answer.status_code == 302
    run = Run.objects.get(method="rescaling")
    assert runs.execute(run.pk) == RunState.DONE
    text = page(client, task)
    assert "scores of elsewhere-1, imported" in text and "48 ratings of 12 items" in text
    for name, path in (
        ("run", [task.project_id, held.number]),
        ("run", [task.project_id, run.number]),
    ):
        assert client.get(reverse(name, args=path)).status_code == 200


def test_a_file_with_bad_rows_is_refused_whole_and_names_them() -> None:
    task = corpus.make_rated(items=3)
    client = owner_of(task)
    address = reverse("rescaling_scores", args=[task.project_id, task.pk])
    form = {"model_name": "m", "prompt": "p", "scale": "completeness"}
    bad = b"item_id,worker_id,score,raw\nlight-0,0,140,x\nlight-0,1,5,x\n"
    answer = client.post(address, {**form, "file": SimpleUploadedFile("a.csv", bad)})
    assert answer.status_code == 422 and "140" in answer.content.decode()
    lost = b"item_id,worker_id,score,raw\nnowhere,0,40,x\n"
    answer = client.post(address, {**form, "file": SimpleUploadedFile("a.csv", lost)})
    assert "No item has this id" in answer.content.decode()
    short = b"item_id,score\nlight-0,4\n"
    answer = client.post(address, {**form, "file": SimpleUploadedFile("a.csv", short)})
    assert "worker_id" in answer.content.decode()
    assert not Run.objects.exists()


def test_every_section_shows_the_run_and_its_recipe() -> None:
    task = corpus.make_rated()
    client = owner_of(task)
    run = rescaled(task)
    shown = {
        "overview": ("Agreement before and after", "Incomplete", "Agreement is not truth"),
        "scale": ("Everybody", "Rater 0", "misses a little", "Mean score"),
        "pairs": ("Which way pairs go", "Rater 0", "Every pair"),
        "moved": ("light-0", "A keeper lived in the tower", "mean, no explanation"),
        "ensemble": ("the explanation alone", "0.3"),
        "variants": ("With label and article", "in the paper: EBR"),
        "scorer": ("None is fitted yet",),
    }
    assert set(shown) == set(VIEWS)
    for view, words in shown.items():
        text = page(client, task, view=view)
        for each in words:
            assert each in text, (view, each)
        assert f"Run {run.number}" in text and "Copy recipe" in text
        assert "lets the model judge for itself</b>" not in text


def test_ratings_of_a_chosen_pair_are_drawn_before_and_after() -> None:
    task = corpus.make_rated()
    run = rescaled(task)
    told = figures_and_names(run, "pairs")
    rows = told.rows("pair")
    last = rows[-1]
    address = {"setting": "all", "pair": f"{last['first']}-{last['second']}"}
    shown = pairs(told, address, None)
    scored = AnswerScore.objects.filter(run=run, answer__worker=last["first"])
    by_item = {row.answer.item.key: row for row in scored.select_related("answer__item")}
    items = shown["shared"].groups[0].rows
    assert shown["pair"] == address["pair"] and len(items) == last["n"]
    for row in items:
        own = by_item[row.item]
        assert (row.first, row.first_after) == (own.extra["value"], own.estimate)
    assert [chart.count("<circle") for _title, chart in shown["panels"]] == [last["n"]] * 2
    assert pairs(told, address, None)["panels"] == shown["panels"]  # the shift is drawn once
    counts = shown["counts"].groups[0].rows
    assert [row.items for row in counts] == [last["n"]] * 2
    assert counts[1].same == sum(row.first_after == row.second_after for row in items)
    # Without items that both rated best, and for an unknown pair the one that rises most.
    fewer = pairs(told, {**address, "setting": "incomplete"}, None)["shared"].groups[0].rows
    best = told.frame["points"][-1][0]
    assert len(fewer) == sum((row.first, row.second) != (best, best) for row in items)
    assert pairs(told, {"setting": "all", "pair": "0"}, None)["pair"] == shown["choices"][0][0]
    assert "before and after" in page(owner_of(task), task, view="pairs")


def test_what_two_people_say_alike_is_counted_before_and_after() -> None:
    # Section 6.3: how many of both have the same value, and how many lie below the highest.
    before = SharedCounts.of("Before", [(0, 0), (70, 100), (100, 100), (30, 70)], 100)
    assert (before.items, before.same, before.below) == (4, 2, 2)


def test_people_whose_higher_label_has_a_lower_mean_score_are_named() -> None:
    labels = [{"value": 0, "mean": 5.0}, {"value": 70, "mean": None}, {"value": 30, "mean": 20.0}]
    assert not has_turned_labels(labels)
    assert has_turned_labels([*labels, {"value": 100, "mean": 19.0}])
    task = corpus.make_rated(items=4)
    rescaled(task)
    assert "With nobody a higher label" in page(owner_of(task), task, view="scale")
    score = WorkerScore.objects.filter(run__task=task, run__method="rescaling").latest("pk")
    *lower, top = sorted(score.extra["labels"], key=lambda row: row["value"])
    score.extra["labels"] = [*lower, {**top, "mean": -1.0}]
    WorkerScore.objects.filter(pk=score.pk).update(extra=score.extra)
    said = page(owner_of(task), task, view="scale")
    assert f"lower mean score with: {score.worker.pseudonym}" in " ".join(said.split())


def test_the_page_of_models_offers_rescaling_with_its_options_and_starts_it() -> None:
    task = corpus.make_rated(items=3)
    client = owner_of(task)
    with serving(lambda body: '{"score": 40}') as stub:
        model = make_model(task.project, stub.base_url)
        address = reverse("task_ask", args=[task.project_id, task.pk, "rescaling"])
        text = client.get(address).content.decode()
        assert "With question and answer too (lets the model judge for itself)" in text
        form = {"model": model.pk, "variant": "label", "scale": "completeness", "ensemble": "0.2"}
        preview = reverse("task_ask_preview", args=[task.project_id, task.pk, "rescaling"])
        assert "explanations of 4 workers" in client.post(preview, form).content.decode()
        assert client.post(address, form).status_code == 302
        run = Run.objects.get()
        assert runs.execute(run.pk) == RunState.DONE
    text = client.get(reverse("run", args=[task.project_id, run.number])).content.decode()
    assert reverse("rescaling", args=[task.project_id, task.pk]) in text


def test_a_prompt_that_shows_the_answer_is_marked_on_every_section() -> None:
    task = corpus.make_rated(items=4)
    rescaled(task, "label")
    rescaled(task, "answer", score=70)
    client = owner_of(task)
    for view in VIEWS:
        assert "lets the model judge for itself" in page(client, task, view=view)
    text = page(client, task, view="variants")
    assert "EBR w/o article" in text and "EBR + Question + Answer" in text
    first = Run.objects.filter(method="rescaling").earliest("pk")
    assert "<b>This prompt lets the model" not in page(client, task, view="pairs", run=first.number)


def test_queries_do_not_grow_with_the_ratings() -> None:
    counts: list[dict[str, int]] = []
    for items, raters in ((4, 3), (8, 5)):
        task = corpus.make_rated(items=items, raters=raters)
        rescaled(task)
        client, found = owner_of(task), {}
        for view in VIEWS:
            page(client, task, view=view)
            with CaptureQueriesContext(connection) as seen:
                page(client, task, view=view)
            found[view] = len(seen)
        counts.append(found)
    assert counts[0] == counts[1]


def test_results_of_ratings_lead_to_rescaling_and_audits_and_back() -> None:
    task = corpus.make_rated()
    client = owner_of(task)
    args = [task.project_id, task.pk]
    ratings = client.get(reverse("rating_results", args=args)).content.decode()
    for name in ("rescaling", "audit_list"):
        assert reverse(name, args=args) in ratings
        back = client.get(reverse(name, args=args)).content.decode()
        assert reverse("rating_results", args=args) in back
    assert client.get(reverse("rescaling", args=args), {"view": "x"}).status_code == 404
    assert client.get(reverse("rescaling", args=args), {"run": 99}).status_code == 404
