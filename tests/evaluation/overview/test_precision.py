"""The interval to expect, said before anybody is paid: the engine's simulation of the draft."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from django.core.cache import caches

from annotation.authoring.actions import drafts, tasks
from annotation.models import Task
from annotation.pairs.actions import pair_items
from evaluation.methods.simulation.planning.planner import plan, study
from evaluation.pairwise import adapter as pairwise_adapter
from evaluation.pairwise.planning import MOST
from evaluation.runs.adapters import precision
from evaluation.runs.planning import precision as planning
from tests.annotation.pairs.pair_studies import begun, signed_in, url, with_texts
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    caches["shared"].clear()
    return factories.make_world(12, publish=False, redundancy=4, items_per_assignment=6)


def study_of(world: World, n: int = 12) -> Task:
    """All three pairs of ``n`` topics with a text of each of three systems."""
    task = with_texts(world, begun(world), n=n)
    pair_items.make_pairs(by=world.requester, task=task)
    return task


def test_the_width_for_pairs_is_the_planners_own_for_two_sources(world: World) -> None:
    task = study_of(world)
    found = precision(task)
    # 36 pairs and 12 repeats by 5 judges, 8 an assignment; two systems meet once a topic.
    direct = plan(
        study("pairwise", workers=30, items=12, votes=5, gap=0.10),
        rng=np.random.default_rng(20417),
        replicates=MOST,
    ).estimates["answer"]
    at = direct["quantity"].tolist().index("difference_width")
    assert found.half == pytest.approx(direct["estimate"][at] / 2)
    assert "from 12 pairs that put the two side by side and 5 judges each" in found.sentences[0]
    assert "12 pairs, 2 judgments a worker, gap 0.1" in found.recipe


def test_more_judges_and_more_topics_make_it_narrower(world: World) -> None:
    task = study_of(world, n=12)
    few = precision(task).half
    drafts.edit_draft(by=world.requester, task=task, fields={"redundancy": 20})
    judges = precision(task).half
    topics = precision(study_of(world, n=48)).half
    assert few and judges and topics and judges < few and topics < few
    assert topics == pytest.approx(few / 2, rel=0.15)  # four times the pairs


def test_the_width_for_free_text_is_that_of_a_workers_score(world: World) -> None:
    found = precision(world.task)
    direct = plan(
        study("f2", workers=8, items=12, votes=4),
        rng=np.random.default_rng(20417),
        replicates=60,
    ).estimates["answer"]
    at = direct["quantity"].tolist().index("score_width")
    assert found.half == pytest.approx(direct["estimate"][at] / 2)
    assert found.line.startswith("a score is known to ± .")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"redundancy": 1}, "one answer a question"),
        ({"items_per_assignment": 1}, "one question an assignment"),
    ],
)
def test_where_nothing_can_be_told_the_reason_is_said(
    world: World, change: dict[str, Any], why: str
) -> None:
    drafts.edit_draft(by=world.requester, task=world.task, fields=change)
    assert why in precision(world.task).why_not
    empty = begun(world)
    assert precision(empty).why_not == "nothing to simulate yet"
    alone = with_texts(world, begun(world), systems=1)
    assert precision(alone).half is None


def test_a_design_is_simulated_once_and_within_two_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"item_id": f"x-{n}", "question": f"What is {n}?"} for n in range(400)]
    tasks.import_items(by=world.requester, task=world.task, rows=rows)
    began = time.process_time()
    precision(world.task)
    assert time.process_time() - began < 2
    monkeypatch.setattr(planning, "plan", None)  # a second look asks the cache alone
    client = signed_in(world.requester)
    page = client.get(url("task_precision", world.task, line="1")).content.decode()
    assert "a score is known to ±" in page and "simulated" in page
    words = client.get(url("task_precision", world.task)).content.decode()
    assert "A worker’s score will be known to ±" in words and "planning 1." in words


@pytest.mark.parametrize(("needed", "enough"), [(580, "580 pairs"), (0, "over 1,000 pairs")])
def test_the_number_of_pairs_that_would_do_has_its_noun(needed: int, enough: str) -> None:
    assert enough in pairwise_adapter._plain(8, needed)
