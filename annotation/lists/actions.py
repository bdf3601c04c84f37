"""Views of lists that a person saved: a name for what an address shows."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Project, SavedView, User
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from crowdqc.errors import Conflict, Invalid, Missing

MOST_VIEWS = 30  # of one list, of one person
MOST_QUERY = 1000


@transaction.atomic
def save_view(*, by: User, project: Project, list: str, name: str, query: str) -> SavedView:
    """Save a list's search, filters and order under a name, replacing a view of that name."""
    name = clean_text(name, "name", 60)
    if not name:
        raise Invalid(_("A saved view needs a name."), fields={"name": _("Write a name.")})
    if len(query) > MOST_QUERY:
        raise Invalid(
            _("This view is too long to be saved."), fields={"name": _("Search for less.")}
        )
    own = SavedView.objects.filter(project=project, user=by, list=list)
    if own.exclude(name=name).count() >= MOST_VIEWS:
        raise Conflict(
            _("There are %(most_views)s saved views of this list. Delete one first.")
            % {"most_views": MOST_VIEWS}
        )
    view, _made = SavedView.objects.update_or_create(
        project=project, user=by, list=list, name=name, defaults={"query": query}
    )
    record(by=by, project=project, action="view.save", on=view)
    return view


@transaction.atomic
def delete_view(*, by: User, project: Project, view_id: int | None) -> None:
    """Delete a view of one's own."""
    view = SavedView.objects.filter(pk=view_id or 0, project=project, user=by).first()
    if view is None:
        raise Missing(_("There is no such saved view of yours."))
    record(by=by, project=project, action="view.delete", on=view)
    view.delete()
