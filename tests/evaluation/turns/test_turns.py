"""Labels of turns become shares, survival and competence, with conversations as clusters."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import uuid
from pathlib import Path

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.chats.units import units_of
from annotation.models import Answer, Assignment, ChoiceValue, Task
from annotation.work.actions import answers
from annotation.work.actions.answers import set_counts
from annotation.work.snapshots import turns as collected
from evaluation.bundles.checking import check_report, verify
from evaluation.bundles.makers import report_of
from evaluation.methods.core.votes import Labels
from evaluation.methods.turns.method import Turns, fit, share_row
from evaluation.methods.turns.survival import product_limit, survival
from evaluation.models import Run, RunState
from evaluation.runs import engine, run_types, schedules
from evaluation.turns.dataset import FrozenTurns, to_arrays
from tests.annotation.chats.made import PROBLEM, SOLVED, make_chat, make_chat_task
from tests.evaluation.bundles.files import changed, written
from tests.support.factories import claim, make_worker

WHERE = {
    "name": "where",
    "question": "Where does it go wrong first?",
    "label": "Wrong first",
    "kind": "choose_turn",
    "ask_if": [{"field": "solved", "is": "is", "values": ["no"]}],
}
WRONG_FROM = {"c-0": 5, "c-1": 3, "c-2": 99, "c-3": 5, "c-4": 99, "c-5": 3}


def answered(n: int = 6, workers: int = 4) -> Task:
    """A task whose workers agree on where each conversation goes wrong; the last one guesses."""
    task = make_chat_task(n=n, fields=[PROBLEM], redundancy=workers)
    for number in range(workers):
        worker = make_worker(task.project)
        found = claim(task, worker)
        drafts = {}
        for entry in found.entries.select_related("item"):
            wrong = WRONG_FROM[entry.item.key]
            drafts[entry.item_id] = {
                f"l-problem@{unit}": ("made_up" if int(unit) >= wrong else "none")
                if number < workers - 1
                else ("made_up", "none")[int(unit) % 4 == 1]
                for unit in entry.item.settings["units"]["assistant"]
            }
        answers.submit_assignment(by=worker.user, assignment=found, key=uuid.uuid4(), drafts=drafts)
    return task


@pytest.mark.django_db
def test_a_turn_that_is_named_as_the_first_wrong_one_says_that_those_before_are_well() -> None:
    task = make_chat_task(n=3, fields=[{**SOLVED, "unsure": True}, WHERE], redundancy=3)
    said = {"c-0": ("no", "5"), "c-1": ("yes", ""), "c-2": ("unsure", "")}
    for _number in range(3):
        worker = make_worker(task.project)
        found = claim(task, worker)
        drafts = {
            entry.item_id: {
                key: value
                for key, value in zip(("l-solved", "l-where"), said[entry.item.key], strict=True)
                if value
            }
            for entry in found.entries.select_related("item")
        }
        answers.submit_assignment(by=worker.user, assignment=found, key=uuid.uuid4(), drafts=drafts)
    [field] = collected.turn_fields(task.current)
    votes = collected.turn_votes(task, field)
    assert {(vote.item_key, vote.unit, vote.code) for vote in votes} == {
        ("c-0", "3", "before"),
        ("c-0", "5", "first"),
        ("c-1", "3", "before"),
        ("c-1", "5", "before"),
    }
    assert len(votes) == 12
    run = engine.start(by=task.project.owner, task=task, method="turn_study", params={})
    engine.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.error
    client = Client()
    client.force_login(task.project.owner)
    file = client.get(reverse("turn_export", args=[task.project_id, task.pk])).content.decode()
    labels = {
        (row["item_id"], row["turn"]): row["label"] for row in csv.DictReader(io.StringIO(file))
    }
    assert labels["c-0", "5"] == "first" and labels["c-1", "5"] == "before"


def test_what_an_answer_says_of_turns_needs_its_conditions() -> None:
    row = {**WHERE, "among": "assistant"}
    say = collected.first_turn_codes
    assert say(row, {"solved": {"no"}, "where": {"4"}}, ["2", "4", "6"]) == [
        ("2", "before"),
        ("4", "first"),
    ]
    assert say(row, {"solved": {"yes"}}, ["2", "4"]) == [("2", "before"), ("4", "before")]
    assert say(row, {"solved": {"no"}}, ["2", "4"]) == []  # asked, and not answered
    assert say(row, {"solved": {"unsure"}}, ["2", "4"]) == []
    assert say({**row, "ask_if": []}, {}, ["2"]) == []


@pytest.mark.django_db
def test_run_finds_where_conversations_go_wrong() -> None:
    task = answered()
    run = engine.start(by=task.project.owner, task=task, method="turn_study", params={})
    engine.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.error
    client = Client()
    client.force_login(task.project.owner)
    page = client.get(reverse("turn_results", args=[task.project_id, task.pk]))
    assert page.status_code == 200
    assert 'data-finding="turns_wrong"' in page.content.decode()
    file = client.get(reverse("turn_export", args=[task.project_id, task.pk])).content.decode()
    labels = {
        (row["item_id"], row["turn"]): row["label"] for row in csv.DictReader(io.StringIO(file))
    }
    for key, wrong in WRONG_FROM.items():
        for unit in units_of(make_chat())["assistant"]:
            assert labels[key, unit] == ("made_up" if int(unit) >= wrong else "none")


def scored() -> Run:
    """A finished run on turns."""
    task = answered()
    run = engine.start(by=task.project.owner, task=task, method="turn_study", params={})
    assert engine.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    return run


@pytest.mark.django_db
def test_page_api_link_report_and_bundle_say_the_same_of_turns(tmp_path: Path) -> None:
    run = scored()
    task = run.task
    client = Client()
    client.force_login(task.project.owner)
    page = client.get(reverse("turn_results", args=[task.project_id, task.pk]))
    verdict = page.context["screen"].verdict
    told = client.get(reverse("api_run", args=[run.pk])).json()
    assert (told["verdict"]["code"], told["verdict"]["text"]) == (verdict.code, verdict.text)
    bundled, report = written(run, tmp_path), tmp_path / "report.html"
    report.write_text(report_of(run)[0])
    found = verify(bundled)
    check_report(found, bundled, report)
    assert found.good, found.lines
    assert "byte for byte the same" in " ".join(text for _, text in found.lines)

    def one_label(files: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in files["data/answers.jsonl"].splitlines()]
        rows[0]["code"] = "made_up" if rows[0]["code"] == "none" else "none"
        files["data/answers.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    forged = verify(changed(bundled, one_label, mend=True))
    assert any("not those that the run saw" in text for good, text in forged.lines if not good)


def start_due(task: Task) -> list[Run]:
    """Start what is due once nobody has answered for a minute."""
    moment = timezone.now() - dt.timedelta(minutes=1)
    Assignment.objects.filter(task=task).update(submitted_at=moment)
    return [run for run in schedules.start_due() if run.method == "turn_study"]


@pytest.mark.django_db
def test_a_run_of_turns_starts_by_itself_under_the_schedule_of_the_task() -> None:
    task = answered()
    [run] = start_due(task)
    assert (run.trigger, run.started_by) == ("answers", None)
    assert start_due(task) == []  # it is waiting already
    engine.execute(run.pk)
    assert start_due(task) == []  # nothing is new
    schedules.change_schedule(
        by=task.project.owner, task=task, enabled=True, after_answers=1, every_minutes=None
    )
    first = Answer.objects.filter(item__task=task).first()
    set_counts(by=task.project.owner, answer=first, counts=False, reason="off the point")
    page = reverse("turn_results", args=[task.project_id, task.pk])
    client = Client()
    client.force_login(task.project.owner)
    assert 'data-finding="answers_since_run"' in client.get(page).content.decode()
    [again] = start_due(task)
    assert again.pk != run.pk


@pytest.mark.django_db
def test_a_run_of_turns_by_itself_takes_the_options_of_the_one_before() -> None:
    task = answered()
    run = engine.start(
        by=task.project.owner, task=task, method="turn_study", params={"good": "made_up"}
    )
    engine.execute(run.pk)
    schedules.change_schedule(
        by=task.project.owner, task=task, enabled=True, after_answers=1, every_minutes=None
    )
    first = Answer.objects.filter(item__task=task).first()
    set_counts(by=task.project.owner, answer=first, counts=False, reason="off the point")
    [again] = start_due(task)
    assert again.params["good"] == "made_up"


@pytest.mark.django_db
def test_no_run_of_turns_starts_where_nothing_is_asked_about_turns() -> None:
    plain = {"name": "kind", "label": "Kind", "question": "Kind?", "kind": "choose_one",
             "options": [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]}  # fmt: skip
    task = make_chat_task(fields=[plain])
    assert run_types.automatic_methods(task) == [] and not run_types.fits(task, "turn_study")
    assert run_types.automatic_methods(make_chat_task(fields=[PROBLEM])) == ["turn_study"]


@pytest.mark.django_db
def test_a_turn_keeps_its_number_where_an_earlier_one_has_no_label() -> None:
    task = answered(n=1, workers=3)
    first, *others = units_of(make_chat())["assistant"]
    ChoiceValue.objects.filter(field=f"problem@{first}").delete()
    field = collected.turn_field(task)
    votes = collected.turn_votes(task, field)
    asked = collected.asked_units(task.current, field.name, {votes[0].item_id})
    frozen = to_arrays(FrozenTurns(votes, asked, ()), field, field.codes[0])
    assert frozen.data.place.tolist() == list(range(2, len(others) + 2))


def test_product_limit_is_the_published_example() -> None:
    """Kaplan and Meier's (1958) example: deaths at .8, 3.1, 5.4, 9.2; lost at 1, 2.7, 7, 12.1."""
    last = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    first = np.array([1, 0, 0, 4, 5, 0, 7, 0])
    _risk, share, _green = product_limit(last, first, 8)
    expected = [7 / 8, 7 / 8, 7 / 8, 7 / 8 * 4 / 5, 0.525, 0.525, 0.2625, 0.2625]
    np.testing.assert_allclose(share, expected, atol=1e-12)


def test_survival_without_failures_still_has_a_lower_bound_below_one() -> None:
    conversation = np.repeat(np.arange(20), 3)
    place = np.tile([1, 2, 3], 20)
    found = survival(conversation, place, np.zeros(60), rng=np.random.default_rng(1))
    assert (found.share == 1).all() and (found.low < 0.9).all() and (found.high == 1).all()


def test_interval_of_a_share_widens_with_clustering() -> None:
    """60 units in 6 conversations that are all good or all bad are six observations."""
    conversation = np.repeat(np.arange(6), 10)
    votes = Labels.build(
        [0] * 60, range(60), [0] * 60, workers=["a"], items=list(map(str, range(60))), labels="xy"
    )
    data = Turns.build(
        votes, conversation, np.tile(np.arange(1, 11), 6), good=0, conversations=list("abcdef")
    )
    alike = share_row(data, (conversation % 2).astype(float), np.ones(60, bool), 0.95)
    mixed = share_row(data, np.random.default_rng(2).permutation(60) % 2.0, np.ones(60, bool), 0.95)
    assert alike["estimate"] == mixed["estimate"] == 0.5
    assert alike["high"] - alike["low"] > 2 * (mixed["high"] - mixed["low"]) > 0


def test_fit_covers_the_truth_of_a_simulated_crowd() -> None:
    inside = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        conversation = np.repeat(np.arange(40), 4)
        truth = (rng.random(160) < 0.2).astype(int)
        worker, item, label = [], [], []
        for unit in range(160):
            for one in rng.choice(8, 3, replace=False):
                knows = rng.random() < 0.8
                worker.append(one)
                item.append(unit)
                label.append(truth[unit] if knows else rng.integers(2))
        votes = Labels.build(
            worker, item, label, workers=list("abcdefgh"), items=list(map(str, range(160))),
            labels=("ok", "bad"),
        )  # fmt: skip
        data = Turns.build(
            votes, conversation, np.tile([1, 2, 3, 4], 40), good=0,
            conversations=list(map(str, range(40))),
        )  # fmt: skip
        found = fit(data, rng=rng, resamples=200).estimates
        inside.append(found["share"]["low"][0] <= 0.2 <= found["share"]["high"][0])
        at = found["survival"]
        inside.append(at["low"][1] <= 0.8**2 <= at["high"][1])
    assert sum(inside) >= 9
