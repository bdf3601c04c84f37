"""Models as judges of a live evaluation: beside people or alone, and never beyond its budget."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, HookDelivery, Notice, Task
from annotation.notifications.actions import webhooks
from crowdqc.errors import Invalid
from evaluation.live import actions as live
from evaluation.live.budget import used_by
from evaluation.live.dataset import board, read
from evaluation.live.judging.selectors import REST
from evaluation.llm import engine, ledger
from evaluation.models import (
    LanguageModel,
    LiveEvaluation,
    LiveJudging,
    LLMAttempt,
    LLMCall,
    Run,
    RunState,
)
from evaluation.runs import engine as runs
from tests.evaluation.live.test_live_ends_once import is_whole
from tests.evaluation.llm_runs.test_answering import prompt_of
from tests.support import factories
from tests.support.processes import killed
from tests.support.servers.llm import Body, Fault, make_model, serving
from tests.support.studies.live import judge, make_live, make_task, outputs


def prefers_ash(body: Body) -> str:
    """A judge that nearly always names ash's text, whichever way round; on every fifth, birch's."""
    said = prompt_of(body)
    (left, number), _ = re.findall(r"(ash|birch) on (\d+)", said)[:2]
    better = "birch" if int(number) % 5 == 0 else "ash"
    names = re.findall(r"- (\w+) \(", said)
    return json.dumps(dict.fromkeys(names, "A" if left == better else "B"))


def open_with(base_url: str, **limits: Any) -> LiveEvaluation:
    """An open evaluation that a model of this address judges too."""
    task = make_task()
    model = make_model(task.project, base_url)
    return make_live(task, judges=[model.pk], **limits)


def add(evaluation: LiveEvaluation, prompts: int) -> None:
    task = evaluation.task
    live.add_outputs(by=task.project.owner, task=task, key="a", rows=outputs(prompts))


def turn(evaluation: LiveEvaluation) -> bool:
    """A look, and the work on every run that waits; whether it has ended."""
    live.check_all()
    for pk in list(Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True)):
        runs.execute(pk)
    evaluation.refresh_from_db()
    return evaluation.state == LiveEvaluation.State.ENDED


def until_it_ends(evaluation: LiveEvaluation, turns: int = 12) -> dict[str, Any]:
    assert any(turn(evaluation) for _ in range(turns)), "it does not end"
    live.check_all()  # what was in work at the end is booked
    assert evaluation.result is not None
    return evaluation.result


def real_cost() -> Decimal:
    """What every request came to, those that were lost included."""
    return sum((one.cost or Decimal() for one in LLMAttempt.objects.all()), Decimal())


def page_of(task: Task) -> str:
    client = Client()
    client.force_login(task.project.owner)
    found = client.get(reverse("live_evaluation", args=[task.project_id, task.pk]))
    return " ".join(re.sub(r"<[^>]+>", " ", found.content.decode()).split())


@pytest.mark.django_db
def test_a_model_judges_what_people_judged_and_its_votes_do_not_enter_their_interval() -> None:
    with serving(prefers_ash) as stub:
        evaluation = open_with(stub.base_url, half_width=0.02, max_judgments=20)
        task = evaluation.task
        add(evaluation, 20)
        turn(evaluation)
        assert not stub.asked  # nothing that people have judged yet
        rng = random.Random(1)
        for number in range(4):
            judge(task, factories.make_worker(task.project), rng)
            if number == 1:
                turn(evaluation)
                assert len(stub.asked) == 2 * 10
        before = board(read(evaluation, task, []))
        result = until_it_ends(evaluation)
    assert evaluation.reason == "judgments" and result["decided_by"] == "people"
    assert result["votes"] == 20 and result["workers"] == 4
    assert result["systems"] == before["systems"]
    [row] = result["judges"]
    assert (row["model"], row["pairs"], row["same_both_orders"]) == ("stub-1", 20, 1.0)
    assert row["systems"][0] | {"low": 0, "high": 0} == {
        **{"system": "ash", "share": 0.8, "low": 0, "high": 0, "votes": 20}
    }
    assert Decimal(result["money"]) == 4 + Decimal(result["models_money"])
    said = page_of(task)
    assert "Their votes do not enter the win rates" in said
    assert "20 pairs judged in both orders; the same answer in both orders on 100% of them" in said


@pytest.mark.django_db
def test_models_alone_end_it_by_precision_ask_nobody_and_say_so() -> None:
    with serving(prefers_ash) as stub:
        evaluation = open_with(
            stub.base_url, half_width=0.2, decided_by="models", budget=Decimal("5.00")
        )
        task = evaluation.task
        project = task.project
        webhooks.add_hook(by=project.owner, project=project, url="https://a.example/in")
        add(evaluation, 120)
        assert not judge(task, factories.make_worker(project), random.Random(1))
        assert "Models judge the pairs" in page_of(task)
        result = until_it_ends(evaluation)
    assert evaluation.reason == "precise" and result["decided_by"] == "models"
    assert result["half_width"] <= 0.2 and 0 < result["votes"] < 120
    ash = result["systems"][0]
    assert ash["low"] < 0.8 < ash["high"] and result["workers"] == 0
    assert 0 < Decimal(result["models_money"]) == Decimal(result["money"]) < 5
    assert HookDelivery.objects.filter(event="live.ended").count() == 1
    said = page_of(task)
    assert "Models alone decide. No person judges these pairs." in said
    assert f"{result['votes']} pairs judged by models" in said


@pytest.mark.django_db
def test_it_ends_when_models_have_judged_every_pair_and_what_fails_is_asked_once() -> None:
    def sometimes(body: Body) -> str:
        return "I cannot say." if "on 7\n" in prompt_of(body) else prefers_ash(body)

    with serving(sometimes) as stub:
        evaluation = open_with(
            stub.base_url, half_width=0.02, decided_by="models", max_judgments=30
        )
        add(evaluation, 30)
        result = until_it_ends(evaluation)
        asked = len(stub.asked)
    assert evaluation.reason == "judgments" and result["votes"] == 29
    assert asked == 2 * 29 + 2 * 3  # three tries at an answer in the right form, in each order
    assert LiveJudging.objects.count() == 1


@pytest.mark.django_db
def test_models_and_people_together_never_pass_the_budget() -> None:
    with serving(prefers_ash, usage=False) as stub:  # every call costs all that was reserved
        evaluation = open_with(
            stub.base_url, half_width=0.02, max_judgments=100, budget=Decimal("5.02")
        )
        task = evaluation.task
        add(evaluation, 60)
        workers = [factories.make_worker(task.project) for _ in range(8)]
        rng, claimed = random.Random(2), 0
        for worker in workers:
            claimed += judge(task, worker, rng)
            turn(evaluation)
            assert claimed + real_cost() <= evaluation.budget
        assert 4 <= claimed <= 5
    assert evaluation.reason == "budget" and evaluation.result is not None
    live.check_all()
    assert real_cost() > 0 and claimed + real_cost() <= Decimal("5.02")
    assert Decimal(evaluation.result["money"]) <= Decimal("5.02")
    assert used_by(evaluation, task).models == Decimal(evaluation.result["models_money"])


@pytest.mark.django_db
def test_models_alone_stop_where_the_budget_allows_no_further_pair() -> None:
    with serving(prefers_ash, usage=False) as stub:
        evaluation = open_with(
            stub.base_url, half_width=0.02, decided_by="models", budget=Decimal("0.02")
        )
        add(evaluation, 60)
        result = until_it_ends(evaluation)
    assert evaluation.reason == "budget" and 0 < result["votes"] < 60
    assert real_cost() <= Decimal("0.02") and Decimal(result["money"]) <= Decimal("0.02")


@pytest.mark.django_db
def test_an_endpoint_that_fails_rests_and_people_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BACKOFF", 0.0)
    with serving(lambda body: Fault(status=401, error="no such key")) as stub:
        evaluation = open_with(stub.base_url, half_width=0.02, max_judgments=40)
        task = evaluation.task
        add(evaluation, 40)
        rng = random.Random(1)
        for _ in range(6):
            judge(task, factories.make_worker(task.project), rng)
            turn(evaluation)
        asked = len(stub.asked)
        turn(evaluation)
        assert len(stub.asked) == asked and evaluation.state == "open"
        assert "Not asked at the moment." in page_of(task)
        assert Run.objects.filter(state=RunState.FAILED).count() == 3
        assert Notice.objects.filter(kind="run.failed", user=task.project.owner).count() == 1
        Run.objects.update(finished_at=LiveEvaluation.objects.get().opened_at - REST)
        turn(evaluation)
        assert len(stub.asked) > asked
        for _ in range(2):
            judge(task, factories.make_worker(task.project), rng)
        result = until_it_ends(evaluation)
    assert evaluation.reason == "judgments" and result["votes"] == 40


@pytest.mark.django_db
def test_what_cannot_be_asked_is_refused_when_it_is_opened() -> None:
    task = make_task()
    priced = make_model(task.project, "http://a.example/v1")
    free = make_model(task.project, "http://a.example/v1", name="free")
    LanguageModel.objects.filter(pk=free.pk).update(price_in=None)
    strange = make_model(factories.make_project(), "http://a.example/v1")
    for judges, limits, field in (
        ([strange.pk], {}, "judges"),
        ([priced.pk, priced.pk], {}, "judges"),
        ([free.pk], {"budget": Decimal("5.00")}, "judges"),
        ([], {"decided_by": "models"}, "judges"),
        ([priced.pk], {"decided_by": "nobody"}, "decided_by"),
    ):
        with pytest.raises(Invalid) as refused:
            make_live(task, judges=judges, **limits)
        assert list(refused.value.fields) == [field]
    assert make_live(task, judges=[free.pk]).budget is None


@pytest.mark.django_db
def test_a_requester_chooses_models_on_the_page_and_by_the_api() -> None:
    task = make_task()
    model = make_model(task.project, "http://a.example/v1")
    client = Client()
    client.force_login(task.project.owner)
    url = reverse("live_evaluation", args=[task.project_id, task.pk])
    assert "stub-1 (Endpoint" in client.get(url).content.decode()
    form = {"systems": "ash\nbirch", "half_width": "0.1", "max_judgments": "9", "budget": ""}
    chosen = {**form, "judges": [str(model.pk)], "decided_by": "models"}
    assert client.post(url, chosen).status_code == 302
    token = factories.api_token(task.project.owner, ["read", "write"])
    program = Client(headers={"Authorization": f"Token {token}"})
    told = program.get(f"/api/tasks/{task.pk}/live/").json()
    assert (told["decided_by"], told["models_money"]) == ("models", "0.00")
    other = make_task(task.project)
    body = {"systems": ["ash", "birch"], "judges": [model.pk]}
    told = program.post(f"/api/tasks/{other.pk}/live/", body, "application/json").json()
    assert told["decided_by"] == "people" and told["board"]["judges"] == []
    body["judges"] = [model.pk + 1]
    assert program.post(f"/api/tasks/{other.pk}/live/", body, "application/json").status_code >= 400


@pytest.mark.django_db(transaction=True)
@pytest.mark.db
def test_a_worker_killed_while_it_asks_spends_nothing_twice_beyond_its_grant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(prefers_ash, usage=False) as stub:
        evaluation = open_with(
            stub.base_url, half_width=0.02, decided_by="models", budget=Decimal("0.05")
        )
        project = evaluation.task.project
        webhooks.add_hook(by=project.owner, project=project, url="https://a.example/in")
        add(evaluation, 40)
        live.check_all()
        judging = LiveJudging.objects.get()

        def act() -> None:
            real, turns = ledger.settle_and_lease, []

            def die(**given: Any) -> Any:
                found = real(**given)
                turns.append(1)
                if len(turns) == 6:
                    os.kill(os.getpid(), signal.SIGKILL)
                return found

            ledger.settle_and_lease = die  # type: ignore[assignment]
            runs.execute(judging.run_id)

        assert killed(act) == signal.SIGKILL
        assert LLMCall.objects.filter(state="sent").exists()
        assert not turn(evaluation)  # it is still somebody's
        assert LiveJudging.objects.get().cost is None
        LLMCall.objects.filter(state="sent").update(lease_until=evaluation.opened_at)
        Run.objects.update(heartbeat_at=None)
        runs.resume_abandoned()
        until_it_ends(evaluation, turns=30)
    assert is_whole(evaluation)
    assert real_cost() <= Decimal("0.05")
    for one in LiveJudging.objects.all():
        assert one.cost is not None and one.granted is not None and one.cost <= one.granted
    assert sum(one.cost or 0 for one in LiveJudging.objects.all()) == real_cost()
    votes = Answer.objects.filter(system__isnull=False).values_list("item", "replicate")
    assert len(votes) == len(set(votes)) > 0
