"""Read the audit log with filters and stable pages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import AuditEntry, Membership, Project, Role, User
from annotation.records.selectors.audit_words import (
    FAMILIES,
    action_sentence,
    describe_detail,
    describe_subject,
)
from crowdqc.numbers import parse_whole

# What somebody did, after their name. {places} are filled from the entry's detail.
PAGE = 50
SYSTEM = gettext_lazy("the system")
CHUNK = 2000


@dataclass(frozen=True)
class Filters:
    """What of the log is shown; empty: everything."""

    person: str = ""
    family: str = ""
    object_type: str = ""
    object_id: int = 0
    since: dt.date | None = None
    until: dt.date | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Filters:
        """Parse filters of a query; ignore invalid ones."""
        number = query.get("id", "")
        family = query.get("family", "")
        return cls(
            query.get("person", "").strip()[:80],
            family if family in FAMILIES else "",
            query.get("object", "")[:40],
            parse_whole(number) or 0,
            _date(query.get("since", "")),
            _date(query.get("until", "")),
        )

    @property
    def any(self) -> bool:
        """Whether any filter is set."""
        return self != Filters()

    @property
    def query(self) -> str:
        """Return the filters as a query string."""
        told = {
            "person": self.person,
            "family": self.family,
            "object": self.object_type,
            "id": self.object_id,
            "since": self.since,
            "until": self.until,
        }
        return urlencode({name: value for name, value in told.items() if value})


def _date(text: str) -> dt.date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class Line:
    """One entry in words."""

    entry: AuditEntry
    who: str
    said: str
    about: str
    rest: str


@dataclass(frozen=True)
class Page:
    """Entries, newest first, and the start of older ones."""

    lines: list[Line]
    older: int | None


class _Names:
    """Names of actors in this project: staff by name, workers by pseudonym."""

    def __init__(self, project: Project) -> None:
        self.known: dict[int, str] = {}
        for member in project.memberships.filter(user__isnull=False).select_related("user"):
            worker = member.role == Role.WORKER
            if member.user_id is not None and not (worker and member.user_id in self.known):
                self.known[member.user_id] = member.pseudonym if worker else str(member.user)

    def of(self, entry: AuditEntry) -> str:
        """Return the name of who did what the entry records."""
        if entry.actor_id is None:
            return str(SYSTEM)
        return self.known.get(entry.actor_id) or _("somebody who left")


def _midnight(day: dt.date) -> dt.datetime:
    return timezone.make_aware(dt.datetime.combine(day, dt.time()))


def list_entries(project: Project, filters: Filters) -> QuerySet[AuditEntry]:
    """Return the project's entries that pass the filters, newest first."""
    rows = AuditEntry.objects.filter(project=project).order_by("-pk")
    if filters.person:
        rows = rows.filter(_filter_by_actor(project, filters.person))
    if filters.family:
        rows = rows.filter(action__startswith=f"{filters.family}.")
    if filters.object_type:
        rows = rows.filter(object_type=filters.object_type)
    if filters.object_id:
        rows = rows.filter(object_id=filters.object_id)
    if filters.since:
        rows = rows.filter(at__gte=_midnight(filters.since))
    if filters.until:
        rows = rows.filter(at__lt=_midnight(filters.until) + dt.timedelta(days=1))
    return rows


def _filter_by_actor(project: Project, name: str) -> Q:
    """Filter entries by the name of a person; workers only by pseudonym."""
    if name == str(SYSTEM):
        return Q(actor=None)
    called = Q(role=Role.WORKER, pseudonym__iexact=name) | (
        ~Q(role=Role.WORKER) & (Q(user__display_name__iexact=name) | Q(user__username__iexact=name))
    )
    found = Membership.objects.filter(called, project=project, user__isnull=False)
    return Q(actor__in=list(found.values_list("user_id", flat=True)))


def read_page(project: Project, filters: Filters, before: int = 0) -> Page:
    """Return a page of entries older than ``before``, if given."""
    rows = list_entries(project, filters)
    if before:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: PAGE + 1])
    older = found[PAGE - 1].pk if len(found) > PAGE else None
    return Page(describe_entries(project, found[:PAGE]), older)


def describe_entries(project: Project, found: Iterable[AuditEntry]) -> list[Line]:
    """Return these entries in words."""
    names = _Names(project)
    return [_line(one, names.of(one)) for one in found]


def _line(entry: AuditEntry, who: str) -> Line:
    return Line(
        entry,
        who,
        action_sentence(entry.action, entry.detail),
        describe_subject(entry.object_type, entry.object_id),
        describe_detail(entry.detail),
    )


COLUMNS = ("id", "at", "who", "action", "said", "object", "object_id", "detail")


def export_rows(project: Project, filters: Filters) -> Iterator[dict[str, Any]]:
    """Return these entries as rows of a file, oldest first."""
    names = _Names(project)
    for one in list_entries(project, filters).order_by("pk").iterator(chunk_size=CHUNK):
        line = _line(one, names.of(one))
        told = (
            one.pk,
            one.at.isoformat(),
            line.who,
            one.action,
            line.said,
            one.object_type,
            one.object_id,
            line.rest,
        )
        yield dict(zip(COLUMNS, told, strict=True))


def staff_names(project: Project) -> list[str]:
    """Return people who can be searched by name."""
    found = project.memberships.exclude(role=Role.WORKER).select_related("user")
    return sorted({str(one.user) for one in found})


def object_types(project: Project) -> list[tuple[str, str]]:
    """Return types of objects with their labels."""
    kinds = AuditEntry.objects.filter(project=project).values_list("object_type", flat=True)
    return sorted((kind, describe_subject(kind, 0)[:-2]) for kind in set(kinds.distinct()) if kind)


def own_account_entries(user: User, limit: int = PAGE) -> list[Line]:
    """Return the person's account entries outside of any project."""
    found = AuditEntry.objects.filter(actor=user, project=None).order_by("-pk")[:limit]
    return [_line(one, _("You")) for one in found]
