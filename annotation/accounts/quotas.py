"""Quotas of people, projects and the installation, in one table.

Defaults stand here, ``CROWDQC_QUOTAS`` changes them, and whoever runs the installation gives a
person or a project a number of its own (``manage.py crowdqc_quota``). Every action that creates
something calls ``require_quota``, for pages and programs alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.checks import Error, register
from django.db import transaction
from django.db.models import F, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.models import (
    ImportFile,
    InstallationState,
    Invitation,
    MediaFile,
    Membership,
    Panel,
    Project,
    QuotaOverride,
    Role,
    StoredFile,
    Task,
    User,
)
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from annotation.records.installation_state import current_state, forget_state
from crowdqc.errors import Invalid, LimitExceeded
from crowdqc.numbers import count
from crowdqc.web.terms import Words

PERSON, PROJECT, INSTALLATION = "person", "project", "installation"
MB = 10**6
ENDED = (ImportFile.State.IMPORTED, ImportFile.State.FAILED)
Owner = Any  # a person or a project; None: the installation


@dataclass(frozen=True)
class Quota:
    """At most ``most`` times ``unit`` of what ``used`` counts, for each ``of``."""

    of: str
    label: Words
    most: int
    text: str
    used: Callable[[Owner], int]
    unit: int = 1


def _waiting(**whose: Any) -> int:
    return ImportFile.objects.filter(**whose).exclude(state__in=ENDED).count()


def _project_bytes(project: Project) -> int:
    media = MediaFile.objects.filter(project=project).aggregate(n=Sum("size"))["n"] or 0
    uploads = ImportFile.objects.filter(project=project, stored__isnull=False)
    return int(media + (uploads.aggregate(n=Sum("size"))["n"] or 0))


def _all_bytes(_: None) -> int:
    return StoredFile.objects.aggregate(n=Sum("size"))["n"] or 0


def _workers(project: Project) -> int:
    rows = Membership.objects.filter(project=project, role=Role.WORKER, removed_at=None)
    return rows.exclude(user=None).count()


def _open_invitations(project: Project) -> int:
    rows = Invitation.objects.filter(project=project, revoked_at=None, uses__lt=F("max_uses"))
    return rows.filter(expires_at__gt=timezone.now()).count()


QUOTAS: dict[str, Quota] = {
    "projects": Quota(
        PERSON,
        gettext_lazy("Projects per person"),
        100,
        gettext_noop("You own %(used)s of the %(most)s projects that you may have."),
        lambda person: Project.objects.filter(owner=person, deleted_at=None).count(),
    ),
    "tasks": Quota(
        PROJECT,
        gettext_lazy("Tasks"),
        1_000,
        gettext_noop("This project has %(used)s of the %(most)s tasks that it may have."),
        lambda project: Task.objects.filter(project=project).count(),
    ),
    "workers": Quota(
        PROJECT,
        gettext_lazy("Workers"),
        50_000,
        gettext_noop("This project has %(used)s of the %(most)s workers that it may have."),
        _workers,
    ),
    "invitations": Quota(
        PROJECT,
        gettext_lazy("Open invitations"),
        5_000,
        gettext_noop("%(used)s invitations to this project are open; %(most)s may. Revoke some."),
        _open_invitations,
    ),
    "panels": Quota(
        PROJECT,
        gettext_lazy("Panels"),
        200,
        gettext_noop("This project has %(used)s of the %(most)s panels that it may have."),
        lambda project: Panel.objects.filter(project=project).count(),
    ),
    "waiting_of_person": Quota(
        PERSON,
        gettext_lazy("Waiting uploads per person"),
        30,
        gettext_noop("%(used)s of your uploads wait; %(most)s may. Import or delete some."),
        lambda person: _waiting(uploaded_by=person),
    ),
    "waiting_of_project": Quota(
        PROJECT,
        gettext_lazy("Waiting uploads"),
        50,
        gettext_noop("%(used)s uploads wait in this project; %(most)s may. Import or delete some."),
        lambda project: _waiting(project=project),
    ),
    "waiting": Quota(
        INSTALLATION,
        gettext_lazy("Waiting uploads of all"),
        1_000,
        gettext_noop("%(used)s uploads wait on this site; %(most)s may. Try again later."),
        lambda _: _waiting(),
    ),
    "megabytes_of_project": Quota(
        PROJECT,
        gettext_lazy("Storage, MB"),
        5_000,
        gettext_noop("This project has %(used)s MB of files; it may have %(most)s MB."),
        _project_bytes,
        MB,
    ),
    "megabytes": Quota(
        INSTALLATION,
        gettext_lazy("Storage of all, MB"),
        100_000,
        gettext_noop("This site has %(used)s MB of files; it may have %(most)s MB."),
        _all_bytes,
        MB,
    ),
}


def register_quota(name: str, quota: Quota) -> None:
    """Add a quota of something that a package further up counts."""
    QUOTAS[name] = quota


@register()
def check_quota_names(app_configs: Any, **kwargs: Any) -> list[Error]:
    """Report names in ``CROWDQC_QUOTAS`` that are no quota."""
    unknown = sorted(set(settings.CROWDQC_QUOTAS) - set(QUOTAS))
    hint = f"There are: {', '.join(QUOTAS)}."
    return [
        Error(f"CROWDQC_QUOTAS: {name} is no quota.", hint=hint, id="crowdqc.E110")
        for name in unknown
    ]


def quota_limit(name: str, owner: Owner = None) -> int:
    """Return the limit: the owner's own, the installation's, the settings', or the default."""
    if owner is not None:
        own = QuotaOverride.objects.filter(_owner_filter(owner), name=name).values_list(
            "most", flat=True
        )
        if own:
            return own[0]
    return usual_limit(name)


def usual_limit(name: str) -> int:
    """Return what holds for everybody without a number of their own."""
    quotas = current_state().quotas
    return int(quotas.get(name, settings.CROWDQC_QUOTAS.get(name, QUOTAS[name].most)))


def own_limits(owner: Owner) -> dict[str, int]:
    """Return the numbers that a person or a project has of its own."""
    return dict(QuotaOverride.objects.filter(_owner_filter(owner)).values_list("name", "most"))


def _owner_filter(owner: Owner) -> Q:
    return Q(project=owner) if isinstance(owner, Project) else Q(person=owner)


def require_quota(name: str, owner: Owner = None, more: int = 1) -> None:
    """Raise TooMuch, with both figures, if ``more`` would exceed the quota.

    The caller's transaction locks what two requests at once would both count.
    """
    quota, limit = QUOTAS[name], quota_limit(name, owner)
    used = quota.used(owner)
    if used + more <= limit * quota.unit:
        return
    ask = _("Whoever runs this site can raise the limit.")
    figures = {"used": count(used // quota.unit), "most": count(limit)}
    raise LimitExceeded(f"{_(quota.text) % figures} {ask}", code="quota")


def require_project_quota(name: str, project: Project, more: int = 1) -> None:
    """Check a quota with the project locked; within a transaction."""
    lock_project(project.pk)
    require_quota(name, project, more)


def require_storage(project: Project | None, size: int) -> None:
    """Raise TooMuch if a file of this size would exceed the storage."""
    if project is not None:
        require_quota("megabytes_of_project", project, size)
    require_quota("megabytes", None, size)


def _kind(owner: Owner) -> str:
    if owner is None:
        return INSTALLATION
    return PROJECT if isinstance(owner, Project) else PERSON


def quota_table(owner: Owner = None) -> list[tuple[str, int, int]]:
    """Return name, usage and limit of each quota of an owner."""
    own = own_limits(owner) if owner is not None else {}
    return [
        (name, quota.used(owner) // quota.unit, own.get(name, usual_limit(name)))
        for name, quota in QUOTAS.items()
        if quota.of == _kind(owner)
    ]


def used_rows(owner: Owner) -> list[tuple[str, int, int]]:
    """Return label, use and limit of each quota of a person or project."""
    return [(str(QUOTAS[name].label), used, most) for name, used, most in quota_table(owner)]


@transaction.atomic
def set_quota(*, by: User | None, name: str, owner: Owner, limit: int | None) -> None:
    """Set an own quota of a person or project; None removes it.

    Without an owner it is what holds for everybody. Raises Invalid where there is no such quota
    of a person, or of a project.
    """
    of = _kind(owner)
    known = [one for one, quota in QUOTAS.items() if owner is None or quota.of == of]
    if name not in known:
        raise Invalid(f"{name} is no quota of a {of}.", fields={"name": ", ".join(known)})
    if limit is not None and not 0 <= limit < 2**31:
        raise Invalid("A quota is a whole number from 0.", fields={"most": "0 or more"})
    if owner is None:
        _set_usual_quota(by, name, limit)
        return
    own = QuotaOverride.objects.filter(_owner_filter(owner), name=name)
    before = own.values_list("most", flat=True).first()
    if limit is None:
        own.delete()
    else:
        QuotaOverride.objects.update_or_create(name=name, **{of: owner}, defaults={"most": limit})
    record(
        by=by,
        project=owner if of == PROJECT else None,
        action="quota.set",
        on=owner,
        name=name,
        before=before,
        most=limit,
    )


def _set_usual_quota(by: User | None, name: str, limit: int | None) -> None:
    InstallationState.objects.get_or_create(pk=1)
    row = InstallationState.objects.select_for_update(no_key=True).get(pk=1)
    before = row.quotas.get(name)
    if limit is None:
        row.quotas.pop(name, None)
    else:
        row.quotas[name] = limit
    row.save()
    forget_state()
    transaction.on_commit(forget_state)
    record(
        by=by,
        project=None,
        action="installation.quotas",
        on=row,
        name=name,
        before=before,
        most=limit,
    )
