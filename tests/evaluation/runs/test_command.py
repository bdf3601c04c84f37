"""Runs from the command line: what methods take is listed, and a run is started and computed."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Task
from evaluation.models import Run, RunState
from evaluation.runs.forms import RunForm
from evaluation.runs.run_types import run_types
from evaluation.runs.selectors.lists import started_words
from tests.evaluation.corpora import texts as corpus
from tests.support import factories


def run(*arguments: Any, **options: Any) -> str:
    out = StringIO()
    call_command("crowdqc_run", *arguments, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def task(db: None) -> Task:
    return corpus.make_answered()


def test_every_method_and_every_option_with_its_range_is_listed() -> None:
    assert {line.split()[0] for line in run("--options").splitlines()} == set(run_types())
    for slug in run_types():
        assert run("--options", "--method", slug)
    told = run("--options", "--method", "pairwise")
    assert 'algorithm = "vb": must be one of vb, em' in told
    assert "restarts = 20: must be a whole number from 1 to 200" in told
    assert "Random starts. The best of so many fits." in told
    with pytest.raises(CommandError, match="There is no method 'guess'"):
        run("--options", "--method", "guess")


def test_a_run_is_started_with_options_and_computed_to_its_end(task: Task) -> None:
    by = task.project.owner.username
    chosen = ["--set", "encoder=char-svd", "--set", "resamples=100", "--set", "leave_one_out=false"]
    assert "is done" in run(task.pk, "--by", by, "--wait", "--seed", "7", *chosen)
    made = Run.objects.get()
    assert (made.state, made.method, made.seed) == (RunState.DONE, "aqer", 7)
    assert made.params["leave_one_out"] is False and made.params["resamples"] == 100
    assert started_words(made).endswith(" by command")


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        (["--set", "resamples=7"], "resamples is 7; it must be 0, or a whole number from 100"),
        (["--set", "colour=red"], "AQER has no option 'colour'"),
        (["--set", "resamples"], "write NAME=VALUE"),
        (["--method", "pairwise"], "scores pairwise judgments"),
        (["--method", "mace"], "part of runs on labels and of pairwise studies"),
    ],
)
def test_what_is_wrong_is_named_and_no_run_is_there(
    task: Task, chosen: list[str], says: str
) -> None:
    with pytest.raises(CommandError, match=says):
        run(task.pk, "--by", task.project.owner.username, *chosen)
    assert not Run.objects.exists()


def test_only_staff_of_the_project_start_runs(task: Task) -> None:
    worker = factories.make_worker(task.project).user
    assert worker is not None
    for name in (worker.username, factories.make_project().owner.username, "nobody-here"):
        with pytest.raises(CommandError, match="a requester or manager of its project"):
            run(task.pk, "--by", name)


def test_a_form_offers_what_a_method_declares_and_refuses_the_same() -> None:
    for slug in ("aqer", "pairwise", "writing", "ratings", "checklist"):
        options = run_types()[slug].options
        form = RunForm(options=options, noun="answer")
        offered = [one for one in options.options if one.label]
        assert [*form.fields] == [*(one.name for one in offered), "seed"]
        for one in offered:
            assert form.fields[one.name].initial == one.default
            assert form.fields[one.name].help_text == one.help
