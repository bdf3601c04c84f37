"""Panels: named workers of a project. Who was on one, since when and why is never deleted."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts import quotas
from annotation.models import Membership, Panel, PanelMember, Project, Role, Task, User
from annotation.notifications.actions.notices import notify
from annotation.panels.selectors import is_at_work
from annotation.records.actions.audit import record
from annotation.task_types.texts import storable
from crowdqc.errors import Conflict, Invalid

MOST_NAME, MOST_WHY, MOST_WORDS = 80, 300, 400


def _named(name: str) -> str:
    name = storable(name).strip()
    if not name or len(name) > MOST_NAME:
        raise Invalid(_("A panel needs a name."), fields={"panel_name": "1 to 80 characters."})
    return name


def _reason(why: str) -> str:
    why = storable(why).strip()
    if not why or len(why) > MOST_WHY:
        raise Invalid(
            _("Say why."), fields={"why": _("1 to 300 characters; the worker may ask for it.")}
        )
    return why


@transaction.atomic
def create(*, by: User, project: Project, name: str) -> Panel:
    """A new panel with nobody on it. Raises Conflict where the name is taken."""
    name = _named(name)
    quotas.require_project_quota("panels", project)
    try:
        with transaction.atomic():
            made = Panel.objects.create(project=project, name=name, created_by=by)
    except IntegrityError as error:
        raise Conflict(_("There is a panel “%(name)s” already.") % {"name": name}) from error
    record(by=by, project=project, action="panel.create", on=made, name=name)
    return made


def get_or_create_panel(*, by: User, project: Project, name: str) -> Panel:
    """The panel of this name, made where there is none."""
    found = Panel.objects.filter(project=project, name=name.strip()).first()
    if found is not None:
        return found
    try:
        return create(by=by, project=project, name=name)
    except Conflict:  # somebody made it meanwhile
        return Panel.objects.get(project=project, name=name.strip())


@transaction.atomic
def rename(*, by: User, panel: Panel, name: str) -> Panel:
    """Give a panel another name. Raises Conflict where the name is taken."""
    name, before = _named(name), panel.name
    try:
        with transaction.atomic():
            Panel.objects.filter(pk=panel.pk).update(name=name)
    except IntegrityError as error:
        raise Conflict(_("There is a panel “%(name)s” already.") % {"name": name}) from error
    panel.name = name
    record(by=by, project=panel.project, action="panel.rename", on=panel, name=name, before=before)
    return panel


@transaction.atomic
def admit(
    *,
    by: User,
    panel: Panel,
    workers: Iterable[Membership],
    run_number: int | None = None,
    why: str = "",
    words: str = "",
    tell: bool = True,
) -> list[PanelMember]:
    """Let workers onto a panel; who is on it stays as they are. Returns the new members.

    ``words`` is what the new members read, and ``tell`` whether they are told at all. Raises
    Invalid for somebody who is no worker of the project (any more).
    """
    wanted = {worker.pk: worker for worker in workers}
    for worker in wanted.values():
        if worker.project_id != panel.project_id or worker.role != Role.WORKER or worker.removed_at:
            raise Invalid(
                _("%(worker)s is not a worker of this project.") % {"worker": worker},
                fields={"workers": _("Its workers.")},
            )
    words, why = storable(words).strip(), storable(why).strip()[:MOST_WHY]
    if len(words) > MOST_WORDS:
        raise Invalid(
            _("The invitation is too long."), fields={"words": _("400 characters at most.")}
        )
    locked = Panel.objects.select_for_update(no_key=True).select_related("project").get(pk=panel.pk)
    on = set(locked.members.filter(until__isnull=True).values_list("worker_id", flat=True))
    made = [
        PanelMember.objects.create(
            panel=locked, worker=worker, added_by=by, run_number=run_number, why=why
        )
        for pk, worker in wanted.items()
        if pk not in on
    ]
    if not made:
        return []
    record(
        by=by,
        project=locked.project,
        action="panel.admit",
        on=locked,
        name=locked.name,
        workers=[one.worker.pseudonym for one in made],
        run=run_number,
        why=why,
    )
    for one in made if tell else ():
        notify(
            to=[one.worker.user],
            kind="panel.admitted",
            project=locked.project,
            key=f"panel.admitted:{one.pk}",
            url=reverse("work_home"),
            text=words or (lambda: invitation(locked)),
        )
    return made


def invitation(panel: Panel) -> str:
    """Return the default message to new members of a panel."""
    return _("You are on the panel “%(panel)s”: its tasks are open to you on your work page.") % {
        "panel": panel.name
    }


@transaction.atomic
def end(*, by: User, member: PanelMember, why: str) -> PanelMember:
    """End a membership, with a reason; work in hand may be finished. Twice is once."""
    why = _reason(why)
    locked = (
        PanelMember.objects.select_for_update(of=("self",), no_key=True)
        .select_related("panel__project", "worker__user")
        .get(pk=member.pk)
    )
    if locked.until is not None:
        return locked
    locked.until, locked.ended_by, locked.end_why = timezone.now(), by, why
    locked.save(update_fields=["until", "ended_by", "end_why"])
    panel = locked.panel
    record(
        by=by,
        project=panel.project,
        action="panel.end",
        on=panel,
        name=panel.name,
        worker=locked.worker.pseudonym,
        why=why,
    )
    notify(
        to=[locked.worker.user],
        kind="panel.ended",
        project=panel.project,
        key=f"panel.ended:{locked.pk}",
        url=reverse("work_home"),
        text=lambda: (
            _(
                "You are no longer on the panel “%(panel)s”. You may finish what is in progress, "
                "and your pay does not change."
            )
            % {"panel": panel.name}
        ),
    )
    return locked


@transaction.atomic
def set_panels(*, by: User, task: Task, asks_for: str, qualifies: str | None = None) -> Task:
    """Set the panel that a task is restricted to, and the panel that passing it leads to; "": none.

    ``qualifies`` None leaves that as it is. A panel of a new name is made, with nobody on it.
    Raises Invalid where both are the same, and Conflict while somebody works.
    """
    locked = (
        Task.objects.select_for_update(of=("self",), no_key=True)
        .select_related("qualifies", "project")
        .get(pk=task.pk)
    )
    if is_at_work(locked):
        raise Conflict(_("Pause the task first: people are working under its rules."))
    if qualifies is None:
        qualifies = locked.qualifies.name if locked.qualifies else ""
    given = {"qualifies": qualifies.strip(), "panel": asks_for.strip()}
    if given["qualifies"] and given["qualifies"] == given["panel"]:
        raise Invalid(
            _("A task cannot ask for the panel it leads to."), fields={"panel": _("Another one.")}
        )
    for field, name in given.items():
        found = get_or_create_panel(by=by, project=locked.project, name=name) if name else None
        setattr(locked, field, found)
    locked.save(update_fields=["qualifies", "panel"])
    record(by=by, project=locked.project, action="task.panels", on=locked, **given)
    return locked
