"""The demo's think-aloud and checklist: complete, and told apart by their planted answers."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

import pytest

from annotation.demo import checklist
from annotation.models import Task
from annotation.work.snapshots import attributes, checks
from evaluation.demo import checklist as demo_checklist
from evaluation.models import CandidateScore
from tests.support import factories

pytestmark = pytest.mark.django_db


def test_every_question_names_attributes_of_people_and_models() -> None:
    data = checklist.load()
    for row in data.questions():
        assert {one["kind"] for one in row["attributes"]} == {"person", "model"}
    assert [one["score"] for one in data["samples"]] == ["1", "2.5", "4", "5"]
    for one in data["attributes"]:
        assert all(text in one["transcript"] for text in one.get("marked", ()))


def test_the_demo_loads_both_tasks_with_people_models_and_human_scores() -> None:
    world = factories.make_world(1)
    said: list[str] = []
    loader = SimpleNamespace(
        people={"requester": world.requester},
        say=said.append,
        now=dt.datetime.now(dt.UTC),
        join=lambda project, name: factories.make_worker(project, pseudonym=name),
    )
    demo_checklist.make(loader, world.project)  # type: ignore[arg-type]
    think = Task.objects.get(type="think_aloud")
    check = Task.objects.get(type="checklist")
    rows = attributes.counting_attributes(think)
    assert {row.kind for row in rows} == {"person", "model"}
    assert len({row.worker_id for row in rows} - {None}) == 4
    assert len({row.system_id for row in rows} - {None}) == 2
    ticks = checks.counting_checks(check)
    assert len(ticks) == 8 * 8 * 5
    share = {
        text: sum(row.yes for row in ticks if row.candidate_id == text) / 40
        for text in {row.candidate_id for row in ticks}
    }
    scores = {one.candidate_id: one.estimate for one in CandidateScore.objects.all()}
    assert scores.keys() == share.keys()
    best, worst = max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)
    assert share[best] > share[worst] + 0.4
    assert "8 questions on 8 texts" in said[0]
