"""Votes of a study spent where they tell most: off by default, simulated first, undone when off."""

from __future__ import annotations

import uuid

import pytest
from django.db.models import F, Sum
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Task
from annotation.work.actions import answers, assignments
from crowdqc.errors import Conflict, Invalid
from evaluation.models import AdaptivePlan
from evaluation.pairwise import adaptive
from evaluation.pairwise.selectors import adaptive as adaptive_page
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories

pytestmark = pytest.mark.django_db
SETTINGS = {
    "dimension": "overall",
    "floor": 2,
    "ceiling": 8,
    "certainty": 0.8,
    "target": "label",
    "budget": None,
}


def switched_on(task: Task) -> AdaptivePlan:
    plan = adaptive.change(by=task.project.owner, task=task, raw=dict(SETTINGS))
    adaptive.keep_simulation(by=task.project.owner, plan=plan, said={"saving": 0.2})
    return adaptive.switch_plan(by=task.project.owner, task=task, on=True)


def agree(task: Task, most: int = 200) -> int:
    """Careful workers who all prefer the better source come until nothing is left for them."""
    done = 0
    for _ in range(most):
        worker = factories.make_worker(project=task.project)
        assert worker.user is not None
        try:
            held = assignments.claim_assignment(by=worker.user, task=task, worker=worker)
        except Conflict:
            return done
        drafts = {}
        for entry in held.entries.select_related("item__first", "item__second"):
            first, second = entry.item.first, entry.item.second
            assert first is not None and second is not None
            better = pair_corpus.merit(first) > pair_corpus.merit(second)
            side = "left" if better != entry.flipped else "right"
            drafts[entry.item_id] = {"d-clarity": side, "d-overall": side}
        answers.submit_assignment(by=worker.user, assignment=held, key=uuid.uuid4(), drafts=drafts)
        done += 1
        adaptive.adapt_all()
    return done


def test_nothing_is_adaptive_until_these_settings_were_simulated_and_switched_on() -> None:
    task = pair_corpus.make_task(topics=1)
    by = task.project.owner
    assert adaptive.adapt_all() == 0
    with pytest.raises(Conflict, match="Save and simulate"):
        adaptive.switch_plan(by=by, task=task, on=True)
    plan = adaptive.change(by=by, task=task, raw=dict(SETTINGS))
    with pytest.raises(Conflict, match="Simulate"):
        adaptive.switch_plan(by=by, task=task, on=True)
    adaptive.keep_simulation(by=by, plan=plan, said={})
    adaptive.switch_plan(by=by, task=task, on=True)
    changed = adaptive.change(by=by, task=task, raw={**SETTINGS, "certainty": 0.9})
    assert not changed.enabled  # other settings, another simulation


@pytest.mark.parametrize(
    ("field", "value"),
    [("dimension", "length"), ("target", "luck"), ("floor", 9), ("certainty", 0.4), ("budget", 0)],
)
def test_settings_that_make_no_sense_are_refused_by_name(field: str, value: object) -> None:
    task = pair_corpus.make_task(topics=1)
    with pytest.raises(Invalid) as refused:
        adaptive.change(by=task.project.owner, task=task, raw={**SETTINGS, field: value})
    assert set(refused.value.fields) <= {field, "ceiling"}


def test_pairs_that_are_certain_get_no_more_and_the_budget_is_kept() -> None:
    task = pair_corpus.make_task(topics=2, redundancy=6)
    switched_on(task)
    agree(task)
    votes = Answer.objects.filter(item__task=task, counts=True).count()
    plan = AdaptivePlan.objects.get(task=task)
    assert votes < 30 * 6  # people agree, so that votes are saved
    assert plan.planned["votes"] == votes and plan.planned["finished"]
    assert plan.planned["early"] > 20 and plan.planned["saved"] > 0
    counts = task.items.annotate(n=F("held")).values_list("n", flat=True)
    assert min(counts) >= SETTINGS["floor"]  # type: ignore[operator]
    assert max(counts) <= SETTINGS["ceiling"]  # type: ignore[operator]


def test_switched_off_every_pair_asks_for_what_the_task_asked_for_again() -> None:
    task = pair_corpus.make_task(topics=1, redundancy=6)
    switched_on(task)
    assert task.items.aggregate(n=Sum("redundancy"))["n"] < 15 * 6
    adaptive.switch_plan(by=task.project.owner, task=task, on=False)
    assert set(task.items.values_list("redundancy", flat=True)) == {6}


def test_a_budget_below_the_floor_is_refused_and_changes_nothing() -> None:
    task = pair_corpus.make_task(topics=1, redundancy=6)
    by = task.project.owner
    plan = adaptive.change(by=by, task=task, raw={**SETTINGS, "budget": 20})
    adaptive.keep_simulation(by=by, plan=plan, said={})
    with pytest.raises(Invalid, match="Budget is 20"):
        adaptive.switch_plan(by=by, task=task, on=True)
    assert not AdaptivePlan.objects.get(task=task).enabled
    assert set(task.items.values_list("redundancy", flat=True)) == {6}


def test_the_page_simulates_then_switches_on_and_says_what_is_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adaptive_page, "REPLICATES", 3)  # what more would save is its own test's
    task = pair_corpus.make_judged(topics=2)
    client = Client()
    client.force_login(task.project.owner)
    url = reverse("pair_adaptive", args=[task.project_id, task.pk])
    first = client.get(url).content.decode()
    assert "Switch on, simulate first" in first and "not simulated yet" in first
    form = {**SETTINGS, "budget": "", "do": "simulate"}
    refused = client.post(url, {**form, "floor": 9})
    assert refused.status_code == 422
    page = client.post(url, form, follow=True).content.decode()
    assert "Votes saved for the same result" in page and "simulated on a crowd" in page
    on = client.post(url, {"do": "on"}, follow=True).content.decode()
    assert "Adaptive collection is on" in on and "Switch off" in on
    assert "Pairs that are certain" in on
    off = client.post(url, {"do": "off"}, follow=True).content.decode()
    assert "Adaptive collection is off" in off
