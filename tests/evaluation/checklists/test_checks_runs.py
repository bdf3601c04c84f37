"""Checklists answered by people and a model: scores, agreement, correlations, nothing twice."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Answer, Project, Task
from crowdqc.errors import Conflict
from evaluation.checklists.filled import ask as checks_ask
from evaluation.checklists.filled import g_eval
from evaluation.checklists.filled.text_scores import AGAINST, JUDGE, OTHERS
from evaluation.llm.prompting import load
from evaluation.llm_runs.forms import form_of
from evaluation.models import CandidateScore, LanguageModel, Run, RunFigure, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import checks as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support.factories import make_worker
from tests.support.servers.llm import make_model

pytestmark = pytest.mark.django_db


def model_of(project: Project, url: str, *, logprobs: bool = False, **more: Any) -> LanguageModel:
    model = make_model(project, url, **more)
    model.can = {**model.can, "logprobs": logprobs}
    model.save(update_fields=["can"])
    return model


def done(task: Task, method: str, **params: Any) -> Run:
    run = runs.start(
        by=task.project.owner,
        task=task,
        method=method,
        params=params,
        lane=str(params.get("model", "")),
    )
    state = runs.execute(run.pk)
    run.refresh_from_db()
    assert state == RunState.DONE, run.error
    return run


def told(run: Run, name: str) -> Any:
    return RunFigure.objects.get(run=run, name=name).data


def test_a_model_fills_every_list_once_and_stands_beside_people() -> None:
    task = corpus.make_study()
    with corpus.answering() as stub:
        model = model_of(task.project, stub.base_url)
        done(task, "checklist_answers", model=model.pk)
        asked = len(stub.asked)
        assert asked == corpus.TOPICS * corpus.SYSTEMS  # all questions of a text in one call
        again = done(task, "checklist_answers", model=model.pk)
        assert len(stub.asked) == asked
    assert told(again, "asked")["counts"] == {
        "texts": 0,
        "answered": 0,
        "there": asked,
        "incomplete": 0,
        "calls": 0,
        "cached": 0,
    }
    assert Answer.objects.filter(item__task=task, system__isnull=False).count() == asked
    run = done(task, "checklist", resamples=200)
    who = {row["component"]: row for row in told(run, "answerers")}
    assert [row["kind"] for row in who.values()] == ["majority", "person", "person", "model"]
    scores = CandidateScore.objects.filter(run=run, component=3)
    for one in scores.select_related("candidate"):
        yes = sum(word in one.candidate.text for word in corpus.WORDS.values())
        assert one.estimate == 1 + 4 * yes / 4 and one.extra["yes"] == yes
        assert one.dimension == "helpfulness" and one.extra["kind"] == "model"
    rows = {
        (row["answerer"], row["score"], row["kind"], row["setting"]): row
        for row in told(run, "correlation")
    }
    mine = rows[3, "share", "spearman", "sample-level"]
    assert mine["estimate"] > 0.5 and mine["articles"] == corpus.TOPICS
    assert mine["low"] < mine["estimate"] and mine["undefined"] == 0
    agreed = {row["question"]: row for row in told(run, "agreement")}
    assert agreed[-1]["alpha"] is not None and agreed[-1]["low"] is None
    assert agreed[-1]["reason"] == "6 articles; an interval needs 15"
    beside = {(row["answerer"], row["question"]) for row in told(run, "with_people")}
    assert {(3, -1), (3, 0), (-1, -1)} <= beside
    assert {row["question"] for row in told(run, "signal")} == {0, 1, 2, 3}
    same = done(task, "checklist", resamples=200)
    assert same.result_hash == run.result_hash


def test_probabilities_of_yes_are_kept_and_give_a_second_score() -> None:
    task = corpus.make_study(topics=2, people=1)
    with corpus.answering() as stub:
        model = model_of(task.project, stub.base_url, logprobs=True)
        asked = done(task, "checklist_answers", model=model.pk)
        assert len(stub.asked) == 2 * corpus.SYSTEMS * 4  # one question a call
        assert all(body["logprobs"] for body in stub.asked)
    chances = told(asked, "chances")["items"]
    assert {value for row in chances.values() for value in row.values()} == {0.8, 0.2}
    run = done(task, "checklist", resamples=200)
    model_rows = [
        one for one in CandidateScore.objects.filter(run=run) if one.extra["kind"] == "model"
    ]
    for one in model_rows:
        assert one.extra["weighted"] == pytest.approx(1.8 + 0.6 * one.extra["yes"])
    scored = {row["score"] for row in told(run, "correlation") if row["answerer"] == 2}
    assert scored == {"share", "chance"}


def test_a_text_with_a_missing_answer_is_left_out_and_asked_again() -> None:
    task = corpus.make_study(topics=2, people=1)
    broken = True

    def answers(body: corpus.Body) -> str:
        if broken and "Tea 1, note 2" in corpus.asked_text(body):
            return "I would rather not say."
        return corpus.answers(body)

    with corpus.serving(answers) as stub:
        model = model_of(task.project, stub.base_url)
        first = done(task, "checklist_answers", model=model.pk)
        counts = told(first, "asked")["counts"]
        assert (counts["answered"], counts["incomplete"]) == (9, 1)
        assert told(first, "asked")["reasons"]
        broken, before = False, len(stub.asked)
        second = done(task, "checklist_answers", model=model.pk)
        assert len(stub.asked) == before + 1
    assert told(second, "asked")["counts"]["answered"] == 1


@pytest.mark.parametrize("logprobs", [False, True])
def test_a_rating_by_a_form_makes_its_steps_once_and_scores_every_text(logprobs: bool) -> None:
    task = corpus.make_study(topics=2, people=1)
    params = {"definition": "A note helps where somebody can make the tea by it.", "samples": 3}
    with corpus.answering() as stub:
        model = model_of(task.project, stub.base_url, logprobs=logprobs)
        run = done(task, "g_eval", model=model.pk, **params)
        texts, each = 2 * corpus.SYSTEMS, 1 if logprobs else 3
        assert len(stub.asked) == 1 + texts * each
        steps = told(run, "steps")["text"]
        assert all(steps in body["messages"][-1]["content"] for body in stub.asked[1:])
        before = len(stub.asked)
        done(task, "g_eval", model=model.pk, **params)
        assert len(stub.asked) == before
        plan = g_eval.plan(task, run.params)
    assert steps in plan.asks[1].prompt.messages[-1]["content"]
    for one in CandidateScore.objects.filter(run=run).select_related("candidate"):
        said = min(5, 1 + sum(word in one.candidate.text for word in corpus.WORDS.values()))
        other = 1 + said % 5
        expected = 0.8 * said + 0.2 * other if logprobs else said
        assert one.estimate == pytest.approx(expected) and one.n == each
    rows = told(run, AGAINST)["helpfulness"]["rows"]
    assert {row["setting"] for row in rows} == {"sample-level", "pooled"}


def test_lists_baselines_and_judges_are_compared_on_the_same_texts() -> None:
    topics = 5
    task = corpus.make_study(topics=topics)
    project = task.project
    other = corpus.make_task(
        project, topics=topics, title="A shorter list", questions=corpus.QUESTIONS[2:]
    )
    corpus.fill(other, [make_worker(project), make_worker(project)])
    with corpus.answering() as stub:
        model = model_of(project, stub.base_url)
        for one in (task, other):
            done(one, "checklist_answers", model=model.pk)
        done(task, "g_eval", model=model.pk, definition="What helps.", samples=1)
    make_official(done(other, "checklist", resamples=200))
    corpus.score_by_people(task, role=JUDGE, name="a published judge")
    found = told(done(task, "checklist", resamples=200), "compare")
    series = found["series"]
    pairs = {
        (
            series[row["first"]]["name"],
            series[row["second"]]["name"],
            series[row["second"]]["method"],
        ): row
        for row in found["rows"]
    }
    assert {key[2] for key in pairs} == {"checklist", "g_eval", "published"}
    row = pairs["stub-1", "stub-1", "checklist"]
    assert row["n"] == topics * corpus.SYSTEMS and row["setting"] == "by article"
    assert row["difference"] > 0 and row["adjusted"] >= row["p"]
    assert row["dependent_z"] is not None and row["independent_z"] is not None
    assert row["dependent_p"] is None and row["independent_p"] is None  # texts share sources
    assert ("Most people", "stub-1", "checklist") not in pairs


def test_human_scores_that_come_later_are_held_against_what_was_there() -> None:
    task = corpus.make_study(scored=False)
    run = make_official(done(task, "checklist", resamples=200))
    assert told(run, "correlation") == [] and told(run, "compare") == {}
    human = corpus.score_by_people(task)
    later = told(human, OTHERS)
    assert f"{run.pk}/0/helpfulness" in later
    assert told(done(task, "checklist", resamples=200), "correlation")


def test_what_is_missing_is_said_before_anything_is_asked() -> None:
    project = corpus.make_study(topics=1, people=1).project
    task = project.tasks.get()
    with corpus.answering() as stub:
        model = model_of(project, stub.base_url)
        with pytest.raises(Conflict, match="what the dimension means"):
            g_eval.plan(task, {**g_eval.DEFAULTS, "model": model.pk})
        plan = checks_ask.plan(task, {**checks_ask.DEFAULTS, "model": model.pk})
        assert plan.sentence == (
            "stub-1 answers 4 questions about 5 texts, all questions in one call."
        )
        form = form_of("g_eval")(
            {"model": model.pk, "way": "auto", "samples": 5, "temperature": 1}, task=task
        )
        assert "definition" in form.errors
        form = form_of("checklist_answers")({"model": model.pk, "way": "each"}, task=task)
        assert form.is_valid() and form.params()["way"] == "each"
    assert not stub.asked


def test_each_prompt_carries_the_inputs_of_its_stage() -> None:
    assert load("check_question").needed == {"dimension", "text", "question"}
    assert load("check_all").needed == {"dimension", "text", "questions"}
    assert load("g_eval_steps").needed == {"dimension", "definition"}
    assert load("g_eval_score").needed == {"dimension", "definition", "steps", "text"}
    filled = load("check_question").render(
        source="SOURCE", dimension="D", definition="MEANS", text="TEXT", question="ASKED?"
    )
    told = filled.messages[-1]["content"]
    # What many calls share stands first, so that an endpoint that keeps prefixes reads it once.
    assert told.index("SOURCE") < told.index("MEANS") < told.index("TEXT") < told.index("ASKED?")
