"""Stored files: served wherever they lie, moved whole or not at all, and gone when unused."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import environ
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.authoring.actions import media
from annotation.files.stored import actions
from annotation.files.stored.selectors import content
from annotation.models import Item, MediaContent, StoredFile, Task
from crowdqc.deployment.backup.archive import ArchiveReader
from crowdqc.deployment.backup.files import restore_files
from crowdqc.deployment.backup.write import write_backup
from crowdqc.errors import Missing, Unavailable
from crowdqc.files.places import configured_storages, s3_options
from tests.support import factories
from tests.support.servers.s3 import bucket_settings, s3_server, stored_names
from tests.support.studies import labels

PLACES = ("database", "folder", "s3")
LARGE = bytes(range(256)) * 4096 * 21  # 22 MB: more than one part


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def places(
    s3: str, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """All three, as the environment names them; gives the bucket's name."""
    bucket = f"files-{tmp_path.name.replace('_', '-')[-40:]}"
    told = bucket_settings(s3, bucket) | {"CROWDQC_FILES_FOLDER": str(tmp_path / "files")}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    env = environ.Env()
    settings.CROWDQC_FILE_PLACES = configured_storages(env, s3_options(env))
    settings.STORAGES = settings.STORAGES | settings.CROWDQC_FILE_PLACES
    yield bucket


@pytest.mark.django_db
def test_every_storage_gives_back_what_it_took_in_pieces(places: str) -> None:
    for place in PLACES:
        storage: Any = storages[place]
        with storage.open("kind/ab/large", "wb") as out:
            for at in range(0, len(LARGE), 1 << 20):
                out.write(LARGE[at : at + (1 << 20)])
        storage.save("kind/cd/small", ContentFile(b""))
        assert b"".join(storage.pieces("kind/ab/large")) == LARGE, place
        with storage.open("kind/ab/large") as file:
            assert file.read() == LARGE, place
        assert list(storage.pieces("kind/cd/small")) in ([], [b""]), place
        assert storage.size("kind/ab/large") == len(LARGE), place
        assert storage.listdir("kind")[0] == ["ab", "cd"], place
        assert storage.get_modified_time("kind/ab/large") > timezone.now() - dt.timedelta(hours=1)
        storage.delete("kind/ab/large")
        with pytest.raises(FileNotFoundError):
            list(storage.pieces("kind/ab/large"))
        assert not storage.exists("kind/ab/large"), place


@pytest.fixture
def task(db: Any) -> Task:
    return labels.make_images(factories.make_project(), redundancy=5)


def move(to: str) -> str:
    out = io.StringIO()
    call_command("move_files", "--to", to, stdout=out, stderr=out)
    return out.getvalue()


def test_files_are_served_from_wherever_they_were_moved_to_those_who_may_see_them(
    task: Task, places: str, s3: str, django_capture_on_commit_callbacks: Any
) -> None:
    project, file = task.project, task.items.order_by("position")[0].media
    assert file is not None
    address = reverse("media_file", args=[project.pk, file.sha256])
    owner, outsider = Client(), Client()
    owner.force_login(project.owner)
    outsider.force_login(factories.make_user())
    before = {one.pk: content(one) for one in StoredFile.objects.all()}
    held = StoredFile.objects.get(pk=file.content.stored_id)
    storages["s3"].save(held.name, ContentFile(b"half of a move that was stopped"))
    for place in ("s3", "folder", "database"):
        stale = StoredFile.objects.get(pk=held.pk)
        with django_capture_on_commit_callbacks(execute=True):
            assert f"{len(before)} files" in move(place)
        with django_capture_on_commit_callbacks(execute=True):
            assert move(place).startswith("0 files")
        assert set(StoredFile.objects.values_list("storage", flat=True)) == {place}
        assert {one.pk: content(one) for one in StoredFile.objects.all()} == before
        assert content(stale) == before[held.pk]  # of a page that read its row before the move
        assert owner.get(address).content == before[held.pk]
        assert outsider.get(address).status_code == 404
        assert len(stored_names(s3, places)) == (len(before) if place == "s3" else 0)


def test_a_file_that_was_damaged_is_not_moved_and_not_deleted(task: Task, places: str) -> None:
    one = StoredFile.objects.earliest("pk")
    storages["database"].delete(one.name)
    storages["database"].save(one.name, ContentFile(b"something else"))
    with pytest.raises(CommandError, match="1 files are damaged"):
        move("s3")
    assert StoredFile.objects.get(pk=one.pk).storage == "database"
    assert content(one) == b"something else" and not storages["s3"].exists(one.name)
    assert StoredFile.objects.filter(storage="s3").count() == StoredFile.objects.count() - 1


def test_what_nothing_refers_to_is_deleted_and_nothing_else(
    task: Task, places: str, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.CROWDQC_FILES = "s3"
    bucket: Any = storages["s3"]
    used = StoredFile.objects.count()
    orphan = actions.store([b"of a request that was rolled back"], kind="media")
    bucket.save("media/xy/unknown", ContentFile(b"of a process that was killed"))
    assert actions.clean_up() == 0  # either may still be on its way
    later = timezone.now() + dt.timedelta(days=2)
    with django_capture_on_commit_callbacks(execute=True):
        assert actions.clean_up(later)
    assert not bucket.exists("media/xy/unknown") and not bucket.exists(orphan.name)
    assert StoredFile.objects.count() == used
    # What an item showed goes at once with its row.
    Item.objects.filter(task=task).update(media=None)
    names = list(MediaContent.objects.values_list("stored__name", flat=True))
    media.delete_unused(by=task.project.owner, project=task.project)
    assert not StoredFile.objects.exists()
    assert not any(storages["database"].exists(name) for name in names)


def test_a_bucket_that_does_not_answer_is_said_and_loses_nothing(
    task: Task, places: str, settings: Any
) -> None:
    one = StoredFile.objects.earliest("pk")
    StoredFile.objects.filter(pk=one.pk).update(storage="s3")
    one.refresh_from_db()
    with pytest.raises(Missing):
        content(one)
    dead = settings.STORAGES["s3"]["OPTIONS"] | {"bucket_name": "no-such-bucket-here"}
    settings.STORAGES = settings.STORAGES | {
        "s3": {"BACKEND": "crowdqc.files.s3.Bucket", "OPTIONS": dead}
    }
    settings.CROWDQC_FILES = "s3"
    with pytest.raises(Unavailable):
        actions.store([b"text"], kind="media")


@pytest.mark.django_db(transaction=True)
def test_a_backup_holds_files_that_lie_outside_of_the_database(
    places: str, settings: Any, tmp_path: Path
) -> None:
    settings.CROWDQC_FILES = "s3"
    kept = actions.store([LARGE], kind="media")
    gone = actions.store([b"deleted by hand"], kind="media")
    storages["s3"].delete(gone.name)
    (tmp_path / "backups").mkdir()
    made = write_backup(tmp_path / "backups")
    assert made.missing == [gone.name]
    with open(made.address, "rb") as source:
        reader = ArchiveReader(source)
        assert sum(1 for _ in reader.rows()) and b"".join(p for _, p in reader.files()) == LARGE
    storages["s3"].delete(kept.name)
    settings.CROWDQC_FILES = "folder"
    restore_files(made.address, "", reader.closing)
    kept.refresh_from_db()
    assert kept.storage == "folder" and content(kept) == LARGE
