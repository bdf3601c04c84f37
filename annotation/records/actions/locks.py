"""Row locks for decisions that depend on the rows read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Model

from annotation.models import Answer, Project, Task, TaskVersion

# The first keys of advisory locks; the second is the version, or the task.
STRETCHES, SPENDING = 4117, 4118


def lock_task(task: Task) -> None:
    """Lock the task and its draft in the order of publishing."""
    Task.objects.select_for_update().get(pk=task.pk)
    list(task.versions.select_for_update().filter(published_at__isnull=True))


def lock_answer(answer: Answer) -> None:
    """Lock one answer's header."""
    Answer.objects.select_for_update(of=("self",), no_key=True).get(pk=answer.pk)


def lock_project(project_id: int) -> Project:
    """Lock a project for what is decided one after another: runs, roles, money, quotas."""
    return Project.objects.select_for_update(no_key=True).get(pk=project_id)


def lock_settings(project: Project) -> None:
    """Lock a project's settings."""
    Project.objects.select_for_update().get(pk=project.pk)


@contextmanager
def lock_row(row: Model) -> Iterator[None]:
    """Open a transaction with the row locked and read again."""
    with transaction.atomic():
        row.refresh_from_db(from_queryset=type(row)._base_manager.select_for_update())
        yield


def serialize_claims(version: TaskVersion) -> None:
    """Serialise claims of one version until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [STRETCHES, version.pk])


def serialize_spending(task: Task) -> None:
    """Serialise claims of one task until the transaction ends.

    It comes before ``serialize_claims``.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [SPENDING, task.pk])
