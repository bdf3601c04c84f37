"""The pages of a writing task's results."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.models import Answer, Task
from evaluation.models import AnswerScore, Run, RunState
from evaluation.runs import engine as runs
from evaluation.writing.selectors.facts import VIEWS
from tests.evaluation.corpora import writing as writing_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories
from tests.support.pages import findings_in

pytestmark = pytest.mark.django_db


def run_on(task: Task) -> Run:
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 100})
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    return run


@pytest.fixture(scope="module")
def written_task(shared_rows: None) -> Task:
    """Responses of people and a model, and a run that describes them."""
    task = writing_corpus.make_written()
    run_on(task)
    return task


@pytest.fixture
def task(written_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=written_task.pk)


@pytest.fixture
def run(task: Task) -> Run:
    return Run.objects.get(task=task)


def signed_in(task: Task) -> Client:
    client = Client()
    client.force_login(task.project.owner)
    return client


def get(task: Task, view: str = "", client: Client | None = None, **query: Any) -> str:
    response = (client or signed_in(task)).get(
        reverse("writing_results", args=[task.project_id, task.pk]),
        {**({"view": view} if view else {}), **query},
    )
    assert response.status_code == 200
    return str(response.content.decode())


def test_before_the_first_run_the_page_says_what_is_missing() -> None:
    task = writing_corpus.make_task(topics=1)
    assert "Five more responses and the first run starts automatically" in get(task)
    worker = factories.make_worker(project=task.project)
    for item in task.items.select_related("group"):
        writing_corpus.respond(task, item, worker, "Bees sleep [1].")
    assert "Three more responses" in get(task)


def test_every_section_shows_people_beside_models_by_style(task: Task) -> None:
    pages = {view: get(task, view) for view in VIEWS}
    assert "people cite 4.0 different passages a response, models 7.0" in pages["overview"]
    for view in ("overview", "passages", "reuse", "citations", "readability"):
        assert pages[view].count('role="img"') > 2 and "Models" in pages[view]
        assert "Essay" in pages[view] and "Bulleted list" in pages[view]
    assert "by chance" in pages["passages"] and "People and models" in pages["passages"]
    assert "Knowledge and expertise" in pages["forms"]
    assert "never a verdict" in pages["signals"]


def test_a_run_that_leaves_short_responses_out_says_how_many(task: Task, run: Run) -> None:
    assert not {"short_left_out", "none_left_out"} & set(findings_in(get(task)))
    words = sorted(AnswerScore.objects.filter(run=run).values_list("estimate", flat=True))
    params = {"resamples": 100, "min_words": int(words[-1])}
    short = runs.start(by=task.project.owner, task=task, params=params)
    assert runs.execute(short.pk) == RunState.DONE
    page = get(task, run=short.number)
    assert "short_left_out" in findings_in(page)
    under = sum(n < int(words[-1]) for n in words)
    assert f"{under} responses under" in page
    figure = page[page.index("<dt>Responses") :].split("</dl>")[0]
    counted = re.findall(r"(\d+)[^<]* of people(?:, (\d+) of models)?", strip_tags(figure))[0]
    assert sum(map(int, filter(None, counted))) == len(words) - under
    assert AnswerScore.objects.filter(run=short).count() == len(words)  # still listed


def test_a_signal_stands_beside_its_base_rate_and_leads_to_its_moment(task: Task, run: Run) -> None:
    page = get(task, "signals", signal="outside_paste")
    row = AnswerScore.objects.filter(run=run, extra__states__outside_paste="fired").first()
    assert row is not None
    seconds = row.extra["moments"]["outside_paste"][0][0] / 1000
    replay = reverse("replay", args=[task.project_id, task.pk, row.answer_id])
    assert f"{replay}?at={seconds:.1f}" in page
    assert "of 24" in page and "1 of 6 workers" in page
    quiet = AnswerScore.objects.filter(run=run, extra__states__outside_paste="quiet").first()
    assert quiet is not None
    assert reverse("replay", args=[task.project_id, task.pk, quiet.answer_id]) not in page


def test_few_responses_are_said_to_be_few() -> None:
    task = writing_corpus.make_task(topics=2, styles=1)
    worker = factories.make_worker(project=task.project)
    for item in task.items.select_related("group"):
        writing_corpus.respond(task, item, worker, "Bees sleep in turns [1]. They wake early [3].")
    run_on(task)
    assert "2 topics; an interval needs 10" in get(task)
    assert "1 worker; an interval needs 5" in get(task, "signals")
    for view in VIEWS:
        get(task, view)


def test_responses_that_cite_nothing_leave_every_section_standing() -> None:
    task = writing_corpus.make_task(topics=2, styles=1)
    worker = factories.make_worker(project=task.project)
    for item in task.items.select_related("group"):
        writing_corpus.respond(task, item, worker, "Bees sleep in turns.", log=False)
    run_on(task)
    for view in VIEWS:
        get(task, view)


def test_the_list_marks_what_does_not_count_and_what_the_run_did_not_see(
    task: Task, run: Run
) -> None:
    answer = Answer.objects.filter(worker__isnull=False).first()
    assert answer is not None
    Answer.objects.filter(pk=answer.pk).update(counts=False, uncounted_reason="not on the topic")
    page = get(task, "responses")
    assert "not on the topic" in page and "not in run" not in page
    worker = factories.make_worker(project=task.project)
    item = task.items.select_related("group").first()
    assert item is not None
    writing_corpus.respond(task, item, worker, "Bees came later [1].")
    page = get(task, "responses")
    assert f"not in run {run.number}" in page and "answers_since_run" in findings_in(page)
    only_models = get(task, "responses", origin="models")
    assert "model-a" in only_models and worker.pseudonym not in only_models


def test_the_results_tab_leads_to_a_writing_task() -> None:
    task = writing_corpus.make_written(task=writing_corpus.make_task(topics=2), models=False)
    run = run_on(task)
    run.refresh_from_db()
    make_official(run)
    client = signed_in(task)
    found = client.get(reverse("results", args=[task.project_id]), follow=True)
    assert "What was written" in found.content.decode()
    for name, args in (
        ("project", [task.project_id]),
        ("run", [task.project_id, run.number]),
        ("run_list", [task.project_id]),
        ("task", [task.project_id, task.pk]),
        ("run_start", [task.project_id, task.pk]),
        ("run_schedule", [task.project_id, task.pk]),
        ("review", [task.project_id, task.pk]),
        ("worker_card", [task.project_id, task.assignments.earliest("pk").worker_id]),
    ):
        assert client.get(reverse(name, args=args)).status_code == 200, name
    overview = client.get(reverse("project", args=[task.project_id])).content.decode()
    assert "Responses described" in overview and "on 2 topics" in overview
    page = client.get(reverse("run", args=[task.project_id, run.number])).content.decode()
    assert "8 responses of 2 topics by 5 workers" in page


def test_a_page_costs_as_many_queries_however_much_was_written(task: Task) -> None:
    fewer = writing_corpus.make_written(task=writing_corpus.make_task(topics=2))
    run_on(fewer)
    counts: dict[str, list[int]] = {view: [] for view in VIEWS}
    for study in (fewer, task):
        client = signed_in(study)
        for view, counted in counts.items():
            get(study, view, client)
            with CaptureQueriesContext(connection) as queries:
                get(study, view, client)
            counted.append(len(queries))
    assert all(one == two and one < 25 for one, two in counts.values()), counts


def test_unknown_sections_and_other_tasks_are_not_found() -> None:
    task = writing_corpus.make_task(topics=1)
    client = signed_in(task)
    page = reverse("writing_results", args=[task.project_id, task.pk])
    assert client.get(page, {"view": "nothing"}).status_code == 404
    other = factories.make_task(task.project)
    assert (
        client.get(reverse("writing_results", args=[task.project_id, other.pk])).status_code == 404
    )


def test_a_run_leaves_as_files_with_every_figure_and_signal(task: Task, run: Run) -> None:
    client = signed_in(task)
    page = reverse("writing_export", args=[task.project_id, task.pk])
    lines = b"".join(client.get(page, {"table": "responses", "format": "jsonl"})).splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 36 and {row["style"] for row in rows} == {"bullet", "essay"}
    assert {row["states_outside_paste"] for row in rows if row["worker"]} == {"fired", "quiet"}
    assert all(row["words"] > 20 and row["documents"] >= 4 for row in rows)
    bundle = zipfile.ZipFile(io.BytesIO(client.get(page).content))
    assert {"responses.csv", "columns.csv", "figures.json", "manifest.json"} == set(
        bundle.namelist()
    )
    figures = json.loads(bundle.read("figures.json"))
    assert {"general", "overlap", "ranks", "signals", "forms"} <= set(figures)
    assert json.loads(bundle.read("manifest.json"))["result_hash"] == run_hash(run)


def run_hash(run: Run) -> str:
    run.refresh_from_db()
    return run.result_hash
