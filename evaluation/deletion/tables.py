"""What stays of a deleted project: its books, and the bare rows that they point to.

Every other table that belongs to a project (evaluation.moving.tables) is emptied of its rows, also
one that comes later and is named nowhere here.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotation.models import (
    Answer,
    AnswerCount,
    Assignment,
    AuditEntry,
    ChoiceValue,
    Correction,
    JudgmentCount,
    LedgerEntry,
    Membership,
    Payment,
    PaymentAttempt,
    PayoutBatch,
    PayoutLine,
    Project,
    Recruitment,
    Rejection,
    SecurityEvent,
    Statement,
    StoredFile,
    Task,
    TaskVersion,
    User,
)
from annotation.models.tasks import TaskState
from evaluation.models import ArchivePart, ProjectArchive, ProjectDeletion, ProjectMove
from evaluation.moving.tables import (
    DEFERRED,
    LEFT_OUT,
    Model,
    all_models,
    extend_paths,
    field_label,
    foreign_keys,
    label,
    paths,
    rows_by,
)

# What the law of books, and proof of who did what, keep as they are.
BOOKS: tuple[Model, ...] = (
    *(Project, AuditEntry, LedgerEntry, PayoutBatch, PayoutLine, Payment, PaymentAttempt),
    *(Statement, Correction, Rejection),
)
# Logs of the installation, which have times of their own.
LOGS: tuple[Model, ...] = (
    *(SecurityEvent, ProjectMove, ProjectArchive, ArchivePart, ProjectDeletion),
)
# Kept as far as a book points to them, and then emptied of all else (``blanks``).
BARE: tuple[Model, ...] = (Assignment, Membership, Recruitment, TaskVersion, Task)
# Triggers count into the first while rows of the second go.
COUNTED: dict[Model, tuple[Model, ...]] = {
    AnswerCount: (Answer,),
    JudgmentCount: (Answer, ChoiceValue),
}


def blanks(now: dt.datetime) -> dict[Model, dict[str, Any]]:
    """Return what the columns of bare rows hold afterwards."""
    return {
        Task: {
            "panel": None, "qualifies": None, "source": None, "domain": "", "form_key": None,
        },
        TaskVersion: {"instructions": "", "settings": {}, "bonus_note": ""},
        Assignment: {"seed": None, "log_erased_at": now, "words_shown": 0},
        Recruitment: {
            "token_sealed": b"", "webhook_sealed": b"", "parameters": {}, "codes": {},
            "return_url": "", "active": False,
        },
    }  # fmt: skip


@cache
def all_paths() -> dict[Model, tuple[str, ...]]:
    """Map each model with rows of a project to the chains that lead there, secrets included."""
    beside = [one for one in all_models() if label(one) in LEFT_OUT and one not in (User, *LOGS)]
    return extend_paths(paths(), beside)


def project_rows(model: Model, project: int) -> QuerySet[Any]:
    """Return a project's rows of a table, by their keys."""
    return rows_by(all_paths()[model], model, project)


@cache
def deletion_order() -> tuple[Model, ...]:
    """Return the models whose rows go, each after those that point to it."""
    going = [one for one in all_paths() if one not in BOOKS and one is not StoredFile]
    graph: TopologicalSorter[Model] = TopologicalSorter({one: () for one in going})
    for model in going:
        for key in foreign_keys(model):
            target = key.remote_field.model
            if target in going and target is not model and field_label(key) not in DEFERRED:
                graph.add(target, model)
                if target is Task and model is not TaskVersion:
                    graph.add(TaskVersion, model)  # a version goes once its task lets it go
    for counts, counted in COUNTED.items():
        graph.add(counts, *counted)
    return tuple(graph.static_order())


@cache
def keys_to(model: Model) -> tuple[Any, ...]:
    """Return the foreign keys of all tables that point to a table."""
    return tuple(
        key
        for one in all_models()
        for key in foreign_keys(one)
        if key.remote_field.model is model and key.db_constraint
    )


def rows_to_delete(model: Model, project: int) -> QuerySet[Any]:
    """Return the rows of a table that go: of bare ones those that no book needs."""
    rows = project_rows(model, project)
    if model not in BARE:
        return rows
    for key in keys_to(model):
        if key.model in (*BOOKS, *BARE) and field_label(key) not in SELF:
            rows = rows.exclude(
                Exists(key.model._base_manager.filter(**{key.attname: OuterRef("pk")}))
            )
    return rows


# Between bare rows: they keep nothing.
SELF = ("annotation.Task.source", "annotation.TaskVersion.task")


def release_versions(project: int) -> None:
    """Let tasks that go let go of their versions, which can be deleted then."""
    going = rows_to_delete(Task, project).order_by()
    Task.objects.filter(pk__in=going.values("pk")).update(state=TaskState.DRAFT, current=None)


def blank_rows(project: int) -> None:
    """Empty what stays of rows that are there for the books alone."""
    for model, values in blanks(timezone.now()).items():
        rows = project_rows(model, project).order_by()
        model._base_manager.filter(pk__in=rows.values("pk")).update(**values)


def stored_keys(model: Model) -> list[str]:
    """Return the columns of a table that point to files."""
    return [key.attname for key in foreign_keys(model) if key.remote_field.model is StoredFile]
