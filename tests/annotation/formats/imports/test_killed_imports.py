"""An import whose process is killed with SIGKILL: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotation.formats.registry import get_format
from annotation.formats.uploads import actions, process, selectors
from annotation.models import Answer, ImportFile, ImportPart, Task, TextValue
from tests.support import factories
from tests.support.processes import ROOT, test_database_url, until

pytestmark = pytest.mark.django_db(transaction=True)
State, Kind = ImportFile.State, ImportPart.Kind
QUESTIONS, WORKERS = 20, 300
WORK = """
import django, sys
django.setup()
from annotation.formats.uploads import process
print(process.process(int(sys.argv[1])))
"""


def upload(task: Task) -> ImportFile:
    """A file of 6,000 answers, kept and not read yet."""
    keys = list(task.items.values_list("key", flat=True))
    rows = [f"{key},w{who},It nests on {who} roofs." for who in range(WORKERS) for key in keys]
    content = "\n".join(["item_id,worker_id,answer", *rows]).encode()
    return actions.keep_file(
        by=task.project.owner, task=task, kind="answers", name="a.csv", content=content
    )


@contextmanager
def another_process(file: ImportFile) -> Iterator[subprocess.Popen[str]]:
    """A process of its own at work on the upload; killed at the end."""
    env = os.environ | {
        "DATABASE_URL": test_database_url(),
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
    }
    command = [sys.executable, "-c", WORK, str(file.pk)]
    worker = subprocess.Popen(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE)
    try:
        yield worker
    finally:
        worker.kill()
        worker.communicate()


def waits_for(table: str) -> bool:
    """Whether a process waits until it may write into this table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation"
            " WHERE relname = %s AND NOT granted",
            [table],
        )
        return bool(cursor.fetchone()[0])


def sentence_of(file: ImportFile) -> str:
    """What the page of the file says of it now."""
    one = get_format("answers")
    return selectors.view_of(ImportFile.objects.get(pk=file.pk), one).sentence


def let_time_pass(file: ImportFile) -> None:
    """No sign of life for as long as it takes to give the process up."""
    ImportFile.objects.filter(pk=file.pk).update(
        heartbeat_at=timezone.now() - actions.ABANDONED - dt.timedelta(seconds=1)
    )
    assert actions.resume_abandoned() == 1


def assert_whole(task: Task, file: ImportFile) -> None:
    """Every row is there once, and the record of the import says so."""
    n = QUESTIONS * WORKERS
    file.refresh_from_db()
    assert file.state == State.IMPORTED
    assert file.report["new"] == file.report["came"] == n
    answers = Answer.objects.filter(item__task=task)
    assert answers.count() == answers.values("worker", "item").distinct().count() == n
    assert TextValue.objects.filter(answer__item__task=task).count() == n
    assert not file.parts.exists()
    assert process.process(file.pk) == "not mine"  # a job that comes twice
    assert answers.count() == n


def test_an_import_killed_half_way_through_its_rows_starts_over_and_doubles_none() -> None:
    task = factories.make_task(n=QUESTIONS)
    file = upload(task)
    assert process.process(file.pk) == State.READY
    actions.request_import(by=task.project.owner, file=file)
    with another_process(file) as worker:
        table = TextValue._meta.db_table
        with transaction.atomic(), connection.cursor() as cursor:
            # Answers are written by then, and their texts are not.
            cursor.execute(f"LOCK TABLE {table} IN SHARE MODE")
            until(lambda: waits_for(table), 120, "answers to be written")
            until(lambda: "answers written" in sentence_of(file), 120, "the page to say so")
            assert sentence_of(file).startswith("2,500 answers written so far.")
            worker.kill()
            worker.wait()
    assert not Answer.objects.filter(item__task=task).exists()
    file.refresh_from_db()
    assert file.state == State.IMPORTING
    assert process.process(file.pk) == "not mine"  # it may be at work still, for all one knows
    let_time_pass(file)
    assert process.process(file.pk) == State.IMPORTED
    assert_whole(task, file)


def test_a_file_killed_while_it_is_read_is_read_again_from_what_was_kept() -> None:
    task = factories.make_task(n=QUESTIONS)
    file = upload(task)
    rows = ImportPart.objects.filter(file=file, kind=Kind.ROWS)
    with another_process(file) as worker:
        until(rows.exists, 120, "the first rows to be read")
        worker.kill()
        worker.wait()
    file.refresh_from_db()
    if file.state != State.READY:  # a fast machine was through before
        let_time_pass(file)
        assert process.process(file.pk) == State.READY
    file.refresh_from_db()
    assert file.found["new"] == QUESTIONS * WORKERS
    actions.request_import(by=task.project.owner, file=file)
    assert process.process(file.pk) == State.IMPORTED
    assert_whole(task, file)
