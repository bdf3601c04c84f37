"""Rows held for a reader who decides by what they read: nobody changes them until the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Model

from annotation.models import Answer, Project, Task, TaskVersion

# The first keys of advisory locks; the second is the version, or the task.
STRETCHES, SPENDING = 4117, 4118


def hold_task(task: Task) -> None:
    """The task and its draft, in the order in which publishing locks them."""
    Task.objects.select_for_update().get(pk=task.pk)
    list(task.versions.select_for_update().filter(published_at__isnull=True))


def hold_answer(answer: Answer) -> None:
    """One answer's header."""
    Answer.objects.select_for_update(of=("self",), no_key=True).get(pk=answer.pk)


def hold_project(project: Project) -> None:
    """A project's settings."""
    Project.objects.select_for_update().get(pk=project.pk)


@contextmanager
def locked(row: Model) -> Iterator[None]:
    """A transaction in which nobody else changes the row, whose values are read anew."""
    with transaction.atomic():
        row.refresh_from_db(from_queryset=type(row)._base_manager.select_for_update())
        yield


def line_up(version: TaskVersion) -> None:
    """Let claims of one version stand in line from here to the end of their transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [STRETCHES, version.pk])


def line_up_spending(task: Task) -> None:
    """Let claims of one task stand in line from here to the end of their transaction.

    It comes before ``line_up``.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [SPENDING, task.pk])
