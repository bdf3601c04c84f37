"""Quotas: what a person, a project and the installation may have, wherever it is asked for."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.accounts import quotas
from annotation.accounts.projects.actions import create_project, invite, revoke_invitation
from annotation.authoring.actions.tasks import create_task
from annotation.formats.uploads import actions as uploads
from annotation.gallery.actions.duplicates import duplicate_task
from annotation.models import AuditEntry, ImportFile, Project
from annotation.panels.actions import panels
from crowdqc import limits
from crowdqc.errors import Invalid, LimitExceeded
from tests.support import factories

pytestmark = pytest.mark.django_db


def quota(*words: str) -> str:
    out = io.StringIO()
    call_command("crowdqc_quota", *words, stdout=out)
    return out.getvalue()


def test_a_person_has_so_many_projects_by_page_api_and_action_until_the_owner_allows_more(
    settings: Any,
) -> None:
    settings.CROWDQC_QUOTAS = {"projects": "2"}
    user = factories.make_user()
    for name in ("first", "second"):
        create_project(by=user, name=name)
    with pytest.raises(LimitExceeded) as refused:
        create_project(by=user, name="third")
    assert refused.value.code == "quota" and "2 of the 2" in refused.value.message
    client = Client()
    client.force_login(user)
    page = client.post(reverse("project_new"), {"name": "third", "currency": "EUR"})
    assert page.status_code == 422 and b"2 of the 2" in page.content
    program = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(user)}")
    told = program.post("/api/projects/", {"name": "third"}, format="json")
    assert told.status_code == 429 and told.json()["code"] == "quota"
    assert "2 of 3" in quota("--person", user.username, "--set", "projects", "3")
    create_project(by=user, name="third")
    entry = AuditEntry.objects.get(action="quota.set")
    assert entry.detail == {"name": "projects", "before": None, "most": 3}
    quota("--person", user.username, "--reset", "projects")
    with pytest.raises(LimitExceeded):
        create_project(by=user, name="fourth")
    assert Project.objects.filter(owner=user).count() == 3


def test_projects_are_made_at_a_rate() -> None:
    user = factories.make_user()
    limits.require_try(limits.PROJECTS, user.pk, "", units=limits.PROJECTS.most)
    with pytest.raises(LimitExceeded):
        create_project(by=user, name="one more")


def test_a_project_has_so_many_tasks_open_invitations_and_panels(settings: Any) -> None:
    world = factories.make_world(1)
    project, owner = world.project, world.requester
    settings.CROWDQC_QUOTAS = {"tasks": "2", "invitations": "1", "panels": "1"}
    create_task(by=owner, project=project, type="free_text", title="Second")
    with pytest.raises(LimitExceeded) as refused:
        create_task(by=owner, project=project, type="free_text", title="Third")
    assert refused.value.code == "quota" and "2 of the 2" in refused.value.message
    with pytest.raises(LimitExceeded):
        duplicate_task(by=owner, task=world.task)
    client = Client()
    client.force_login(owner)
    url = reverse("task_new", args=[project.pk])
    page = client.post(url, {"title": "Third", "type": "free_text"})
    assert page.status_code == 422 and b"2 of the 2" in page.content
    quota("--project", str(project.pk), "--set", "tasks", "3")
    assert client.post(url, {"title": "Third", "type": "free_text"}).status_code == 302

    invitation = invite(by=owner, project=project, role="worker")
    with pytest.raises(LimitExceeded, match="1 invitations"):
        invite(by=owner, project=project, role="worker")
    revoke_invitation(by=owner, invitation=invitation)
    invite(by=owner, project=project, role="worker")

    panels.create(by=owner, project=project, name="first")
    with pytest.raises(LimitExceeded):
        panels.create(by=owner, project=project, name="second")
    assert panels.get_or_create_panel(by=owner, project=project, name="first").name == "first"


@pytest.mark.parametrize(
    ("name", "most"), [("waiting_of_person", "1"), ("waiting", "1"), ("megabytes", "0")]
)
def test_uploads_wait_and_fill_the_disk_up_to_the_quota(
    settings: Any, name: str, most: str
) -> None:
    user = factories.make_user()
    client = Client()
    client.force_login(user)
    table = b"worker,item,label\na,b,c\n"
    if most != "0":
        uploads.keep_table(by=user, project=None, name="a.csv", content=table)
    settings.CROWDQC_QUOTAS = {name: most}
    file = SimpleUploadedFile("b.csv", table + b"d,e,f\n")
    page = client.post(reverse("score_table"), {"file": file})
    assert page.status_code == 429 and f"{most} ".encode() in page.content
    assert ImportFile.objects.count() == int(most)


def test_only_what_is_a_quota_of_it_can_be_set() -> None:
    project = factories.make_project()
    quotas.set_quota(by=None, name="megabytes_of_project", owner=project, limit=7)
    assert quotas.quota_limit("megabytes_of_project", project) == 7
    for owner, name in ((project, "projects"), (None, "cups")):
        with pytest.raises(Invalid):
            quotas.set_quota(by=None, name=name, owner=owner, limit=1)
    with pytest.raises(CommandError):
        quota("--project", str(project.pk), "--set", "megabytes_of_project", "-1")
    assert "of 7" in quota("--project", str(project.pk))
    assert "megabytes " in quota()


def test_a_name_in_the_settings_that_is_no_quota_is_reported(settings: Any) -> None:
    settings.CROWDQC_QUOTAS = {"projects": "2", "project": "3"}
    with pytest.raises(SystemCheckError, match=r"crowdqc\.E110.*CROWDQC_QUOTAS: project is no"):
        call_command("check")


def test_a_quota_that_is_no_number_is_refused_at_start() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from django.conf import settings; settings.CROWDQC_QUOTAS"],
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "crowdqc.settings", "CROWDQC_QUOTAS": "projects=many"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "CROWDQC_QUOTAS: projects is 'many'" in done.stderr
