"""The joined table: each item with its text, own columns, votes, final label and certainty."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import jobs
from annotation.files.reading.sheet import read
from annotation.formats.actions import export_files
from annotation.models import Answer, ExportFile, Task
from crowdqc.errors import Invalid
from evaluation.models import ItemLabel, LabelDecision, OfficialRun, Run
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.score_table.test_pages import drop, run_quickly, score
from tests.support import factories
from tests.support.kept import kept
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db

# Three workers, four items; w2 errs on i0. A column of the file is kept with each item.
VOTES = "worker,item,label,text,source\n" + "".join(
    f"w{k},i{n},{'yes' if n % 2 or (k, n) == (2, 0) else 'no'},Text {n},web-{n}\n"
    for n in range(4)
    for k in range(3)
)
COLUMNS = ["item_id", "group", "text", "gold", "source", "field"]
COLUMNS += ["answers", "votes", "counts", "label", "certainty", "basis"]


@pytest.fixture
@kept
def task() -> Task:
    """A table of labels that became a task with an official run."""
    client = Client()
    user = factories.make_user()
    client.force_login(user)
    score(client, drop(client, VOTES))
    run, task = Run.objects.get(), Task.objects.get()
    run_quickly(run)
    OfficialRun.objects.create(
        task=task, method=run.method, run=run, how="first", since=timezone.now()
    )
    return task


def written(task: Task, form: str, **params: Any) -> tuple[bytes, ExportFile]:
    file = export_files.request_export(
        by=task.project.owner,
        project=task.project,
        task=task,
        what="joined",
        form=form,
        params=params,
    )
    assert jobs.write_export(file.pk) == "done"
    file.refresh_from_db()
    return b"".join(export_files.content(file)), file


def csv_rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def test_each_item_stands_with_its_votes_final_label_and_certainty(task: Task) -> None:
    content, file = written(task, "csv")
    rows = csv_rows(content)
    assert list(rows[0]) == COLUMNS and len(rows) == 4
    first = rows[0]
    assert (first["item_id"], first["text"], first["source"]) == ("i0", "Text 0", "web-0")
    assert sorted(json.loads(first["votes"]).values()) == ["no", "no", "yes"]
    assert json.loads(first["counts"]) == {"no": 2, "yes": 1}
    label = ItemLabel.objects.get(item__key="i0")
    assert (first["label"], first["basis"]) == (label.label, "run")
    assert float(first["certainty"]) == pytest.approx(label.posterior[label.label])
    told = file.manifest["files"][file.name]
    assert [one["name"] for one in told["columns"]] == COLUMNS
    assert all(one["about"] for one in told["columns"])


def test_a_decision_of_a_person_comes_before_the_run_and_a_majority_after_it(task: Task) -> None:
    item = task.items.get(key="i0")
    LabelDecision.objects.create(
        task=task, item=item, field="label", label="yes", by=task.project.owner, decider=1
    )
    rows = csv_rows(written(task, "csv")[0])
    assert (rows[0]["label"], rows[0]["certainty"], rows[0]["basis"]) == ("yes", "", "decision")
    OfficialRun.objects.all().delete()
    rows = csv_rows(written(task, "csv")[0])
    assert (rows[1]["label"], rows[1]["certainty"], rows[1]["basis"]) == ("yes", "1.0", "majority")
    others = list(Answer.objects.filter(item__key="i1").values_list("pk", flat=True))[1:]
    Answer.objects.filter(pk__in=others).update(counts=False, uncounted_reason="careless")
    rows = csv_rows(written(task, "csv")[0])
    assert (rows[1]["label"], rows[1]["certainty"], rows[1]["basis"]) == ("yes", "", "vote")
    first, second, _third = Answer.objects.filter(item__key="i2")
    first.choices.update(code="yes")
    Answer.objects.filter(pk=second.pk).update(counts=False, uncounted_reason="careless")
    tied = csv_rows(written(task, "csv")[0])[2]
    assert (tied["label"], tied["certainty"]) == ("", "")


def test_answers_that_do_not_count_and_items_that_are_filtered_out_are_left_out(
    task: Task,
) -> None:
    answer = Answer.objects.get(item__key="i0", worker__pseudonym=_erring(task))
    Answer.objects.filter(pk=answer.pk).update(counts=False, uncounted_reason="careless")
    rows = csv_rows(written(task, "csv", query="q=i0")[0])
    assert [(row["item_id"], row["answers"], row["counts"]) for row in rows] == [
        ("i0", "2", '{"no": 2}')
    ]


def _erring(task: Task) -> str:
    (found,) = Answer.objects.filter(item__key="i0", item__task=task, choices__code="yes")
    assert found.worker is not None
    return found.worker.pseudonym


@pytest.mark.parametrize("form", ["xlsx", "jsonl", "parquet"])
def test_every_format_holds_the_same_rows(form: str, task: Task) -> None:
    wanted = csv_rows(written(task, "csv")[0])
    sheet = read(written(task, form)[0], f"a.{form}")
    rows: Iterator[dict[str, str]] = (dict(row.values) for row in sheet.rows)
    for row, same in zip(rows, wanted, strict=True):
        assert float(row.pop("certainty")) == pytest.approx(float(same.pop("certainty")))
        assert row == same


def test_the_folder_for_hugging_face_has_a_card_and_explains_its_columns(task: Task) -> None:
    packed = zipfile.ZipFile(io.BytesIO(written(task, "hf")[0]))
    data = "data/train-00000-of-00001.parquet"
    assert packed.namelist() == [data, "columns.csv", "README.md", "manifest.json"]
    table = pyarrow.parquet.read_table(io.BytesIO(packed.read(data)))
    assert (table.column_names, table.num_rows) == (COLUMNS, 4)
    explained = csv_rows(packed.read("columns.csv"))
    assert [row["column"] for row in explained] == COLUMNS
    card = packed.read("README.md").decode()
    assert card.startswith("---\npretty_name: ") and "data/train-*.parquet" in card


def test_pairs_stand_with_both_texts_and_the_votes_of_each_dimension() -> None:
    pairs = pair_corpus.make_task(topics=1, sources=3, redundancy=3)
    task = pair_corpus.make_judged(workers=3, task=pairs)
    rows = csv_rows(written(task, "csv")[0])
    dimensions = {row["field"] for row in rows}
    assert len(rows) == task.items.count() * len(dimensions) and len(dimensions) > 1
    assert all(row["first_text"] and row["second_system"] for row in rows)


def test_answers_in_free_text_stand_a_row_each() -> None:
    world = factories.make_world(2)
    factories.claim_and_submit(world.task, world.worker, "They nest on chimneys.")
    rows = csv_rows(written(world.task, "csv")[0])
    assert {row["answer"] for row in rows} == {"They nest on chimneys."}
    assert {row["worker"] for row in rows} == {world.worker.pseudonym}


def test_the_list_of_items_and_the_command_export_what_is_filtered(
    task: Task, tmp_path: Path
) -> None:
    client = Client()
    client.force_login(task.project.owner)
    page = html_of(client.get(reverse("task_items", args=[task.project_id, task.pk]) + "?q=i2"))
    assert 'name="query" value="q=i2"' in page
    sent = {"task": task.pk, "file": "joined.csv", "query": "q=i2"}
    assert client.post(reverse("files_list", args=[task.project_id]), sent).status_code == 302
    assert ExportFile.objects.get().params == {"query": "q=i2"}
    out = tmp_path / "joined.csv"
    said = {"task": task.pk, "stdout": io.StringIO()}
    call_command("crowdqc_export", "joined", out=out, query="q=i2", **said)
    assert [row["item_id"] for row in csv_rows(out.read_bytes())] == ["i2"]
    told = json.loads((tmp_path / "manifest.json").read_text())["files"]["joined.csv"]
    assert (told["filters"], told["columns"][0]["name"]) == ("q=i2", "item_id")
    folder = tmp_path / "set.zip"
    call_command("crowdqc_export", "joined", out=folder, **said)
    assert "README.md" in zipfile.ZipFile(folder).namelist()


def test_a_table_of_no_task_or_an_unknown_format_is_refused(task: Task) -> None:
    with pytest.raises(Invalid):
        written(task, "docx")
    with pytest.raises(Invalid):
        export_files.request_export(
            by=task.project.owner, project=task.project, task=None, what="joined", form="csv"
        )
