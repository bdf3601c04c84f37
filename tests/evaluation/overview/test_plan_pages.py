"""Plans of free-text and pairwise tasks: how many answers or judges do, before anybody is paid."""

from __future__ import annotations

import re

import pytest

from evaluation.charts.labels import Reached
from evaluation.free_text import planning as texts
from evaluation.pairwise import planning as pairs
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import page, plan_page, text_of
from tests.support import factories
from tests.support.studies import judging

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "STUDIES", 4)
    monkeypatch.setattr(pairs, "BUDGET", 1000)


def test_a_free_text_task_says_how_many_answers_per_question_do() -> None:
    task = factories.make_task(n=8)
    text = text_of(plan_page(task))
    assert "per question reach a correlation of .90 on average, in simulated crowds." in text
    assert "Answers per question" in text and "planning 1.1, f2: 8 answers a worker" in text
    asked = text_of(plan_page(task, query="?target=0.5&per_worker=4"))
    assert "wanted, .50" in asked and "4 answers per worker" in asked
    assert "less than or equal to 0.999" in text_of(plan_page(task, query="?target=3&per_worker=4"))


def test_a_pairwise_task_says_how_many_judges_tell_two_sources_apart() -> None:
    task = pair_corpus.make_task(topics=4, sources=3, redundancy=3)
    text = text_of(plan_page(task))
    assert "Not reached with 4 pairs: 9 judges per pair tell two sources apart" in text
    assert re.search(r"You need more pairs, about [\d,]+ with 9 judges each|Even 1,000 pairs", text)
    assert "4 pairs of the two, net preference .10" in text
    asked = text_of(plan_page(task, query="?target=60&gap=0.4&pairs=200"))
    assert "per pair tell two sources apart with a chance of 60%." in asked
    refused = text_of(plan_page(task, query="?target=60&gap=0.9&pairs=200"))
    assert "less than or equal to 0.5" in refused


def test_the_number_of_judges_holds_beyond_the_error_of_the_simulation() -> None:
    reached = [Reached(3, 0.82, 0.78, 0.86), Reached(4, 0.85, 0.81, 0.88)]
    assert pairs.verdict_of(reached, 0.8, 0.1, 50)[0].startswith("4 judges per pair tell")
    assert "Not reached" in pairs.verdict_of(reached, 0.9, 0.1, 50)[0]


def test_a_task_of_ratings_has_no_plan() -> None:
    task = judging.make_ratings(factories.make_project(), 1)
    assert "There is no plan" in page(task, "task_plan", status=404)
