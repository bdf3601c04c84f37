"""The security log: write, sweep and read events.

Failures come from strangers, so they cannot grow without bound: those of one hour, one account
and one address are counted up in one row, and beyond ``MAX_ROWS`` rows an hour they are counted
by account alone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from allauth.core import context
from django.conf import settings
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.accounts.signing import selectors
from annotation.models import Project, SecurityEvent, User
from crowdqc import limits

Kind = SecurityEvent.Kind
# What anybody can cause without being signed in.
BOUNDED = (Kind.FAILED, Kind.LOCKED, Kind.FACTOR_FAILED)
MAX_ROWS = 200  # rows an hour that tell failures apart by address
SWEEP_AT_ONCE = 10_000
PROGRAM = gettext_noop("A program")  # anything that is no known browser


def log_event(
    kind: str,
    *,
    user: User | None = None,
    request: HttpRequest | None = None,
    project: Project | None = None,
    **detail: str | int | bool | None,
) -> None:
    """Write an event; ``detail`` is small and names nobody.

    Without ``request`` it is the one being answered, if there is one.
    """
    request = request if request is not None else context.request
    address, agent = request_address(request), describe_browser(request)
    if kind in BOUNDED:
        _count_failure(kind, user, address, agent)
        return
    acting = getattr(request, "user", None)
    if user is not None and acting is not None and acting.pk not in (None, user.pk):
        address = agent = ""  # somebody else did it: where they sit is not this person's to know
    SecurityEvent.objects.create(
        kind=kind, user=user, project=project, address=address, agent=agent, detail=detail
    )


def _count_failure(kind: str, user: User | None, address: str, agent: str) -> None:
    """Count a failure in the row of its hour."""
    hour = f"{timezone.now():%Y%m%d%H}"
    whose = str(user.pk) if user else "nobody"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM annotation_securityevent"
            " WHERE bucket LIKE %s LIMIT %s) AS this_hour",
            [f"{hour}:%", MAX_ROWS],
        )
        if cursor.fetchone()[0] >= MAX_ROWS:
            address = agent = ""
        cursor.execute(
            "INSERT INTO annotation_securityevent"
            " (kind, user_id, at, address, agent, detail, count, bucket)"
            " VALUES (%s, %s, now(), %s, %s, '{}', 1, %s) ON CONFLICT (bucket)"
            " DO UPDATE SET count = annotation_securityevent.count + 1",
            [kind, user.pk if user else None, address, agent, f"{hour}:{kind}:{whose}:{address}"],
        )


def attempted_account(name: object) -> User | None:
    """Return the account that a sign-in attempt was for."""
    return selectors.find_user(name) if isinstance(name, str) else None


def request_address(request: HttpRequest | None) -> str:
    """Return the request's address as limits count it, or ""."""
    found = limits.client_network(request) if request is not None else limits.NOWHERE
    return "" if found == limits.NOWHERE else found


def describe_browser(request: HttpRequest | None) -> str:
    """Return browser and system in English, as "Firefox on Linux"; see ``name_browser``."""
    said = str(getattr(request, "META", {}).get("HTTP_USER_AGENT", ""))
    browser, system = selectors.browser_and_system(said)
    if not browser:
        return PROGRAM if said else ""
    return f"{browser} on {system}" if system else browser


def name_browser(stored: str) -> str:
    """Return a stored browser in the reader's language; older rows hold their writer's."""
    first, _space, _rest = stored.partition(" ")
    browsers = {name for _sign, name in selectors.BROWSERS}
    system = next((name for _sign, name in selectors.SYSTEMS if stored.endswith(f" {name}")), "")
    if first in browsers and system:
        return _("%(browser)s on %(system)s") % {"browser": first, "system": system}
    return _(PROGRAM) if stored and first not in browsers else stored


def delete_old_events(now: dt.datetime | None = None) -> int:
    """Delete events older than the retention; return how many."""
    before = (now or timezone.now()) - dt.timedelta(days=settings.CROWDQC_SECURITY_LOG_DAYS)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('crowdqc.sweeping', 'on', true)")
        cursor.execute(
            "DELETE FROM annotation_securityevent WHERE id IN (SELECT id"
            " FROM annotation_securityevent WHERE at < %s ORDER BY id LIMIT %s)",
            [before, SWEEP_AT_ONCE],
        )
        gone = cursor.rowcount
        cursor.execute("SELECT set_config('crowdqc.sweeping', 'off', true)")
    return gone


def erase_person(user: User) -> None:
    """Erase a person's events; project events lose only their origin.

    Part of erasing the account, whose switch opens the log.
    """
    theirs = SecurityEvent.objects.filter(user=user)
    theirs.filter(project=None).delete()
    theirs.update(address="", agent="")


# Reading ----------------------------------------------------------------------------------------


def own_events(user: User, limit: int = 100) -> Iterable[SecurityEvent]:
    """Return the last events of a person's account, newest first."""
    return SecurityEvent.objects.filter(user=user).select_related("project")[:limit]


def project_events(project: Project, limit: int = 100) -> Iterable[SecurityEvent]:
    """Return the last changes of roles, rules and money, for managers."""
    return SecurityEvent.objects.filter(project=project).select_related("user")[:limit]


def all_events() -> Any:
    """Return every event, for administrators of the installation."""
    return SecurityEvent.objects.select_related("user", "project")
