"""Images and recordings on the import page: files, archives of them, and tables that name them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import media
from annotation.files.reading import media_files
from annotation.files.reading.sources import of_bytes
from annotation.formats.actions.imports import import_content
from annotation.gallery.actions.from_file import begin_from_file
from annotation.models import ImportFile, Task
from crowdqc.errors import Invalid
from tests.support import factories, uploads
from tests.support.pages import html_of
from tests.support.studies import labels

pytestmark = pytest.mark.django_db

Files = Sequence[tuple[str, bytes]]
GREEN, BROWN = labels.png("green"), labels.png("brown")
TWO = (("leaf-1.png", GREEN), ("leaf-2.png", BROWN))
TABLE = (
    b"item_id,photo,text,tree\na,img/leaf-1.png,A green leaf,oak\nb,leaf-2.png,A brown leaf,elm\n"
)


@pytest.fixture
def task() -> Task:
    project = factories.make_project()
    return labels.make_labels(project, (), settings={"content": "image"}, publish=False)


def packed(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


def drop(task: Task, *files: tuple[str, bytes]) -> tuple[ImportFile, str]:
    """Drop files on the import page of items; the upload, and its page once it was read."""
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("task_import", args=[task.project_id, task.pk, "label_items"])
    sent: Any = [SimpleUploadedFile(name, data) for name, data in files]
    response = client.post(address, {"file": sent})
    assert response.status_code == 302, html_of(response)
    uploads.work()
    file = ImportFile.objects.latest("pk")
    return file, html_of(client.get(response["Location"]))


def imported(task: Task, file: ImportFile) -> list[tuple[str, str, str]]:
    client = Client()
    client.force_login(task.project.owner)
    client.post(
        reverse("task_import_file", args=[task.project_id, task.pk, file.pk]), {"do": "import"}
    )
    uploads.work()
    rows = task.items.order_by("position").values_list("key", "media__name", "question")
    return list(rows)


@pytest.mark.parametrize(
    "files",
    [TWO, [("leaves.zip", packed([("in/leaf-1.png", GREEN), ("leaf-2.png", BROWN)]))]],
    ids=["files", "archive"],
)
def test_dropped_images_are_stored_and_proposed_as_items_by_their_names(
    task: Task, files: Files
) -> None:
    file, page = drop(task, *files)
    assert file.state == ImportFile.State.READY and "leaf-1.png" in page
    assert task.project.media_files.count() == 2 and not task.items.exists()
    assert imported(task, file) == [
        ("leaf-1", "leaf-1.png", ""),
        ("leaf-2", "leaf-2.png", ""),
    ]


@pytest.mark.parametrize(
    "files",
    [(*TWO, ("leaves.csv", TABLE)), [("leaves.zip", packed([*TWO, ("leaves.csv", TABLE)]))]],
    ids=["files", "archive"],
)
def test_a_table_dropped_with_images_names_and_describes_them(task: Task, files: Files) -> None:
    file, _page = drop(task, *files)
    assert imported(task, file) == [
        ("a", "leaf-1.png", "A green leaf"),
        ("b", "leaf-2.png", "A brown leaf"),
    ]
    assert task.items.get(key="a").settings["meta"] == {"tree": "oak"}


def test_files_with_the_content_of_another_one_are_named(task: Task) -> None:
    file, page = drop(task, *TWO, ("copy.png", GREEN))
    assert file.found["new"] == 2 and "copy.png = leaf-1.png" in page


def test_one_image_becomes_one_item_and_is_not_offered_again(task: Task) -> None:
    file, _page = drop(task, TWO[0])
    assert imported(task, file) == [("leaf-1", "leaf-1.png", "")]
    again, page = drop(task, ("leaf.png", GREEN))
    assert again.state == ImportFile.State.FAILED and "show these files already" in page


SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (("drawing.svg", SVG), "drawing.svg is no image"),
        (("torn.png", GREEN[:20]), "torn.png cannot be read"),
        (("song.wav", labels.wav()), "song.wav is no image, as the items"),
        (("b.csv", TABLE), "several tables: leaves.csv, b.csv"),
    ],
    ids=["type", "damaged", "sound", "tables"],
)
def test_a_file_that_cannot_be_taken_is_named_and_nothing_is_stored(
    task: Task, bad: tuple[str, bytes], named: str
) -> None:
    file, page = drop(task, *TWO, ("leaves.csv", TABLE), bad)
    assert file.state == ImportFile.State.FAILED and named in page
    assert not task.project.media_files.exists()


@pytest.mark.parametrize(
    ("limit", "most", "named"),
    [
        ((media_files, "MAX_FILES"), 1, "2 files; 1 is the most"),
        ((media_files, "MAX_BYTES"), 10, "leaf-1.png has more than"),
        ((media, "MAX_PIXELS_OF_JOB"), 10, "leaf-1.png is one too many"),
    ],
    ids=["files", "bytes", "pixels"],
)
def test_an_archive_has_limits(
    task: Task, monkeypatch: pytest.MonkeyPatch, limit: tuple[Any, str], most: int, named: str
) -> None:
    monkeypatch.setattr(*limit, most)
    file, page = drop(task, *TWO)
    assert file.state == ImportFile.State.FAILED and named in page


def test_images_of_one_name_in_two_folders_stay_apart(task: Task) -> None:
    file, _page = drop(task, ("l.zip", packed([("a/1.png", GREEN), ("b/1.png", BROWN)])))
    rows = imported(task, file)
    assert [name for _key, name, _text in rows] == ["a/1.png", "b/1.png"]
    assert len({key for key, _name, _text in rows}) == 2


def test_programs_import_the_same_archive(task: Task) -> None:
    owner = task.project.owner
    report = import_content(
        by=owner, task=task, kind="label_items", content=packed(TWO), name="leaves.zip"
    )
    assert report.new == 2 and task.items.filter(media__isnull=False).count() == 2


def test_a_task_of_texts_takes_no_images() -> None:
    project = factories.make_project()
    task = labels.make_labels(project, (), publish=False)
    with pytest.raises(Invalid):
        import_content(
            by=project.owner, task=task, kind="label_items", content=packed(TWO), name="l.zip"
        )
    assert not project.media_files.exists()


def test_a_task_made_of_several_images_is_called_by_what_it_shows() -> None:
    project = factories.make_project()
    content = of_bytes(packed(TWO))
    begun = begin_from_file(by=project.owner, project=project, name="2 files", content=content)
    assert begun.task is not None and begun.task.versions.get().title == "2 images"
