"""Importing in the browser: seen before it is done, whole or not at all, once."""

from __future__ import annotations

import io
from typing import Any

import pytest
import xlsxwriter
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.files.reading.importer import MAX_BYTES
from annotation.formats.actions import answers as answer_imports
from annotation.formats.actions import imports
from annotation.models import Answer, ImportFile, Item, Membership, System, TextValue, User
from crowdqc.errors import Conflict, Invalid
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of
from tests.support.uploads import work

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(3)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def upload(world: World, kind: str, text: str | bytes, name: str = "a.csv") -> tuple[Client, Any]:
    client = signed_in(world.requester)
    path = reverse("task_import", args=[world.project.pk, world.task.pk, kind])
    content = text if isinstance(text, bytes) else text.encode()
    answer = client.post(path, {"file": SimpleUploadedFile(name, content)})
    work()
    return client, answer


def read_and_import(world: World, kind: str, text: str, **data: str) -> tuple[str, str]:
    """The page of a file before and after importing it."""
    client, answer = upload(world, kind, text)
    before = client.get(answer["Location"]).content.decode()
    client.post(answer["Location"], {"do": "import", **data})
    work()
    return before, client.get(answer["Location"]).content.decode()


def test_nothing_is_imported_by_looking(world: World) -> None:
    client, answer = upload(world, "items", "question_id,question\nn1,New?\n")
    page = html_of(client.get(answer["Location"]))
    assert "1 of 1 row" in page and "Import 1 row" in page and "comma" in page
    assert not Item.objects.filter(key="n1").exists()


def test_questions_are_imported_into_a_new_version(world: World) -> None:
    _, done = read_and_import(
        world, "items", "item_id,question,topic,context\nn1,One?,T,Text\nn2,Two?,T,\n"
    )
    assert "2 new questions from 2 rows." in done
    groups = {item.group.title for item in Item.objects.filter(key__in=["n1", "n2"])}
    assert groups == {"T"} and world.task.versions.count() == 2


def test_importing_the_same_file_again_adds_nothing_and_says_so(world: World) -> None:
    text = "item_id,worker_id,answer\nq-001,w1,One\nq-002,w1,Two\nq-001,w2,Three\n"
    read_and_import(world, "answers", text)
    counted = Answer.objects.count(), Membership.objects.count(), TextValue.objects.count()
    before, done = read_and_import(world, "answers", text)
    assert "All 3 rows are there already; importing adds nothing." in before
    assert "Nothing was added: every row was there already." in done
    assert counted == (
        Answer.objects.count(),
        Membership.objects.count(),
        TextValue.objects.count(),
    )


def test_a_second_click_imports_once(world: World) -> None:
    client, answer = upload(world, "items", "item_id,question\nn1,New?\n")
    for _ in range(2):
        client.post(answer["Location"], {"do": "import"})
        work()
    assert Item.objects.filter(key="n1").count() == 1
    assert ImportFile.objects.get().report["new"] == 1


def test_a_bad_row_keeps_everything_out_until_it_is_left_out_knowingly(world: World) -> None:
    text = "item_id,system,answer\nq-001,M,Fine\nq-009,M,Unknown\nq-002,M,\n"
    client, answer = upload(world, "system_answers", text)
    page = html_of(client.get(answer["Location"]))
    assert "2 of 3 rows cannot be read." in page and "Import 1 row without these 2" in page
    refused = client.post(answer["Location"], {"do": "import"})
    assert refused.status_code == 422
    assert not Answer.objects.exists() and not System.objects.exists()
    client.post(answer["Location"], {"do": "import", "leave_out": "1"})
    work()
    done = client.get(answer["Location"])
    assert "1 new answer from 3 rows." in done.content.decode()
    assert Answer.objects.get().system == System.objects.get()


def test_the_bad_rows_come_back_with_their_reasons(world: World) -> None:
    client, answer = upload(world, "answers", "item_id,worker_id,answer,x\nnope,w1,A,kept\n")
    file = ImportFile.objects.get()
    path = reverse("task_import_bad_rows", args=[world.project.pk, world.task.pk, file.pk])
    text = b"".join(client.get(path).streaming_content).decode()
    assert text.startswith("line,column,wrong,mend,item_id,worker_id,answer,x")
    assert "2,item_id,No question has this id." in text and text.rstrip().endswith("kept")
    assert answer.status_code == 302


def test_the_sheet_that_was_read_is_named(world: World) -> None:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet("Notes")
        sheet = book.add_worksheet("May")
        sheet.write_row(0, 0, ["question_id", "question"])
        sheet.write_row(1, 0, ["n1", "New?"])
    client, answer = upload(world, "items", file.getvalue(), "items.xlsx")
    page = client.get(answer["Location"]).content.decode()
    assert '<p class="note warn">Sheet “May” of 2 is read.</p>' in page


def test_columns_can_be_said_by_hand(world: World) -> None:
    client, answer = upload(world, "answers", "was,wer,wie\nq-001,w1,Hallo\n")
    path = answer["Location"]
    assert "No column is read as" in client.get(path).content.decode()
    mapping = {"column:was": "item_id", "column:wer": "worker_id", "column:wie": "answer"}
    page = client.post(path, mapping, headers={"HX-Request": "true"}).content.decode()
    assert "Checking" in page and "<html" not in page
    work()
    assert "1 of 1 row" in client.get(path).content.decode()
    client.post(path, {"do": "import"})
    work()
    assert TextValue.objects.get().text == "Hallo"


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "The file is empty."), (b"x" * (MAX_BYTES + 1), "64 MB is the most.")],
    ids=["empty", "too large"],
)
def test_a_file_of_no_or_too_much_size_is_refused_beside_the_field(
    world: World, content: bytes, words: str
) -> None:
    _, answer = upload(world, "items", content)
    assert answer.status_code == 422 and words in answer.content.decode()
    assert not ImportFile.objects.exists()


def test_an_unreadable_file_says_why_and_offers_another(world: World) -> None:
    client, answer = upload(world, "items", '[{"item_id": 1}', "a.json")
    page = client.get(answer["Location"])
    assert b"Nothing imported" in page.content
    assert (
        b"cannot be read from line 1 on" in page.content and b"Choose another file" in page.content
    )


def test_answers_wait_until_the_task_is_published(world: World) -> None:
    draft = factories.make_task(world.project, publish=False)
    path = reverse("task_import", args=[world.project.pk, draft.pk, "answers"])
    assert b"Publish the task first" in signed_in(world.requester).get(path).content
    with pytest.raises(Conflict):
        imports.import_rows(
            by=world.requester,
            task=draft,
            kind="answers",
            rows=[{"item_id": "q-001", "worker_id": "w", "answer": "x"}],
        )


def test_imported_workers_get_pseudonyms_and_slots_for_all_their_answers(world: World) -> None:
    rows = [{"item_id": "q-001", "worker_id": f"w{n}", "answer": f"A{n}"} for n in range(7)]
    assert imports.import_rows(by=world.requester, task=world.task, kind="answers", rows=rows) == 7
    item = world.task.items.get(key="q-001")
    assert (item.held, item.redundancy) == (7, 7)
    workers = Membership.objects.exclude(external_id="")
    assert len({worker.pseudonym for worker in workers}) == 7
    assert {a.assignment.pay for a in Answer.objects.select_related("assignment") if a.assignment}


def test_pseudonyms_do_not_run_out(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setattr("annotation.accounts.pseudonyms.propose_pseudonym", lambda: "wren-01")
    found = answer_imports.workers_by_id(world.project, {"a", "b", "c"})
    assert len({worker.pseudonym for worker in found.values()}) == 3


def test_a_failure_midway_writes_nothing(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("annotation.formats.actions.answers._encode_texts", broken)
    with pytest.raises(RuntimeError):
        imports.import_content(
            by=world.requester,
            task=world.task,
            kind="answers",
            name="a.csv",
            content=b"item_id,worker_id,answer\nq-001,w1,One\n",
        )
    assert not Answer.objects.exists() and not Membership.objects.exclude(external_id="").exists()
    assert world.task.items.get(key="q-001").held == 0


def test_refused_rows_are_listed_for_scripts(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        imports.import_rows(
            by=world.requester, task=world.task, kind="items", rows=[{"item_id": "a"}]
        )
    assert refused.value.fields == {"question": "Choose its column."}
    with pytest.raises(Invalid) as refused:
        imports.import_rows(
            by=world.requester,
            task=world.task,
            kind="items",
            rows=[{"item_id": "a", "question": ""}],
        )
    assert refused.value.rows[0]["line"] == 1  # type: ignore[index]


@pytest.mark.parametrize("name", ["task_import", "task_import_file", "task_import_bad_rows"])
def test_outsiders_learn_nothing_and_weak_roles_are_told(world: World, name: str) -> None:
    upload(world, "items", "item_id,question\nn1,New?\n")
    last = "items" if name == "task_import" else ImportFile.objects.get().pk
    path = reverse(name, args=[world.project.pk, world.task.pk, last])
    assert signed_in(world.outsider).get(path).status_code == 404
    assert signed_in(world.worker.user).get(path).status_code == 403
    assert signed_in(world.manager).get(path).status_code == 403
    assert signed_in(world.requester).put(path).status_code == 405
    other = factories.make_task(world.project)
    if name != "task_import":
        path = reverse(name, args=[world.project.pk, other.pk, last])
        assert signed_in(world.requester).get(path).status_code == 404


def test_an_imported_file_is_let_go_of_and_its_page_still_says_what_it_was(world: World) -> None:
    _, done = read_and_import(world, "items", "item_id,question\nn1,One?\n")
    file = ImportFile.objects.get()
    assert file.imported_at and not file.parts.exists() and not file.sheet
    assert file.name in done and file.sha256[:8] in done and "no longer kept" in done
    rows = reverse("task_import_bad_rows", args=[world.project.pk, world.task.pk, file.pk])
    assert signed_in(world.requester).get(rows).status_code == 404
