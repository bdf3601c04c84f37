"""Models are shown examples that people judged: which, how, and never the item itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, ChoiceValue, Item, System, Task
from annotation.task_types.pairwise.sides import STORED
from crowdqc.errors import Invalid
from evaluation.embeddings.embeddings import get_encoder
from evaluation.llm_runs.answering import run as answering
from evaluation.methods.core.base import BadParameter
from evaluation.methods.text.nearest import MEANING, NEAREST, RANDOM, draw_examples
from evaluation.models import CallUse, Embedding, RunState
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as text_corpus
from tests.evaluation.llm_runs.test_answering import finished
from tests.support.servers.llm import Body, make_model, serving

KNOWN = ["A cat sleeps.", "a  CAT sleeps", "The cat sleeps all day.", "Dogs bark.", "Fish swim."]


def test_the_nearest_text_comes_first_and_never_the_same_words() -> None:
    found = draw_examples(
        ["The cat sleeps!", "A cat sleeps"], KNOWN, most=2, by=NEAREST, seeds=[1, 2]
    )
    assert found[0] == [2, 0]  # 1 has the same words as 0
    assert found[1] == [2, 3]
    named = draw_examples(
        ["Other words"], KNOWN, most=9, by=NEAREST, seeds=[1], same=list("vwxyz"), own=["y"]
    )
    assert named == [[0, 2, 4]]


def test_the_nearest_in_meaning_is_that_of_the_largest_cosine_and_never_the_same_words() -> None:
    known = np.array([[1, 0], [1, 0], [0.6, 0.8], [0, 1], [-1, 0]])
    found = draw_examples(
        ["A kitten naps.", "A cat sleeps"],
        KNOWN,
        most=3,
        by=MEANING,
        seeds=[1, 2],
        vectors=(np.array([[0.8, 0.6], [1.0, 0.0]]), known),
    )
    # Cosines .8, .8, .96, .6 and -.8 of the first; 0 and 1 have the same words.
    assert found == [[2, 0, 3], [2, 3, 4]]
    with pytest.raises(BadParameter):
        draw_examples(["A kitten naps."], KNOWN, most=1, by=MEANING, seeds=[1])


@pytest.mark.django_db
def test_examples_by_meaning_are_those_of_minilm_and_the_preview_encodes_nothing() -> None:
    task = label_corpus.make_labelled(items=8, known=0, workers=6, guessing=0)
    with serving(lambda body: turns(body)[-1][1]) as stub:
        model = make_model(task.project, stub.base_url)
        options = {"model": model.pk, "examples": 1, "examples_by": MEANING}
        plan = answering.plan(task, {**answering.OPTIONS.defaults, **options})
        assert Embedding.objects.count() == 0 and len(plan.asks) == 8
        run = finished(task, "answers", **options)
        shown = {body["messages"][-1]["content"]: turns(body)[0][0] for body in stub.asked}
        finished(task, "answers", model=model.pk, examples=8, examples_by=RANDOM)
        every = {prompt for body in stub.asked for prompt, _ in turns(body)}
    assert (run.state, run.error) == (RunState.DONE, "")
    strategies = System.objects.values_list("prompt_strategy", flat=True)
    assert "labels@1, t=0, 1 nearest (MiniLM) examples" in strategies
    items = list(task.items.select_related("group"))
    words = [f"{item.group.passage}\n{item.question or item.key}" for item in items]
    alike = get_encoder("minilm").encode(words)
    cosines = alike @ alike.T
    np.fill_diagonal(cosines, -1)
    # Of items on which most people agree.
    cosines[:, [not any(item.question in prompt for prompt in every) for item in items]] = -1
    asked = {item.pk: next(p for p in shown if item.question in p) for item in items}
    for at, item in enumerate(items):
        assert items[int(cosines[at].argmax())].question in shown[asked[item.pk]]


def test_random_examples_follow_from_the_seed_and_are_spread_evenly() -> None:
    def drawn(seeds: range) -> list[list[int]]:
        texts = [f"text {k}" for k in seeds]
        return draw_examples(texts, KNOWN[1:], most=2, by=RANDOM, seeds=list(seeds))

    assert drawn(range(5)) == drawn(range(5)) and drawn(range(5)) != drawn(range(5, 10))
    counts = Counter(k for own in drawn(range(1000)) for k in own)
    assert min(counts.values()) > 420  # of 500 each
    assert all(len(set(own)) == 2 for own in drawn(range(50)))


def turns(body: Body) -> list[tuple[str, str]]:
    """The examples of a prompt: what was asked, and what was answered."""
    messages = body["messages"]
    start = next(k for k, one in enumerate(messages) if one["role"] != "system")
    roles = [one["role"] for one in messages[start:]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    said = [one["content"] for one in messages[start:-1]]
    return list(zip(said[::2], said[1::2], strict=True))


def texts_in(prompt: str) -> tuple[str, str]:
    [left] = re.findall(r"Text A begins here\.\s+(.*?)\s+Text A ends", prompt, re.DOTALL)
    [right] = re.findall(r"Text B begins here\.\s+(.*?)\s+Text B ends", prompt, re.DOTALL)
    return left, right


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["combined", "individual"])
def test_a_judge_sees_pairs_with_what_most_people_said_and_never_its_own(mode: str) -> None:
    task = pair_corpus.make_judged(task=pair_corpus.make_task(topics=3, sources=3))
    reply = '{"clarity": "A", "overall": "A"}' if mode == "combined" else '{"winner": "A"}'
    with serving(lambda body: reply) as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "judge_pairs", model=model.pk, mode=mode, examples=3)
        bodies = list(stub.asked)
    assert (run.state, run.error) == (RunState.DONE, "")
    assert System.objects.get(name="stub-1").prompt_strategy == (
        f"judge {mode}@1, t=0, 3 nearest examples"
    )
    votes = _votes(task)
    for body in bodies:
        asked = set(texts_in(body["messages"][-1]["content"]))
        shown = turns(body)
        assert len(shown) == 3
        for prompt, answer in shown:
            left, right = texts_in(prompt)
            assert {left, right} != asked
            said = json.loads(answer)
            if mode == "individual":
                aspect = prompt.lower().split("aspect to judge")[1]
                said = {"overall" if "overall" in aspect else "clarity": said["winner"]}
            for name, letter in said.items():
                winner = {"A": left, "B": right, "N": None}[letter]
                counts = votes[frozenset((left, right)), name]
                assert 2 * counts[winner] > counts.total()
    # Every pair whose texts a call was sent is named by it, for erasure.
    subjects = CallUse.objects.filter(run=run).values_list("subject", flat=True)
    assert all(len(re.findall(r"pair:\d+", one)) == 4 for one in subjects)


def _votes(task: Task) -> dict[tuple[frozenset[str], str], Counter[str | None]]:
    """By pair of texts and dimension: how often people chose each text, or none."""
    rows = ChoiceValue.objects.filter(
        answer__item__task=task, answer__counts=True, answer__worker__isnull=False
    ).select_related("answer__item__first", "answer__item__second")
    found: dict[tuple[frozenset[str], str], Counter[str | None]] = {}
    for row in rows:
        item = row.answer.item
        assert item.first is not None and item.second is not None
        first, second = item.first.text.strip(), item.second.text.strip()
        texts = (first, None, second)
        key = frozenset((first, second)), row.field
        found.setdefault(key, Counter())[texts[STORED.index(row.code)]] += 1
    return found


@pytest.mark.django_db
def test_unlabelled_items_are_labelled_with_labelled_ones_in_the_prompt() -> None:
    task = label_corpus.make_labelled(items=12, known=2, workers=6, guessing=0)
    new = list(Item.objects.filter(task=task, expected=None).order_by("position")[8:])
    Answer.objects.filter(item__in=new).delete()

    def answer(body: Body) -> str:
        return turns(body)[-1][1]  # as the most similar example

    with serving(answer) as stub:
        model = make_model(task.project, stub.base_url)
        run = finished(task, "answers", model=model.pk, examples=2, examples_by="random")
        bodies = list(stub.asked)
    assert (run.state, run.error) == (RunState.DONE, "")
    assert System.objects.get(name="stub-1").prompt_strategy == "labels@1, t=0, 2 random examples 0"
    tests = Item.objects.filter(task=task, expected__isnull=False)
    known = set(tests.values_list("question", flat=True))
    unseen = {one.question for one in new}
    assert len(bodies) == task.items.count()
    for body in bodies:
        for prompt, _ in turns(body):
            assert not any(text in prompt for text in known | unseen)
    assert Answer.objects.filter(item__in=new, system__isnull=False).count() == len(new)


@pytest.mark.django_db
def test_a_judge_with_examples_is_held_against_people() -> None:
    task = label_corpus.make_labelled(items=60, known=0, workers=8, guessing=0)
    with serving(lambda body: turns(body)[-1][1]) as stub:
        model = make_model(task.project, stub.base_url)
        finished(task, "answers", model=model.pk, examples=1)
    run = finished(task, "replacement", field=label_corpus.FIELD, draws=100)
    assert (run.state, run.error) == (RunState.DONE, "")
    system = System.objects.get(prompt_strategy__endswith="1 nearest examples")
    frame = run.figures.get(name="frame").data
    assert [pk for pk, _name in frame["models"]] == [system.pk]


@pytest.mark.django_db
def test_the_form_offers_examples_where_people_choose_among_values() -> None:
    shown = {}
    for task, method in (
        (label_corpus.make_labelled(items=4, known=0, workers=3), "answers"),
        (pair_corpus.make_judged(topics=2, sources=2), "judge_pairs"),
        (text_corpus.make_answered(), "answers"),
    ):
        make_model(task.project, "http://127.0.0.1:9")
        client = Client()
        client.force_login(task.project.owner)
        page = client.get(reverse("task_ask", args=[task.project_id, task.pk, method]))
        shown[task.type] = 'name="examples"' in page.content.decode()
    assert shown == {"labels": True, "pairwise": True, "free_text": False}


@pytest.mark.django_db
def test_free_text_has_no_examples() -> None:
    task = text_corpus.make_answered()
    with serving(lambda body: "x") as stub:
        model = make_model(task.project, stub.base_url)
        params: dict[str, Any] = {**answering.DEFAULTS, "model": model.pk, "examples": 2}
        with pytest.raises(Invalid) as refused:
            answering.plan(task, params)
    assert "examples" in refused.value.fields
