"""Models label items: every field in one answer, checked as the answers of people are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.authoring.actions import tasks
from annotation.models import Answer, ChoiceValue, Item, System, Task, TextValue
from crowdqc.errors import Conflict
from evaluation.llm.schemas import WrongForm
from evaluation.llm.selectors import calls
from evaluation.llm_runs.answering import run as answering
from evaluation.llm_runs.answering.labels import labels_schema
from evaluation.llm_runs.start import prepare
from evaluation.models import LanguageModel, LLMAttempt, LLMCall, RunState
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.llm_runs.test_answering import asked, finished, prompt_of
from tests.support import factories
from tests.support.servers.llm import Body, make_model, serving

pytestmark = pytest.mark.django_db

YES_NO = [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]
FIELDS: list[dict[str, Any]] = [
    {"name": "useful", "question": "Is it useful?", "kind": "choose_one", "options": YES_NO},
    {
        "name": "why",
        "question": "Why not?",
        "kind": "choose_several",
        "options": [{"value": "long", "label": "Too long"}, {"value": "wrong", "label": "Wrong"}],
        "ask_if": [{"field": "useful", "is": "is", "values": ["no"]}],
    },
    {"name": "schema", "question": "How clear?", "kind": "scale", "low": 1, "high": 5},
    {
        "name": "year",
        "question": "Which year?",
        "kind": "number",
        "required": False,
        "unsure": True,
    },
    {"name": "note", "question": "A word on it", "kind": "short_text", "max": 4},
    {
        "name": "marks",
        "question": "Mark names",
        "kind": "spans",
        "options": [{"value": "name", "label": "Name"}],
    },
]


def make_task(fields: list[dict[str, Any]] = FIELDS, n: int = 2) -> Task:
    """A published labels task of ``n`` reviews with these fields."""
    project = factories.make_project(also_manager=True)
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="labels", title="Reviews")
    own = {"instructions": "Judge the review alone.", "settings": {"fields": fields}}
    tasks.edit_draft(by=by, task=task, fields={"redundancy": 2, "pay": "1.00", **own})
    group = tasks.save_group(by=by, task=task, key="all", title="Reviews", passage="On a kettle.")
    for at in range(n):
        Item.objects.create(
            task=task,
            group=group,
            key=f"r-{at}",
            position=at,
            question=f"Review {at} of the kettle.",
            since=1,
            redundancy=2,
        )
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def values_of(item: str) -> dict[str, tuple[str, int | None]]:
    """Field -> code and ordinal of what the system chose."""
    rows = ChoiceValue.objects.filter(answer__item__key=item, answer__system__isnull=False)
    return {
        field: (code, ordinal)
        for field, code, ordinal in rows.values_list("field", "code", "ordinal")
    }


def test_a_model_answers_every_field_in_the_shapes_that_people_give() -> None:
    task = make_task()
    said = {
        "Review 0": {
            "useful": "no",
            "why": ["wrong"],
            "schema": "4",
            "year": 1999,
            "note": "Too short.",
        },
        # What is not asked is left out, whatever the model says of it.
        "Review 1": {
            "useful": "yes",
            "why": ["long"],
            "schema": 2,
            "year": "unsure",
            "note": "Good.",
        },
    }

    def answer(body: Body) -> str:
        return next(json.dumps(row) for text, row in said.items() if text in prompt_of(body))

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        ready = prepare(task=task, method="answers", raw={"model": model.pk})
        run = finished(task, "answers", model=model.pk)
        again = finished(task, "answers", model=model.pk)
        prompt = prompt_of(stub.asked[0])
        assert len(stub.asked) == 2 == ready.preview.calls
    assert (run.state, again.state) == (RunState.DONE, RunState.DONE), run.error
    assert asked(again)["counts"]["asked"] == 0
    assert System.objects.get().prompt_strategy == "labels@1, t=0"
    assert values_of("r-0") == {
        "useful": ("no", 1),
        "why.long": ("no", 0),
        "why.wrong": ("yes", 1),
        "schema": ("4", 4),
        "year": ("1999", 1999),
    }
    assert values_of("r-1") == {
        "useful": ("yes", 0),
        "schema": ("2", 2),
        "year": ("unsure", None),
    }
    assert set(TextValue.objects.values_list("field", "text")) == {
        ("note", "Too short."),
        ("note", "Good."),
    }
    for needed in (
        "Judge the review alone.",
        "On a kettle.",
        "useful: Is it useful?",
        "- long: Too long",
        "Asked only if useful is no.",
        "A point from 1 to 5",
        "unsure: you cannot tell",
        "at most 4 words",
        "May be null.",
    ):
        assert needed in prompt
    assert "marks" not in prompt


def test_what_is_no_option_is_refused_and_asked_again_and_then_given_up() -> None:
    task = make_task(FIELDS[:1])

    def answer(body: Body) -> str:
        if "Review 1" in prompt_of(body):
            return '{"useful": "maybe"}'
        again = sum("Review 0" in prompt_of(one) for one in stub.asked) > 1
        return '{"useful": "yes"}' if again else '{"useful": "Yes, very"}'

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "answers", model=model.pk)
        tried = sum("Review 1" in prompt_of(one) for one in stub.asked)
    told = asked(run)
    assert (told["counts"]["answered"], told["counts"]["failed"]) == (1, 1)
    assert tried == 3
    assert "has no option 'maybe'" in told["failed"][0]["reason"]
    assert Answer.objects.get(system__isnull=False).item.key == "r-0"


def test_a_run_whose_calls_all_fail_has_failed_and_its_model_was_probed_first() -> None:
    """Three attempts a call, whose tokens are all counted, as their cost is."""
    task = make_task(FIELDS[:1])
    with serving(lambda body: "I would rather not say.") as stub:
        model = make_model(task.project, stub.base_url)
        LanguageModel.objects.filter(pk=model.pk).update(can={}, probed_at=None)
        run = finished(task, "answers", model=model.pk)
    assert run.state == RunState.FAILED
    model.refresh_from_db()
    assert model.probed_at is not None and model.can
    assert "no JSON" in run.error and not Answer.objects.filter(system__isnull=False).exists()
    attempts = LLMAttempt.objects.all()
    assert attempts.count() == 3 * LLMCall.objects.count()
    [total] = calls.totals(task.project, calls.Filters(), "EUR")
    assert total["tokens_in"] == sum(attempts.values_list("tokens_in", flat=True))
    assert total["tokens_out"] == sum(attempts.values_list("tokens_out", flat=True))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("yes", "no JSON"),
        ('{"mood": 1}', "reply lacks 'useful'"),
        ('{"useful": ["yes"]}', "one value is wanted"),
        ('{"useful": null}', "reply lacks 'useful'"),
        ('{"useful": "no", "why": ["cheap"]}', "has no option 'cheap'"),
        ('{"useful": "no", "why": "long"}', "a list of values"),
        ('{"useful": "no", "why": ["long"], "schema": 9}', "has no option '9'"),
        ('{"useful": "yes", "schema": 3, "year": "about 1990"}', "takes a number"),
        ('{"useful": "yes", "schema": 3, "note": "one two three four five"}', "at most 4 words"),
        ('{"useful": "yes", "schema": 3, "note": "x", "year": true}', "one value is wanted"),
    ],
)
def test_an_answer_that_no_worker_could_submit_is_of_the_wrong_form(said: str, why: str) -> None:
    fields = [one for one in make_task(n=1).current.settings["fields"] if one["kind"] != "spans"]  # type: ignore[union-attr]
    with pytest.raises(WrongForm, match=why):
        labels_schema(json.dumps(fields)).parse(said)


def test_what_was_not_asked_for_is_ignored() -> None:
    fields = [one for one in make_task(n=1).current.settings["fields"] if one["kind"] != "spans"]  # type: ignore[union-attr]
    form = labels_schema(json.dumps(fields))
    said = {"useful": "no", "why": ["long"], "schema": 3, "note": "brief"}
    assert form.parse(json.dumps(said | {"mood": 1})) == form.parse(json.dumps(said))


def test_the_form_offers_the_values_of_the_fields_and_null_where_a_field_may_be_open() -> None:
    fields = [one for one in make_task(n=1).current.settings["fields"] if one["kind"] != "spans"]  # type: ignore[union-attr]
    form = labels_schema(json.dumps(fields)).json_schema()
    assert list(form["properties"]) == form["required"] == [one["name"] for one in fields]
    assert form["properties"]["useful"]["enum"] == ["yes", "no"]
    assert form["properties"]["schema"]["enum"] == ["1", "2", "3", "4", "5"]
    several = form["properties"]["why"]["anyOf"]
    assert several[0]["items"]["enum"] == ["long", "wrong"] and several[1] == {"type": "null"}
    assert form["additionalProperties"] is False


def test_a_task_that_only_has_text_marked_asks_no_model() -> None:
    task = make_task(FIELDS[-1:])
    model = make_model(task.project, "http://127.0.0.1:9/v1")
    with pytest.raises(Conflict, match="not asked to mark text"):
        answering.plan(task, {**answering.DEFAULTS, "model": model.pk})


def test_items_with_a_known_answer_are_asked_too() -> None:
    task = corpus.make_task(items=4, known=2)
    with serving(lambda body: '{"verdict": "supported", "tone": null}') as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "answers", model=model.pk)
    assert asked(run)["counts"]["answered"] == 4
