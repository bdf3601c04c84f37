"""Scores that a model gave elsewhere: taken in once, tied to their answers, and rescaled from."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Task
from crowdqc.errors import Conflict, Invalid
from evaluation.models import AnswerScore, CallState, ItemScore, LLMCall, Run, RunFigure, RunState
from evaluation.published.reproduce import rescaling as reproduced
from evaluation.published.reproduce.data import data_folder
from evaluation.published.studies.ebr import ScoreRow, Source, import_published, import_scores
from evaluation.runs import engine as runs
from tests.evaluation.corpora import rescaling as corpus
from tests.support import factories

pytestmark = pytest.mark.django_db
SOURCE = Source("another-model", "label and explanation")


def rows_of(task: Task) -> list[ScoreRow]:
    """A score for every rating of the task: its value less the person's number."""
    answers = (
        Answer.objects.filter(item__task=task)
        .order_by("pk")
        .values_list("item__key", "worker__external_id", "choices__ordinal")
    )
    return [
        ScoreRow(line, item, worker, max(0, value - int(worker)), f"Score: {value}")
        for line, (item, worker, value) in enumerate(answers, 2)
    ]


def rescale(task: Task, source: Run, **params: Any) -> Run:
    run = runs.start(
        by=task.project.owner,
        task=task,
        method="rescaling",
        seed=params.pop("seed", 0),
        params={"imported": source.pk, "draws": 2, **params},
    )
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def test_imported_scores_are_calls_that_a_run_reads_and_every_figure_leads_to_them() -> None:
    task = corpus.make_rated()
    owner = task.project.owner
    rows = rows_of(task)
    rows[0] = ScoreRow(2, rows[0].item, rows[0].worker, None, "I would rather not.")
    held, new = import_scores(by=owner, task=task, rows=rows, source=SOURCE)
    assert new and held.method == "published" and held.uses.count() == 48
    calls = LLMCall.objects.filter(source="import")
    assert calls.filter(state=CallState.DONE).count() + 1 == calls.count()
    assert calls.get(state=CallState.FAILED).reason and calls.first().model is None  # type: ignore[union-attr]
    run = rescale(task, held)
    assert run.state == RunState.DONE, run.error
    assert run.uses.count() == 47  # a rating without an explanation uses no score
    scores = AnswerScore.objects.filter(run=run).select_related("answer")
    for score in scores:
        if score.extra["fallback"]:
            assert score.extra["why"] in ("no explanation", "no number")
        else:
            call = LLMCall.objects.get(pk=score.extra["call"])
            assert call.value == {"score": score.estimate}
    assert sum(score.extra["fallback"] for score in scores) == 2
    told = RunFigure.objects.get(run=run, name="recipe").data["calls"]
    assert (told["source"], told["model"], told["import"]) == ("import", "another-model", 1)


def test_the_same_scores_twice_are_once_and_a_row_without_an_answer_stops_everything() -> None:
    task = corpus.make_rated(items=3)
    owner = task.project.owner
    rows = rows_of(task)
    first, _ = import_scores(by=owner, task=task, rows=rows, source=SOURCE)
    again, new = import_scores(by=owner, task=task, rows=rows, source=SOURCE)
    assert again == first and not new and LLMCall.objects.count() <= 12
    bad = [
        *rows,
        ScoreRow(14, "light-9", "0", 5, ""),
        ScoreRow(15, "light-0", "nobody", 5, ""),
        ScoreRow(16, "light-0", "0", 5, ""),
    ]
    with pytest.raises(Invalid, match="3 of 15") as refused:
        import_scores(by=owner, task=task, rows=bad, source=Source("m", "p"))
    problems: Sequence[Any] = refused.value.rows
    assert [row["line"] for row in problems] == [14, 15, 16]
    assert "No item has this id" in problems[0]["wrong"]
    assert Run.objects.count() == 1


def test_repeated_ratings_of_one_person_find_their_own_score() -> None:
    task = corpus.make_task(1)
    (worker,) = corpus.add_workers(task.project, ["7"])
    item = task.items.get()
    corpus.add_ratings(task, [(item.pk, worker, 70, "First"), (item.pk, worker, 30, "Second")])
    lines = [
        {
            "item_id": item.key,
            "worker_id": "7",
            "complete_label": "missing_major",
            "feedback": "Second",
            "ebr_raw": "20",
            "ebr_num": "20.0",
        },
        {
            "item_id": item.key,
            "worker_id": "7",
            "complete_label": "missing_minor",
            "feedback": "First",
            "ebr_raw": "none",
            "ebr_num": "",
        },
    ]
    held, _ = import_published(by=task.project.owner, task=task, rows=lines)
    texts = dict(Answer.objects.values_list("pk", "texts__text"))
    found = {
        texts[int(use.subject.split(":")[1])]: use.call.value
        for use in held.uses.select_related("call")
    }
    assert found == {"Second": {"score": 20.0}, "First": None}
    lines[0]["ebr_num"] = "much"
    with pytest.raises(Invalid, match="'much' is not a score"):
        import_published(by=task.project.owner, task=task, rows=lines)


def test_scores_of_another_scale_are_not_taken() -> None:
    task = corpus.make_rated(items=3)
    held, _ = import_scores(by=task.project.owner, task=task, rows=rows_of(task), source=SOURCE)
    run = rescale(task, held, scale="correctness")
    assert run.state == RunState.FAILED
    with pytest.raises(Conflict, match="no scale"):
        import_scores(by=task.project.owner, task=task, rows=[], source=SOURCE, scale="x")


# The published corpus ---------------------------------------------------------------------------


@pytest.fixture
def folder() -> Path:
    try:
        found = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    if not (found / reproduced.PART).is_dir():
        pytest.skip(f"there is no {reproduced.PART} in {found}")
    return found


def as_task(folder: Path) -> tuple[Task, Run]:
    """The published study as the import command takes it in: its task and the scores' run."""
    owner = factories.make_user()
    call_command(
        "crowdqc_import",
        "ebr",
        str(folder / reproduced.PART),
        "--new-project",
        "Explanations",
        "--by",
        owner.username,
        stdout=io.StringIO(),
        stderr=io.StringIO(),
    )
    task = Task.objects.get(project__owner=owner)
    return task, task.runs.get(method="published")


def measured(folder: Path) -> Mapping[tuple[str, str, str], float | None]:
    found = reproduced.reproduce(folder, say=lambda line: None)
    return {(row.table, row.quantity, row.protocol.split(";")[0]): row.measured for row in found}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.long
def test_the_dashboard_shows_tables_7_8_and_11_as_reproduce_does(
    folder: Path, client: Client
) -> None:
    task, held = as_task(folder)
    assert held.params["missing"] == 1 and held.uses.count() == 12_650
    run = rescale(task, held, draws=reproduced.DRAWS)
    assert run.state == RunState.DONE, run.error
    told, wanted = dict(run.figures.values_list("name", "data")), measured(folder)
    for row in told["aggregate"]:
        for side, words in (("before", "without"), ("after", "with")):
            key = ("Table 8", f"tau-b {words} rescaling", row["setting"])
            assert row[side] == pytest.approx(wanted[key], abs=1e-9), key
    for setting, row in told["changes"].items():
        for name, words in (
            ("mean_up", "mean positive change of tau-b"),
            ("up", "pairs with a positive change"),
            ("mean_down", "mean negative change of tau-b"),
            ("down", "pairs with a negative change"),
            ("much_up", "pairs with a change > .1"),
            ("much_down", "pairs with a change < -.1"),
        ):
            assert row[name] == pytest.approx(wanted["Table 7", words, setting], abs=1e-9)
    for k, row in enumerate(told["by_label"]):
        key = ("Table 6", f"mean score of {reproduced.LABELS[k]}", "all annotations")
        assert row["mean"] == pytest.approx(wanted[key], abs=1e-9)
    own = dict(task.project.memberships.values_list("pk", "external_id"))
    pairs = {(own[row["first"]], own[row["second"]]): row for row in told["pair_incomplete"]}
    assert len(pairs) == 28
    for (one, two), row in pairs.items():
        who = f"annotators {one} and {two}"
        raw = wanted["Table 11", f"{who}, tau-b of raw ratings", "incomplete"]
        change = wanted["Table 11", f"{who}, change under rescaling", "incomplete"]
        assert row["before"] == pytest.approx(raw, abs=1e-9)
        assert row["difference"] == pytest.approx(change, abs=1e-9)
    assert ItemScore.objects.filter(run=run).count() == 2532
    _pages_say(task, client)


def _pages_say(task: Task, client: Client) -> None:
    """The published figures as the pages write them."""
    client.force_login(task.project.owner)
    page = reverse("rescaling", args=[task.project_id, task.pk])

    def text(view: str, **more: str) -> str:
        answer = client.get(page, {"view": view, **more})
        assert answer.status_code == 200
        return answer.content.decode().replace("\xa0", "")

    overview = text("overview")
    for words in (".330", ".354", "−.034", ".152", "+.186"):
        assert words in overview, words
    pairs = text("pairs", setting="incomplete")
    for words in ("−.792", "+.777", "26", "+.206", "−.068"):
        assert words in pairs, words
    assert "do not come out" in text("scale")
