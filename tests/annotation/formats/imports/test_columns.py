"""Columns of a file are recognised where they can be; what is not read is named, not dropped."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.files.reading.importer import guess
from annotation.formats.imports.items import made_id
from annotation.formats.registry import FORMATS
from annotation.models import Item
from tests.annotation.formats.imports.test_pages import read_and_import, signed_in, upload
from tests.support import factories as make
from tests.support.factories import World
from tests.support.uploads import work

pytestmark = [pytest.mark.django_db, pytest.mark.db]


@pytest.fixture
def world() -> World:
    return make.make_world(3)


@pytest.mark.parametrize(
    ("kind", "columns", "wanted"),
    [
        ("items", ["Frage (EN)", "Kontext"], {"question": "Frage (EN)", "context": "Kontext"}),
        ("items", ["Nr.", "prompt", "completion"], {"item_id": "Nr.", "question": "prompt"}),
        ("items", ["PRÉGUNTA", "Thema"], {"question": "PRÉGUNTA", "topic": "Thema"}),
        ("items", ["question_de", "question"], {"question": "question"}),
        ("items", ["question_de", "hint"], {"question": "question_de"}),
        (
            "answers",
            ["id", "user id", "Completion"],
            {"item_id": "id", "worker_id": "user id", "answer": "Completion"},
        ),
        (
            "system_answers",
            ["id", "model", "completion"],
            {"item_id": "id", "system": "model", "answer": "completion"},
        ),
        (
            "candidates",
            ["prompt", "completion", "model", "topic"],
            {"topic": "topic", "query": "prompt", "text": "completion", "system": "model"},
        ),
        (
            "answers",
            ["item_id", "worker_id", "Réponse"],
            {"item_id": "item_id", "worker_id": "worker_id", "answer": "Réponse"},
        ),
    ],
)
def test_a_column_is_recognised_by_other_words_case_accents_and_asides(
    kind: str, columns: list[str], wanted: dict[str, str]
) -> None:
    assert guess(columns, FORMATS[kind].fields) == wanted


def test_columns_that_nothing_reads_are_named_before_anything_is_imported(world: World) -> None:
    text = "Frage (EN),hint,expected answer\nWhy tides?,Look up.,The moon.\n"
    client, answer = upload(world, "items", text)
    page = client.get(answer["Location"]).content.decode()
    assert "Not imported:" in page
    told = page[page.index("Not imported:") :][:300]
    assert "<code>hint</code>, <code>expected answer</code>" in told and "Frage" not in told
    client.post(answer["Location"], {"column:hint": "context", "column:Frage (EN)": "question"})
    work()
    page = client.get(answer["Location"]).content.decode()
    told = page[page.index("Not imported:") :][:300]
    assert "the column <code>expected answer</code>" in told


def test_questions_without_an_id_get_one_that_is_the_same_again(world: World) -> None:
    text = "prompt,topic\nWhy tides?,sea\nWhy wind?,air\nWhy tides?,sea\n"
    before, done = read_and_import(world, "items", text)
    assert "3 questions have no id." in before and "2 new questions from 3 rows." in done
    assert "<b>2 of 3 rows</b> were used" in done and "Given twice in the file" in done
    key = made_id({"topic": "sea", "context": "", "question": "Why tides?"})
    assert Item.objects.get(key=key).question == "Why tides?"
    before, _ = read_and_import(world, "items", "prompt,topic\nWhy wind?,air\nWhy tides?,sea\n")
    assert "All 2 rows are there already" in before


def test_a_markdown_image_that_workers_will_not_see_is_warned_of(world: World) -> None:
    text = 'id,question\nn1,Which bird? ![a stork](stork.png)\nn2,"Is ![x] one?"\nn3,See ![a][b].\n'
    client, answer = upload(world, "items", text)
    page = client.get(answer["Location"]).content.decode()
    assert "2 rows hold Markdown images, the first on line 2. Workers see no image" in page


def test_the_button_stays_for_a_browser_without_scripts(world: World) -> None:
    client: Client = signed_in(world.requester)
    page = client.get(
        reverse("task_import", args=[world.project.pk, world.task.pk, "items"])
    ).content.decode()
    assert "data-drop-submit>Upload file</button>" in page and "bundles/staff" in page
