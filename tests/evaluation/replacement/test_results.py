"""A test to take away: tables as CSV, charts as SVG, a link without names; how models judge."""

from __future__ import annotations

import csv
import datetime as dt
import io
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Membership, Task
from evaluation.bundles import writing as bundle
from evaluation.bundles.checking import verify
from evaluation.models import Run, RunState
from evaluation.replacement.selectors import files
from evaluation.replacement.selectors.judging import claim_of
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from evaluation.runs.sharing.actions import publish, share
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import client_of, text_of
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


def finished(task: Task) -> Run:
    run = runs.start(
        by=task.project.owner,
        task=task,
        method="replacement",
        params={"draws": 100, "epsilon": 0.15},
    )
    assert runs.execute(run.pk) == RunState.DONE, run.error
    return Run.objects.get(pk=run.pk)


@pytest.fixture(scope="module")
def made(shared_rows: None) -> Run:
    return finished(corpus.make_compared())


@pytest.fixture
def run(made: Run, db: None) -> Run:
    return Run.objects.select_related("task__project__owner").get(pk=made.pk)


def address(run: Run, query: str) -> str:
    return reverse("replacement_export", args=[run.project_id, run.task_id]) + query


def test_every_table_is_a_csv_with_names_and_every_chart_an_svg(run: Run) -> None:
    client = client_of(run.task)
    told = reads.figures_of(run)
    for name in files.TABLES:
        answer = client.get(address(run, f"?table={name}"))
        assert answer["Content-Type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
        assert len(rows) == len(told[name]), name
    rows = list(
        csv.DictReader(io.StringIO(client.get(address(run, "?table=person")).content.decode()))
    )
    people = set(Membership.objects.filter(project=run.project).values_list("pseudonym", flat=True))
    assert {row["person"] for row in rows} <= people
    assert rows[0]["model"] == "Alder, labels@1"
    for name in files.CHARTS:
        answer = client.get(address(run, f"?chart={name}"))
        assert answer["Content-Type"].startswith("image/svg+xml")
        assert ET.fromstring(answer.content).tag.endswith("svg")  # noqa: S314 - our own
        assert "ε = .15" in answer.content.decode()
    assert client.get(address(run, "?table=else")).status_code == 404
    assert client.get(address(run, "?chart=else")).status_code == 404


def test_a_link_and_a_public_board_show_models_and_verdicts_and_nobody_by_name(run: Run) -> None:
    _, secret = share(by=run.task.project.owner, run=run)
    publish(by=run.task.project.owner, run=run, slug="may-models-replace", files=True)
    people = set(Membership.objects.filter(project=run.project).values_list("pseudonym", flat=True))
    link, board = (
        reverse("shared_results", args=[secret]),
        reverse("public_board", args=["may-models-replace"]),
    )
    for where in (link, board):
        shown = html_of(Client().get(where))
        assert "Alder can replace one of your annotators" in text_of(shown)
        assert "Not shown" in shown and "5 of 5" not in shown
        assert [name for name in people - {""} if name in text_of(shown)] == []
    for form in ("svg", "csv", "json"):
        file = Client().get(reverse("public_board_file", args=["may-models-replace", form]))
        assert file.status_code == 200 and b"Alder" in file.content
    menu = html_of(
        client_of(run.task).get(reverse("replacement", args=[run.project_id, run.task_id]))
    )
    assert "Share" in menu


def test_the_page_of_judges_says_what_labels_tell_and_why_the_rest_is_not_told(run: Run) -> None:
    where = reverse("replacement_judges", args=[run.project_id, run.task_id])
    text = text_of(html_of(client_of(run.task).get(where)))
    assert "Calibration of Alder" in text and "its items have no sides" in text
    assert "the model gave all of its answers within one day" in text
    assert "All models as a panel" in text and "Weight of Alder" in text
    assert "Leanings of Birch" in text_of(html_of(client_of(run.task).get(f"{where}?model=1")))


def test_a_model_that_took_days_is_read_in_time_and_the_bundle_says_the_same(
    run: Run, tmp_path: Path
) -> None:
    answers = Answer.objects.filter(item__task=run.task, system__name="Alder")
    for answer in answers.select_related("item"):
        late = dt.timedelta(hours=answer.item.position)
        Answer.objects.filter(pk=answer.pk).update(answered_at=F("answered_at") + late)
    later = finished(run.task)
    where = reverse("replacement_judges", args=[run.project_id, run.task_id])
    text = text_of(html_of(client_of(run.task).get(f"{where}?run={later.number}")))
    assert "No drift is shown" in text or "The second half agrees" in text
    path = tmp_path / "run.zip"
    path.write_bytes(b"".join(bundle.parts(later)))
    assert verify(path).good, verify(path).lines


def test_of_pairs_the_sides_lengths_and_repeats_are_read_and_verify(tmp_path: Path) -> None:
    task = pair_corpus.make_judged(workers=6, topics=5)
    corpus.add_copy(task)
    run = finished(task)
    rows = {row["kind"]: row for row in reads.figures_of(run)["leaning"]}
    assert set(rows) == {"position", "length", "self", "repetition"}
    assert rows["position"]["reason"] == "" or "both judged" in rows["position"]["reason"]
    assert rows["self"]["reason"] == "no text that it judged is its own"
    where = reverse("replacement_judges", args=[task.project_id, task.pk])
    assert "chooses the text shown first" in text_of(html_of(client_of(task).get(where)))
    path = tmp_path / "pairs.zip"
    path.write_bytes(b"".join(bundle.parts(run)))
    assert verify(path).good, verify(path).lines


def test_of_many_leanings_those_are_named_that_all_of_them_together_show() -> None:
    row = {"kind": "length", "n": 200, "reason": "", "difference": 0.1, "freedom": 199.0}
    row |= {"difference_low": 0.02, "difference_high": 0.18}
    one = claim_of({"leaning": [row]}, "leaning", row)
    assert one.is_sure and one.direction == 1
    many = claim_of({"leaning": [row] * 9}, "leaning", row)
    assert not many.is_sure and many.low < 0 and many.is_simultaneous
    assert (one.low, one.high) == pytest.approx((0.02, 0.18))
