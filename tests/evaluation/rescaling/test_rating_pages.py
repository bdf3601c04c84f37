"""The page of a rating task's results."""

from __future__ import annotations

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from annotation.formats.actions import votes as vote_imports
from annotation.formats.imports.tools.crowdkit import Label
from annotation.models import System, Task
from crowdqc.numbers import score
from evaluation.bundles.makers import report_of
from evaluation.items.joined import JoinedTable
from evaluation.methods.core.units import fisher
from evaluation.methods.rescaling.ratings import SAME_RATINGS, text_interval
from evaluation.models import CandidateScore, Run, RunState, WorkerScore
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.rescaling.selectors import rated_texts, rating_boards
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies.judging import make_ratings

pytestmark = pytest.mark.django_db


def page(task: Task) -> str:
    client = Client()
    client.force_login(task.project.owner)
    answer = client.get(reverse("task_results", args=[task.project_id, task.pk]), follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_ratings_show_agreement_and_means_with_intervals_by_source() -> None:
    task = pair_corpus.make_rated()
    assert "Means appear here after the first run." in page(task)
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE
    text = page(task)
    assert "Krippendorff’s α" in text and "model-a" in text and "model-b" in text
    assert text.index("model-a") < text.index("model-b")  # the better source stands first
    assert "Correlation with the others" in text


def test_a_run_corrected_by_competence_is_started_from_the_page_and_shows_both_means() -> None:
    task = pair_corpus.make_rated(topics=10, raters=6)
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE
    client = Client()
    client.force_login(task.project.owner)
    start = reverse("run_start", args=[task.project_id, task.pk])
    text = page(task)
    assert start in text and "Corrected by the competence" not in text
    assert "Correct by the competence of raters" in html_of(client.get(start))
    answer = client.post(start, {"resamples": 200, "competence": "on", "seed": 1})
    assert answer.status_code == 302
    run = Run.objects.filter(task=task).latest("pk")
    assert run.params["competence"] is True and runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    address = f"{reverse('rating_results', args=[task.project_id, task.pk])}?run={run.number}"
    told = reads.figures_of(run)
    said = text_of(html_of(client.get(address)))
    assert "Trial." in said
    assert "Corrected by the competence of raters" in said and "Read the cross-fit" in said
    for row in told["corrected"]:
        assert f"{row['cross_fitted']:.2f}".lstrip("0") in said
    for row in told["corrected_system"]:
        assert f"{row['estimate']:.2f}" in said
    assert "Competence of each rater" in said


def of_one_source(*, raters: int) -> tuple[Task, Run]:
    """Ratings of texts of one system, as a table without a column of systems makes them."""
    project = factories.make_project()
    task = make_ratings(project, n=16, system=System.objects.create(project=project, name="file"))
    keys = list(task.items.order_by("key").values_list("key", flat=True))
    labels = [
        Label(1, key, f"w-{person}", str(1 + (at * 2 + person) % 5))
        for person in range(raters)
        for at, key in enumerate(keys)
    ]
    vote_imports.import_labels(by=task.project.owner, task=task, dimension="", labels=labels)
    task.refresh_from_db()
    assert System.objects.filter(candidates__project=task.project).distinct().count() == 1
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE
    return task, Run.objects.get(pk=run.pk)


def test_of_one_source_the_page_is_about_its_texts_and_raters_and_can_be_exported() -> None:
    task, run = of_one_source(raters=6)
    [board] = rating_boards.boards(run, dimensions(task))
    place = rating_boards.best_of(board)
    alpha = board.alpha
    assert place.sentence.startswith(f"{alpha['texts']} texts, mean ")
    assert score(alpha["alpha"], 2) in place.note
    text = page(task)
    assert escape(place.sentence) in text and "nothing is compared" not in text
    system = System.objects.distinct().get(candidates__project=task.project)
    assert f">{system.name}<" not in text and "All texts" in text
    rows = CandidateScore.objects.filter(run=run)
    assert all(one.candidate.key in text for one in rows)
    _, table = rated_texts.texts(run, dimensions(task)[0], 1)
    shown = table.groups[0].rows
    assert [row.n for row in shown] == [6] * len(rows)
    assert all(row.low < row.estimate < row.high for row in shown)
    export = reverse("run_export", args=[task.project_id, run.number])
    assert export in text and reverse("task_columns", args=[task.project_id, task.pk]) in text


def test_a_text_without_words_is_called_by_the_id_that_its_file_gave_the_item() -> None:
    made = "all-673bc6b8ab65c71d"
    assert rated_texts.name_text(made, made, "i7") == ("i7", "")
    assert rated_texts.name_text("It floats.", made, "i7") == ("It floats.", "i7")
    assert rated_texts.name_text("It floats.", "t1", "i7") == ("It floats.", "t1")


def test_a_text_with_too_few_ratings_says_why_it_has_no_interval() -> None:
    task, run = of_one_source(raters=3)
    _, table = rated_texts.texts(run, dimensions(task)[0], 1)
    assert all(row.low is None and row.why for row in table.groups[0].rows)


def test_the_joined_table_of_ratings_has_the_texts_that_were_rated() -> None:
    task = pair_corpus.make_rated()
    rows = list(JoinedTable(task).rows())
    written = {item.key: item.first for item in task.items.select_related("first__system")}
    assert rows and all(
        (row["text"], row["text_system"]) == (text.text, text.system.name)
        for row in rows
        if (text := written[row["item_id"]])
    )
    assert {"text_system"} < {one.name for one in JoinedTable(task).columns}


def test_the_joined_table_of_ratings_has_means_and_the_votes_of_each_point() -> None:
    task = pair_corpus.make_rated()
    table = JoinedTable(task)
    names = [one.name for one in table.columns]
    assert {"mean", "low", "high", "ratings", "votes"} < set(names)
    assert not {"label", "certainty", "counts", "basis"} & set(names)
    scale = dimensions(task)[0]
    rows = [row for row in table.rows() if row["field"] == scale.name]
    assert rows
    for row in rows:
        counts = {point: row[f"rated_{point}"] for point in scale.points}
        assert sum(counts.values()) == row["ratings"] > 0
        mean = sum(point * n for point, n in counts.items()) / row["ratings"]
        assert row["mean"] == pytest.approx(mean, abs=1e-4)
        assert (row["low"] is None) == bool(row["no_interval"])
        if row["low"] is not None:
            assert row["low"] < row["mean"] < row["high"]


@pytest.mark.parametrize("value", [1, 2, 5])
def test_equal_ratings_have_no_interval_wherever_they_lie(value: int) -> None:
    low, high, why = text_interval(np.full(5, float(value)), (1, 2, 3, 4, 5), 0.95)
    assert (low, high, why) == (None, None, SAME_RATINGS)


def test_a_rater_who_follows_nobody_is_named_as_not_shown_over_all_raters_at_once() -> None:
    task = pair_corpus.make_rated()
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE
    scale = dimensions(task)[0].name
    rows = WorkerScore.objects.filter(run=run, dimension=scale)
    for at, row in enumerate(rows.order_by("pk")):
        row.estimate, row.low, row.high = (0.35, 0.02, 0.62) if not at else (0.8, 0.6, 0.9)
        row.extra["shared"] = 34
        row.save()
    claims = rating_boards.rater_claims(run, scale)
    assert len(claims) == rows.count() > 2
    assert all(one.is_simultaneous and one.has_interval for one in claims)
    low, high = fisher(0.35, 34, 1 - 0.05 / len(claims))
    assert (claims[0].low, claims[0].high) == (low, high) and claims[0].low < 0 < rows[0].low
    client = Client()
    client.force_login(task.project.owner)
    answer = client.get(reverse("task_results", args=[task.project_id, task.pk]), follow=True)
    (found,) = [one for one in answer.context["screen"].findings if one.code == "raters_not_shown"]
    assert found.values["n"] == 1 and found.claim == claims[0]
    shared = [one.code for one in rating_boards.parts(run, None)["screen"].findings]
    assert "raters_not_shown" in shared
    rows.update(estimate=0.8)
    assert rating_boards.rater_findings(run, scale) == []


def test_a_rater_of_one_value_is_warned_of_by_name_on_the_page_and_without_in_the_report() -> None:
    task = pair_corpus.make_rated()
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE
    scale = dimensions(task)[0].name
    assert rating_boards.rater_findings(run, scale) == []
    straight = WorkerScore.objects.filter(run=run, dimension=scale).order_by("pk")[0]
    straight.estimate = straight.low = straight.high = None
    straight.extra |= {"mean": 3.0, "spread": 0.0}
    straight.save()
    (found,) = rating_boards.rater_findings(run, scale, named=True)
    assert found.code == "one_rating_throughout" and found.values["n"] == 1
    assert straight.worker.pseudonym in found.detail
    assert straight.worker.pseudonym in text_of(page(task))
    (public,) = rating_boards.rater_findings(run, scale)
    assert public.text == found.text and not public.detail
    run.refresh_from_db()
    assert public.text in report_of(run)[0]
