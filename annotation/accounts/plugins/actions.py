"""Enable and disable a plug-in in a project."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Project, ProjectPlugin, User
from annotation.records.actions.audit import record
from crowdqc import plugins
from crowdqc.errors import Missing


@transaction.atomic
def enable_plugin(*, by: User, project: Project, name: str) -> None:
    """Let a project use a loaded plug-in. Raises Missing for another name."""
    if name not in plugins.current().loaded:
        raise Missing(_("There is no plug-in %(name)s.") % {"name": repr(name)})
    _row, created = ProjectPlugin.objects.get_or_create(
        project=project, name=name, defaults={"enabled_by": by}
    )
    if created:
        record(by=by, project=project, action="plugin.enable", on=project, name=name)


@transaction.atomic
def disable_plugin(*, by: User, project: Project, name: str) -> None:
    """Stop a project from using a plug-in; what was computed with it stays."""
    deleted, _rows = ProjectPlugin.objects.filter(project=project, name=name).delete()
    if deleted:
        record(by=by, project=project, action="plugin.disable", on=project, name=name)
