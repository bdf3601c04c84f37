"""Runs that rescale ratings by their explanations: what a model is told, and what comes of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from annotation.models import Answer, Membership, Task, TextValue
from annotation.work.actions import exclusions
from crowdqc.errors import Conflict, Invalid
from evaluation.models import (
    AnswerScore,
    ItemScore,
    LLMCall,
    Run,
    RunFigure,
    RunState,
    WorkerScore,
)
from evaluation.rescaling import run as rescaling
from evaluation.runs import engine as runs
from tests.evaluation.corpora import rescaling as corpus
from tests.support.servers.llm import make_model, serving

pytestmark = pytest.mark.django_db


def said(body: dict[str, Any]) -> str:
    """Everything that the model was told."""
    return "\n".join(message["content"] for message in body["messages"])


def start(task: Task, **params: Any) -> Run:
    """A run of the task's owner, worked on to its end."""
    run = runs.start(
        by=task.project.owner, task=task, method="rescaling", params={"draws": 2, **params}
    )
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def by_words(body: dict[str, Any]) -> str:
    """A score of the explanation, by what it says; none where it speaks of everything."""
    text = said(body)
    if "Nothing from the text" in text:
        return '{"score": 5}'
    if "but neither" in text:
        return '{"score": 35}'
    return '{"score": 65}' if "Only the family" in text else "I cannot say."


# What stands in the prompt of each variant beside the explanation.
LABEL, ARTICLE = "misses a little", "3. A keeper lived in the tower"
TOLD = {
    "explanation": set(),
    "label": {LABEL},
    "article": {LABEL, ARTICLE},
    "question": {LABEL, ARTICLE, corpus.QUESTION},
    "answer": {LABEL, ARTICLE, corpus.QUESTION, "Answer 0: the keeper."},
}


@pytest.mark.parametrize("variant", list(TOLD))
def test_each_prompt_carries_exactly_its_inputs(variant: str) -> None:
    task = corpus.make_task(1)
    (worker,) = corpus.add_workers(task.project, ["1"])
    corpus.add_ratings(task, [(task.items.get().pk, worker, 70, "The family is missing.")])
    with serving(lambda body: '{"score": 60}') as stub:
        model = make_model(task.project, stub.base_url)
        run = start(task, model=model.pk, variant=variant)
    assert run.state == RunState.DONE, run.error
    (body,) = stub.asked
    text = said(body)
    everything = set().union(*TOLD.values())
    assert {words for words in everything if words in text} == TOLD[variant]
    assert "The family is missing." in text and "Completeness" in text
    assert not re.search(r"Rater 1|light-0|misses much|model-a", text)
    if variant not in ("explanation", "label"):  # what ratings share begins the prompt
        user = body["messages"][-1]["content"]
        assert user.index(ARTICLE) < user.index("The family is missing.")


def test_a_model_rescales_ratings_and_what_it_left_out_gets_the_annotators_mean() -> None:
    task = corpus.make_rated()
    with serving(by_words) as stub:
        model = make_model(task.project, stub.base_url, form="text")
        run = start(task, model=model.pk, variant="label")
        asked = len(stub.asked)
        again = start(task, model=model.pk, variant="label")
        assert len([b for b in stub.asked[asked:] if "Everything that" not in said(b)]) == 0
    assert run.state == RunState.DONE, run.error
    rows = list(AnswerScore.objects.filter(run=run).select_related("answer"))
    assert len(rows) == 48
    by_label: dict[str, set[float]] = {}
    for row in rows:
        by_label.setdefault(row.extra["label"], set()).add(row.estimate)
        assert 0 <= row.estimate <= 100
        assert row.extra["fallback"] == (row.extra["f"] is None)
        assert row.extra["fallback"] or row.extra["call"]
    assert by_label["misses a little"] <= {65.0}
    silent = next(row for row in rows if row.extra["why"] == "no explanation")
    complete = [row for row in rows if row.extra["label"] == "complete" and row != silent]
    assert complete and all(row.extra["why"] == "no number" for row in complete)
    assert {row.estimate for row in complete} == {100.0}  # nobody has a score: the label's place
    assert silent.extra["call"] is None and silent.estimate == silent.extra["g"]
    frame = RunFigure.objects.get(run=run, name="frame").data
    assert (frame["no_explanation"], frame["no_number"]) == (1, len(complete))
    assert WorkerScore.objects.filter(run=run).count() == 4
    assert ItemScore.objects.filter(run=run).count() == 12
    assert again.result_hash == run.result_hash


@pytest.mark.fits_anew
def test_a_second_run_asks_nothing_and_gives_the_same() -> None:
    task = corpus.make_rated()
    with serving(lambda body: '{"score": 50}') as stub:
        model = make_model(task.project, stub.base_url)
        first = start(task, model=model.pk)
        asked = len(stub.asked)
        second = start(task, model=model.pk, ensemble=0.5)
    assert asked == LLMCall.objects.count() > 0
    assert len(stub.asked) == asked
    assert second.uses.count() == first.uses.count() == 47
    figures = dict(RunFigure.objects.filter(run=first).values_list("name", "data"))
    assert figures["recipe"]["calls"]["calls"] == 47 and figures["recipe"]["calls"]["digest"]
    assert [row["lambda"] for row in figures["ensembles"][:6]] == [0, 0.1, 0.3, 0.5, 0.8, 1]
    assert figures["changes"]["all"]["pairs"] + figures["changes"]["all"]["undefined"] == 6


def test_people_left_out_and_answers_that_do_not_count_are_not_asked_about() -> None:
    task = corpus.make_rated()
    owner = task.project.owner
    out = Membership.objects.get(project=task.project, external_id="3")
    exclusions.exclude(by=owner, task=task, worker=out, reason="a test")
    Answer.objects.filter(worker__external_id="2").update(counts=False, uncounted_reason="a test")
    with serving(lambda body: '{"score": 50}') as stub:
        model = make_model(task.project, stub.base_url)
        run = start(task, model=model.pk)
    assert run.state == RunState.DONE, run.error
    told = json.dumps(stub.asked)
    assert "(0)" in told and "(1)" in told
    assert "(2)" not in told and "(3)" not in told
    assert run.snapshot is not None and run.snapshot.counts["answers"] == 24
    assert run.snapshot.counts["left_out"] == {"uncounted": 12, "excluded": 12, "other_fields": 0}


def test_an_explanation_that_changed_after_the_freeze_ends_the_run_with_the_reason() -> None:
    task = corpus.make_rated(items=2)
    with serving(lambda body: '{"score": 50}') as stub:
        model = make_model(task.project, stub.base_url)
        first = start(task, model=model.pk)
        TextValue.objects.filter(field="explanation").update(text="Something else.")
        run = runs.start(
            by=task.project.owner, task=task, method="rescaling", params=first.params, source=first
        )
        runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.FAILED and "no longer what they were" in run.error


def test_ratings_that_nobody_shares_are_rescaled_without_an_agreement() -> None:
    task = corpus.make_task(2)
    first, second = task.items.order_by("pk")
    one, two = corpus.add_workers(task.project, ["1", "2"])
    corpus.add_ratings(task, [(first.pk, one, 70, "A"), (second.pk, two, 30, "B")])
    with serving(lambda body: '{"score": 40}') as stub:
        run = start(task, model=make_model(task.project, stub.base_url).pk)
    assert run.state == RunState.DONE, run.error
    assert set(AnswerScore.objects.filter(run=run).values_list("estimate", flat=True)) == {40.0}
    assert not RunFigure.objects.filter(run=run, name="aggregate").exists()


def test_options_that_cannot_be_taken_are_named() -> None:
    task = corpus.make_rated()
    owner = task.project.owner
    for params, words in (
        ({}, "Choose a model"),
        ({"model": 1, "imported": 1}, "Choose a model"),
        ({"model": 1, "variant": "guess"}, "variant"),
        ({"model": 1, "ensemble": 2.0}, "ensemble"),
        ({"model": True}, "model"),
        ({"model": 1, "scale": 3}, "scale"),
    ):
        with pytest.raises(Invalid, match=words):
            runs.start(by=owner, task=task, method="rescaling", params=params)
    with pytest.raises(Invalid, match="no such model"):
        rescaling.plan(task, {"model": 1})


def test_a_preview_says_what_will_be_asked_and_what_the_items_lack() -> None:
    task = corpus.make_rated()
    model = make_model(task.project, "http://127.0.0.1:9/v1")
    plan = rescaling.plan(task, {"model": model.pk, "variant": "article"})
    assert len(plan.asks) == 47
    assert "47 explanations of 4 workers" in plan.sentence and "1 rating has none" in plan.sentence
    task.groups.update(passage="")
    with pytest.raises(Conflict, match="12 items have no article"):
        rescaling.plan(task, {"model": model.pk, "variant": "article"})
    with pytest.raises(Conflict, match="no scale 'beauty'"):
        rescaling.plan(task, {"model": model.pk, "scale": "beauty"})
