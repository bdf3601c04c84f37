"""How many runs a project starts in a day, and what its models cost in a month."""

from __future__ import annotations

import datetime as dt
import io
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.accounts import quotas
from annotation.accounts.organisations import actions as organisations
from annotation.models import Project
from crowdqc.errors import LimitExceeded
from evaluation.llm import ledger
from evaluation.llm.ask import BudgetSpent
from evaluation.llm.calls import fetch_replies
from evaluation.llm.quotas import require_spend
from evaluation.models import Endpoint, LLMCall, Run
from evaluation.runs import engine, schedules
from tests.evaluation.corpora.llm_asks import GOOD, ask, make_run
from tests.support import factories
from tests.support.servers.llm import make_model, serving

pytestmark = pytest.mark.django_db(transaction=True)


def allow(project: Project, name: str, most: int) -> None:
    quotas.set_quota(by=None, name=name, owner=project, limit=most)


def at_once(jobs: list[Callable[[], Any]]) -> list[Any]:
    """What jobs give, each in a thread of its own; None where it was refused."""

    def call(job: Callable[[], Any]) -> Any:
        try:
            return job()
        except LimitExceeded:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(call, jobs))


def test_a_project_starts_so_many_runs_in_a_day_also_at_once() -> None:
    project = factories.make_project()
    tasks = [factories.make_task(project, 1) for _ in range(5)]
    for task in tasks:
        factories.claim_and_submit(task)
    allow(project, "runs", 2)
    by = project.owner
    started = at_once([lambda task=task: engine.start(by=by, task=task) for task in tasks])
    assert sum(run is not None for run in started) == Run.objects.count() == 2
    left = next(task for task, run in zip(tasks, started, strict=True) if run is None)
    with pytest.raises(LimitExceeded) as refused:
        engine.start(by=by, task=left)
    assert refused.value.code == "quota" and "2 of the 2 runs" in refused.value.message
    assert "raise the limit" in refused.value.message
    program = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(by)}")
    answer = program.post(reverse("api_runs", args=[left.pk]), {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (429, "quota")
    assert schedules.start_due() == []
    engine.start(by=None, task=left, trigger=engine.FOLLOWS)
    Run.objects.update(created_at=timezone.now() - dt.timedelta(hours=25), state="cancelled")
    assert engine.start(by=by, task=left).state == "queued"
    used = {name: (n, most) for name, n, most in quotas.quota_table(project)}
    assert used["runs"] == (1, 2)
    out = io.StringIO()
    call_command("crowdqc_quota", "--project", str(project.pk), "--set", "runs", "7", stdout=out)
    assert "1 of 7" in out.getvalue()
    client = Client()
    client.force_login(by)
    page = client.get(reverse("project_settings", args=[project.pk])).content.decode()
    assert "Runs in 24 hours" in page and "Model costs in a month" in page


@pytest.mark.parametrize(
    ("is_shared", "budget", "most"), [(False, None, 4), (True, None, 4), (True, "1.4", 3)]
)
def test_models_of_a_project_cost_no_more_in_a_month_than_they_may(
    is_shared: bool, budget: str | None, most: int
) -> None:
    """Calls at two endpoints are leased at the same time; none passes what is left.

    One of the endpoints may be shared by the project's organisation, whose budget holds too.
    """
    project = factories.make_project()
    models = [make_model(project, "http://127.0.0.1:9/v1") for _ in range(2)]
    if is_shared:
        lab = organisations.create_organisation(by=None, name="Lab", owner=project.owner)
        Project.objects.filter(pk=project.pk).update(organisation=lab)
        Endpoint.objects.filter(pk=models[1].endpoint_id).update(project=None, organisation=lab)
        if budget:
            organisations.change_settings(by=None, organisation=lab, model_budget=Decimal(budget))
    allow(project, "model_spend", 2)
    calls = [
        LLMCall.objects.create(
            project=project, model=models[n % 2], model_name="m", key=f"{n:064}", prompt="p@1",
            messages=[],
        )
        for n in range(10)
    ]  # fmt: skip

    def lease(call: LLMCall) -> ledger.Turn:
        assert call.model is not None
        return ledger.settle_and_lease(
            endpoint_id=call.model.endpoint_id,
            model_id=call.model_id or 0,
            lease=uuid.uuid4(),
            wanted=[ledger.LeaseRequest(call.pk, 10, Decimal("0.45"))],
        )

    turns = at_once([lambda call=call: lease(call) for call in calls])
    assert sum(len(turn.leased) for turn in turns) == most
    assert all((turn.quota == 2) is not bool(budget) for turn in turns if not turn.leased)
    assert sum(one.reserved for one in Endpoint.objects.all()) == most * Decimal("0.45")
    if budget:
        return
    LLMCall.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    for one in models:
        ledger.sweep(one.endpoint_id)  # what was lost may have been billed
    [used] = [n for name, n, _most in quotas.quota_table(project) if name == "model_spend"]
    assert used == 1 and not lease(calls[0]).leased
    Endpoint.objects.update(month=dt.date(2020, 1, 1))
    assert lease(calls[0]).leased


def test_a_run_says_which_limit_ended_it_and_who_raises_it() -> None:
    run = make_run()
    allow(run.project, "model_spend", 0)
    with serving(lambda body: GOOD) as stub:
        model = make_model(run.project, stub.base_url)
        with pytest.raises(LimitExceeded, match="they may cost 0"):
            require_spend(model, run.project)
        with pytest.raises(BudgetSpent, match=r"quota model_spend.*can raise the limit"):
            fetch_replies(run, model, [ask(1)])
        assert not stub.asked
        allow(run.project, "model_spend", 1)
        [reply] = fetch_replies(run, model, [ask(1)])
    assert reply.value == {"score": 70.0}
    endpoint = Endpoint.objects.get(pk=model.endpoint_id)
    assert endpoint.month_spent == endpoint.spent > 0
