"""Speech of people who think aloud: who may keep it, who may hear it, and when it goes."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.formats.exports.pairwise import get_export
from annotation.models import Assignment, AuditEntry, Recording
from annotation.privacy.actions import erasure
from annotation.work.actions import assignments
from crowdqc.errors import Invalid
from evaluation.people import person_data
from tests.annotation.work.test_worker_views import item_url, signed_in
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies import thinking

pytestmark = pytest.mark.django_db
SPOKEN = (Path(__file__).parents[1] / "task_types" / "spoken.webm").read_bytes()
DRAFT = thinking.thought(["Sentences link up", "Time runs one way"])


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(2)


@pytest.fixture
def held(world: factories.World) -> Assignment:
    task = thinking.make_think(world.project, settings={"recording": "required"})
    return factories.claim(task, world.worker)


def sends(client: Client, held: Assignment, data: bytes = SPOKEN, **more: str) -> Any:
    url = reverse("work_recording", args=[held.pk, 1])
    file = SimpleUploadedFile("said.webm", data)
    form = more or {"recording": file}
    return client.post(url, form, headers={"accept": "application/json"})


def test_a_required_recording_is_asked_for_by_name_and_then_enough(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    shown = client.get(item_url(held, 1))
    assert "microphone=(self)" in shown["Permissions-Policy"]
    assert "camera=()" in shown["Permissions-Policy"]
    assert "a recording is required" in html_of(shown)
    with pytest.raises(Invalid, match="Record what you say: nothing is recorded yet"):
        thinking.submit(held, DRAFT)
    kept = sends(client, held).json()
    assert kept["seconds"] == pytest.approx(2, abs=0.1)
    thinking.submit(held, DRAFT)
    assert AuditEntry.objects.filter(action="recording.keep").count() == 1


def test_a_task_that_records_nobody_takes_no_speech_and_no_microphone(
    world: factories.World,
) -> None:
    held = factories.claim(thinking.make_think(world.project), world.worker)
    client = signed_in(world.worker)
    assert "microphone=()" in client.get(item_url(held, 1))["Permissions-Policy"]
    answer = sends(client, held)
    assert answer.status_code == 409
    assert answer.json()["detail"] == "This task records nobody."
    assert not Recording.objects.exists()


def test_what_is_no_sound_is_refused_and_the_one_before_stays(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    first = sends(client, held).json()
    answer = sends(client, held, b"<script>alert(1)</script>")
    assert answer.status_code == 422
    assert "no sound that can be played" in answer.json()["detail"]
    assert client.get(first["url"]).status_code == 200


def test_only_who_said_it_and_the_staff_hear_it(world: factories.World, held: Assignment) -> None:
    url = sends(signed_in(world.worker), held).json()["url"]
    whole = signed_in(world.worker).get(url)
    part = signed_in(world.requester).get(url, headers={"range": "bytes=10-19"})
    assert whole["Content-Type"] == "audio/webm"
    assert (part.status_code, part.content) == (206, whole.content[10:20])
    assert signed_in(factories.make_worker(world.project)).get(url).status_code == 404
    assert signed_in(factories.make_project().owner).get(url).status_code == 404


def test_a_recording_is_replaced_as_a_whole_and_taken_back_before_the_submit_alone(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    sends(client, held)
    sends(client, held)
    assert Recording.objects.count() == 1
    assert sends(client, held, remove="1").json() == {"url": "", "seconds": 0}
    assert not Recording.objects.exists()
    sends(client, held)
    thinking.submit(held, DRAFT)
    for answer in (sends(client, held), sends(client, held, remove="1")):
        assert answer.status_code == 409
    assert Recording.objects.count() == 1


def test_the_worker_finds_it_on_their_page_and_in_their_data_and_staff_beside_the_answer(
    world: factories.World, held: Assignment
) -> None:
    url = sends(signed_in(world.worker), held).json()["url"]
    thinking.submit(held, DRAFT)
    mine = reverse("work_record_assignment", args=[held.pk])
    assert url in html_of(signed_in(world.worker).get(mine))
    read = reverse("review_answers", args=[held.task.project_id, held.task_id, held.pk])
    assert url in html_of(signed_in(world.requester).get(read))
    assert world.worker.user is not None
    with zipfile.ZipFile(io.BytesIO(b"".join(person_data.own_data(world.worker.user)))) as archive:
        row = json.loads(archive.read("recordings.jsonl"))
        sound = archive.read(f"recordings/{row['recording']}.webm")
    assert row["assignment"] == held.pk
    assert sound == signed_in(world.worker).get(url).content


def test_staff_export_submitted_speech_under_pseudonyms(
    world: factories.World, held: Assignment
) -> None:
    sends(signed_in(world.worker), held)
    table = get_export(held.task, "recordings", "zip").table(held.task, "zip", "")
    assert len(_names(table)) == 2  # the empty table, and the manifest: it is not submitted yet
    thinking.submit(held, DRAFT)
    table = get_export(held.task, "recordings", "zip").table(held.task, "zip", "")
    data = b"".join(table.parts("zip"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        row = json.loads(archive.read("recordings.jsonl"))
        assert row["worker"] == world.worker.pseudonym
        assert row["file"] in archive.namelist()


def _names(table: Any) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(b"".join(table.parts("zip")))) as archive:
        return archive.namelist()


def test_it_goes_with_the_words_of_its_worker(world: factories.World, held: Assignment) -> None:
    sends(signed_in(world.worker), held)
    assert erasure.erase_words(assignments=[held.pk], by=None, why="worker") == 1
    assert not Recording.objects.exists()


def test_no_recording_without_an_agreement(world: factories.World, held: Assignment) -> None:
    world.worker.consents.update(withdrawn_at="2030-01-01T00:00Z")
    answer = sends(signed_in(world.worker), held)
    assert answer.status_code == 403
    assert not Recording.objects.exists()


def test_a_draft_is_kept_beside_a_recording(world: factories.World, held: Assignment) -> None:
    client = signed_in(world.worker)
    client.post(item_url(held, 1), {"attribute-0": "Sentences link up", "go": "stay"})
    sends(client, held)
    entry = assignments.ENTRY.first(assignment=held.pk, item=held.entries.get().item_id)
    assert entry is not None
    assert entry.draft["attribute-0"] == "Sentences link up"
