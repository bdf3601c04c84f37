"""A file that is damaged, cut, foreign or of other tables is refused before anything is written."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from annotation.models import Payment, Project, User
from crowdqc.errors import Conflict, DomainError
from evaluation.models import ProjectMove, Run
from evaluation.moving import actions
from evaluation.moving.archive import MANIFEST, BadArchive
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    world = factories.make_world(n=2)
    factories.claim_and_submit(world.task)
    path = tmp_path / "project.zip"
    actions.export_project(by=None, project=world.project, path=path)
    return path


def rewrite(path: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The same archive with members changed, or left out where this gives None."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            content = change(name, before.read(name))
            if content is not None:
                after.writestr(name, content)
    made = path.with_name("changed.zip")
    made.write_bytes(out.getvalue())
    return made


def manifest_with(**values: object) -> Callable[[str, bytes], bytes]:
    def change(name: str, content: bytes) -> bytes:
        if name != MANIFEST:
            return content
        return json.dumps({**json.loads(content), **values}).encode()

    return change


def cut(path: Path) -> Path:
    made = path.with_name("cut.zip")
    made.write_bytes(path.read_bytes()[:-400])
    return made


def empty(path: Path) -> Path:
    made = path.with_name("empty.zip")
    made.write_bytes(b"")
    return made


BAD: dict[str, Callable[[Path], Path]] = {
    "cut": cut,
    "empty": empty,
    "a row changed": lambda path: rewrite(
        path,
        lambda name, content: content.upper() if name.endswith("Item.jsonl") else content,
    ),
    "a table missing": lambda path: rewrite(
        path, lambda name, content: None if name.endswith("Answer.jsonl") else content
    ),
    "another program": lambda path: rewrite(path, manifest_with(kind="something")),
    "another format": lambda path: rewrite(path, manifest_with(format=2)),
    "other tables": lambda path: rewrite(
        path, manifest_with(migrations=["annotation.0001_initial", "evaluation.0099_new"])
    ),
    "no manifest": lambda path: rewrite(
        path, lambda name, content: None if name == MANIFEST else content
    ),
    "a manifest of nothing": lambda path: rewrite(
        path, lambda name, content: b"[]" if name == MANIFEST else content
    ),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_archive_writes_nothing(archive: Path, how: str) -> None:
    bad = BAD[how](archive)
    before = (Project.objects.count(), User.objects.count())
    with pytest.raises(BadArchive):
        actions.import_project(by=None, path=bad)
    assert (Project.objects.count(), User.objects.count()) == before
    assert not ProjectMove.objects.filter(direction="in").exists()


def test_no_password_mail_or_token_is_in_an_archive(archive: Path) -> None:
    user = User.objects.exclude(email="").first()
    with zipfile.ZipFile(archive) as inside:
        text = b"".join(inside.read(name) for name in inside.namelist())
    assert user is None or user.email.encode() not in text
    assert b"pbkdf2" not in text and b"password" not in text.replace(b"No passwords", b"")


def test_a_copy_lives_beside_its_project(archive: Path) -> None:
    [project] = Project.objects.all()
    done = actions.import_project(by=None, path=archive)
    assert done.project.pk != project.pk and done.project.archived_at is not None
    assert done.project.tasks.count() == project.tasks.count()
    assert set(done.renamed) >= {"annotation.Assignment.submit_key"}
    assert not done.project.owner.is_active and not done.project.owner.email
    with pytest.raises(Conflict) as caught:
        actions.import_project(by=None, path=archive)
    assert caught.value.code == "imported-already"


def test_what_is_under_way_is_named(tmp_path: Path) -> None:
    world = factories.make_world(n=2)
    Run.objects.create(
        project=world.project, task=world.task, number=7, method="aqer", version="1", state="queued"
    )
    with pytest.raises(DomainError, match="7") as caught:
        actions.export_project(by=None, project=world.project, path=tmp_path / "a.zip")
    assert caught.value.code == "under-way" and not list(tmp_path.iterdir())
    assert not Payment.objects.exists()
