"""Ask for the deletion of a project, take that back, and carry it out in parts.

A request names the project and archives it; the deletion is due some days later, or at once when it
is confirmed a second time. Rows go in transactions of a bounded size that count them, so that what
is killed has lost nothing and goes on where it was.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.roles.selectors import list_managers
from annotation.files.stored.actions import forget
from annotation.installation.actions import archive_project, clean_reason, require_owner
from annotation.models import (
    Candidate,
    Item,
    ItemGroup,
    KeptReply,
    Membership,
    Project,
    Task,
    TaskVersion,
    TextValue,
    User,
)
from annotation.models.tasks import TaskState
from annotation.notifications.actions.notices import notify
from annotation.privacy.actions.erasure import erasing
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc.database.locks import try_lock
from crowdqc.errors import Conflict, Invalid
from crowdqc.queue import enqueue
from evaluation.deletion.obstacles import Obstacle, find_obstacles
from evaluation.deletion.tables import (
    BARE,
    BOOKS,
    blank_rows,
    deletion_order,
    keys_to,
    release_versions,
    rows_to_delete,
    stored_keys,
)
from evaluation.embeddings.embeddings import text_hash
from evaluation.models import Embedding, ProjectDeletion
from evaluation.moving.tables import Model, label

logger = logging.getLogger(__name__)
State = ProjectDeletion.State
DAYS = 7  # in which a request can be taken back
AT_ONCE = 2_000  # rows a transaction
SECONDS = 1_800.0  # of one turn of the job: the next one goes on
# Texts that may have vectors.
ENCODED: dict[Model, str] = {
    TextValue: "text",
    Candidate: "text",
    Item: "question",
    ItemGroup: "passage",
}
Say = Callable[[str], None]


class StandsInTheWay(Conflict):
    """Something has to end before the project is deleted; ``obstacles`` names it."""

    code = "stands-in-the-way"

    def __init__(self, obstacles: list[Obstacle]) -> None:
        super().__init__(
            " ".join(
                [
                    _("This stands in the way of the deletion."),
                    *(f"{one.text}. {one.way_out}" for one in obstacles),
                ]
            ),
            code=self.code,
        )
        self.obstacles = obstacles


@transaction.atomic
def request_deletion(
    *, by: User | None, project: Project, name: str, why: str, at_once: bool = False
) -> ProjectDeletion:
    """Archive a project and delete it after some days, or at once; sent again, as asked before.

    Raises
    ------
    Invalid
        ``name`` is not the project's.
    StandsInTheWay
        Money is owed, or work, runs, live evaluations or uploads are open.
    """
    require_owner(by, _("delete a project"))
    why = clean_reason(why)
    project = lock_project(project.pk)
    if name.strip() != project.name.strip():
        raise Invalid(
            _("This is not the project’s name."),
            fields={"name": _("Type the name as it stands above.")},
        )
    require_free(project)
    found = ProjectDeletion.objects.filter(project=project).first()
    if found is not None and found.state != State.WAITING:
        return found
    now = timezone.now()
    due = now if at_once else found.due_at if found else now + dt.timedelta(days=DAYS)
    if project.archived_at is None:
        archive_project(by=by, project=project, why=why)
    deletion, _made = ProjectDeletion.objects.update_or_create(
        project=project,
        defaults={"why": why, "requested_by": by, "due_at": due, "problem": ""},
    )
    entry = record(
        by=by, project=project, action="project.delete_request", on=project,
        why=why, due=due.isoformat(),
    )  # fmt: skip
    if not at_once:
        _notify(
            project,
            f"project.delete:{entry.pk}",
            lambda: (
                _("The administrator deletes %(project)s in %(days)s days.")
                % {"project": project.name, "days": DAYS}
            ),
        )
    else:
        enqueue("evaluation.jobs.delete_projects")
    return deletion


def _get_waiting(project: Project) -> ProjectDeletion:
    waiting = ProjectDeletion.objects.filter(project=project, state=State.WAITING).first()
    if waiting is None:
        raise Conflict(_("No deletion of this project waits."))
    return waiting


@transaction.atomic
def delete_now(*, by: User | None, project: Project, name: str) -> ProjectDeletion:
    """Carry out a request that waits without waiting longer; its reason stays."""
    waiting = _get_waiting(project)
    return request_deletion(by=by, project=project, name=name, why=waiting.why, at_once=True)


@transaction.atomic
def cancel_deletion(*, by: User | None, project: Project, why: str) -> None:
    """Take a request back before it is carried out; the project stays archived."""
    require_owner(by)
    why = clean_reason(why)
    project = lock_project(project.pk)
    waiting = _get_waiting(project)
    _cancel(waiting, by=by, why=why)


def _cancel(deletion: ProjectDeletion, *, by: User | None, why: str) -> None:
    deletion.delete()
    project = deletion.project
    record(by=by, project=project, action="project.delete_cancel", on=project, why=why)


def require_free(project: Project) -> None:
    """Raise StandsInTheWay where something has to end before."""
    found = find_obstacles(project)
    if found:
        raise StandsInTheWay(found)


def _notify(project: Project, key: str, text: Callable[[], str]) -> None:
    notify(
        to=[project.owner, *list_managers(project)],
        kind="project.archived",
        key=key,
        text=text,
    )


# -- the job --------------------------------------------------------------------------------------


def delete_due(now: dt.datetime | None = None) -> int:
    """Carry out the deletions that are due; return how many are done."""
    open_ = ProjectDeletion.objects.exclude(state=State.DONE)
    due = open_.filter(due_at__lte=now or timezone.now()).order_by("due_at", "pk")
    until = time.monotonic() + SECONDS
    return sum(carry_out(pk, until=until) for pk in list(due.values_list("pk", flat=True)))


def carry_out(pk: int, *, until: float | None = None, say: Say = lambda text: None) -> bool:
    """Begin a deletion or go on with it; return whether it is done.

    What stands in the way, or goes wrong, is kept with it for the owner to read.
    """
    deletion = ProjectDeletion.objects.select_related("project").get(pk=pk)
    with try_lock(f"delete project {deletion.project_id}") as mine:
        if not mine:
            return False
        try:
            return _begin(deletion) and _delete_all(deletion, until, say)
        except StandsInTheWay as error:
            problem = error.message
        except IntegrityError as error:  # rows of another project need one of these
            logger.exception("project %s cannot be deleted", deletion.project_id)
            problem = str(error)
        ProjectDeletion.objects.filter(pk=pk).update(problem=problem[:300])
        return False


@transaction.atomic
def _begin(deletion: ProjectDeletion) -> bool:
    """Shut everybody out and count what goes; return whether rows are to be deleted."""
    project = lock_project(deletion.project_id)
    deletion.refresh_from_db(fields=["state", "due_at"])
    if deletion.state != State.WAITING:
        return deletion.state == State.RUNNING
    if project.archived_at is None:
        _cancel(deletion, by=None, why="The project was reopened.")
        return False
    require_free(project)
    now = timezone.now()
    project.deleted_at = now
    project.save(update_fields=["deleted_at"])
    members = Membership.objects.filter(project=project)
    # Replies to programs may quote the project.
    KeptReply.objects.filter(user__in=members.values("user")).delete()
    members.filter(removed_at=None).update(removed_at=now)
    Task.objects.filter(project=project, state__in=(TaskState.OPEN, TaskState.PAUSED)).update(
        state=TaskState.CLOSED
    )
    deletion.state, deletion.started_at, deletion.problem = State.RUNNING, now, ""
    deletion.planned = _count_rows(project.pk)
    deletion.save(update_fields=["state", "started_at", "problem", "planned"])
    return True


def _count_rows(project: int) -> dict[str, int]:
    whole = [one for one in deletion_order() if one not in BARE]
    counts = {label(one): rows_to_delete(one, project).count() for one in whole}
    return {name: n for name, n in counts.items() if n}


def _delete_all(deletion: ProjectDeletion, until: float | None, say: Say) -> bool:
    """Walk over all tables until a whole walk meets nothing, or the time is over."""
    project, total = deletion.project_id, -1
    while total:
        total = 0
        for model in deletion_order():
            if model is TaskVersion:
                release_versions(project)
            count, last = 0, None
            while True:
                if until is not None and time.monotonic() > until:
                    return False
                n, last = _delete_some(deletion, model, last)
                if not n:
                    break
                count += n
            if count:
                say(f"{label(model)}: {count:,}")
            total += count
    _finish(deletion)
    return True


@transaction.atomic
def _delete_some(deletion: ProjectDeletion, model: Model, after: Any) -> tuple[int, Any]:
    """Delete the next rows of a table beyond a key; return how many, and the last key."""
    rows = rows_to_delete(model, deletion.project_id)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    ids = list(rows.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    if not ids:
        return 0, after
    going = model._base_manager.filter(pk__in=ids)
    files = [pk for column in stored_keys(model) for pk in going.values_list(column, flat=True)]
    with erasing():
        _drop_vectors(model, ids)
        for key in keys_to(model):
            if key.null and key.model not in BOOKS:  # of copies, and of circles of tables
                key.model._base_manager.filter(**{f"{key.name}__in": ids}).update(
                    **{key.name: None}
                )
        going.only("pk").delete()
    forget(files)
    name = label(model)
    deletion.deleted[name] = deletion.deleted.get(name, 0) + len(ids)
    deletion.save(update_fields=["deleted"])
    return len(ids), ids[-1]


def _drop_vectors(model: Model, ids: list[Any]) -> None:
    """Delete the vectors of these rows' texts; another project with a text encodes it anew."""
    column = ENCODED.get(model)
    if column is None:
        return
    texts = model._base_manager.filter(pk__in=ids).values_list(column, flat=True)
    Embedding.objects.filter(text_hash__in={text_hash(text) for text in texts}).delete()


@transaction.atomic
def _finish(deletion: ProjectDeletion) -> None:
    """Empty the rows that books point to, and tell who asked for it."""
    with erasing():
        blank_rows(deletion.project_id)
    deletion.state, deletion.finished_at, deletion.problem = State.DONE, timezone.now(), ""
    deletion.save(update_fields=["state", "finished_at", "problem"])
    project = deletion.project
    entry = record(
        by=deletion.requested_by, project=project, action="project.delete", on=project,
        why=deletion.why, rows=sum(deletion.deleted.values()),
    )  # fmt: skip
    notify(
        to=[project.owner, deletion.requested_by],
        kind="project.archived",
        key=f"project.deleted:{entry.pk}",
        text=lambda: (
            _("%(project)s is deleted. Its books stay readable.") % {"project": project.name}
        ),
    )
