"""The plan of a labels task: before any run at a stated accuracy, afterwards with its workers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from annotation.authoring.selectors.progress import progress_of
from crowdqc.numbers import money
from evaluation.labels import planning
from evaluation.labels.selectors.plan import (
    Cost,
    LabelPlanner,
    _cells,
    labels_of,
    verdict_of,
)
from evaluation.runs.adapters import precision
from evaluation.runs.planning.price import Answers, price_of
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import plan_page, text_of
from tests.evaluation.labels.test_runs import scored
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "REPLICATES", 6)


def test_before_a_run_the_plan_takes_a_stated_accuracy_and_afterwards_its_workers() -> None:
    task = corpus.make_labelled(items=30, known=4, workers=8)
    text = text_of(plan_page(task))
    assert "single labels right 80%, 3 classes" in text
    assert re.search(r"95% right labels[^€]*€\d", text)
    scored(task)
    text = text_of(plan_page(task))
    assert "8 workers of run 1, by their confusion matrices" in text
    stated = text_of(plan_page(task, query="?target=90&accuracy=60&per_worker=20"))
    assert "single labels right 60%, 3 classes" in stated
    assert "wanted, 90%" in stated


def test_the_plan_prices_any_number_of_items_in_whole_assignments_with_workers() -> None:
    task = corpus.make_labelled(items=30, known=0, workers=4)
    version = task.current
    assert version is not None
    cost = Cost(price_of(task, version), items=250, per_worker=100)
    assert cost.price.cost(Answers(750, 750, 1)) == version.pay * -(
        -750 // version.items_per_assignment
    )
    assignments = 3 + (750 - 3) // version.items_per_assignment  # at most, with short ones
    assert cost.price.cost(Answers.fill_items(3, 250)) == version.pay * assignments
    assert cost.people(3) == 8 and replace(cost, items=2).people(3) == 3
    text = text_of(plan_page(task, query="?items=250&target=90&accuracy=80&per_worker=100"))
    assert money(version.pay * assignments, "EUR") in text
    many = text_of(plan_page(task, query="?items=5000&target=90&accuracy=80&per_worker=100"))
    assert "5000 items (300 simulated)" in many


def test_the_number_of_workers_holds_beyond_the_error_of_the_simulation() -> None:
    row = planning.Row(3, 0.9, 0.8, 1.0, 0.955, 0.9, 1.0, error=0.004)
    better = planning.Row(4, 0.9, 0.8, 1.0, 0.96, 0.95, 1.0, error=0.004)
    found = planning.Plan((row, better), 100, 40, "", "")
    assert found.least(0.95) == 4
    assert found.least(0.94) == 3
    assert found.least(0.95, sure=True) == 4
    assert found.least(0.99) is None


def test_the_table_shows_the_error_by_which_the_number_of_workers_is_decided() -> None:
    rows = [
        planning.Row(4, 0.9, 0.8, 1.0, 0.9512, 0.9, 1.0, error=0.0012),
        planning.Row(5, 0.9, 0.8, 1.0, 0.9631, 0.9, 1.0, error=0.0012),
    ]
    least = planning.Plan(rows, 100, 40, "", "").least(0.95)
    shown = [[float(part) for part in _cells(row)[1][0].split(" ±")] for row in rows]
    assert [row.votes >= (least or 99) for row in rows] == [
        share - error >= 0.95 for share, error in shown
    ]


def test_the_plan_begins_with_the_labels_that_items_have() -> None:
    """8 imported answers each: what 6 workers reach costs nothing; from 4 on, 2 more."""
    imported = factories.make_task(n=2, redundancy=3)
    factories.make_answers(imported, {f"w{n}": {"q-001": "a", "q-002": "b"} for n in range(8)})
    assert labels_of(imported, 2)[0] == 16 and labels_of(imported, 100) == (0, 0)
    task = corpus.make_labelled(items=30, known=0, workers=8)
    options = {one.name: one.default for one in LabelPlanner().options(task, None)}
    assert options["items"] == options["per_worker"] == 30
    version = task.current
    assert version is not None
    cost = Cost(price_of(task, version), items=30, per_worker=30)
    row = planning.Row(6, 0.9, 0.8, 1.0, 0.96, 0.96, 1.0, error=0.0)
    found = planning.Plan((row,), 30, 30, "", "")
    assert "€" not in "".join(verdict_of(found, 0.95, replace(cost, given=8 * 30)))
    four = replace(cost, given=4 * 30)
    more = verdict_of(found, 0.95, four)[0]
    assert cost.price.limit(four.missing(6)) in more
    assert cost.price.limit(cost.missing(6)) not in more
    assert re.findall(r"(\d+) (?:more )?labels?\b", more) == ["4", "60"]
    mixed = replace(cost, given=75)
    some = verdict_of(found, 0.95, mixed)[0]  # not as if items had 2 each
    assert "2.5 labels" in some and cost.price.limit(mixed.missing(6)) in some


def test_the_plan_prices_missing_labels_as_the_task_page_does() -> None:
    """Items that came later miss more labels: a lower bound than the publish dialog's had stood."""
    task = corpus.make_task(items=30, redundancy=6, items_per_assignment=10)
    items = list(task.items.order_by("position"))
    for at in range(6):
        worker = factories.make_worker(project=task.project)
        corpus.add_labels(task, worker, [(one, "supported") for one in items[:10]][: 10 - at % 2])
    corpus.hold_slots(task)
    version = task.current
    assert version is not None
    given, taken = labels_of(task, 30)
    cost = Cost(price_of(task, version), 30, 30, given, taken)
    [progress] = progress_of([task])
    assert cost.price.cost(cost.missing(6)) == progress.ahead


def test_the_plan_refuses_what_it_cannot_simulate_in_words() -> None:
    task = corpus.make_task(items=5)
    text = text_of(plan_page(task, query="?target=95&accuracy=20&per_worker=20"))
    assert "This cannot be simulated: accuracy is 0.2; it must lie above chance" in text
    text = text_of(plan_page(task, query="?target=200&per_worker=20"))
    assert "less than or equal to 99.9" in text


def test_a_draft_says_how_many_labels_will_be_right() -> None:
    task = corpus.make_task(items=30, redundancy=5)
    found = precision(task)
    assert found.half is not None and 0 < found.half < 0.1
    assert "from 5 workers per item" in found.sentences[0]
    assert precision(corpus.make_task(items=30, redundancy=1)).why_not.startswith("one label")
