"""What is planned, beside answers that came by import: one number on pages and in reports."""

from __future__ import annotations

import pytest
from django.urls import reverse

from evaluation.bundles.study import collection_lines, unfinished
from evaluation.runs import next_actions
from evaluation.runs.study_state import read_state
from tests.evaluation.corpora.pair_study import client_of, text_of
from tests.support import factories

pytestmark = pytest.mark.django_db


def test_what_one_more_answer_brings_goes_by_the_answers_that_items_have() -> None:
    """8 imported answers where 3 are planned: 8 to 9 narrows intervals by 1 - sqrt(8/9)."""
    task = factories.make_task(n=2, redundancy=3, pay="1.00")
    factories.make_answers(task, {f"w{n}": {"q-001": "a", "q-002": "b"} for n in range(8)})
    state = read_state(task)
    assert state is not None
    assert (state.slots.given, state.slots.planned, state.slots.pending) == (16, 6, 0)
    more = next_actions.plan_action(state)
    assert more is not None and more.values["share"] == "6%"
    assert state.facts[0][1] == "16 6 planned"


def test_pages_count_imported_answers_without_a_plan_that_nobody_follows() -> None:
    task = factories.make_task(n=2, redundancy=3, pay="1.00")
    factories.make_answers(task, {f"w{n}": {"q-001": "a", "q-002": "b"} for n in range(8)})
    client = client_of(task)
    page = text_of(client.get(reverse("task", args=[task.project_id, task.pk])).content.decode())
    assert "Answers 16 " in page and "of 16" not in page
    for name in ("project", "task_list"):
        shown = text_of(client.get(reverse(name, args=[task.project_id])).content.decode())
        assert "planned" not in shown and "of 16" not in shown, name


def test_a_report_tells_planned_answers_from_those_that_an_import_brought_beside() -> None:
    study = {
        "planned": {"items": 40, "answers": 200},
        "reached": {"items": 30, "answers": 240},
        "missing": 50,
        "uploaded": False,
        "answers_per_item": 5,
        "first_answer": None,
    }
    manifest = {"study": study, "counts": {}}
    assert dict(collection_lines(manifest))["Answers that count"] == "240, 200 planned"
    assert "150 of 200 planned answers (75%)" in unfinished(manifest)
    assert not unfinished({**manifest, "study": {**study, "missing": 0}})
