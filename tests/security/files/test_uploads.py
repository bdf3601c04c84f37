"""Uploads: never parsed while a page waits, never half-written, never kept too long."""

from __future__ import annotations

import datetime as dt
import json
import threading
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.quotas import set_quota
from annotation.formats import registry
from annotation.formats.actions.imports import import_content
from annotation.formats.uploads import actions, process
from annotation.models import ImportFile, ImportPart, Item, Membership, StoredFile, TextValue
from crowdqc.errors import LimitExceeded
from tests.support import factories
from tests.support.factories import World

STATE = ImportFile.State


@pytest.fixture
def world(db: None) -> World:
    return factories.make_world(3)


def keep(world: World, content: bytes, kind: str = "answers", name: str = "a.csv") -> ImportFile:
    return actions.keep_file(
        by=world.requester, task=world.task, kind=kind, name=name, content=content
    )


def answers(*workers: str) -> bytes:
    rows = [f"q-001,{worker},Something" for worker in workers]
    return "\n".join(["item_id,worker_id,answer", *rows]).encode()


def now(file: ImportFile) -> ImportFile:
    return ImportFile.objects.get(pk=file.pk)


def test_the_web_process_never_parses_a_file(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """(B11) Upload, look, look again and mapping read nothing; the job reads once."""
    opened = []
    real = registry.open_table

    def counted(*given: Any, **options: Any) -> Any:
        opened.append(1)
        return real(*given, **options)

    monkeypatch.setattr(registry, "open_table", counted)
    client = Client()
    client.force_login(world.requester)
    path = reverse("task_import", args=[world.project.pk, world.task.pk, "answers"])
    answer = client.post(path, {"file": SimpleUploadedFile("a.csv", answers("w1", "w2"))})
    assert answer.status_code == 302 and not opened
    page = client.get(answer["Location"]).content.decode()
    assert 'hx-trigger="every 1s"' in page and "rows read so far" in page and not opened
    file = ImportFile.objects.get()
    assert process.process(file.pk) == STATE.READY
    for _ in range(3):
        page = client.get(answer["Location"]).content.decode()
        assert "2 of 2 rows are new" in page and 'hx-trigger="every' not in page
    client.post(answer["Location"], {"column:item_id": "item_id", "column:answer": "answer"})
    assert process.process(file.pk) == STATE.READY
    assert "No column is read as worker id" in client.get(answer["Location"]).content.decode()
    assert len(opened) == 1 and not StoredFile.objects.exists()


def test_a_preview_escapes_and_bad_rows_cannot_be_formulas(world: World) -> None:
    """(B17) Neither the page nor the download runs anything."""
    text = (
        'item_id,worker_id,answer,"<script>x()</script>"\n'
        '=HYPERLINK("http://x"),<img src=x onerror=alert(1)>,@SUM(1),-2+3\n'
    )
    file = keep(world, text.encode(), name="../../<b>evil</b>\x00\r\n.csv")
    process.process(file.pk)
    client = Client()
    client.force_login(world.requester)
    where = [world.project.pk, world.task.pk, file.pk]
    page = client.get(reverse("task_import_file", args=where)).content.decode()
    for raw in ("<script>x", "<img src=x", "<b>evil"):
        assert raw not in page
    assert "&lt;script&gt;x()" in page and now(file).name == "b>.csv" and "../" not in page
    answer: Any = client.get(reverse("task_import_bad_rows", args=where))
    rows = b"".join(answer.streaming_content)
    assert "'=HYPERLINK" in rows.decode() and "'@SUM(1)" in rows.decode()
    assert "'-2+3" in rows.decode()


def test_an_upload_that_names_an_erased_person_is_dropped_and_others_stay(world: World) -> None:
    """(A6) Only where an id is the whole value of a cell in a column of people."""
    names = {"pid-7", "0", "Something", "photosynthesis"}
    keeps = [
        keep(world, answers("pid-77", "w0")),
        keep(world, b"item_id,question\n0,Something\n", "items"),
        keep(world, b"item_id,question\nz,What is photosynthesis?\n", "items"),
    ]
    drops = [keep(world, answers("w1", "pid-7")), keep(world, answers("w2", "0"))]
    raw = keep(world, answers("w3", "photosynthesis"))  # not read yet
    for file in (*keeps, *drops):
        process.process(file.pk)
    dropped = actions.drop_uploads_naming(project=world.project, names=names)
    assert dropped == 3
    assert {now(file).state for file in keeps} == {STATE.READY}
    for file in (*drops, raw):
        left = now(file)
        assert left.state == STATE.FAILED and not left.parts.exists()
        assert left.sheet == left.found == {} and "erased" in left.error["message"]
    assert actions.drop_uploads_naming(project=world.project, names=names) == 0


def test_uploads_that_nobody_imports_are_dropped_in_time(world: World) -> None:
    """(B11) Their rows go; the record that there was a file stays."""
    file = keep(world, answers("w1"))
    process.process(file.pk)
    assert actions.drop_stale(before=timezone.now() - dt.timedelta(days=1)) == 0
    assert actions.drop_stale(before=timezone.now() + dt.timedelta(days=1)) == 1
    assert now(file).state == STATE.FAILED and not ImportPart.objects.exists()


def test_a_project_keeps_only_so_many_waiting_uploads(world: World) -> None:
    """(B11) And a deleted one makes room."""
    set_quota(by=None, name="waiting_of_project", owner=world.project, limit=2)
    first = keep(world, answers("w1"))
    keep(world, answers("w2"))
    assert keep(world, answers("w1")).pk == first.pk
    with pytest.raises(LimitExceeded, match="2 uploads wait"):
        keep(world, answers("w3"))
    actions.remove_upload(by=world.requester, file=first)
    assert process.process(first.pk) == "not mine"
    keep(world, answers("w3"))


def test_what_changes_between_preview_and_import_is_checked_again(world: World) -> None:
    """(B11) Nothing is half-written; the page shows the new state."""
    file = keep(world, answers("w1", "w2"))
    process.process(file.pk)
    import_content(
        by=world.requester,
        task=world.task,
        kind="answers",
        name="b.csv",
        content=b"item_id,worker_id,answer\nq-001,w1,Another\n",
    )
    actions.request_import(by=world.requester, file=file)
    assert process.process(file.pk) == STATE.READY
    again = now(file)
    assert again.found["bad"] == 1 and "1 of 2 rows" in again.error["message"]
    assert not Membership.objects.filter(external_id="w2").exists()
    actions.request_import(by=world.requester, file=file, leave_out_bad=True)
    assert process.process(file.pk) == STATE.IMPORTED
    wrong = "The task has another answer of this worker to this question."
    assert now(file).report == {
        "came": 2,
        "used": 1,
        "left_out": {wrong: 1},
        "new": 1,
        "lines": {wrong: [2]},
        "notes": [],
    }


def test_a_job_that_was_overtaken_writes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(B11) Who deletes the upload while it is imported has the last word."""
    file = keep(world, b"item_id,question\nn1,New?\n", "items")
    process.process(file.pk)
    actions.request_import(by=world.requester, file=file)
    real = process.import_sheet

    def overtaken(**given: Any) -> Any:
        report = real(**given)
        actions.remove_upload(by=world.requester, file=file)
        return report

    monkeypatch.setattr(process, "import_sheet", overtaken)
    assert process.process(file.pk) == "not mine"
    assert not Item.objects.filter(key="n1").exists()


@pytest.mark.django_db(transaction=True)
def test_one_upload_in_six_workers_at_once_is_imported_once() -> None:
    """(B11) Delivered twice or more, it is written once."""
    from django.db import connection

    world = factories.make_world(3)
    file = keep(world, answers(*(f"w{n}" for n in range(300))))
    process.process(file.pk)
    actions.request_import(by=world.requester, file=file)
    ended: list[str] = []

    def run() -> None:
        try:
            ended.append(process.process(file.pk))
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == [STATE.IMPORTED, *["not mine"] * 5]
    assert TextValue.objects.filter(answer__item__task=world.task).count() == 300
    assert now(file).report["new"] == 300


def test_a_job_that_died_is_taken_up_again_and_given_up_after_three(world: World) -> None:
    """(B11) A file that kills its worker does so three times at most."""
    file = keep(world, answers("w1"))
    old = timezone.now() - dt.timedelta(minutes=10)
    ImportFile.objects.filter(pk=file.pk).update(attempts=1, heartbeat_at=old)
    assert actions.resume_abandoned() == 1
    assert process.process(file.pk) == STATE.READY
    ImportFile.objects.filter(pk=file.pk).update(state=STATE.CHECKING, attempts=3, heartbeat_at=old)
    assert process.process(file.pk) == "not mine"
    assert now(file).state == STATE.FAILED and "3 times" in now(file).error["message"]


@pytest.mark.parametrize("kind", ["answers", "system_answers", "items"])
def test_every_text_comes_back_as_it_was(world: World, kind: str) -> None:
    """(B11) What means something to COPY, CSV or SQL is a text like any other."""
    texts = ["\\N", "\\.", "a\tb\\tc", "two\nlines", "quote \" and '", "; DROP TABLE", "\\x00 \\"]
    head = {"answers": "worker_id", "system_answers": "system", "items": "topic"}[kind]
    text = "question" if kind == "items" else "answer"
    rows = [
        {"item_id": f"n{number}" if kind == "items" else "q-001", head: f"w{number}", text: said}
        for number, said in enumerate(texts)
    ]
    content = "\n".join(map(json.dumps, rows)).encode()
    file = keep(world, content, kind, "a.jsonl")
    process.process(file.pk)
    actions.request_import(by=world.requester, file=file)
    assert process.process(file.pk) == STATE.IMPORTED
    found = (
        Item.objects.filter(key__startswith="n").values_list("question", flat=True)
        if kind == "items"
        else TextValue.objects.values_list("text", flat=True)
    )
    assert sorted(found) == sorted(texts)
