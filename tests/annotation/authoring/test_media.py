"""Images and recordings of items: taken in safely, and served to whoever may see them."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import Image

from annotation.authoring.actions import media
from annotation.files.reading.media import MAX_BYTES, read_media, taking_turns
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import get_template
from annotation.models import Item, MediaFile, Project, Task
from crowdqc import limits
from crowdqc.errors import Invalid
from tests.annotation.pairs.pair_studies import signed_in
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies import labels

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
# A few kB that would be 36 million pixels.
BOMB = labels.png("white", size=(6_000, 6_000), mode="1")


def test_a_photo_is_turned_and_keeps_no_place_and_nothing_behind_it() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif.get_ifd(0x8825)[1] = "N"
    exif[0x010E] = "Anna's garden"
    photo = labels.png(size=(60, 40), format="JPEG", exif=exif, comment=b"Anna was here")
    found = read_media(photo + b"<script>alert(1)</script>", "photo.png")
    assert (found.type, found.width, found.height) == ("image/jpeg", 40, 60)
    for data in (found.data, found.thumbnail):
        assert b"Anna" not in data and b"script" not in data and b"Exif" not in data
        assert not Image.open(io.BytesIO(data)).getexif()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("leaf.png", SVG, "no image or sound"),
        ("leaf.png", b"<!doctype html><script>alert(1)</script>", "no image or sound"),
        ("leaf.png", b"\x89PNG\r\n\x1a\n" + SVG, "cannot be read as an image"),
        ("leaf.png", b"", "is empty"),
        ("leaf.png", b"x" * (MAX_BYTES + 1), "more than 10 MB"),
        # A few kB that would be 36 million pixels.
        (
            "bomb.png",
            labels.png("white", size=(6_000, 6_000), mode="1"),
            "more than 25 million pixels",
        ),
        ("song.mp3", b"ID3\x04\0\0\0\0\0\x05" + SVG, "cannot be read as an MP3"),
        ("song.wav", b"RIFF\0\0\0\0WAVE" + SVG, "cannot be read as a WAV"),
    ],
)
def test_what_is_no_image_or_too_large_is_refused_by_name(
    name: str, data: bytes, said: str
) -> None:
    with pytest.raises(Invalid, match=said) as refused:
        read_media(data, name)
    assert refused.value.message.startswith(name)


def test_a_jpeg_of_a_thousand_scans_or_parts_is_refused_before_it_is_decoded() -> None:
    """A scan of 42 bytes costs 10 ms in a large image, and 10 MB hold 247,000 of them."""
    photo = labels.png(size=(40, 40), format="JPEG", progressive=True)
    scan = photo[photo.rfind(b"\xff\xda") : -2]
    hidden = [
        photo[:-2] + scan * 1_000 + photo[-2:],
        # A marker that stands alone is none that a length follows.
        photo[:-2] + (b"\xff\x01" + scan) * 1_000 + photo[-2:],
        # Parts and filling before the first scan, which Pillow goes through one by one.
        photo[:2] + b"\xff\xe5\0\2" * 10_000 + photo[2:],
        photo[:2] + b"\xff" * 10_000 + photo[2:],
        photo[:2] + b"\xff\xd9" * 10_000 + photo[2:],
    ]
    for data in hidden:
        with pytest.raises(Invalid, match=r"a\.jpg is cut into too many parts"):
            read_media(data, "a.jpg")
    # What a phone keeps behind the photo is no part of it.
    assert read_media(photo + scan * 1_000, "a.jpg").width == 40


def test_an_image_of_one_pixel_a_line_is_refused() -> None:
    with pytest.raises(Invalid, match="a side of more than 65,535 pixels"):
        read_media(labels.png(size=(1, 70_000)), "line.png")


def test_a_million_empty_tags_are_passed_over_at_once() -> None:
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    begun = time.monotonic()
    tags = b"ID3\x04\0\0\0\0\0\0" * ((MAX_BYTES - len(frame)) // 10)
    assert read_media(tags + frame, "a.mp3").data == frame
    assert time.monotonic() - begun < 20  # 0.4 s; minutes where each copies what is behind it


def test_an_animation_is_refused_as_one_frame_of_it_would_be_kept() -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    with pytest.raises(Invalid, match="is animated"):
        read_media(out.getvalue(), "leaf.gif")


def test_recordings_lose_their_tags() -> None:
    assert b"anna" not in read_media(labels.wav(), "a.wav").data
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    tagged = b"ID3\x04\0\0\0\0\0\x04anna" + frame + b"TAG" + b"anna".ljust(125, b"\0")
    assert read_media(tagged, "a.mp3").data == frame


def address(file: MediaFile) -> str:
    return reverse("media_file", args=[file.project_id, file.sha256])


@pytest.fixture
def task(db: Any) -> Task:
    return labels.make_images(factories.make_project(), redundancy=5)


def shown(task: Task) -> MediaFile:
    file = task.items.order_by("position")[0].media
    assert file is not None
    return file


def test_a_file_is_served_as_what_it_is_and_can_do_nothing(task: Task, client: Client) -> None:
    file = shown(task)
    client.force_login(task.project.owner)
    found = client.get(address(file))
    assert (found.status_code, found["Content-Type"]) == (200, "image/png")
    assert found["X-Content-Type-Options"] == "nosniff"
    assert found["Cache-Control"] == "no-store, private"
    assert found["Content-Disposition"] == f'inline; filename="{file.sha256[:12]}.png"'
    small = client.get(address(file) + "?thumbnail")
    assert small["Content-Type"] == "image/jpeg" and small.content != found.content
    part = client.get(address(file), headers={"Range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, found.content[2:6])
    assert part["Content-Range"] == f"bytes 2-5/{file.size}"
    assert client.get(address(file), headers={"Range": "bytes=-4"}).content == found.content[-4:]
    assert client.get(address(file), headers={"Range": "bytes=9999999-"}).status_code == 416


def test_only_staff_and_who_holds_the_item_see_its_file(task: Task) -> None:
    project, file = task.project, shown(task)
    holder, idle = factories.make_worker(project), factories.make_worker(project)
    held = factories.claim(task, holder)
    elsewhere = factories.make_worker(labels.make_images(factories.make_project()).project)

    def met(user: Any) -> int:
        client = Client()
        if user:
            client.force_login(user)
        return client.get(address(file)).status_code

    assert met(project.owner) == met(holder.user) == 200
    assert met(idle.user) == met(elsewhere.user) == 404
    assert met(elsewhere.project.owner) == 404  # though the same bytes are in that project
    assert met(None) == 302
    from annotation.work.actions import leases

    assert holder.user is not None
    leases.return_assignment(by=holder.user, assignment=held)
    assert met(holder.user) == 404


def upload(client: Client, task: Task, *files: tuple[str, bytes], **data: Any) -> Any:
    sent = [SimpleUploadedFile(name, content) for name, content in files]
    url = reverse("task_build_media", args=[task.project_id, task.pk])
    query = f"?part=text&question={data.pop('question', '')}"
    return client.post(url + query, {"files": sent, **data})


def test_images_are_uploaded_described_and_published(db: Any, client: Client) -> None:
    project = factories.make_project()
    task = labels.make_labels(project, (), settings={"content": "image"}, publish=False)
    client.force_login(project.owner)
    green, brown = ("leaf-1.png", labels.png("green")), ("leaf-2.png", labels.png("brown"))
    assert upload(client, task, green, brown).status_code == 302
    upload(client, task, green)  # once more: the same file, the same item
    assert list(task.items.values_list("key", "media__name").order_by("position")) == [
        ("leaf-1", "leaf-1.png"),
        ("leaf-2", "leaf-2.png"),
    ]
    page = html_of(client.get(reverse("task_build", args=[project.pk, task.pk]) + "?part=text"))
    assert page.count("No description") == 2 and "?thumbnail" in page
    refused = upload(client, task, ("leaf-3.png", labels.png("red")), ("x.png", SVG))
    assert refused.status_code == 422 and "x.png is no image or sound" in html_of(refused)
    assert project.media_files.count() == 2  # all or none
    assert upload(client, task, ("a.wav", labels.wav())).status_code == 422
    assert upload(client, task, ("leaf-4.png", labels.png("red")), wait="1").status_code == 302
    assert task.items.count() == 2
    upload(client, task, ("other.png", labels.png("blue")), question="leaf-1", to="attach")
    assert task.items.get(key="leaf-1").media.name == "other.png"  # type: ignore[union-attr]
    assert project.media_files.filter(items__isnull=True).count() == 2
    upload(client, task, to="delete-unused")
    assert sorted(project.media_files.values_list("name", flat=True)) == ["leaf-2.png", "other.png"]


def test_an_upload_has_so_many_pixels_and_says_which_file_is_too_many(
    db: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = factories.make_project()
    task = labels.make_labels(project, (), settings={"content": "image"}, publish=False)
    client.force_login(project.owner)
    image = labels.png(size=(20, 20))
    monkeypatch.setattr(media, "MAX_PIXELS_AT_ONCE", 2 * 20 * 20)
    refused = upload(client, task, *((f"{name}.png", image) for name in "abc"))
    assert refused.status_code == 422 and "c.png is one too many" in html_of(refused)
    assert not project.media_files.exists()


def test_an_upload_of_too_many_pixels_is_refused_before_one_is_decoded(
    db: Any, client: Client
) -> None:
    project = factories.make_project()
    task = labels.make_labels(project, (), settings={"content": "image"}, publish=False)
    client.force_login(project.owner)
    image = labels.png(size=(5_000, 5_000))
    begun = time.process_time()
    refused = upload(client, task, *((f"{number}.png", image) for number in range(9)))
    assert refused.status_code == 422 and "4.png is one too many" in html_of(refused)
    assert time.process_time() - begun < 2  # decoding one of them takes a second and more


def test_a_person_has_so_many_pixels_read_in_ten_minutes(db: Any, client: Client) -> None:
    project = factories.make_project()
    task = labels.make_labels(project, (), settings={"content": "image"}, publish=False)
    client.force_login(project.owner)
    limits.require_try(limits.PIXELS, project.owner.pk, "", units=limits.PIXELS.most - 1)
    assert upload(client, task, ("a.png", labels.png("red"))).status_code == 302
    assert upload(client, task, ("b.png", labels.png("blue"))).status_code == 429


def test_a_third_request_with_images_is_sent_away_and_does_not_wait(
    db: Any, client: Client
) -> None:
    project = factories.make_project()
    task = labels.make_labels(project, (), settings={"content": "image"}, publish=False)
    client.force_login(project.owner)
    with taking_turns(), taking_turns():
        assert upload(client, task, ("a.png", labels.png("red"))).status_code == 429
    assert upload(client, task, ("a.png", labels.png("red"))).status_code == 302


def test_a_task_of_images_is_published_once_each_item_has_one(db: Any) -> None:
    project = factories.make_project()
    task = labels.make_labels(
        project,
        ("A leaf.",),
        fields=[labels.DAMAGE, labels.PLACES],
        settings={"content": "image"},
        publish=False,
    )
    said = [lack.sentence for lack in labels_missing(task)]
    assert "Item leaf-1 has no image" in said
    assert "Field 2 marks text, and items show files" in said


def labels_missing(task: Task) -> list[Any]:
    from annotation.task_types import get_type

    return get_type(task.type).missing(task, task.versions.latest("number"))


def test_the_image_of_an_answered_item_stays(task: Task) -> None:
    from django.db import IntegrityError, transaction

    factories.claim(task, factories.make_worker(task.project))
    other = labels.make_image(task.project, "x.png", labels.png("red"))
    with pytest.raises(IntegrityError), transaction.atomic():
        Item.objects.filter(task=task).update(media=other)
    assert media.delete_unused(by=task.project.owner, project=task.project) == 1
    assert isinstance(task.project, Project)


def test_the_worker_sees_the_image_and_what_is_recorded(task: Task, client: Client) -> None:
    worker = factories.make_worker(task.project)
    assert worker.user is not None
    held = factories.claim(task, worker)
    client.force_login(worker.user)
    page = html_of(client.get(reverse("work_item", args=[held.pk, 1])))
    assert f'src="{address(shown(task))}"' in page and 'alt="A leaf, green."' in page
    assert "when you zoom" in page


@pytest.mark.django_db
def test_own_pictures_take_the_place_of_a_templates_examples() -> None:
    project = factories.make_project()
    task = begin_task(by=project.owner, project=project, template=get_template("image"))
    client = signed_in(project.owner)
    page = client.get(reverse("task_import", args=[project.pk, task.pk, "label_items"]))
    assert 'accept="image/*,' in " ".join(page.content.decode().split())
    sent = {"files": SimpleUploadedFile("leaf.png", labels.png("green"))}
    client.post(reverse("task_build_media", args=[project.pk, task.pk]), sent)
    assert list(task.items.values_list("key", flat=True)) == ["leaf"]
    assert list(project.media_files.values_list("name", flat=True)) == ["leaf.png"]
