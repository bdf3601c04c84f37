"""Files in the background: asked for, written in pieces, fetched whole, told of, and gone again."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import zipfile
from typing import Any

import pyarrow.parquet
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation import jobs
from annotation.files.writing import parquet
from annotation.files.writing import tables as files
from annotation.formats.actions import export_files
from annotation.formats.actions.imports import import_content
from annotation.formats.exports.makers import TableMaker
from annotation.formats.selectors import files as reads
from annotation.models import Answer, AuditEntry, ExportFile, Notice, Task, TextValue
from crowdqc.errors import Conflict, Invalid, Missing
from tests.support import factories as make
from tests.support.kept import kept

pytestmark = pytest.mark.django_db
LONG = "They nest on chimneys and poles, and come back to the same nest each spring." * 14


@pytest.fixture
@kept
def task() -> Task:
    task = make.make_task(n=3)
    make.claim_and_submit(task)
    make.make_system_answers(task, {"Owl": {"q-001": "Sticks."}})
    return task


def asked(task: Task, what: str = "answers", form: str = "csv", **options: Any) -> ExportFile:
    return export_files.request_export(
        by=task.project.owner, project=task.project, task=task, what=what, form=form, **options
    )


def written(file: ExportFile) -> bytes:
    assert jobs.write_export(file.pk) == "done"
    file.refresh_from_db()
    return b"".join(export_files.content(file))


def test_a_file_is_written_once_told_of_and_fetched_whole(task: Task, client: Client) -> None:
    file = asked(task)
    assert asked(task).pk == file.pk  # a second click
    with pytest.raises(Missing, match="not written yet"):
        export_files.content(file)
    content = written(file)
    assert content.decode().splitlines()[0].startswith("item_id,worker_id,answer")
    assert file.sha256 == hashlib.sha256(content).hexdigest()
    assert (file.rows, file.size) == (3, len(content))
    about = file.manifest["files"][file.name]
    assert about["sha256"] == file.sha256
    assert [one["number"] for one in about["task_versions"]] == [1]
    assert jobs.write_export(file.pk) == "not mine"  # delivered twice
    notice = Notice.objects.get(user=task.project.owner, kind="export.ready")
    assert file.name in notice.text
    assert AuditEntry.objects.filter(action="export.request").count() == 1

    client.force_login(task.project.owner)
    page = client.get(reverse("files_list", args=[task.project_id])).content.decode()
    assert "hx-get" not in page.split('id="files"')[1].split(">")[0]  # nothing is in work
    response = client.get(reverse("files_download", args=[task.project_id, file.pk]))
    assert b"".join(response.streaming_content) == content  # type: ignore[attr-defined]
    assert response["Content-Length"] == str(len(content))
    told = client.get(reverse("files_manifest", args=[task.project_id, file.pk])).json()
    assert told == file.manifest


def test_the_page_asks_and_polls_until_the_file_is_there(task: Task, client: Client) -> None:
    client.force_login(task.project.owner)
    url = reverse("files_list", args=[task.project_id])
    assert "All tables" in client.get(url, {"task": task.pk}).content.decode()
    form = {"task": task.pk, "file": "label-studio.json"}
    assert client.post(url, form).status_code == 302
    now = reverse("files_now", args=[task.project_id])
    part = client.get(now, headers={"HX-Request": "true"}).content.decode()
    assert f'hx-get="{now}"' in part and "<html" not in part
    file = ExportFile.objects.get()
    assert isinstance(json.loads(written(file)), list)
    assert "hx-get" not in client.get(now, headers={"HX-Request": "true"}).content.decode()
    refused = client.post(url, {"task": task.pk, "file": "mood.csv"})
    assert refused.status_code == 422
    assert "There is no export" in refused.content.decode()
    gone = reverse("files_remove", args=[task.project_id, file.pk])
    assert client.post(gone).status_code == 302
    assert not ExportFile.objects.exists()


def test_the_list_takes_the_same_queries_for_few_and_many(task: Task, client: Client) -> None:
    client.force_login(task.project.owner)
    url, counts = reverse("files_list", args=[task.project_id]), []
    for more in (2, 20):
        ExportFile.objects.bulk_create(
            ExportFile(
                project=task.project,
                task=task,
                what="answers",
                form="csv",
                by=task.project.owner,
                state="failed",
            )
            for _ in range(more)
        )
        with CaptureQueriesContext(connection) as asked_of:
            assert client.get(url).status_code == 200
        counts.append(len(asked_of))
    assert counts[0] == counts[1]


def test_a_large_table_is_sent_to_the_background(
    task: Task, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(task.project.owner)
    url = reverse("task_export", args=[task.project_id, task.pk, "answers", "csv"])
    assert client.get(url).status_code == 200
    monkeypatch.setattr("annotation.formats.views.exports.LARGE", 2)
    response = client.get(url)
    assert response["Location"].startswith(reverse("files_list", args=[task.project_id]))
    assert client.get(f"{url}?now=1").status_code == 200


def test_a_killed_worker_s_file_is_begun_anew_and_given_up_after_three(task: Task) -> None:
    file = asked(task)
    claimed = export_files._claim(file.pk)
    assert claimed is not None
    assert jobs.write_export(file.pk) == "not mine"  # its worker may still be alive
    assert export_files.resume_abandoned() == 0
    old = timezone.now() - dt.timedelta(minutes=10)
    ExportFile.objects.update(heartbeat_at=old)
    assert export_files.resume_abandoned() == 1
    assert written(file)
    # The dead worker wakes up and finds that the file is not its own any more.
    made = TableMaker().make(claimed)
    with pytest.raises(export_files.Superseded):
        next(export_files._signed(claimed, made))

    file = asked(task, form="jsonl")
    ExportFile.objects.filter(pk=file.pk).update(state="running", attempts=3, heartbeat_at=old)
    assert jobs.write_export(file.pk) == "not mine"
    file.refresh_from_db()
    assert file.state == "failed" and "180 seconds, in each of 3 attempts" in file.error
    assert "could not be written" in Notice.objects.latest("pk").text


def test_files_end_after_their_days_and_are_few_at_once(task: Task) -> None:
    file = asked(task)
    written(file)
    assert file.expires_at is not None and file.done_at is not None
    assert (file.expires_at - file.done_at).days == 7
    ExportFile.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    assert jobs.look_after_files() == 1
    for form in ("csv", "jsonl", "parquet"):
        asked(task, form=form)
        asked(task, what="items", form=form) if form != "parquet" else None
    with pytest.raises(Conflict, match="being written"):
        asked(task, what="events", form="csv")
    with pytest.raises(Invalid, match="no option"):
        asked(task, params={"colour": "blue"})
    with pytest.raises(Missing):
        asked(task, what="bundle", form="zip")
    with pytest.raises(Invalid, match="Say of which task"):
        export_files.request_export(
            by=task.project.owner, project=task.project, what="answers", form="csv"
        )


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_all_tables_of_a_project_come_in_one_archive_with_a_manifest(task: Task, form: str) -> None:
    file = export_files.request_export(
        by=task.project.owner, project=task.project, what="all", form=form
    )
    content = written(file)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        names = set(archive.namelist()) - {"manifest.json"}
        assert names == set(manifest["files"])
        name = f"task-{task.pk}/assignments.{form}"
        table = archive.read(name)
        assert manifest["files"][name]["sha256"] == hashlib.sha256(table).hexdigest()
    assert file.manifest == manifest
    pseudonym = Answer.objects.filter(worker__isnull=False).values_list("worker__pseudonym")[0][0]
    if form == "csv":
        head, row = table.decode().splitlines()
        assert head.startswith("AssignmentId,WorkerId,HITId,AssignmentStatus")
        assert row.split(",")[1:4] == [pseudonym, str(task.pk), "Submitted"]
    else:
        rows = pyarrow.parquet.read_table(io.BytesIO(table)).to_pylist()
        assert rows[0]["WorkerId"] == pseudonym


def test_parquet_has_types_and_comes_back_in(task: Task) -> None:
    rows = [{"n": 1, "x": 0.5, "yes": True, "word": "a", "list": [1, 2], "none": None}] * 3
    table = files.Table(tuple(rows[0]), rows)
    content = b"".join(table.parts("parquet"))
    read = pyarrow.parquet.read_table(io.BytesIO(content))
    assert [str(field.type) for field in read.schema] == [
        "int64",
        "double",
        "bool",
        "string",
        "string",
        "string",
    ]
    assert table.count == 3
    columns, found = parquet.read(content)
    assert columns[0] == "n" and next(found)["list"] == "[1, 2]"
    mixed = [{"n": n} for n in range(parquet.GROUP)] + [{"n": "eleven"}]
    with pytest.raises(Conflict, match="column n"):
        list(files.Table(("n",), mixed).parts("parquet"))

    content = written(asked(task, form="parquet"))
    other = make.make_task(n=3)
    report = import_content(
        by=other.project.owner, task=other, kind="answers", content=content, name="a.parquet"
    )
    assert (report.new, report.left_out) == (3, 0)
    with pytest.raises(Invalid, match="parquet"):
        import_content(
            by=other.project.owner,
            task=other,
            kind="answers",
            content=content[:80],
            name="a.parquet",
        )


def test_thousands_of_answers_stream_in_pieces_and_come_back(task: Task) -> None:
    """The size of 200,000 is measured by ``tests/bench/service/bench_import.py``."""
    many = make.make_task(n=100)
    by_worker = {
        f"w{who}": {f"q-{n:03d}": f"{who} {n} {LONG}" for n in range(1, 101)} for who in range(30)
    }
    make.make_answers(many, by_worker)
    file = asked(many, form="jsonl")
    content = written(file)
    assert file.rows == 3000
    assert len(list(export_files.content(file))) == -(-file.size // export_files.PART) > 2
    assert reads.size_of(many) == 3000
    other = make.make_task(n=100)
    report = import_content(
        by=other.project.owner, task=other, kind="answers", content=content, name="a.jsonl"
    )
    assert report.new == 3000
    told = [
        sorted(
            TextValue.objects.filter(answer__item__task=one).values_list(
                "answer__item__key", "answer__worker__pseudonym", "text"
            )
        )
        for one in (many, other)
    ]
    assert told[0] == told[1]
