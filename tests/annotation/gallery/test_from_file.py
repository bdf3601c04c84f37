"""A task that is begun from a file: what is proposed of it, and that nothing is typed twice."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions.tasks import create_task, problems
from annotation.files.reading.sheet import read
from annotation.formats.registry import format_for
from annotation.formats.uploads.actions import request_import
from annotation.formats.uploads.process import process
from annotation.formats.uploads.selectors import view_of
from annotation.gallery.actions.from_file import title_of
from annotation.gallery.proposals import Proposal, propose
from annotation.models import ImportFile, Project, StoredFile, Task
from tests.support.factories import World, make_user, make_world
from tests.support.studies.labels import png

pytestmark = pytest.mark.django_db

REVIEWS = "id,review,source\n" + "\n".join(
    f"r{n},Breakfast number {n} came an hour late.,web" for n in range(1, 7)
)
LABELED = "Comment,Sentiment,Date\n" + "\n".join(
    f"The room number {n} was bright and quiet.,{('good', 'bad', 'mixed')[n % 3]},2026-01-0{n}"
    for n in range(1, 7)
)
PAIRS = "prompt,response_a,response_b,model_a,model_b\nWhy?,Because.,No reason.,alder,birch\n"
GERMAN_PAIRS = "frage,antwort_a,antwort_b\nWarum?,Darum.,Ohne Grund.\n"
ANSWERS = "prompt,response,model\nWhy?,Because.,alder\nWhy?,No reason.,birch\n"
IMAGES = "image,place\nhttps://example.org/a.jpg,here\nhttps://example.org/b.jpg?x=1,there\n"
QUESTIONS = "question,context\nWho?,A text about somebody.\nWhen?,Another one.\n"
NEWS = "title,text,source\nOne,First text of some length.,web\nTwo,Second text of it.,print\n"


BOTS = "Nr,Question,ChatGPT,Gemini,Topic\n" + "".join(
    f"{n},How do plants drink {n}?,They take up water {n}.,By roots with {n} hairs.,plants\n"
    for n in range(8)
)
EXPLAINED = BOTS.replace("ChatGPT,Gemini", "Answer,Comment of the teacher")


def proposed(content: str) -> Proposal:
    sheet = read(content.encode(), "a.csv")
    return propose(list(sheet.columns), list(sheet.rows))


@pytest.fixture
def world() -> World:
    return make_world(1, publish=False)


@pytest.mark.parametrize(
    ("content", "type", "format"),
    [
        (REVIEWS, "labels", "label_items"),
        (LABELED, "labels", "label_items"),
        (PAIRS, "pairwise", "pairs"),
        (GERMAN_PAIRS, "pairwise", "pairs"),
        (BOTS, "pairwise", "pairs"),
        (EXPLAINED, "labels", "label_items"),
        (ANSWERS, "pairwise", "candidates"),
        (IMAGES, "labels", "label_items"),
        (QUESTIONS, "free_text", "items"),
        (NEWS, "labels", "label_items"),
    ],
)
def test_the_type_of_a_task_is_proposed_from_the_columns(
    content: str, type: str, format: str
) -> None:
    found = proposed(content)
    assert (found.type, found.format) == (type, format)


def test_a_column_of_classes_becomes_the_options_of_a_field() -> None:
    found = proposed(LABELED)
    (field,) = found.rules["settings"]["fields"]
    assert [one["value"] for one in field["options"]] == ["bad", "good", "mixed"]
    assert found.mapping["text"] == "Comment"


def test_a_file_whose_every_row_has_a_known_answer_still_has_items_to_ask() -> None:
    content = "text,gold\n" + "\n".join(f"Some text number {n},yes" for n in range(3))
    assert "gold" not in proposed(content + "\nAnother text here,no").mapping


def test_a_column_of_json_objects_is_not_the_text_of_an_item() -> None:
    tree = '"{""a"": {""text"": ""A long text within an object""}}"'
    found = proposed(f"id,title,tree\n1,Some title of it,{tree}\n2,Another title of it,{tree}\n")
    assert found.mapping["text"] == "title"
    assert "text" not in proposed(f"id,tree\n1,{tree}\n2,{tree}\n").mapping


def test_a_column_of_image_addresses_makes_items_of_images() -> None:
    assert proposed(IMAGES).rules["settings"]["content"] == "image"


@pytest.mark.parametrize(
    ("name", "title"),
    [("hotel_reviews-2.csv", "Hotel reviews 2"), (".csv", "Task"), ("C:\\a\\b.xlsx", "B")],
)
def test_the_title_is_made_of_the_name_of_the_file(name: str, title: str) -> None:
    assert title_of(name) == title


def send(world: World, content: str, name: str = "reviews.csv", **more: Any) -> Any:
    client = Client()
    client.force_login(world.requester)
    file = SimpleUploadedFile(name, content.encode())
    url = reverse("task_from_file", args=[world.project.pk])
    return client.post(url, {"file": file, **more}, follow=True)


@pytest.mark.parametrize(("content", "items"), [(LABELED, 6), (PAIRS, 1), (QUESTIONS, 2)])
def test_a_dropped_file_is_a_draft_that_can_be_published_once_it_is_imported(
    world: World, content: str, items: int
) -> None:
    page = send(world, content)
    assert page.status_code == 200
    file = ImportFile.objects.get()
    assert process(file.pk) == "ready"
    request_import(by=world.requester, file=file)
    assert process(file.pk) == "imported"
    assert file.task is not None
    assert file.task.items.count() == items
    assert problems(file.task, file.task.versions.get()) == []


def test_a_new_account_publishes_labels_of_its_file_in_four_forms() -> None:
    user = make_user("ann")
    client = Client()
    client.force_login(user)
    assert 'name="file"' in client.get(reverse("home")).content.decode()

    values = {"name": "", "currency": "EUR", "also_manager": "on"}
    sent = {"file": SimpleUploadedFile("hotel_reviews.csv", REVIEWS.encode()), **values}
    page = client.post(reverse("project_first"), sent)
    file = ImportFile.objects.get()
    task = file.task
    assert task is not None
    at = [task.project_id, task.pk]
    assert page["Location"] == reverse("task_import_file", args=[*at, file.pk])
    assert process(file.pk) == "ready"
    client.post(reverse("task_import_file", args=[*at, file.pk]), {"do": "import"})
    assert process(file.pk) == "imported"
    options = {"to": "paste", "pasted": "positive\nnegative\nneutral"}
    client.post(reverse("task_build_field_step", args=at) + "?part=fields&question=label", options)
    client.post(reverse("task_publish", args=at), {"redundancy": "5", "pay": "0.50"})

    task.refresh_from_db()
    assert (task.state, task.project.name) == ("open", "Hotel reviews")
    (version,) = task.versions.all()
    (field,) = version.settings["fields"]
    assert [one["value"] for one in field["options"]] == ["positive", "negative", "neutral"]


def test_a_first_file_that_cannot_be_read_makes_no_project() -> None:
    client = Client()
    client.force_login(make_user("ann"))
    page = client.post(
        reverse("project_first"),
        {"file": SimpleUploadedFile("a.csv", b"%PDF-1.4"), "name": "", "currency": "EUR"},
    )
    assert page.status_code == 422
    assert not Project.objects.exists()


def test_a_form_that_is_sent_twice_makes_one_task(world: World) -> None:
    key = "6f1c7b54-7f0e-4a40-9d7b-3a0f0f0d9a11"
    before = Task.objects.count()
    for _ in range(2):
        send(world, REVIEWS, key=key)
    assert Task.objects.count() == before + 1


@pytest.mark.parametrize("content", ["", "%PDF-1.4 nothing"])
def test_a_file_that_cannot_be_read_makes_no_task_and_says_why(world: World, content: str) -> None:
    before = Task.objects.count()
    page = send(world, content)
    assert Task.objects.count() == before
    assert page.redirect_chain and b"file" in page.content


def test_after_the_import_the_builder_opens_at_what_is_missing(world: World) -> None:
    send(world, REVIEWS)
    file = ImportFile.objects.get()
    process(file.pk)
    request_import(by=world.requester, file=file)
    process(file.pk)
    client = Client()
    client.force_login(world.requester)
    assert file.task is not None
    page = reverse("task_import_file", args=[world.project.pk, file.task.pk, file.pk])
    moved = client.get(page, headers={"HX-Request": "true"})
    assert moved["HX-Redirect"].endswith("/build/?part=fields&question=label")
    assert client.get(page).status_code == 200  # the record of the import stays


def test_a_file_of_pairs_is_taken_as_such_where_texts_are_asked_for(world: World) -> None:
    task = create_task(by=world.requester, project=world.project, type="pairwise", title="Which?")
    client = Client()
    client.force_login(world.requester)
    url = reverse("task_import", args=[world.project.pk, task.pk, "candidates"])
    client.post(url, {"file": SimpleUploadedFile("pairs.csv", PAIRS.encode())})
    assert task.import_files.get().kind == "pairs"
    client.post(url, {"file": SimpleUploadedFile("texts.csv", ANSWERS.encode())})
    assert set(task.import_files.values_list("kind", flat=True)) == {"pairs", "candidates"}


def test_columns_that_stay_with_the_items_are_not_called_lost(world: World) -> None:
    send(world, REVIEWS)
    file = ImportFile.objects.get()
    process(file.pk)
    file.refresh_from_db()
    assert file.task is not None
    assert view_of(file, format_for(file.task, file.kind)).unread == ()


def test_columns_called_a_and_b_alone_are_no_pairs() -> None:
    assert proposed("a,b\n1,2\n3,4\n").type == "labels"


def _drop_images(world: World, *names: str) -> ImportFile:
    client = Client()
    client.force_login(world.requester)
    files = [SimpleUploadedFile(name, png(size=(8 + at, 8))) for at, name in enumerate(names)]
    url = reverse("task_from_file", args=[world.project.pk])
    page = client.post(url, {"file": files}, follow=True)
    assert page.status_code == 200
    return ImportFile.objects.get()


@pytest.mark.parametrize("names", [("leaf.png",), ("leaf.png", "bark.png", "root.png")])
def test_dropped_images_become_a_task_with_an_item_for_each(
    world: World, names: tuple[str, ...]
) -> None:
    file = _drop_images(world, *names)
    assert file.task is not None
    assert file.task.versions.get().settings["content"] == "image"
    assert process(file.pk) == "ready"
    request_import(by=world.requester, file=file)
    assert process(file.pk) == "imported"
    assert {one.media.name for one in file.task.items.all() if one.media} == set(names)


def test_the_first_line_of_a_list_without_a_header_can_be_said_to_be_a_row(world: World) -> None:
    send(world, "The room was bright.\nBreakfast came late.\nNobody answered.\n", "texts.csv")
    file = ImportFile.objects.get()
    process(file.pk)
    assert file.task is not None
    client = Client()
    client.force_login(world.requester)
    page = reverse("task_import_file", args=[world.project.pk, file.task.pk, file.pk])
    assert '<details class="fold" open>' in client.get(page).content.decode()
    client.post(page, {"do": "reading", "header": "no", "encoding": ""})
    assert process(file.pk) == "ready"
    file.refresh_from_db()
    assert (file.found["new"], file.found["mapping"]) == (3, {"text": "column 1"})
    request_import(by=world.requester, file=file)
    process(file.pk)
    assert file.task.items.count() == 3 and not StoredFile.objects.exists()


def test_what_a_dropped_file_becomes_can_be_changed_on_its_page(world: World) -> None:
    send(world, "one,left text,right text\nWhy?,Because.,No reason.\n", "odd.csv")
    file = ImportFile.objects.get()
    process(file.pk)
    assert file.task is not None and file.task.type == "labels"
    client = Client()
    client.force_login(world.requester)
    page = reverse("task_import_file", args=[world.project.pk, file.task.pk, file.pk])
    offered = [one.slug for one in client.get(page).context["uses"]]
    assert "pairwise.pairs" in offered and "free_text.items" in offered
    client.post(page, {"do": "use", "use": "pairwise.pairs"})
    process(file.pk)
    columns = {"one": "prompt", "left text": "response_a", "right text": "response_b"}
    client.post(page, {f"column:{name}": field for name, field in columns.items()})
    assert process(file.pk) == "ready"
    client.post(page, {"do": "import"})
    assert process(file.pk) == "imported"
    task = Task.objects.get(pk=file.task.pk)
    assert (task.type, task.items.count()) == ("pairwise", 1)
    late = client.post(page, {"do": "use", "use": "labels.label_items"})
    assert late.status_code == 422
