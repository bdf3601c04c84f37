"""The prompts of answers and judges carry everything that they are to be answered from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotation.authoring.actions import tasks
from annotation.models import Item, Task
from annotation.task_types.free_text.type import DONT_KNOW
from evaluation.llm.schemas import WrongForm
from evaluation.llm_runs.answering import run as answering
from evaluation.llm_runs.judging import pairs as judging_runs
from evaluation.llm_runs.judging import points as judging_runs_points
from evaluation.llm_runs.judging.prompts import (
    COMBINED,
    INDIVIDUAL,
    combined_schema,
    name_of,
    single_schema,
)
from evaluation.llm_runs.parts import refs
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories
from tests.support.servers.llm import make_model
from tests.support.studies import writing

pytestmark = [pytest.mark.django_db]
Needed = tuple[Task, Any, dict[str, Any], list[str]]
QUESTION = "What do storks eat in spring?"


def _free_text(strategy: str) -> Needed:
    task = factories.make_task(
        n=1, questions=[QUESTION], settings={"min_words": 3, "max_words": 17}
    )
    needed = [QUESTION, "Text 1", "frogs, mice and beetles", "3 to 17 words", DONT_KNOW]
    return task, answering, {"strategy": strategy}, needed


def _written() -> Needed:
    task = writing.make_writing(factories.make_project(), settings={"min_citations": 2})
    style = task.current.settings["styles"][0]  # type: ignore[union-attr]
    passages = [one["title"] for one in writing.PASSAGES] + [
        one["text"] for one in writing.PASSAGES
    ]
    needed = [
        writing.QUERY,
        style["label"],
        style["instructions"],
        "[1]",
        "[4]",
        *passages,
        "about 30 words, 5 to 60 words",
        "Cite 2 different passages",
    ]
    return task, answering, {}, needed


def _pair(mode: str) -> Needed:
    task = pair_corpus.make_task(topics=1, sources=2)
    tasks.edit_draft(
        by=task.project.owner, task=task, fields={"instructions": "Read both texts to their end."}
    )
    tasks.publish(by=task.project.owner, task=task)
    task.refresh_from_db()
    needed = [
        "Read both texts to their end.",
        "How is tea 0 made?",
        "[1] A source on tea-0.",
        "says source 0",
        "says source 1",
        "Clarity",
        "Which one is clearer?",
    ]
    if mode == COMBINED:
        needed += ["- clarity (Clarity; A, N or B)", "- overall (Overall; A or B)"]
    return task, judging_runs, {"mode": mode}, needed


def _answer_points() -> Needed:
    task = factories.make_task(n=1, questions=[QUESTION])
    factories.make_answers(task, {"one": {"q-001": "They eat frogs."}})
    return (
        task,
        judging_runs_points,
        {"passage": True},
        [QUESTION, "They eat frogs.", "Storks build their nests"],
    )


def _text_points() -> Needed:
    task = pair_corpus.make_task(topics=1, sources=2)
    return (
        task,
        judging_runs_points,
        {},
        [
            "How is tea 0 made?",
            "[1] A source on tea-0.",
            "says source 0",
            "Clarity",
            "Which one is clearer?",
        ],
    )


CASES: dict[str, Callable[[], Needed]] = {
    **{
        ref: lambda ref=ref: _free_text(ref)
        for ref in refs("answer_")
        if not ref.startswith(answering.FAMILIES)
    },
    "writing": _written,
    COMBINED: lambda: _pair(COMBINED),
    INDIVIDUAL: lambda: _pair(INDIVIDUAL),
    "points of answers": _answer_points,
    "points of texts": _text_points,
}


@pytest.mark.parametrize("case", CASES)
def test_every_prompt_carries_all_its_inputs(case: str) -> None:
    task, module, params, needed = CASES[case]()
    model = make_model(task.project, "http://127.0.0.1:9/v1")
    plan = module.plan(task, {**module.DEFAULTS, **params, "model": model.pk})
    first = "\n".join(message["content"] for message in plan.asks[0].prompt.messages)
    assert [one for one in needed if one not in first] == []
    assert "{{" not in first
    assert model.name in plan.sentence


def test_both_orders_show_the_same_texts_the_other_way_round() -> None:
    task = pair_corpus.make_task(topics=1, sources=2)
    model = make_model(task.project, "http://127.0.0.1:9/v1")
    plan = judging_runs.plan(task, {**judging_runs.DEFAULTS, "model": model.pk})
    one, two = (ask.prompt.messages[-1]["content"] for ask in plan.asks)
    item = Item.objects.get(task=task)
    assert item.first is not None and item.second is not None
    assert one.index(item.first.text) < one.index(item.second.text)
    assert two.index(item.first.text) > two.index(item.second.text)
    assert one.replace(item.first.text, "X").replace(item.second.text, "X") == two.replace(
        item.first.text, "X"
    ).replace(item.second.text, "X")


def test_the_letters_of_a_pair_follow_its_dimensions() -> None:
    rows = [
        {"name": "clear", "label": "Clarity", "neutral": True},
        {"name": "overall", "label": "Overall", "neutral": False},
    ]
    both = combined_schema(rows)
    assert both.parse('{"clear": "N", "overall": "B"}') == {"clear": "N", "overall": "B"}
    assert both.parse("**Clarity**: A\n- overall = b") == {"clear": "A", "overall": "B"}
    for wrong in ('{"clear": "A", "overall": "N"}', "Clarity: A", '{"clear": "A"}'):
        with pytest.raises(WrongForm):
            both.parse(wrong)
    odd = [{"name": name, "label": name, "neutral": True} for name in ("copy", "model_fit", "a_")]
    read = combined_schema(odd).parse('{"copy_": "A", "model_fit": "B", "a_": "N"}')
    assert {name_of(field): letter for field, letter in read.items()} == {
        "copy": "A",
        "model_fit": "B",
        "a_": "N",
    }
    alone = single_schema(rows[1])
    assert alone.parse("A text like B is better, so: B") == {"winner": "B"}
    with pytest.raises(WrongForm):
        alone.parse("N")
