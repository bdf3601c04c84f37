"""Calls to models: asked once, kept, and taken from there by every later run."""

from __future__ import annotations

import pytest

from evaluation.llm.ask import Ask, ask_all
from evaluation.llm.prompting import load
from evaluation.llm.schemas import SCORE
from evaluation.models import LLMCall, Run
from tests.factories import make_project, make_task
from tests.llm import make_model, serving

pytestmark = [pytest.mark.db, pytest.mark.django_db]


def _ask(number: int) -> Ask:
    prompt = load("judge_point").render(question=f"Question {number}?", answer="Because.")
    return Ask(f"item:{number}", prompt, SCORE, {"temperature": 0})


def test_what_was_asked_once_is_not_asked_again() -> None:
    project = make_project()
    task = make_task(project)
    run = Run.objects.create(project=project, task=task, number=1, method="m", version="1")
    again = Run.objects.create(project=project, task=task, number=2, method="n", version="1")
    with serving(lambda body: '{"score": 70}') as stub:
        model = make_model(project, stub.base_url)
        first = ask_all(run, model, [_ask(1), _ask(2)])
        second = ask_all(again, model, [_ask(1), _ask(2)])
    assert [reply.value for reply in first] == [{"score": 70.0}] * 2
    assert [reply.cached for reply in second] == [True, True]
    assert len(stub.asked) == 2
    assert LLMCall.objects.count() == 2
    assert again.uses.count() == 2
