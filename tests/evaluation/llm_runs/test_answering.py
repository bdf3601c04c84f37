"""Models answer items: their answers are a system's, come once, and are scored beside people's."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import (
    Answer,
    AuditEntry,
    Candidate,
    ChoiceValue,
    SpanValue,
    System,
    Task,
    TextValue,
)
from annotation.pairs.actions.derived_tasks import judge_responses
from crowdqc.errors import Invalid
from evaluation.llm.schemas import WrongForm
from evaluation.llm_runs.answering import run as answering
from evaluation.llm_runs.answering.texts import ANSWER, REASONED, is_unknown
from evaluation.llm_runs.selectors.llm_runs import calls_of
from evaluation.models import LLMCall, Run, RunState, SystemScore
from evaluation.registry import RUN_TYPES
from evaluation.runs import engine as runs
from tests.evaluation.corpora import texts as corpus
from tests.support import factories
from tests.support.servers.llm import Body, make_model, serving
from tests.support.studies import writing

pytestmark = pytest.mark.django_db


def finished(task: Task, method: str, **params: Any) -> Run:
    """A run to its end."""
    lane = f"{params.get('model', '')}/{params.get('strategy', '')}"
    run = runs.start(by=task.project.owner, task=task, method=method, params=params, lane=lane)
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def asked(run: Run) -> dict[str, Any]:
    """What the run says of its calls."""
    found: dict[str, Any] = run.figures.get(name="asked").data
    return found


def prompt_of(body: Body) -> str:
    return "\n".join(message["content"] for message in body["messages"])


def test_a_model_answers_free_text_and_aqer_scores_it_beside_the_workers() -> None:
    task = corpus.make_answered()
    with serving(lambda body: "The answer is: It was grey granite, brought by sea.") as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "answers", model=model.pk, strategy="sentence@1")
        sent = len(stub.asked)
        again = finished(task, "answers", model=model.pk, strategy="sentence@1")
        assert len(stub.asked) == sent == task.items.count()
    assert (run.state, again.state, run.error) == (RunState.DONE, RunState.DONE, "")
    system = System.objects.get(name="stub-1", prompt_strategy="sentence@1, t=0")
    answers = Answer.objects.filter(system=system)
    assert answers.count() == sent
    texts = TextValue.objects.filter(answer__in=answers, field="answer")
    assert set(texts.values_list("text", flat=True)) == {"It was grey granite, brought by sea."}
    assert asked(run)["counts"]["answered"] == sent
    assert asked(again)["counts"] | {"there": sent} == asked(again)["counts"]
    assert asked(again)["counts"]["asked"] == 0
    first = LLMCall.objects.filter(uses__run=run).earliest("pk")
    LLMCall.objects.filter(pk=first.pk).update(state="queued", cost=None, finished_at=None)
    calls = calls_of(run)  # what is in flight has no cost yet, but a price
    assert calls and not [one for one in calls.figures if "price" in str(one.get("note"))]
    assert AuditEntry.objects.filter(action="systems.answer", detail__new=sent).count() == 1
    scored = finished(task, "aqer", encoder="char-svd", resamples=200)
    assert scored.state == RunState.DONE
    score = SystemScore.objects.get(run=scored, system=system)
    assert score.n == sent and score.estimate is not None


def test_i_do_not_know_is_declined_and_what_breaks_the_limits_is_kept_and_flagged() -> None:
    task = factories.make_task(n=3, settings={"max_words": 5})

    def answer(body: Body) -> str:
        if "question 1 " in prompt_of(body):
            return "The answer is: I don’t know."
        if "question 2 " in prompt_of(body):
            return "Answer: one two three four five six seven"
        return "   "

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "answers", model=model.pk, strategy="concise@1")
    told = asked(run)
    assert told["counts"] == {
        "asked": 3,
        "cached": 0,
        "answered": 2,
        "declined": 1,
        "failed": 1,
        "flagged": 1,
        "there": 0,
    }
    assert told["flagged"][0]["flag"] == "7 words; write at most 5."
    assert "empty" in told["failed"][0]["reason"]
    assert LLMCall.objects.filter(pk=told["failed"][0]["call"], state="failed").exists()
    assert ChoiceValue.objects.filter(field="declined").count() == 1
    assert Answer.objects.filter(item__key="q-003").count() == 0


def test_each_prompt_strategy_and_temperature_is_a_system_of_its_own_with_its_replicates() -> None:
    task = factories.make_task(n=2)
    with serving(lambda body: "First this, then that.\nThe answer is: storks") as stub:
        model = make_model(task.project, stub.base_url)
        finished(task, "answers", model=model.pk, strategy="steps@1", replicates=3, temperature=0.7)
        finished(task, "answers", model=model.pk, strategy="concise@1", passage=False)
    counts = {
        system.prompt_strategy: system.answers.count()
        for system in System.objects.filter(project=task.project)
    }
    assert counts == {"steps@1, t=0.7": 6, "concise@1 without the passage, t=0": 2}
    prompts = [prompt_of(body) for body in stub.asked]
    assert [factories.PASSAGE in prompt for prompt in prompts] == [True] * 6 + [False] * 2
    assert {body["temperature"] for body in stub.asked} == {0, 0.7}


def test_a_model_writes_with_sources_and_its_response_comes_to_judgment_by_one_button() -> None:
    project = factories.make_project()
    task = writing.make_writing(project)
    held = factories.claim(task, factories.make_worker(project))
    writing.submit(held)
    text = "Storks come back since a nest lasts [1], as they know the place [2][9]."
    with serving(lambda body: text) as stub:
        model = make_model(project, stub.base_url)
        run = finished(task, "answers", model=model.pk)
        prompt = prompt_of(stub.asked[0])
    assert run.state == RunState.DONE, run.error
    for needed in (
        writing.QUERY,
        "[1] A nest that lasts",
        "[4] What they eat",
        "5 to 60 words",
        "[1] to [4]",
    ):
        assert needed in prompt
    answers = Answer.objects.filter(system__name="stub-1")
    assert answers.count() == 3
    cited = SpanValue.objects.filter(answer=answers[0], field="citation")
    assert [span.target for span in cited.order_by("index")] == ["1", "2"]
    assert "[9] is cited" in asked(run)["flagged"][0]["flag"]
    judged = judge_responses(by=project.owner, task=task)
    texts = Candidate.objects.filter(project=project, source_answer__in=answers)
    assert texts.count() == 3 and judged.new == 4
    assert set(texts.values_list("system__prompt_strategy", flat=True)) == {"writing@1, t=0"}


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("The answer is: Grey granite.", "Grey granite."),
        ("**Answer:** “Grey granite”", "Grey granite"),
        ("<think>Is it brick? Answer: no.</think>\nIt is granite.", "It is granite."),
        ("Sure!\nThe final answer is: {{granite}}", "granite"),
        ("It is granite.", "It is granite."),
    ],
)
def test_the_wrapping_of_an_answer_is_taken_off(said: str, read: str) -> None:
    assert ANSWER.parse(said) == {"text": read}


def test_steps_without_an_answer_are_no_answer() -> None:
    with pytest.raises(WrongForm):
        REASONED.parse("First this. Then that.")
    assert REASONED.parse("Step 1.\nThe answer is: that") == {"text": "that"}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("I don't know.", True),
        ("I do not know the answer", True),
        ("I don't know, but probably granite.", False),
        ("Granite", False),
    ],
)
def test_only_a_plain_i_do_not_know_declines(text: str, unknown: bool) -> None:
    assert is_unknown(text) is unknown


def test_options_are_refused_with_the_field_that_is_wrong() -> None:
    task = factories.make_task(n=1)
    for params, field in (
        ({"temperature": 3}, "temperature"),
        ({"strategy": "sentence@99"}, "strategy"),
        ({"replicates": 0}, "replicates"),
        ({"passage": "yes"}, "passage"),
    ):
        with pytest.raises(Invalid) as refused:
            RUN_TYPES["answers"].clean_params(params)
        assert field in refused.value.fields
    with pytest.raises(Invalid) as refused:
        answering.plan(task, {**answering.DEFAULTS, "model": 10**6})
    assert "model" in refused.value.fields
