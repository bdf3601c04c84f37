"""An owner runs the installation by a program, with a token of the scope for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import User
from annotation.models.tasks import TaskState
from annotation.records.installation_state import read_state
from crowdqc.errors import Invalid
from tests.security.accounts.factors import set_up_app
from tests.support import factories as make

pytestmark = pytest.mark.django_db


class Program:
    """A client with a token of an owner."""

    def __init__(self, scopes: tuple[str, ...] = ("installation",)) -> None:
        owner = make.make_user(is_superuser=True)
        self.header = {"Authorization": f"Token {make.api_token(owner, scopes)}"}

    def read(self, name: str, /, *args: int) -> Any:
        return Client().get(reverse(name, args=args), headers=self.header)

    def post(self, name: str, /, *args: int, **body: Any) -> Any:
        return self._send("POST", name, args, body)

    def patch(self, name: str, /, *args: int, **body: Any) -> Any:
        return self._send("PATCH", name, args, body)

    def _send(self, verb: str, name: str, args: tuple[int, ...], body: dict[str, Any]) -> Any:
        text, kind = json.dumps(body), "application/json"
        return Client().generic(verb, reverse(name, args=args), text, kind, headers=self.header)


def test_owner_reads_the_installation_by_a_token_with_its_scope() -> None:
    task = make.make_task()
    make.claim_and_submit(task)
    program = Program()
    [project] = program.read("api_installation_projects").json()["results"]
    assert (project["id"], project["answers"], project["tasks"]) == (task.project_id, 4, 1)
    rows = program.read("api_installation_people").json()["results"]
    people = {one["username"]: one for one in rows}
    assert people[task.project.owner.username]["owned"] == 1
    assert program.read("api_installation_state").json()["read_only_since"] is None
    usual = program.read("api_installation_quotas").json()
    assert {one["name"] for one in usual} > {"tasks", "workers"}
    newest = program.read("api_installation_audit").json()["results"][0]
    assert newest["action"] == "token.make"


def test_token_without_the_scope_or_of_another_person_opens_nothing() -> None:
    name = "api_installation_projects"
    assert Program(("read", "write")).read(name).status_code == 403
    with pytest.raises(Invalid):
        make.api_token(make.make_user(), ("installation",))
    assert Client().get(reverse(name)).status_code == 401


def test_owner_changes_quotas_by_a_program() -> None:
    program, project = Program(), make.make_project()
    of_project = ("api_installation_project_quotas", project.pk)
    program.patch("api_installation_quotas", name="tasks", most=7)
    changed = program.patch(*of_project, name="workers", most=12).json()
    limits = {one["name"]: one["most"] for one in changed}
    assert (limits["tasks"], limits["workers"]) == (7, 12)
    assert program.read(*of_project).json() == changed
    assert program.patch(*of_project, name="projects", most=1).status_code == 422
    of_person = ("api_installation_person_quotas", project.owner_id)
    changed = program.patch(*of_person, name="projects", most=3).json()
    assert {one["name"]: (one["used"], one["most"]) for one in changed}["projects"] == (1, 3)
    assert program.read(*of_person).json() == changed
    assert program.patch(*of_person, name="workers", most=1).status_code == 422


def test_owner_acts_by_a_program_as_on_the_pages() -> None:
    program, task, why = Program(), make.make_task(), "She left the lab."
    project, new = task.project_id, make.make_user("ada")
    moved = program.post("api_installation_transfer", project, to="ada", why=why)
    assert moved.json()["owner"] == new.username
    nobody = program.post("api_installation_transfer", project, to="nobody", why=why)
    assert nobody.status_code == 422
    assert program.post("api_installation_archive", project, why=why).json() == {"tasks": 1}
    task.refresh_from_db()
    assert task.state == TaskState.CLOSED
    assert program.post("api_installation_reopen", project, why=why).status_code == 204
    other = make.make_user(password=make.PASSWORD)
    set_up_app(other)
    factors = program.post("api_installation_reset_factor", other.pk, proof="Passport.").json()
    assert factors["factors"] >= 1
    assert program.post("api_installation_close", other.pk, why=why).status_code == 204
    assert program.post("api_installation_close", other.pk, why=why).status_code == 409
    assert program.post("api_installation_reopen_account", other.pk, why=why).status_code == 204
    merged = program.post("api_installation_merge", other.pk, into="ada", why=why)
    assert merged.status_code == 204 and not User.objects.get(pk=other.pk).is_active
    assert program.post("api_installation_read_only", why=why).json()["read_only_reason"] == why
    switched = program.patch("api_installation_state", banner="Soon.", switched_off=["boards"])
    assert (switched.json()["banner"], switched.json()["switched_off"]) == ("Soon.", ["boards"])
    assert program.post("api_installation_writable").json() == {"assignments": 0}
    assert not read_state().is_read_only
    assert program.post("api_installation_broadcast", text="Maintenance.").json()["people"] >= 2
    assert program.post("api_installation_remove_demo").status_code == 409
