"""An owner exports and imports projects on pages: in parts, and by a job."""

from __future__ import annotations

import datetime as dt
import hashlib

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEntry, Notice, Project, StoredFile
from evaluation.models import ProjectArchive
from evaluation.moving import files
from tests.support import factories

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def owner_client() -> Client:
    client = Client()
    client.force_login(factories.make_user("boss", is_superuser=True))
    return client


def export(client: Client, project: Project, **sent: str) -> ProjectArchive:
    address = f"{reverse('installation_moves')}?project={project.pk}"
    assert client.post(address, {"do": "export", **sent}).status_code == 302
    archive = ProjectArchive.objects.get(project=project)
    files.work_on(archive.pk)
    archive.refresh_from_db()
    return archive


def upload(client: Client, content: bytes, part: int) -> ProjectArchive:
    """Send a file to uploads/archives/ in parts, and begin anew after each as after a break."""
    about = {"name": "there.zip", "size": len(content), "modified": 1}
    for at in range(0, len(content), part):
        begun = client.post(reverse("installation_moves"), about).json()
        assert begun["received"] == at
        body = content[at : at + part]
        sent = client.post(f"{begun['url']}?offset={at}", body, "application/octet-stream")
        assert sent.json()["received"] == at + len(body)
    archive = ProjectArchive.objects.get(direction="in", state="queued")
    files.work_on(archive.pk)
    archive.refresh_from_db()
    return archive


def test_owner_moves_a_project_by_pages(owner_client: Client) -> None:
    world, page = factories.make_world(n=2), reverse("installation_moves")
    factories.claim_and_submit(world.task)
    archive = export(owner_client, world.project)
    assert (archive.state, archive.error) == ("done", "")
    assert archive.done == archive.total > 0
    asked = {"do": "download", "archive": archive.pk}
    content = b"".join(owner_client.post(page, asked).streaming_content)  # type: ignore[attr-defined]
    assert hashlib.sha256(content).hexdigest() == archive.sha256
    assert len(content) == archive.size
    taken = upload(owner_client, content, len(content) // 2 + 1)
    assert (taken.state, taken.error) == ("done", "")
    assert taken.project != world.project and taken.project.owner.username == "boss"  # type: ignore[union-attr]
    assert not taken.parts.exists()
    again = upload(owner_client, content, len(content))
    assert again.state == "failed" and str(taken.project_id) in again.error
    shown = owner_client.get(page).content.decode()
    assert archive.sha256 in shown and again.error in shown
    for one in (archive, again):
        owner_client.post(page, {"do": "remove", "archive": one.pk})
    assert not StoredFile.objects.filter(name__startswith="archives").exists()
    done = AuditEntry.objects.filter(actor__username="boss").values_list("action", flat=True)
    assert {
        *("project.export_request", "project.export", "project.archive_download"),
        *("project.import_request", "project.import", "project.archive_remove"),
    } <= set(done)
    assert Notice.objects.filter(user__username="boss").count() == 3


def test_project_that_leaves_by_page_needs_a_reason_and_is_archived(owner_client: Client) -> None:
    project = factories.make_project()
    address = f"{reverse('installation_moves')}?project={project.pk}"
    refused = owner_client.post(address, {"do": "export", "leave": "yes"})
    assert refused.status_code == 422 and "why" in refused.context["form"].errors
    archive = export(owner_client, project, leave="yes", why="A new server.")
    project.refresh_from_db()
    assert archive.state == "done" and project.archived_at is not None


def test_move_that_was_killed_is_taken_up_and_old_archives_go(owner_client: Client) -> None:
    project, long_ago = factories.make_project(), timezone.now() - dt.timedelta(days=8)
    archive = export(owner_client, project)
    rows = ProjectArchive.objects.filter(pk=archive.pk)
    rows.update(state="running", done_at=None)
    assert files.work_on(archive.pk) == "not mine"  # its worker gives signs of life
    rows.update(heartbeat_at=long_ago)
    assert files.resume_archives() == 1
    assert files.work_on(archive.pk) == "done"
    assert StoredFile.objects.filter(name__startswith="archives").count() == 1
    rows.update(done_at=long_ago)
    files.resume_archives()
    assert not rows.exists() and not StoredFile.objects.exists()


def test_archive_is_sent_by_the_owner_who_began_it_alone(owner_client: Client) -> None:
    about = {"name": "there.zip", "size": 9, "modified": 1}
    url = owner_client.post(reverse("installation_moves"), about).json()["url"]
    for user in (factories.make_user(), factories.make_user("other", is_superuser=True)):
        stranger = Client()
        stranger.force_login(user)
        sent = stranger.post(f"{url}?offset=0", b"PK", "application/octet-stream")
        assert sent.status_code == 404
    missing = owner_client.post(f"{url}?offset=3", b"PK", "application/octet-stream")
    assert missing.status_code == 409
