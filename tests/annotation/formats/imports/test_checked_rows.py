"""Rows that were checked are imported without another check, unless the task changed meanwhile."""

from __future__ import annotations

import datetime as dt
import os
import pickle
from typing import Any

import pytest

from annotation.files.reading.importer import Importer
from annotation.files.reading.spool import CHUNK, Spool, is_plain
from annotation.formats.actions.imports import import_content
from annotation.formats.uploads import actions, process
from annotation.models import ChoiceValue, ImportFile, ImportPart, Task
from tests.support import factories
from tests.support.studies import labels

State = ImportFile.State
FILE = b"worker,item,label,time\nann,leaf-1,spots,2026-03-01T10:00:00Z\nbob,leaf-2,holes,\n"


def upload(task: Task, content: bytes) -> ImportFile:
    file = actions.keep_file(
        by=task.project.owner, task=task, kind="labels", name="a.csv", content=content
    )
    assert process.process(file.pk) == State.READY
    file.refresh_from_db()
    return file


def run_import(file: ImportFile) -> ImportFile:
    assert file.task is not None
    actions.request_import(by=file.task.project.owner, file=file)
    process.process(file.pk)
    file.refresh_from_db()
    return file


def stored(task: Task) -> list[tuple[str, str, str]]:
    rows = ChoiceValue.objects.filter(answer__item__task=task).values_list(
        "answer__worker__external_id", "answer__item__key", "code"
    )
    return sorted(rows)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was checked, a kind an entry."""
    done: list[str] = []
    real = Importer.check

    def counted(self: Importer, *given: Any, **options: Any) -> Any:
        done.append(self.slug)
        return real(self, *given, **options)

    monkeypatch.setattr(Importer, "check", counted)
    return done


@pytest.mark.django_db
def test_a_checked_file_is_imported_without_a_second_check(checks: list[str]) -> None:
    task = labels.make_labels(factories.make_project(), labels.TEXTS[:2])
    file = upload(task, FILE)
    assert run_import(file).state == State.IMPORTED
    assert checks == ["labels"]
    assert stored(task) == [("ann", "leaf-1", "spots"), ("bob", "leaf-2", "holes")]
    assert (file.report["came"], file.report["used"], file.report["new"]) == (2, 2, 2)
    assert not ImportPart.objects.filter(file=file).exists()


@pytest.mark.django_db
def test_what_came_in_since_the_check_is_seen_by_the_import(checks: list[str]) -> None:
    task = labels.make_labels(factories.make_project(), labels.TEXTS[:2])
    file = upload(task, FILE)
    same = b"worker,item,label\nann,leaf-1,spots\n"
    import_content(by=task.project.owner, task=task, kind="labels", name="b.csv", content=same)
    checks.clear()
    file = run_import(file)
    assert (file.state, checks) == (State.IMPORTED, ["labels"])
    assert stored(task) == [("ann", "leaf-1", "spots"), ("bob", "leaf-2", "holes")]
    assert (file.report["new"], file.report["left_out"]["there"]) == (1, 1)


@pytest.mark.django_db
def test_a_label_that_contradicts_a_newer_one_is_refused_at_the_import() -> None:
    task = labels.make_labels(factories.make_project(), labels.TEXTS[:2])
    file = upload(task, FILE)
    other = b"worker,item,label\nann,leaf-1,holes\n"
    import_content(by=task.project.owner, task=task, kind="labels", name="b.csv", content=other)
    file = run_import(file)
    assert (file.state, file.found["bad"]) == (State.READY, 1)
    assert stored(task) == [("ann", "leaf-1", "holes")]


def test_only_plain_values_are_read_from_stored_chunks() -> None:
    rows = [
        {"n": n, "at": dt.datetime(2026, 3, 1, tzinfo=dt.UTC), "to": ("a", None)}
        for n in range(CHUNK + 2)
    ]
    spool = Spool(rows)
    again: Spool[Any] = Spool.of_chunks(list(spool.chunks()), len(spool))
    assert is_plain(spool) and list(again) == list(again) == rows and len(again) == len(rows)
    hostile = Spool([os.system])
    assert not is_plain(hostile)
    with pytest.raises(pickle.UnpicklingError):
        list(Spool.of_chunks(hostile.chunks(), 1))
