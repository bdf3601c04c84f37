"""Bodies are refused by their announced length, before anything of them is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.files.reading.importer import MAX_BYTES
from annotation.files.reading.recordings import MAX_RECORDING
from annotation.payouts.statement_file import LIMITS as STATEMENT
from crowdqc.web import bodies
from tests.support import factories

ROOT = Path(__file__).resolve().parents[3]
PLACES = {"project_id": 1, "task_id": 2}


def test_every_page_that_takes_a_file_takes_a_whole_one() -> None:
    """(B12) Forms with a file are found by their encoding, so that a new one is not forgotten."""
    forms = [
        path.relative_to(ROOT / "templates").as_posix()
        for path in (ROOT / "templates").rglob("*.html")
        if "multipart/form-data" in (text := path.read_text()) and 'parts="always"' not in text
    ]
    pages = {
        "annotation/authoring/imports/import.html": (
            "task_import",
            {**PLACES, "kind": "system_answers"},
        ),
        "annotation/accounts/projects/nobody_yet.html": ("project_first", {}),
        "annotation/authoring/labels/_upload.html": ("task_build_media", PLACES),
        "annotation/gallery/_from_file.html": ("task_from_file", {"project_id": 1}),
        "annotation/payouts/statements.html": ("statement_list", {"project_id": 1}),
        "annotation/work/think/_recorder.html": (
            "work_recording",
            {"assignment_id": 1, "position": 1},
        ),
        "evaluation/checklists/filled/scores.html": ("checklist_scores", PLACES),
        "evaluation/rescaling/scores.html": ("rescaling_scores", PLACES),
        "evaluation/score_table/start.html": ("score_table", {}),
    }
    assert set(forms) == set(pages), (
        "give a new form with a file its line in crowdqc.web.bodies.LIMITS"
    )
    others = {
        "work_recording": (MAX_RECORDING, bodies.RECORDING),
        "statement_list": (STATEMENT.size, bodies.FORM),
    }
    for name, places in pages.values():
        largest, wanted = others.get(name, (MAX_BYTES, bodies.UPLOAD))
        limit = bodies.limit_of(reverse(name, kwargs=places))
        assert limit == wanted
        assert limit > largest + bodies.SMALL


def test_other_addresses_take_little() -> None:
    assert bodies.limit_of("/login/") == bodies.limit_of("/api/token/") == bodies.SMALL
    assert bodies.limit_of("/hooks/prolific/7/") == bodies.limit_of("/anything/") == bodies.SMALL
    assert bodies.limit_of("/projects/1/settings/") == bodies.FORM
    assert bodies.limit_of("/api/tasks/7/items/") == bodies.FORM
    # Not under a task, or with more behind it: no upload.
    assert bodies.limit_of("/x/projects/1/statements/") == bodies.SMALL
    assert bodies.limit_of("/projects/1/statements/4/") == bodies.FORM


@pytest.mark.django_db
def test_a_stranger_sends_little_and_a_person_what_the_page_takes(client: Client) -> None:
    """(B12)"""
    world = factories.make_world(n=1)
    page = f"/projects/{world.project.pk}/settings/"
    form = {"text": "x" * (bodies.SMALL + 1)}
    refused = client.post(page, form)
    assert refused.status_code == 413
    text = refused.content.decode()
    assert "at most 64 kB are accepted here. Sign in to send more." in text
    client.force_login(world.requester)
    assert client.post(page, form).status_code != 413
    large = {"text": "x" * (bodies.FORM + 1)}
    refused = client.post(page, large)
    assert refused.status_code == 413 and "at most 20 MB" in refused.content.decode()
    told = client.post("/api/projects/", large, content_type="application/json")
    assert told.status_code == 413
    assert told.json()["code"] == "too-large" and told["Content-Type"].endswith("problem+json")


@pytest.mark.django_db
def test_a_body_of_unknown_length_is_refused(client: Client) -> None:
    """(B12)"""
    assert client.post("/login/", HTTP_TRANSFER_ENCODING="chunked").status_code == 411
    for length in ("9" * 5000, "-1", "1e9", "٣"):
        assert client.post("/login/", CONTENT_LENGTH=length).status_code == 413
