"""Which projects belong to an organisation, and how it is closed."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import is_installation_owner
from annotation.accounts.organisations import actions as organisations
from annotation.accounts.organisations.selectors import may_change
from annotation.accounts.roles.actions import notify_managers
from annotation.accounts.security.stepup import require_recent
from annotation.models import Organisation, OrganisationMember, Project, User
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, NotAllowed
from evaluation.llm.endpoints.actions import archive_endpoint
from evaluation.models import Endpoint


@transaction.atomic
def set_organisation(
    *, by: User | None, project: Project, organisation: Organisation | None
) -> Project:
    """Let a project join an organisation, or leave the one it is in (None).

    Its owner lets it join one of theirs; its owner or the organisation's lets it leave. Owners of
    the installation do both. Raises Conflict for another currency.
    """
    if by is not None:
        require_recent(by, _("change the organisation of a project"))
    # In this order, as calls to models do: endpoints, organisations, then the project.
    list(Endpoint.objects.select_for_update(no_key=True).filter(project=project).order_by("pk"))
    held = Project.objects.values_list("organisation_id", flat=True).get(pk=project.pk)
    ids = {held, organisation.pk if organisation else None} - {None}
    rows = Organisation.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    locked = {row.pk: row for row in rows}
    project = Project.objects.select_for_update(no_key=True, of=("self",)).get(pk=project.pk)
    before = locked.get(project.organisation_id) if project.organisation_id else None
    after = locked[organisation.pk] if organisation else None
    if project.organisation_id not in {None, *locked}:
        raise Conflict(_("The project has just moved to another organisation."))
    if before == after:
        return project
    _require_mover(by, project, before, after)
    if after is not None and after.currency != project.currency:
        raise Conflict(
            _("%(organisation)s counts in %(theirs)s, the project in %(own)s.")
            % {"organisation": after.name, "theirs": after.currency, "own": project.currency}
        )
    project.organisation = after
    project.save(update_fields=["organisation"])
    if before is not None:
        organisations.end_work_in(by=by, organisation=before, project=project)
    entry = record(
        by=by, project=project, action="project.organisation", on=project,
        before=before.name if before else "", after=after.name if after else "",
    )  # fmt: skip
    notify_managers(
        project,
        key=f"project.organisation:{entry.pk}",
        text=lambda: (
            _("%(project)s now belongs to the organisation %(name)s.")
            % {"project": project.name, "name": after.name}
            if after is not None
            else _("%(project)s left its organisation.") % {"project": project.name}
        ),
    )
    return project


def _require_mover(
    by: User | None, project: Project, before: Organisation | None, after: Organisation | None
) -> None:
    if after is not None and after.closed_at is not None:
        raise Conflict(_("This organisation is closed."))
    if by is None or is_installation_owner(by):
        return
    owns = project.owner_id == by.pk
    if before is not None and not (owns or may_change(before, by)):
        raise NotAllowed(_("Only the owner of the project or of the organisation may do this."))
    if after is not None:
        if not owns:
            raise NotAllowed(_("Only the owner of the project may do this."))
        organisations.require_joiner(after, by)


@transaction.atomic
def close_organisation(*, by: User | None, organisation: Organisation) -> Organisation:
    """End an organisation that has no project left: its people, and its models' keys.

    Raises Conflict while it has one.
    """
    if by is not None and not is_installation_owner(by):
        raise NotAllowed(_("Only an owner of the installation may do this."))
    own = Endpoint.objects.filter(organisation=organisation, archived_at=None).order_by("pk")
    for endpoint in own:
        archive_endpoint(by=by, endpoint=endpoint)
    row = organisations.lock_organisation(organisation)
    if row.projects.exists():
        raise Conflict(_("Projects belong to it. Let them leave first."))
    for member in OrganisationMember.objects.filter(organisation=row).select_related("user"):
        organisations.end_role(by=by, organisation=row, member=member)
    row.closed_at = timezone.now()
    row.save(update_fields=["closed_at"])
    record(by=by, project=None, action="organisation.close", on=row)
    return row
