"""An owner runs the installation on its pages: lists with actions, switches, limits, exports."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.accounts.quotas import quota_limit
from annotation.models import AuditEntry, Notice, Project, User
from annotation.records.actions.audit import record
from annotation.records.installation_state import read_state
from tests.security.accounts.factors import set_up_app
from tests.support import factories as make

pytestmark = pytest.mark.django_db
PROJECTS, PEOPLE = "/installation/", "/installation/people/"
SETTINGS = "/installation/settings/"


@pytest.fixture
def owner() -> User:
    return make.make_user("owner", is_superuser=True)


@pytest.fixture
def pages(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def confirm(pages: Client, address: str, do: str, pick: int, **values: str) -> Any:
    """Press a button of a list, then the one of the page that asks again."""
    asked = pages.post(address, {"do": do, "pick": pick})
    assert asked.status_code == 200 and asked.context["bulk"].slug == do
    return pages.post(address, {"do": do, "pick": pick, "confirmed": "1", **values})


def test_projects_are_listed_with_use_state_and_missing_owner(pages: Client) -> None:
    task = make.make_task()
    make.claim_and_submit(task)
    gone = make.make_project(name="Reading aloud")
    User.objects.filter(pk=gone.owner_id).update(is_active=False)
    page = pages.get(PROJECTS)
    rows = {pk: row for pk, _name, row in page.context["list"].rows}
    assert (rows[task.project_id].answers, rows[task.project_id].open_tasks) == (4, 1)
    assert [one["head"] for one in page.context["warnings"]] == ["“Reading aloud” has no owner."]
    found = pages.get(PROJECTS, {"q": "Reading"}, headers={"HX-Request": "true"})
    assert "Reading aloud" in found.content.decode()


@pytest.mark.parametrize("address", [PROJECTS, PEOPLE])
def test_lists_take_the_same_number_of_queries_at_any_size(pages: Client, address: str) -> None:
    counts = []
    for _ in range(2):
        for _ in range(3):
            make.claim_and_submit(make.make_task())
        with CaptureQueriesContext(connection) as seen:
            pages.get(address)
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_owner_transfers_a_project_after_a_confirmation(pages: Client, owner: User) -> None:
    project, new = make.make_project(), make.make_user("ada")
    confirm(pages, PROJECTS, "transfer", project.pk, to="nobody", why="She left.")
    project.refresh_from_db()
    assert project.owner != new
    confirm(pages, PROJECTS, "transfer", project.pk, to="ada", why="She left.")
    project.refresh_from_db()
    entry = AuditEntry.objects.get(action="project.transfer")
    assert (project.owner, entry.actor, entry.detail["why"]) == (new, owner, "She left.")


def test_archived_project_is_read_and_not_changed_until_reopened(pages: Client) -> None:
    project = make.make_task().project
    requester = Client()
    requester.force_login(project.owner)
    confirm(pages, PROJECTS, "archive", project.pk, why="Nobody uses it.")
    assert requester.get(f"/projects/{project.pk}/").status_code == 200
    refused = requester.post(f"/projects/{project.pk}/tasks/new/")
    assert refused.status_code == 409 and "archived" in refused.content.decode()
    confirm(pages, PROJECTS, "reopen", project.pk, why="It is used.")
    assert requester.post(f"/projects/{project.pk}/tasks/new/").status_code != 409
    assert Notice.objects.filter(user=project.owner, kind="project.archived").count() == 1


def test_owner_closes_and_reopens_an_account(pages: Client, owner: User) -> None:
    other = make.make_user(password=make.PASSWORD)
    confirm(pages, PEOPLE, "close", other.pk, why="Abuse.")
    other.refresh_from_db()
    assert not other.is_active
    confirm(pages, PEOPLE, "reopen", other.pk, why="A mistake.")
    other.refresh_from_db()
    assert other.is_active
    confirm(pages, PEOPLE, "close", owner.pk, why="Mine.")
    owner.refresh_from_db()
    assert owner.is_active


def test_second_factor_goes_with_a_stated_proof(pages: Client) -> None:
    user = make.make_user(password=make.PASSWORD)
    set_up_app(user)
    confirm(pages, PEOPLE, "reset_factor", user.pk, proof=" ")
    assert not AuditEntry.objects.filter(action="account.factor_reset").exists()
    confirm(pages, PEOPLE, "reset_factor", user.pk, proof="Passport at the desk.")
    entry = AuditEntry.objects.get(action="account.factor_reset")
    assert entry.detail["proof"] == "Passport at the desk."


def test_two_accounts_are_merged_one_at_a_time(pages: Client) -> None:
    project, into = make.make_project(), make.make_user("stays")
    double = make.make_member(project).user
    confirm(pages, PEOPLE, "merge", double.pk, into="stays", why="One person.")
    assert project.memberships.filter(user=into, removed_at=None).exists()
    double.refresh_from_db()
    assert not double.is_active


def test_owner_switches_read_only_and_back(pages: Client) -> None:
    assert pages.post(SETTINGS, {"do": "read_only", "read_only-why": ""}).status_code == 422
    pages.post(SETTINGS, {"do": "read_only", "read_only-why": "We move."})
    assert read_state().read_only_reason == "We move."
    assert "We move." in pages.get(SETTINGS).content.decode()
    pages.post(SETTINGS, {"do": "banner", "banner-text": "Payments leave on Friday."})
    pages.post(SETTINGS, {"do": "writable"})
    assert (read_state().is_read_only, read_state().banner) == (False, "Payments leave on Friday.")
    assert pages.post(SETTINGS, {"do": "nothing"}).status_code == 404


def test_switched_off_feature_is_closed_to_all_but_owners(pages: Client, owner: User) -> None:
    pages.post(SETTINGS, {"do": "features", "on": ["boards", "models"]})
    assert read_state().switched_off == {"sign_ups", "projects"}
    assert Client().get("/signup/").context.get("form") is None
    person = Client()
    person.force_login(make.make_user())
    new = {"name": "Tides", "currency": "EUR"}
    person.post("/projects/new/", new)
    assert not Project.objects.filter(name="Tides").exists()
    pages.post("/projects/new/", new)
    assert Project.objects.get(name="Tides").owner == owner


def test_owner_gives_a_project_other_limits(pages: Client) -> None:
    project = make.make_project()
    address = f"/installation/projects/{project.pk}/limits/"
    assert pages.get(address).status_code == 200
    pages.post(SETTINGS, {"do": "limits", "limits-tasks": "7", "limits-projects": "3"})
    pages.post(address, {"workers": "12"})
    assert (quota_limit("tasks", project), quota_limit("workers", project)) == (7, 12)
    assert quota_limit("projects", make.make_user()) == 3
    pages.post(address, {"workers": ""})
    assert quota_limit("workers", project) == 50_000
    assert pages.post(address, {"workers": "-1"}).status_code == 422


def test_owner_gives_a_person_other_limits(pages: Client) -> None:
    person = make.make_user()
    address = reverse("installation_person_limits", args=[person.pk])
    assert address in pages.get(reverse("installation_people")).content.decode()
    assert list(pages.get(address).context["form"].fields) == ["projects", "waiting_of_person"]
    pages.post(address, {"projects": "2"})
    assert quota_limit("projects", person) == 2
    assert AuditEntry.objects.get(action="quota.set").object_id == person.pk
    pages.post(address, {"projects": ""})
    assert quota_limit("projects", person) == 100
    assert pages.post(address, {"projects": "-1"}).status_code == 422


def test_message_reaches_everybody_and_audit_log_leaves_as_lines(pages: Client) -> None:
    person = make.make_user()
    pages.post(SETTINGS, {"do": "broadcast", "broadcast-text": "Maintenance on Sunday."})
    assert Notice.objects.get(user=person).text == "Maintenance on Sunday."
    sent = pages.get("/installation/audit.jsonl?days=1")
    lines = [json.loads(line) for line in b"".join(sent.streaming_content).splitlines()]  # type: ignore[attr-defined]
    assert lines[-1]["action"] == "installation.message"


def test_demo_goes_and_what_people_made_of_it_stays(pages: Client) -> None:
    assert "There is no demo here." in pages.get(SETTINGS).content.decode()
    demo = make.make_project(owner=make.make_user("requester", password=make.PASSWORD))
    record(by=None, project=demo, action="demo.load", on=demo)
    worker = make.make_worker(demo, make.make_user("demo-heron-05")).user
    guest = make.make_member(demo).user
    pages.post(SETTINGS, {"do": "remove_demo"})
    demo.refresh_from_db()
    assert demo.archived_at is not None
    names = User.objects.filter(is_active=False).values_list("username", flat=True)
    assert set(names) == {"requester", worker.username}
    assert User.objects.get(pk=guest.pk).is_active
    assert not Client().login(username="requester", password=make.PASSWORD)
