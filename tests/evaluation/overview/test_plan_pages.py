"""Plans of free-text and pairwise tasks: how many answers or judges do, before anybody is paid."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.urls import reverse

from annotation.authoring.selectors.cost import most_assignments
from crowdqc.numbers import score
from evaluation.charts.labels import Reached
from evaluation.free_text import planning as texts
from evaluation.methods.simulation.planning.planner import reach, study
from evaluation.models import RunFigure, SystemScore
from evaluation.pairwise import adapter
from evaluation.pairwise import planning as pairs
from evaluation.pairwise.measured import measured
from evaluation.pairwise.price import price_cells, price_sentence
from evaluation.pairwise.selectors import boards
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.runs.adapters import precision
from evaluation.runs.planning.price import Answers, Price
from evaluation.runs.selectors.lists import figures_of
from tests.evaluation.corpora import labels as label_corpus
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import page, plan_page, scored, text_of
from tests.support import factories
from tests.support.studies import judging
from tests.support.studies import labels as label_studies

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "STUDIES", 4)
    monkeypatch.setattr(pairs, "BUDGET", 1)
    monkeypatch.setattr(pairs, "FEWEST", 20)


def test_a_free_text_task_says_how_many_answers_per_question_do() -> None:
    task = factories.make_task(n=8)
    text = text_of(plan_page(task))
    assert "per question reach a correlation of .90 on average, in simulated crowds." in text
    assert "Answers per question" in text and "planning 1.3, f2: 8 answers a worker" in text
    asked = text_of(plan_page(task, query="?target=0.5&per_worker=4"))
    assert "wanted, .50" in asked and "4 answers per worker" in asked
    assert "less than or equal to 0.999" in text_of(plan_page(task, query="?target=3&per_worker=4"))


def test_a_pairwise_task_says_how_many_judges_tell_two_systems_apart() -> None:
    task = pair_corpus.make_task(topics=4, sources=3, redundancy=3)
    text = text_of(plan_page(task))
    assert "The chance falls at first" not in text
    # From two pairs intervals were too narrow, so that more judges had less of a chance.
    assert "The chance falls at first" not in text_of(
        plan_page(task, query="?target=80&gap=0.5&pairs=2")
    )
    assert "Not reached with 4 pairs: 9 judges per pair tell two systems apart" in text
    assert re.search(r"You need more pairs, about [\d,]+ with [39] judges each|Even 1,000", text)
    assert "4 pairs of the two, difference .10." in text
    asked = text_of(plan_page(task, query="?target=60&gap=0.4&pairs=200"))
    assert re.search(
        r"per pair tell two systems apart with a chance of \d+%\. Wanted is 60%", asked
    )
    refused = text_of(plan_page(task, query="?target=60&gap=0.9&pairs=200"))
    assert "less than or equal to 0.5" in refused


def test_more_pairs_are_asked_for_with_the_judges_that_the_task_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs, "FEWEST", 100)
    found = pairs._more_pairs(pairs.PairDesign(0.5, 10), 10, 0.8, 3)
    assert found is not None and found[1] == 3 and 11 <= found[0] <= 50
    assert pairs._more_pairs(pairs.PairDesign(0.02, 10), 900, 0.999, 1) is None


@pytest.mark.parametrize(
    ("gap", "per_worker", "votes", "target"),
    [(0.1, 8, 5, 0.8), (0.2, 1, 3, 0.8), (0.2, 30, 2, 0.9), (0.3, 40, 7, 0.8)],
)
def test_the_number_of_pairs_that_is_named_gives_the_wanted_chance(
    monkeypatch: pytest.MonkeyPatch, gap: float, per_worker: int, votes: int, target: float
) -> None:
    """400 pairs were named with judges of 8 judgments each, and tried with 8 judges for all."""
    monkeypatch.setattr(pairs, "BUDGET", 100_000)
    monkeypatch.setattr(pairs, "FEWEST", 250)
    design = pairs.PairDesign(gap, per_worker)
    named = design.fewest_pairs(votes, target, above=12)
    assert named is not None and design.chance(named, votes).low >= target
    workers = max(votes, math.ceil(named * votes / per_worker))
    other = study("pairwise", workers=workers, items=named, votes=votes, gap=gap)
    table = reach(other, rng=np.random.default_rng(1), replicates=400)
    chance = table["estimate"][table["quantity"].tolist().index("separated")]
    assert target - 0.03 < chance < target + 0.1


def test_plan_and_builder_name_the_same_pairs_and_the_plan_confirms_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plan: 400, builder: 580; with either typed in the table gave 53% and 71%."""
    monkeypatch.setattr(pairs, "FEWEST", 60)
    monkeypatch.setattr(pairs, "GAP", 0.3)
    monkeypatch.setattr(adapter, "GAP", 0.3)
    task = pair_corpus.make_task(topics=12, sources=2, redundancy=3)
    text = text_of(plan_page(task, query="?target=80&gap=0.3&pairs=12"))
    named = re.search(r"more pairs, about (\d+) with 3 judges each", text)
    assert named
    found = precision(task)
    assert f"about {named[1]} pairs can" in found.plain
    assert f"about {named[1]} pairs of them" in found.sentences[1]
    rows = plan_page(task, query=f"?target=80&gap=0.3&pairs={named[1]}")
    assert int(_column(rows, "95% CI of the simulation")[2].partition("–")[0]) >= 80


def test_few_votes_that_agree_by_chance_are_no_number_of_judges_that_does() -> None:
    falls = [
        Reached(1, 0.96, 0.94, 0.98),
        Reached(2, 0.48, 0.43, 0.53),
        Reached(3, 0.88, 0.85, 0.9),
    ]
    assert pairs.verdict_of(falls, 0.8, 0.5, 50)[0].startswith("3 judges per pair tell")


def test_the_number_of_judges_holds_beyond_the_error_of_the_simulation() -> None:
    reached = [Reached(3, 0.82, 0.78, 0.86), Reached(4, 0.85, 0.81, 0.88)]
    assert pairs.verdict_of(reached, 0.8, 0.1, 50)[0].startswith("4 judges per pair tell")
    assert "Not reached" in pairs.verdict_of(reached, 0.9, 0.1, 50)[0]


def test_a_task_of_ratings_has_no_plan() -> None:
    task = judging.make_ratings(factories.make_project(), 1)
    assert "There is no plan" in page(task, "task_plan", status=404)


@pytest.mark.parametrize("fields", [[label_studies.PLACES], [label_studies.DAMAGE]])
def test_a_plan_is_offered_only_where_one_can_be_simulated(fields: list[dict[str, Any]]) -> None:
    """A task of spans offered "Plan", which said that it cannot be simulated."""
    task = label_studies.make_labels(factories.make_project(), fields=fields)
    can_plan = fields == [label_studies.DAMAGE]
    page(task, "task_plan", status=200 if can_plan else 404)
    for name in ("task", "label_results"):
        assert ("/plan/" in page(task, name)) == can_plan


def test_the_builder_links_the_plan_where_pay_and_answers_per_item_are_set() -> None:
    draft = factories.make_task(n=8, publish=False)
    plan = reverse("task_plan", args=[draft.project_id, draft.pk])
    for part in ("order", "time"):
        assert f'href="{plan}"' in page(draft, "task_build", query=f"?part={part}")
    assert f'href="{plan}"' in page(draft, "task_publish")


def test_a_plan_starts_from_the_difference_that_the_board_measured_and_gives_its_cost() -> None:
    """A layperson found: the plan assumed .10 while the board showed another difference."""
    task = pair_corpus.make_judged()
    run = scored(task)
    found = measured(task, run)
    assert found is not None and found.low < found.gap < found.high
    text = text_of(plan_page(task))
    told = f"Run {run.number} measured a difference of {score(found.gap, 2)} on {found.dimension}"
    assert told in text and f"{found.first} and {found.second}" in text
    assert f"difference {score(pairs.start_of(found), 2)}." in text
    assert "A small difference: .10" in text and "Cost: these pairs alone" in text
    assert re.search(r"Cost: at most €[\d,.]+ \([\d,]+ assignments? ×|would not do", text)
    small = text_of(plan_page(task, query="?target=80&gap=0.1&pairs=20"))
    assert "20 pairs of the two, difference .10." in small


def test_a_difference_of_the_board_is_that_of_the_votes_of_its_two_leaders() -> None:
    """Log-merits 2 artanh(.5) apart, a fifth of the votes tied: .8 x .5 more for the first."""
    task = pair_corpus.make_judged()
    run = scored(task)
    dimension = boards.default_dimension(dimensions(task))
    first, second = (
        SystemScore.objects.filter(run=run, dimension=dimension, component=1)
        .order_by("-estimate")
        .values_list("system", flat=True)[:2]
    )
    merits = {first: math.atanh(0.5), second: -math.atanh(0.5)}
    for pk, merit in merits.items():
        SystemScore.objects.filter(run=run, dimension=dimension, system=pk).update(
            estimate=merit + 9, low=merit + 8.9, high=merit + 9.1
        )
    wins = figures_of(run, "win")["win"]
    for row in wins:
        if {row["system_a"], row["system_b"]} == {first, second}:
            row |= {"wins": 60, "ties": 20, "losses": 20}
    RunFigure.objects.filter(run=run, name="win").update(data=wins)
    found = measured(task, run)
    assert found is not None and found.gap == pytest.approx(0.4)
    assert found.low == pytest.approx(0.8 * math.tanh(math.atanh(0.5) - 0.1))
    assert found.high == pytest.approx(0.8 * math.tanh(math.atanh(0.5) + 0.1))


def test_a_price_counts_whole_assignments_with_the_fee_and_names_pay_and_fee() -> None:
    price = Price(Decimal("1.50"), 8, Decimal(25), "EUR", 4.0)
    assert price.cost(Answers(17, 17, 1)) == Decimal("5.62")  # of 5.625
    factors = "€5.62 (3 assignments ×\u00a0€1.50 + 25.0% fee)"
    assert factors in price.terms(Answers(17, 17, 1))
    assert price_cells(price, Answers(16, 16, 1)) == ["16", "€3.75", "4"]
    unknown = Price(Decimal("1.50"), 8, Decimal(0), "EUR", 0.0)
    assert "at most €1.50 (1 assignment ×\u00a0€1.50)." in price_sentence(unknown, Answers(8, 8, 1))
    assert len(price_cells(unknown, Answers(8, 8, 1))) == 2


@pytest.mark.parametrize(("pay", "per"), [("0.50", 8), ("0.50", 16), ("1.50", 12), ("0.05", 40)])
def test_the_pay_of_one_answer_is_exact_where_few_digits_do(pay: str, per: int) -> None:
    price = Price(Decimal(pay), per, Decimal(0), "EUR", 0.0)
    usual = {one.name: one.default for one in price.options("Pay")}
    assert Decimal(str(usual["pay"])) == Decimal(pay) / per


@pytest.mark.parametrize("workers", [7, 8, 15])
def test_days_are_those_of_the_assignments_that_the_cost_names(workers: int) -> None:
    """With 4 assignments a day, 23 of them were "5 days": answers had been divided, not they."""
    price = Price(Decimal("0.50"), 8, Decimal(0), "EUR", 4.0 * 8)
    judgments = Answers.fill_items(workers, 20)
    named, days = re.findall(r"([\d,]+) (?:assignment|day)s", price.limit(judgments))
    assert int(days) == math.ceil(int(named) / 4) == price.days(judgments)
    assert price_cells(price, judgments)[2] == days


@pytest.mark.parametrize("per", [1, 3, 7, 12, 96, 997])
def test_a_plan_begins_with_the_pay_of_the_task_to_the_cent(per: int) -> None:
    price = Price(Decimal("1.00"), per, Decimal(0), "EUR", 0.0)
    usual = {one.name: one.default for one in price.options("Pay")}
    assert price.given(usual) == price
    assert price.given({**usual, "pay": 0.5}).pay == Decimal("0.50") * per


def _column(html: str, head: str) -> list[str]:
    """The cells under a head of the plan's table, without thousands separators."""
    heads = re.findall(r'<th scope="col" class="num">([^<]*)</th>', html)
    if head not in heads:
        return []
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [re.findall(r"<t[hd] [^>]*>([^<]*)</t[hd]>", row) for row in body.split("<tr>")[1:]]
    return [row[heads.index(head)].replace(",", "") for row in rows]


@pytest.mark.parametrize("kind", ["labels", "pairs", "texts"])
def test_every_plan_asks_for_the_pay_of_one_answer_and_prices_with_it(kind: str) -> None:
    task = {
        "labels": lambda: label_corpus.make_task(items=30),
        "pairs": lambda: pair_corpus.make_task(topics=4, sources=3, redundancy=3),
        "texts": lambda: factories.make_task(n=8),
    }[kind]()
    asks = {
        "labels": "?target=60",
        "pairs": "?target=60&gap=0.4&pairs=200",
        "texts": "?target=0.5&per_worker=4",
    }[kind]
    assert not _column(plan_page(task, query=asks), "Days")
    priced = plan_page(task, query=f"{asks}&pay=0.5&fee=25&a_day=3")
    per = task.version_or_draft().items_per_assignment
    items = {"labels": 30, "pairs": 200, "texts": 8}[kind]
    votes = _column(priced, {"labels": "Labels", "pairs": "Judgments", "texts": "Answers"}[kind])
    days, cost = _column(priced, "Days"), _column(priced, "Cost")
    assert days and len(days) == len(votes)
    for n, day, amount in zip(votes, days, cost, strict=True):
        most = most_assignments(int(n), items=items, size=per, workers=int(n) // items)
        assert int(day) == math.ceil(most / 3)  # of the assignments that are paid
        paid = most * per * Decimal("0.50") * Decimal("1.25")
        assert abs(Decimal(amount.strip("€")) - paid) <= Decimal("0.01")
    found = plan_page(task, query=f"{asks}&pay=0,5")  # which a number input turns into 05
    assert re.search(r'type="text" name="pay"[^>]*value="0,5"', found)
    factors = re.search(r"€([\d,.]+) \(([\d,]+) assignments? ×\s€([\d.]+)\)", found)
    assert factors
    cost, assignments, pay = (Decimal(one.replace(",", "")) for one in factors.groups())
    assert pay == per * Decimal("0.50") and cost == assignments * pay
