"""SummEval as it was published, in a project: texts, people's scores, judges held against them."""

from __future__ import annotations

import csv
import gzip
import io
import time
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects.actions import create_project
from annotation.authoring.actions.tasks import create_task
from annotation.models import Candidate, Item, Task
from crowdqc.errors import Invalid
from evaluation.checklists.filled.text_scores import AGAINST, OTHERS, human_scores, import_human
from evaluation.models import CandidateScore, Run, RunFigure
from evaluation.published.reproduce.data import data_folder
from tests.support.factories import make_project, make_user
from tests.support.studies.judging import make_candidate

pytestmark = pytest.mark.django_db


def folder() -> Path:
    try:
        found = data_folder() / "summeval"
    except Invalid as problem:
        pytest.skip(problem.message)
    if not found.is_dir():
        pytest.skip(f"no summeval in {found.parent}")
    return found


def take_in(path: Path, user: str) -> str:
    out = io.StringIO()
    call_command(
        "crowdqc_import",
        "summeval",
        str(path),
        "--new-project",
        "SummEval",
        "--by",
        user,
        stdout=out,
        stderr=io.StringIO(),
    )
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.long
def test_summeval_shows_every_correlation_of_its_reference_and_comes_in_once() -> None:
    path, user = folder(), make_user()
    began = time.process_time()  # the machine may have other things to do
    said = take_in(path, user.username)
    assert time.process_time() - began < 60
    assert "1,600 new" in said and "43,200 scores: 10 new" in said
    task = Task.objects.get()
    assert Item.objects.filter(task=task).count() == 1600 and task.groups.count() == 100
    assert CandidateScore.objects.count() == 4 * 1600 + 43_200
    with (path / "out_summeval_corr.csv").open(newline="") as handle:
        known = list(csv.DictReader(handle))
    assert len(known) == 36
    for row in known:
        run = Run.objects.get(params__evaluator=row["evaluator"], params__prompt=row["prompt"])
        told = RunFigure.objects.get(run=run, name=AGAINST).data[row["dim"]]
        assert told["human"] == "SummEval, mean of three experts"
        by = {(one["kind"], one["setting"]): one for one in told["rows"]}
        rho, tau = by["spearman", "sample-level"], by["kendall", "sample-level"]
        expected = {
            "n": rho["n"],
            "sample_rho": rho["estimate"],
            "sample_tau": tau["estimate"],
            "sample_rho_nan0": rho["as_zero"],
            "sample_tau_nan0": tau["as_zero"],
            "undefined_docs": rho["undefined"],
            "pooled_rho": by["spearman", "pooled"]["estimate"],
            "pooled_tau": by["kendall", "pooled"]["estimate"],
            "pooled_r": by["pearson", "pooled"]["estimate"],
        }
        for name, value in expected.items():
            assert value == pytest.approx(float(row[name]), abs=0.00051), (row["dim"], run, name)
        assert rho["low"] < rho["estimate"] < rho["high"]
    client = Client()
    client.force_login(user)
    page = client.get(reverse("checklist_results", args=[task.project_id, task.pk]))
    shown = page.content.decode()
    for value in (".457", ".398", ".608", ".581", ".531", ".496", ".438", ".384", ".468"):
        assert f">{value}<" in shown, value
    assert "23 of 100" in shown
    again = take_in(path, user.username)
    assert "Everything was there already" in again and Run.objects.count() == 10


def test_scores_of_people_come_in_from_a_file_and_name_every_bad_row() -> None:
    project = make_project()
    texts = [make_candidate(project, f"Text {k}.", f"topic-{k // 3}") for k in range(6)]
    task = create_task(by=project.owner, project=project, type="checklist", title="Check them")
    lines = [f"{one.key},Coherence,{k + 1}" for k, one in enumerate(texts)]
    bad = "\n".join(
        [
            "key,dimension,score",
            *lines[:2],
            "nobody,Coherence,3",
            f"{texts[3].key},,2",
            f"{texts[4].key},Coherence,high",
        ]
    )
    with pytest.raises(Invalid) as refused:
        import_human(by=project.owner, task=task, content=bad.encode(), file="a.csv")
    assert [(row["line"], row["column"]) for row in refused.value.rows] == [
        (4, "key"),
        (5, "dimension"),
        (6, "score"),
    ]
    assert not Run.objects.exists()
    content = "\n".join(["key,dimension,score", *lines]).encode()
    run, new, count = import_human(by=project.owner, task=task, content=content, file="a.csv")
    assert (new, count) == (True, 6)
    same, new, _ = import_human(by=project.owner, task=task, content=content, file="a.csv")
    assert (same.pk, new) == (run.pk, False)
    found = human_scores(project.pk, "coherence", [one.pk for one in texts])
    assert found.scores[texts[2].pk] == 3.0 and found.name == "a.csv"
    assert RunFigure.objects.get(run=run, name=OTHERS).data == {}
    assert Candidate.objects.filter(project=project).count() == 6


def test_a_folder_with_a_bad_row_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "summeval_articles.csv.gz").write_bytes(
        gzip.compress(b"article_id,article\nA0,News of the day.\n")
    )
    rows = (
        b"article_id,summary_id,system,summary,coherence,consistency,fluency,relevance\n"
        b"A0,S0,M1,Some news.,5,5,5,4\nA7,S1,M1,Other news.,5,5,5,4\nA0,S2,M1,More.,5,9,5,4\n"
    )
    (tmp_path / "summeval_summaries_human.csv.gz").write_bytes(gzip.compress(rows))
    user = make_user()
    create_project(by=user, name="Mine")
    with pytest.raises(Exception, match="2 rows cannot be read"):
        take_in(tmp_path, user.username)
    assert not Task.objects.exists()
