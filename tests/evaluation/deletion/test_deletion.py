"""A project is deleted: nothing is left of it but its books, whatever stops the job on the way."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import environ
import pytest
from django.db import connection
from django.utils import timezone

from annotation.installation.actions import reopen_project
from annotation.models import (
    Assignment,
    AssignmentItem,
    AuditEntry,
    EventBatch,
    EventStream,
    LedgerEntry,
    Project,
    Task,
    TaskVersion,
)
from annotation.payouts.actions import proposals as payouts
from crowdqc.errors import Conflict, Invalid
from crowdqc.files.places import configured_storages, s3_options
from evaluation.deletion import actions, tables
from evaluation.deletion.obstacles import find_obstacles
from evaluation.embeddings.embeddings import text_hash
from evaluation.models import Embedding, Endpoint, LLMCall, ProjectDeletion, RunFigure
from evaluation.moving.actions import export_project
from evaluation.moving.tables import LEFT_OUT, label
from evaluation.moving.writing import sum_books
from evaluation.runs import engine as runs
from tests.support import factories
from tests.support.everything import everything
from tests.support.servers.s3 import bucket_settings, s3_server, stored_names
from tests.support.studies import labels

pytestmark = pytest.mark.django_db(transaction=True)
LEAST = 16  # characters of a text that is looked for
OWN = ("annotation.Task", "annotation.TaskVersion")


@pytest.fixture
def bucket(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """Files lie in a folder and, from when it is set, in a bucket."""
    with s3_server() as address:
        named = bucket_settings(address, "deleted") | {"CROWDQC_FILES_FOLDER": str(tmp_path / "f")}
        for name, value in named.items():
            monkeypatch.setenv(name, value)
        env = environ.Env()
        settings.CROWDQC_FILE_PLACES = configured_storages(env, s3_options(env))
        settings.STORAGES = settings.STORAGES | settings.CROWDQC_FILE_PLACES
        settings.CROWDQC_FILES = "folder"
        yield address, "deleted"


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a column, also those within JSON."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)
    elif isinstance(value, str):
        yield value


def texts_of(models: Any, project: int) -> set[str]:
    """Return the texts of a project's rows that are long enough to be its own."""
    found: set[str] = set()
    for model in models:
        for row in tables.project_rows(model, project).values():
            for value in row.values():
                found |= {one for one in texts_in(value) if len(one) >= LEAST}
    return found


def dump() -> str:
    """Return all rows of all tables of the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') "
            "AND relnamespace = 'public'::regnamespace"
        )
        names = [name for (name,) in cursor.fetchall()]
        found = []
        for name in names:
            cursor.execute(f'SELECT to_jsonb(t)::text FROM "{name}" t')  # noqa: S608
            found += [json.dumps(json.loads(row), ensure_ascii=False) for (row,) in cursor]
    return "\n".join(found)


def say_everywhere(project: Project) -> None:
    """Write where the project of one of each thing is silent: drafts, calls, logs, figures."""
    words = "canary in {}, which nobody may read later"
    AssignmentItem.objects.update(draft={"text": words.format("a draft")})
    LLMCall.objects.update(messages=[{"content": words.format("a call")}])
    TaskVersion.objects.filter(published_at=None).update(instructions=words.format("a draft task"))
    stream = EventStream.objects.create(assignment=Assignment.objects.latest("pk"), key=uuid4())
    EventBatch.objects.create(
        stream=stream, first_seq=0, last_seq=1, events=[{"text": words.format("a log")}]
    )
    run = project.runs.earliest("pk")
    RunFigure.objects.create(run=run, name="note", data={"text": words.format("a figure")})


def free(project: Project) -> Any:
    return mock.patch.object(actions, "find_obstacles", lambda of: [])


def counted(deletion: ProjectDeletion) -> dict[str, int]:
    """What was deleted of tables that are emptied."""
    bare = {label(one) for one in tables.BARE}
    return {name: n for name, n in deletion.deleted.items() if name not in bare}


def request(project: Project, **more: Any) -> ProjectDeletion:
    values = {"by": None, "name": project.name, "why": "The study is over.", "at_once": True}
    return actions.request_deletion(project=project, **{**values, **more})


def test_nothing_but_the_books_is_left(
    bucket: tuple[str, str], tmp_path: Path, settings: Any
) -> None:
    values, clients = everything()
    project = Project.objects.get(pk=values["project_id"])
    settings.CROWDQC_FILES = "s3"
    labels.make_image(project, "red.png", labels.png("red"))
    say_everywhere(project)
    words = {
        text
        for model, column in actions.ENCODED.items()
        for text in tables.project_rows(model, project.pk).values_list(column, flat=True)
    }
    Embedding.objects.bulk_create(
        Embedding(encoder="e", text_hash=one, vector=b"1") for one in set(map(text_hash, words))
    )
    other = factories.claim_and_submit(factories.make_task())
    books = (sum_books(project), texts_of([LedgerEntry], project.pk))
    entries = AuditEntry.objects.filter(project=project).count()
    going = texts_of(tables.deletion_order(), project.pk)
    assert len(going) > 120 and stored_names(*bucket)
    assert any((tmp_path / "f").rglob("*"))
    with free(project):
        deletion = request(project)
        assert actions.delete_due() == 1
    deletion.refresh_from_db()
    assert deletion.state == "done" and counted(deletion) == deletion.planned

    left = {
        label(model): n
        for model in tables.deletion_order()
        if (n := tables.project_rows(model, project.pk).count())
    }
    assert set(left) <= {label(one) for one in tables.BARE}
    kept = texts_of([*tables.BOOKS, *tables.BARE], project.pk)
    there = dump()
    shared = Endpoint.objects.filter(project=None).values_list("base_url", flat=True)
    of_other = texts_of([*tables.deletion_order()], other.task.project_id)
    found = {
        one
        for one in going
        if one not in kept
        and one not in of_other
        and one not in shared  # the address of an endpoint that an organisation keeps
        and json.dumps(one, ensure_ascii=False)[1:-1] in there
    }
    assert not found
    assert not stored_names(*bucket)
    assert not [one for one in (tmp_path / "f").rglob("*") if one.is_file()]
    assert not Embedding.objects.exists()

    assert (sum_books(project), texts_of([LedgerEntry], project.pk)) == books
    assert AuditEntry.objects.filter(project=project).count() > entries
    assert Assignment.objects.filter(pk=other.pk).exists() and other.answers.count() == 4
    versions = TaskVersion.objects.filter(task__project=project)
    assert versions and not versions.exclude(instructions="", settings={}).exists()
    for role in ("requester", "manager", "viewer", "worker"):
        assert clients[role].get(f"/projects/{project.pk}/").status_code == 404


def test_a_stopped_deletion_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    task = factories.make_task(redundancy=3)
    for _ in range(3):
        factories.claim_and_submit(task)
    monkeypatch.setattr(actions, "AT_ONCE", 2)
    whole, calls = actions.forget, itertools.count()

    def stop(files: Any) -> int:
        if next(calls) % 4 == 3:
            raise KeyboardInterrupt  # as if the process were killed within a transaction
        return whole(files)

    monkeypatch.setattr(actions, "forget", stop)
    with free(task.project):
        deletion = request(task.project)
        stops = 0
        while deletion.state != "done":
            try:
                actions.delete_due()
            except KeyboardInterrupt:
                stops += 1
            deletion.refresh_from_db()
    assert stops > 5 and counted(deletion) == deletion.planned
    assert not Task.objects.filter(project=task.project).exists()
    assert AuditEntry.objects.filter(action="project.delete").count() == 1


def test_all_that_is_open_is_named_with_the_way_out() -> None:
    values, _ = everything()
    project = Project.objects.get(pk=values["project_id"])
    found = find_obstacles(project)
    assert {one.code for one in found} == {
        *("undecided", "unpaid", "owed", "rejections", "corrections"),
        *("leased", "runs", "live"),
    }
    with pytest.raises(actions.StandsInTheWay) as refused:
        request(project)
    assert all(one.text in refused.value.message and one.way_out for one in found)
    project.refresh_from_db()
    assert project.archived_at is None and not ProjectDeletion.objects.exists()


def test_a_deletion_waits_some_days_and_can_be_taken_back() -> None:
    task = factories.make_task()
    project = task.project
    with pytest.raises(Invalid):
        request(project, name="Another one", at_once=False)
    request(project, at_once=False)
    later = timezone.now() + dt.timedelta(days=actions.DAYS, minutes=1)
    assert actions.delete_due() == 0
    actions.cancel_deletion(by=None, project=project, why="It is needed.")
    assert actions.delete_due(later) == 0 and Task.objects.filter(pk=task.pk).exists()
    request(project, at_once=False)
    reopen_project(by=None, project=project, why="It is needed.")
    assert actions.delete_due(later) == 0 and not ProjectDeletion.objects.exists()
    request(project, at_once=False)
    assert actions.delete_due(later) == 1 and not Task.objects.filter(pk=task.pk).exists()


def test_work_that_was_paid_keeps_who_was_paid_for_what(tmp_path: Path) -> None:
    world = factories.make_world(n=2)
    done = factories.claim_and_submit(world.task)
    line = payouts.ProposedLine(done.pk)
    batch = payouts.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=[line])
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    with pytest.raises(actions.StandsInTheWay, match="Owed to workers"):
        request(world.project)
    with free(world.project):
        request(world.project)
        actions.delete_due()
    entry = LedgerEntry.objects.get(project=world.project, kind="base")
    assert entry.worker == world.worker or entry.worker.pseudonym
    assert entry.task.published_title == world.task.published_title
    assert not entry.assignment.answers.exists()
    for refused in (
        lambda: reopen_project(by=None, project=world.project, why="x"),
        lambda: export_project(by=None, project=world.project, path=tmp_path / "a.zip"),
        lambda: runs.start(by=world.requester, task=world.task),
    ):
        with pytest.raises(Conflict) as caught:
            refused()
        assert caught.value.code == "deleted"


def test_every_table_of_a_project_is_emptied_or_named_as_kept() -> None:
    known = {*tables.all_paths(), *tables.LOGS}
    assert {*tables.BOOKS, *tables.BARE} <= known
    order = tables.deletion_order()
    assert len(order) == len(set(order)) and not set(order) & set(tables.BOOKS)
    beside = {label(one) for one in tables.all_paths()} & set(LEFT_OUT)
    assert {"annotation.ApiToken", "evaluation.RunShare", "annotation.Hook"} <= beside
