"""Rescaled ratings, checklists and writing leave as bundles with a report."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, System
from evaluation.bundles.checking import Report, check_report, verify
from evaluation.bundles.makers import report_of
from evaluation.bundles.words import ABOUT
from evaluation.checklists.filled.ask import CHANCES
from evaluation.checklists.filled.text_scores import JUDGE
from evaluation.models import Run, RunFigure, RunState
from evaluation.runs import engine as runs
from tests.evaluation.bundles.files import changed, first_row, written
from tests.evaluation.corpora import checks as checks_corpus
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.corpora import rescaling as rescaling_corpus
from tests.evaluation.corpora import writing as writing_corpus
from tests.support.servers.llm import make_model, serving

pytestmark = pytest.mark.django_db


def done(task: Any, method: str, **params: Any) -> Run:
    run = runs.start(by=task.project.owner, task=task, method=method, params=params)
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    run.refresh_from_db()
    return run


def by_length(body: dict[str, Any]) -> str:
    """A score by how long the prompt is, so that it differs; some prompts get none."""
    length = len(body["messages"][-1]["content"])
    return "I cannot say." if length % 5 == 0 else json.dumps({"score": length % 101})


def rescaled() -> Run:
    task = rescaling_corpus.make_rated()
    with serving(by_length) as stub:
        model = make_model(task.project, stub.base_url)
        return done(task, "rescaling", model=model.pk, draws=2)


def tell_chances(task: Any, chance: float) -> None:
    """A run that was told how probable each yes of the model was."""
    system = System.objects.get(name="Copy")
    given: dict[str, dict[str, float]] = {}
    for answer in Answer.objects.filter(system=system):
        for said in answer.choices.all():
            of_yes = chance if said.code == "yes" else 1 - chance
            given.setdefault(str(answer.item_id), {})[said.field] = of_yes
    asked = Run.objects.create(
        project=task.project,
        task=task,
        method="checklist_answers",
        number=100 + task.runs.count(),
        state=RunState.DONE,
        finished_at=timezone.now(),
    )
    told = {"system": [system.name, system.prompt_strategy], "items": given}
    RunFigure.objects.create(run=asked, name=CHANCES, data=told)


def checked() -> Run:
    """A run on a checklist; scores and probabilities that came after it are not its own."""
    task = checks_corpus.make_study()
    label_corpus.add_copy(task)
    tell_chances(task, 0.75)
    checks_corpus.score_by_people(task, role=JUDGE, name="a judge")
    run = done(task, "checklist", resamples=100)
    tell_chances(task, 0.9)
    checks_corpus.score_by_people(task, name="two other readers")
    return run


def described() -> Run:
    return done(writing_corpus.make_written(), "writing", resamples=100)


# Of each method: a small finished run, an answer that changes, and what was given beside.
STUDIES: dict[str, tuple[Callable[[], Run], tuple[str, Any], tuple[str, str, Any]]] = {
    "rescaling": (rescaled, ("value", 0), ("data/scores.jsonl", "score", 99.5)),
    "checklist": (checked, ("yes", False), ("data/series.jsonl", "scores", [])),
    "writing": (described, ("text", "Bees dance."), ("data/processes.jsonl", "minutes", 999.0)),
}


def wrong_of(report: Report) -> str:
    return " ".join(text for good, text in report.lines if not good)


@pytest.mark.parametrize("method", sorted(STUDIES))
def test_a_study_leaves_as_a_bundle_and_a_report_with_the_same_numbers(
    method: str, tmp_path: Path
) -> None:
    make, (key, value), given = STUDIES[method]
    run = make()
    path, report = written(run, tmp_path), tmp_path / "report.html"
    found = verify(path)
    assert found.good, found.lines
    assert "byte for byte the same" in found.lines[-1][1]
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("manifest.json"))["given"]
        rows = [json.loads(line) for line in archive.read("data/answers.jsonl").splitlines()]

    html, _ = report_of(run)
    assert ABOUT[run.method].references[0] in html
    report.write_text(html)
    check_report(found, path, report)
    assert found.good and "each as the bundle has it" in found.lines[-1][1], found.lines
    report.write_text(html.replace("</data>", "9</data>", 1))
    check_report(found, path, report)
    assert "in the report, " in wrong_of(found)

    assert rows[0][key] != value
    vote = first_row("data/answers.jsonl", key, value)
    wrong = wrong_of(verify(changed(path, vote, mend=True)))
    assert "not those that the run saw" in wrong and "Numbers:" in wrong and "Files:" not in wrong
    beside = verify(changed(path, first_row(*given), mend=True))
    assert "Numbers:" in wrong_of(beside), beside.lines

    client = Client()
    client.force_login(run.project.owner)
    page = client.get(reverse("run", args=[run.project_id, run.number])).content.decode()
    asked = [reverse(name, args=[run.project_id, run.number]) for name in ASKED_FOR]
    assert all(url in page for url in asked)
    for url in asked:  # the files' own rows say how far they are
        files = client.post(url, follow=True)
        assert not list(files.context["messages"])


ASKED_FOR = ("run_bundle", "run_report")
