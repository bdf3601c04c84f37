"""Models are asked about the same turns as people."""

from __future__ import annotations

import json

import pytest

from evaluation.llm.schemas import WrongForm
from evaluation.llm_runs.answering.labels import LabelQuestions
from tests.annotation.chats.made import make_chat_task

pytestmark = pytest.mark.django_db
ANSWER = {
    "helpful@3": "5",
    "problem@3": "none",
    "helpful@5": "1",
    "problem@5": "made_up",
    "solved": "no",
}


def test_model_answers_each_turn_in_one_reply() -> None:
    task = make_chat_task(n=1)
    questions = LabelQuestions()
    (item,) = questions.items(task)
    schema = questions.schema(task, "labels", item)
    read = questions.read(task, item, schema.parse(json.dumps(ANSWER)))
    assert sorted((field, code) for field, code, _ in read.values.choices) == sorted(ANSWER.items())
    with pytest.raises(WrongForm):
        schema.parse(json.dumps({**ANSWER, "helpful@3": None}))
