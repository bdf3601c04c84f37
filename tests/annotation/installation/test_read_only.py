"""While the installation is read-only only its owners change anything, and everybody reads why."""

from __future__ import annotations

import datetime as dt
import re
from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation import jobs
from annotation.installation import actions
from annotation.installation.middleware import SIGNING
from annotation.models import Assignment, AuditEntry, InstallationState, User
from annotation.records import installation_state as state
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation import jobs as evaluation_jobs
from tests.support import factories as make
from tests.support.everything import ROUTES

pytestmark = pytest.mark.django_db
WHY = "We move to another server."


def an_address(name: str) -> str:
    """An address of this name; whether anything is there is nobody's question before it."""
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda m: "1" if m[1] == "int" else "x", ROUTES[name])


def an_owner() -> User:
    return User.objects.create_superuser("owner", "owner@example.org", make.PASSWORD)


def test_every_change_is_refused_but_signing_in_and_out() -> None:
    client = Client()
    client.force_login(make.make_project().owner)
    actions.set_read_only(by=None, why=WHY)
    met = {name: client.post(an_address(name)).status_code for name in ROUTES}
    probes = {"healthz", "readyz"}
    assert {name for name, status in met.items() if status != 503} - probes == SIGNING


def test_people_from_a_platform_wait_before_an_account_is_made() -> None:
    actions.set_read_only(by=None, why=WHY)
    assert Client().get(an_address("entry")).status_code == 503


def test_refusal_says_why_and_when_to_come_back() -> None:
    task = make.make_task()
    assignment = make.claim(task, make.make_worker(task.project))
    worker = Client()
    worker.force_login(assignment.worker.user)
    actions.set_read_only(by=None, why=WHY)
    page = worker.post("/work/tasks/1/claim/")
    assert (page.status_code, page["Retry-After"]) == (503, "60")
    assert WHY in page.content.decode()
    submit = reverse("work_submit", args=[assignment.pk])
    script = worker.post(submit, headers={"Accept": "application/json"})
    assert script.json()["code"] == "read-only" and WHY in script.json()["detail"]
    token = make.api_token(assignment.worker.user)
    program = worker.post("/api/work/join/", headers={"Authorization": f"Token {token}"})
    assert program["Content-Type"] == "application/problem+json"
    assert (program.json()["status"], program.json()["code"]) == (503, "read-only")


def test_owner_changes_things_in_a_browser_and_by_a_program() -> None:
    owner, client = an_owner(), Client()
    actions.set_read_only(by=owner, why=WHY)
    header = {"Authorization": f"Token {make.api_token(owner)}"}
    assert client.post("/api/projects/", {}, "application/json", headers=header).status_code == 422
    client.force_login(owner)
    assert client.post("/projects/new/", {"name": "Lighthouses"}).status_code != 503
    stranger = make.make_user()
    header = {"Authorization": f"Token {make.api_token(stranger)}"}
    assert client.post("/api/projects/", {}, headers=header).status_code == 503
    with pytest.raises(NotAllowed):
        actions.end_read_only(by=stranger)


def test_reading_goes_on_and_every_page_says_what_holds() -> None:
    actions.set_read_only(by=None, why=WHY)
    actions.set_banner(by=None, text="Payments leave on Friday.")
    client, stranger = Client(), Client()
    client.force_login(make.make_project().owner)
    for reader, path in ((stranger, "/login/"), (client, "/projects/"), (client, "/nothing/")):
        page = reader.get(path).content.decode()
        assert WHY in page and "Payments leave on Friday." in page, path
    actions.end_read_only(by=None)
    actions.set_banner(by=None, text=" ")
    assert 'class="site-notice"' not in client.get("/projects/").content.decode()


def test_state_costs_no_query_per_request(
    django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions.set_banner(by=None, text="Payments leave on Friday.")
    with django_assert_num_queries(1):
        assert [state.current_state().banner for _ in range(3)] == ["Payments leave on Friday."] * 3
    InstallationState.objects.update(banner="Another process wrote this.")
    monkeypatch.setattr(state, "SECONDS", 0.0)
    state.forget_state()
    assert state.current_state().banner == "Another process wrote this."
    with patch.object(state, "read_state", side_effect=OperationalError):
        assert state.current_state().banner == "Another process wrote this."


def test_assignments_get_the_time_back_that_was_lost() -> None:
    task = make.make_task()
    running = make.claim(task, make.make_worker(task.project))
    before = running.expires_at
    over = make.claim(task, make.make_worker(task.project))
    Assignment.objects.filter(pk=over.pk).update(expires_at=timezone.now() - dt.timedelta(hours=2))
    actions.set_read_only(by=None, why=WHY)
    hour_ago = timezone.now() - dt.timedelta(hours=1)
    InstallationState.objects.update(read_only_since=hour_ago)
    assert actions.end_read_only(by=None) == 1
    running.refresh_from_db()
    assert (
        dt.timedelta(0)
        <= running.expires_at - before - dt.timedelta(hours=1)
        < dt.timedelta(minutes=1)
    )
    with pytest.raises(Conflict):
        actions.end_read_only(by=None)


def test_jobs_that_act_for_people_wait() -> None:
    task = make.make_task()
    late = make.claim(task, make.make_worker(task.project))
    Assignment.objects.filter(pk=late.pk).update(expires_at=timezone.now() - dt.timedelta(hours=2))
    actions.set_read_only(by=None, why=WHY)
    assert jobs.release_expired() is None
    assert evaluation_jobs.start_due_runs() is None
    assert jobs.send_mail() == 0
    actions.end_read_only(by=None)
    assert jobs.release_expired() == 1


def test_switches_are_audited_with_their_reason() -> None:
    owner = an_owner()
    with pytest.raises(Invalid):
        actions.set_read_only(by=owner, why=" ")
    since = actions.set_read_only(by=owner, why=WHY).read_only_since
    assert actions.set_read_only(by=owner, why="Longer than planned.").read_only_since == since
    actions.end_read_only(by=owner)
    entries = AuditEntry.objects.filter(object_type="installationstate").order_by("pk")
    assert [(one.action, one.actor, one.detail.get("why")) for one in entries] == [
        ("installation.read_only", owner, WHY),
        ("installation.read_only", owner, "Longer than planned."),
        ("installation.writable", owner, None),
    ]


def test_an_assignment_is_read_without_a_trace() -> None:
    task = make.make_task()
    assignment = make.claim(task, make.make_worker(task.project))
    Assignment.objects.filter(pk=assignment.pk).update(opened_at=None)
    worker = Client()
    worker.force_login(assignment.worker.user)
    actions.set_read_only(by=None, why=WHY)
    for name, args in (("work_assignment", [assignment.pk]), ("work_item", [assignment.pk, 1])):
        assert worker.get(reverse(name, args=args), follow=True).status_code == 200
    assignment.refresh_from_db()
    assert assignment.opened_at is None
    assert not assignment.entries.filter(shown_at__isnull=False).exists()
    actions.end_read_only(by=None)
    worker.get(reverse("work_item", args=[assignment.pk, 1]))
    assignment.refresh_from_db()
    assert assignment.opened_at is not None
