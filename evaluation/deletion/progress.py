"""What pages and programs show of a project's deletion."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotation.models import (
    Answer,
    AuditEntry,
    EventBatch,
    Item,
    LedgerEntry,
    MediaFile,
    Membership,
    Project,
    Recording,
    Statement,
    Task,
)
from crowdqc.web.terms import Words
from evaluation.deletion.actions import DAYS
from evaluation.deletion.obstacles import find_obstacles
from evaluation.deletion.tables import project_rows
from evaluation.models import ProjectDeletion, Run, RunShare
from evaluation.moving.tables import Model

GOING: dict[Model, Words] = {
    Task: gettext_lazy("Tasks"),
    Item: gettext_lazy("Items"),
    Answer: gettext_lazy("Answers"),
    EventBatch: gettext_lazy("Parts of logs"),
    Recording: gettext_lazy("Recordings"),
    MediaFile: gettext_lazy("Files of items"),
    Run: gettext_lazy("Runs"),
    RunShare: gettext_lazy("Public links"),
    Membership: gettext_lazy("Memberships"),
}
STAYING: dict[Model, Words] = {
    LedgerEntry: gettext_lazy("Ledger entries"),
    Statement: gettext_lazy("Statements"),
    AuditEntry: gettext_lazy("Audit log entries"),
}


def describe_deletion(project: Project) -> dict[str, Any]:
    """Return the state of a deletion, or what one would delete and what stands in the way."""
    deletion = ProjectDeletion.objects.filter(project=project).first()
    waiting = deletion is None or deletion.state == ProjectDeletion.State.WAITING
    return {
        "project_of": project,
        "deletion": deletion,
        "days": DAYS,
        "obstacles": find_obstacles(project) if waiting else [],
        "going": _count(GOING, project) if waiting else [],
        "staying": _count(STAYING, project) if waiting else [],
        "is_going": deletion is not None and _is_going(deletion),
        "done_rows": sum(deletion.deleted.values()) if deletion else 0,
        "all_rows": planned_rows(deletion) if deletion else 0,
    }


def _is_going(deletion: ProjectDeletion) -> bool:
    """Whether a job deletes rows, or takes it up within a minute."""
    state = ProjectDeletion.State
    is_due = deletion.state == state.WAITING and deletion.due_at <= timezone.now()
    return deletion.state == state.RUNNING or (is_due and not deletion.problem)


def planned_rows(deletion: ProjectDeletion) -> int:
    """Return how many rows there were to delete; those that came meanwhile are counted too."""
    both = {*deletion.planned, *deletion.deleted}
    return sum(max(deletion.planned.get(name, 0), deletion.deleted.get(name, 0)) for name in both)


def _count(models: dict[Model, Words], project: Project) -> list[tuple[str, int]]:
    return [(str(words), project_rows(one, project.pk).count()) for one, words in models.items()]
