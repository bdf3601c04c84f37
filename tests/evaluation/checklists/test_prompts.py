"""What the prompts of think-aloud and checklists must carry: inputs and conditions of each stage.

The structure is that of InteractEval, appendices A to F; the words are our own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluation.checklists.making import asks, stages
from evaluation.llm.prompting import load
from evaluation.llm.schemas import WrongForm
from tests.evaluation.corpora import thinking as corpus

ABOUT = asks.Subject(corpus.DIMENSION, corpus.RUBRIC, corpus.SAMPLES)
DATA: dict[str, stages.Entries] = {
    "attributes": [
        {"id": f"a{n}", "text": text, "from": 1, "author": "owl-01", "kind": "person"}
        for n, text in enumerate(corpus.OWL, 4)
    ],
    "components": [{"id": "c7", "text": "Sequence"}, {"id": "c9", "text": "Reference"}],
    "clusters": [
        {"component": "c7", "attributes": ["a4", "a5"]},
        {"component": "c9", "attributes": ["a6"]},
    ],
    "key_questions": [
        {"id": "q1", "component": "c7", "text": "Does it follow?"},
        {"id": "q2", "component": "c9", "text": "Do names come first?"},
    ],
    "sub_questions": [
        {"id": "s1", "component": "c7", "text": "Does each sentence follow?", "attributes": ["a4"]},
        {"id": "s2", "component": "c9", "text": "Is each pronoun clear?", "attributes": ["a6"]},
    ],
}


def asked(kind: str) -> str:
    """Everything that is sent for a stage."""
    ask = (
        asks.thinking(ABOUT, "item:1", temperature=0)
        if kind == "think_aloud"
        else asks.stage_ask(kind, ABOUT, DATA, subject="checklist:1")
    )
    return "\n".join(message["content"] for message in ask.prompt.messages)


def says(text: str, *words: str) -> None:
    lowered = " ".join(text.lower().split())
    for word in words:
        assert word.lower() in lowered, word


def test_a_model_thinks_aloud_as_an_assessor_over_the_rubric_and_every_scored_sample() -> None:
    text = asked("think_aloud")
    says(text, "you are an assessor", "think aloud", corpus.DIMENSION, corpus.RUBRIC)
    for one in corpus.SAMPLES:
        says(text, one["source"], one["text"], f"score: {one['score']}")
    says(
        text,
        "stay general",
        "any text",
        "do not speak of what the samples are about",
        "list of considerations",
    )


def test_components_come_from_attributes_and_definition_five_at_most() -> None:
    text = asked("components")
    says(text, corpus.RUBRIC, corpus.DIMENSION, *corpus.OWL)
    says(text, "belongs to order", "vague", "overlap", "at most five")


def test_attributes_are_sorted_under_components_by_number_and_repeats_may_go() -> None:
    text = asked("clusters")
    says(
        text,
        "c1. Sequence",
        "c2. Reference",
        *(f"{n}. {one}" for n, one in enumerate(corpus.OWL, 1)),
    )
    says(text, "repeats", "confusing", "leave out")


def test_key_questions_see_components_with_their_own_attributes_and_the_conditions() -> None:
    text = asked("key_questions")
    says(text, corpus.RUBRIC, *corpus.OWL)
    assert text.index("c1. Sequence") < text.index(corpus.OWL[0]) < text.index("c2. Reference")
    says(
        text,
        "exactly one question",
        "yes or no",
        "as little as can be to taste",
        "yes is the good answer",
        "what its component is about",
    )


def test_sub_questions_see_key_questions_and_ask_for_what_is_good_and_there() -> None:
    text = asked("sub_questions")
    says(
        text,
        corpus.RUBRIC,
        "Key question: Does it follow?",
        "Key question: Do names come first?",
        *corpus.OWL,
    )
    says(
        text,
        "yes or no",
        "as little as can be to taste",
        "yes is the good answer",
        "no two sub-questions ask for the same thing",
        "whether something good is there",
        "being avoided",
        "numbers of the attributes",
    )


def test_validation_sees_every_sub_question_and_may_keep_reword_join_or_leave_out() -> None:
    text = asked("validation")
    says(text, corpus.RUBRIC, "1. Does each sentence follow?", "2. Is each pronoun clear?")
    says(
        text,
        "keep",
        "reword",
        "join",
        "leave out",
        "yes or no",
        "as little as can be",
        "yes is the good answer",
        "no two questions",
        "about order",
        "whether something good is there",
        "being avoided",
    )


@pytest.mark.parametrize("name", ["think_aloud", *stages.ORDER[1:]])
def test_every_prompt_is_a_version_and_fills_every_place(name: str) -> None:
    assert load(name).ref == f"{name}@1"
    assert "{{" not in asked(name)


@pytest.mark.parametrize("kind", stages.ORDER[1:])
def test_ids_of_this_database_change_no_question_so_that_answers_are_found_again(kind: str) -> None:
    renamed = json.loads(
        json.dumps(DATA)
        .replace('"a', '"a8')
        .replace('"c7', '"c4')
        .replace('"c9', '"c5')
        .replace('"a8ttributes"', '"attributes"')
        .replace('"a8uthor"', '"author"')
    )
    one = asks.stage_ask(kind, ABOUT, DATA, subject="checklist:1")
    other = asks.stage_ask(kind, ABOUT, renamed, subject="checklist:2")
    assert one.prompt == other.prompt
    assert one.schema.json_schema() == other.schema.json_schema()


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("components", {"components": []}),
        ("components", {"components": ["One", "one"]}),
        ("components", {"components": list("abcdef")}),
        ("clusters", {"c1": [1, 2], "c2": [4]}),
        ("clusters", {"c1": [1, 2]}),
        ("clusters", {"c1": [], "c3": [1]}),
        ("key_questions", {"c1": "Is it?", "c2": "  "}),
        (
            "sub_questions",
            {
                "c1": [{"question": "Is it?", "attributes": [3]}],
                "c2": [{"question": "Is it?", "attributes": [3]}],
            },
        ),
        (
            "sub_questions",
            {
                "c1": [{"question": "Is it?", "attributes": []}],
                "c2": [{"question": "Is it?", "attributes": [3]}],
            },
        ),
        ("validation", {"questions": [{"question": "Is it?", "made_of": [3]}]}),
        (
            "validation",
            {
                "questions": [
                    {"question": "Is it?", "made_of": [1]},
                    {"question": "is it?", "made_of": [2]},
                ]
            },
        ),
    ],
)
def test_an_answer_outside_the_form_is_refused(kind: str, answer: dict[str, Any]) -> None:
    ask = asks.stage_ask(kind, ABOUT, DATA, subject="checklist:1")
    with pytest.raises(WrongForm):
        ask.schema.parse(json.dumps(answer))


def test_a_plain_list_is_read_as_thoughts_each_once() -> None:
    told = asks.THOUGHTS.parse(
        "Here:\n1. Look at the order.\n2) Look at ties.\n- look at the ORDER."
    )
    assert told == {"considerations": ["Look at the order.", "Look at ties."]}
    with pytest.raises(WrongForm):
        asks.THOUGHTS.parse("I would look at the order of the sentences.")
