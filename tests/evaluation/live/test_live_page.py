"""The page and the API of a live evaluation, as people and programs meet them."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, Role, Task
from crowdqc.errors import Conflict
from evaluation.live import actions as live
from evaluation.live.budget import used_by
from evaluation.live.selectors import figures
from evaluation.models import LiveEvaluation
from tests.support import factories
from tests.support.studies.live import judge, make_live, make_task, outputs

pytestmark = pytest.mark.django_db


def client_of(task: Task) -> tuple[Client, str]:
    client = Client()
    client.force_login(task.project.owner)
    return client, reverse("live_evaluation", args=[task.project_id, task.pk])


def test_a_requester_opens_it_watches_it_and_ends_it_on_one_page() -> None:
    task = make_task()
    client, url = client_of(task)
    assert "Open live evaluation" in client.get(url).content.decode()
    form = {"systems": "ash\nbirch\n", "half_width": "0.1", "max_judgments": "100", "budget": ""}
    refused = client.post(url, {**form, "systems": "ash"})
    assert refused.status_code == 422 and "2 to 12 different names" in refused.content.decode()
    page = client.post(url, form, follow=True).content.decode()
    assert "Send outputs of the systems" in page and "target ± .100" in page
    live.add_outputs(by=task.project.owner, task=task, key="a", rows=outputs(40))
    rng = random.Random(1)
    for _ in range(6):
        judge(task, factories.make_worker(task.project), rng)
    assert live.check_all() == 0
    page = client.get(url).content.decode()
    assert "30 judgments" in page and "± ." in page and "every 5s" in page
    assert "HX-Refresh" not in client.get(url, headers={"HX-Request": "true"})
    ended = client.post(url, {"do": "end"}, follow=True).content.decode()
    assert "The live evaluation has ended" in ended and "Somebody ended it." in ended
    assert "every 5s" not in ended
    assert client.get(url, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    assert LiveEvaluation.objects.get().ended_by == task.project.owner


def test_limits_of_an_open_evaluation_are_raised_and_never_lowered() -> None:
    evaluation = make_live(max_judgments=3, budget=Decimal("5.00"))
    task = evaluation.task
    client, url = client_of(task)
    with pytest.raises(Conflict, match="3 of 3 are left"):
        live.add_outputs(by=task.project.owner, task=task, key="a", rows=outputs(5))
    low = client.post(url, {"do": "raise", "max_judgments": "2", "budget": "4"})
    assert low.status_code == 422
    assert "At least 3, as now." in low.content.decode() and "At least 5.00" in low.content.decode()
    page = client.post(url, {"do": "raise", "max_judgments": "9", "budget": ""}, follow=True)
    assert "The limits are raised." in page.content.decode()
    live.add_outputs(by=task.project.owner, task=task, key="a", rows=outputs(5))
    token = factories.api_token(task.project.owner, ["read", "write"])
    api = Client(headers={"Authorization": f"Token {token}"})
    where, body = f"/api/tasks/{task.pk}/live/", {"budget": "7.50"}
    for _ in range(2):  # the same again changes nothing
        told = api.patch(where, body, "application/json").json()
        assert (told["budget"], told["max_judgments"]) == ("7.50", 9)
    task.refresh_from_db()
    assert (task.most_answers, task.most_pay) == (9, Decimal("7.50"))
    assert AuditEntry.objects.filter(action="live.raise").count() == 2
    live.end(by=task.project.owner, task=task)
    ended = api.patch(where, {"max_judgments": 20}, "application/json")
    assert ended.status_code == 409 and ended.json()["code"] == "ended"


def test_an_interval_over_all_shares_is_called_none() -> None:
    evaluation = make_live()
    used = used_by(evaluation, evaluation.task)
    for width, said in ((2.86, "none yet"), (0.21, "± .210")):
        precision = figures(evaluation, used, {"half_width": width, "votes": 30}, "EUR")[0]
        assert precision["value"] == said
        assert ("leave every win rate open" in precision["note"]) == (width > 0.5)


def test_other_types_of_task_have_no_such_page() -> None:
    task = factories.make_task()
    client, url = client_of(task)
    assert client.get(url).status_code == 404


def test_a_program_is_told_of_each_row_that_is_wrong() -> None:
    evaluation = make_live()
    task = evaluation.task
    token = factories.api_token(task.project.owner, ["read", "write"])
    client = Client(headers={"Authorization": f"Token {token}"})
    rows = outputs(3)
    rows[1] |= {"text": ""}
    rows[4] |= {"system": "oak"}
    body = {"key": "a", "outputs": rows}
    told = client.post(f"/api/tasks/{task.pk}/live/outputs/", body, "application/json")
    assert told.status_code == 422
    assert [(row["line"], row["column"]) for row in told.json()["rows"]] == [
        (2, "text"),
        (5, "system"),
    ]
    body["outputs"] = outputs(3)
    for status, again in ((201, False), (200, True)):
        told = client.post(f"/api/tasks/{task.pk}/live/outputs/", body, "application/json")
        assert (told.status_code, told.json()["again"]) == (status, again)
    told = client.get(f"/api/tasks/{task.pk}/live/").json()
    assert told["state"] == "open" and told["judgments_asked"] == 3 and told["board"]["votes"] == 0


def test_a_token_that_may_only_read_opens_nothing() -> None:
    task = make_task()
    token = factories.api_token(task.project.owner, ["read"])
    client = Client(headers={"Authorization": f"Token {token}"})
    body = {"systems": ["ash", "birch"]}
    told = client.post(f"/api/tasks/{task.pk}/live/", body, "application/json")
    assert told.status_code == 403 and not LiveEvaluation.objects.exists()


def test_a_manager_reads_it_and_cannot_open_it() -> None:
    task = make_task(factories.make_project())
    manager = factories.make_member(task.project, Role.MANAGER).user
    client = Client()
    assert manager is not None
    client.force_login(manager)
    url = reverse("live_evaluation", args=[task.project_id, task.pk])
    assert "Only a requester can open" in client.get(url).content.decode()
    assert client.post(url, {"systems": "a\nb"}).status_code == 403
