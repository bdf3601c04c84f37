"""An owner deletes a project on a page, by a program and by a command, and reads its books."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.test import APIClient

from annotation.models import AuditEntry, Notice, Project, Task
from evaluation.deletion import actions
from evaluation.models import ProjectDeletion
from tests.support import factories as make

pytestmark = pytest.mark.django_db


def owner(*words: str) -> str:
    out = io.StringIO()
    call_command("crowdqc_owner", *words, stdout=out)
    return out.getvalue()


def page_of(client: Client, project: Project, **form: str) -> Any:
    address = f"/installation/projects/{project.pk}/delete/"
    return client.post(address, form) if form else client.get(address)


def names_in(response: Any) -> set[str]:
    """What a ZIP that was downloaded holds."""
    with io.BytesIO(b"".join(response)) as file:
        return set(zipfile.ZipFile(file).namelist())


def test_owner_deletes_a_project_on_its_page_and_reads_its_books() -> None:
    project = make.make_task().project
    client, requester = Client(), Client()
    client.force_login(make.make_user("owner", is_superuser=True))
    requester.force_login(project.owner)
    assert page_of(client, project).status_code == 200
    wrong = page_of(client, project, do="delete", name="Another", why="Over.")
    assert wrong.status_code == 422 and not ProjectDeletion.objects.exists()
    assert page_of(client, project, do="delete", name=project.name, why="Over.").status_code == 302
    assert page_of(client, project, do="keep", why="Not yet.").status_code == 302
    assert not ProjectDeletion.objects.exists()
    page_of(client, project, do="delete", name=project.name, why="Over.")
    books = f"/installation/projects/{project.pk}/books/"
    assert requester.get(books).status_code == 404
    page_of(client, project, do="now", name=project.name)
    actions.delete_due()
    assert not Task.objects.exists() and page_of(client, project).status_code == 200
    assert "Deleted" in client.get("/installation/").content.decode()
    assert client.get(books).status_code == requester.get(books).status_code == 200
    names = names_in(requester.get(f"/installation/projects/{project.pk}/books.zip"))
    assert {"ledger.csv", "audit-log.jsonl", "tables/payment.csv"} <= names
    assert Notice.objects.filter(user=project.owner, text__contains="is deleted").exists()


def test_owner_deletes_a_project_by_a_program_and_a_command(tmp_path: Path) -> None:
    boss = make.make_user("owner", is_superuser=True)
    program = APIClient(HTTP_AUTHORIZATION=f"Token {make.api_token(boss, scopes=['installation'])}")
    world = make.make_world(n=1)
    address = f"/api/installation/projects/{world.project.pk}/deletion/"
    lease = make.claim(world.task, world.worker)
    body = {"name": world.project.name, "why": "Over."}
    refused = program.post(address, body, format="json")
    assert refused.status_code == 409 and refused.json()["code"] == "stands-in-the-way"
    assert [one["code"] for one in program.get(address).json()["obstacles"]] == ["leased"]
    lease.entries.all().delete()
    lease.delete()
    assert program.post(address, body, format="json").json()["state"] == "waiting"
    cancel = f"/api/installation/projects/{world.project.pk}/deletion/cancel/"
    kept = program.post(cancel, {"why": "Not yet."}, format="json")
    assert kept.json()["state"] is None
    name, number = world.project.name, str(world.project.pk)
    with pytest.raises(CommandError):
        owner("delete-project", number, "--name", "Another", "--why", "Over.")
    assert "archived" in owner("delete-project", number, "--name", name, "--why", "Over.")
    assert "kept" in owner("keep-project", number, "--why", "Not yet.")
    said = owner("delete-project", number, "--name", name, "--why", "Over.", "--now")
    assert "annotation.Item: " in said and said.endswith("its books are kept.\n")
    assert not Task.objects.exists()
    with pytest.raises(CommandError):
        owner("reopen-project", number, "--why", "It is needed.")
    owner("books", number, str(tmp_path / "books.zip"))
    assert "ledger.csv" in names_in(program.get(f"/api/installation/projects/{number}/books/"))
    entry = AuditEntry.objects.get(action="project.delete")
    assert entry.detail["why"] == "Over." and entry.detail["rows"] > 3
