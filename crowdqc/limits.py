"""How often somebody may try something, counted in one table for all web processes.

A limit is a number of tries within a window of time, which begins with the first try. Counting and
deciding are one statement (``INSERT … ON CONFLICT DO UPDATE … RETURNING``), whose row lock makes
tries at the same moment wait for one another, so that fifty of them at once pass as many as fifty
in a row. A try over the limit writes nothing.

Whoever signed in on a device before is not locked out by the tries of others: the device holds a
signed cookie, and tries with it are counted apart (OWASP, "Slow Down Online Guessing Attacks with
Device Cookies"). Tries from devices without one share the counter of the name.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.throttling import BaseThrottle

from crowdqc.errors import TooMuch
from crowdqc.web.terms import Words

MINUTE, HOUR, DAY = 60, 3600, 86_400


@dataclass(frozen=True)
class Limit:
    """At most ``most`` tries within ``seconds``, for each thing it is counted for."""

    name: str
    most: int
    seconds: int


# Signing in: from one network, and under one name (a password is right once in a while, so right
# ones are given back by ``forgive``).
SIGN_INS = Limit("sign-in-network", 30, MINUTE)
API_SIGN_INS = Limit("token-network", 30, MINUTE)
TRIES = (Limit("name", 10, MINUTE), Limit("name-hour", 100, HOUR))
# Codes of a second factor, for one person.
CODES = (Limit("code", 5, 5 * MINUTE), Limit("code-day", 60, DAY))
# A code of a second factor opens once, whichever process it comes to.
USED_CODES = Limit("code-used", 1, 5 * MINUTE)
PASSKEYS = Limit("passkey-network", 30, MINUTE)
# Ways to the identity provider, each of which asks it something.
SSO_STARTS = Limit("sso-network", 60, MINUTE)
SIGN_UPS = (Limit("sign-up-network", 30, 10 * MINUTE), Limit("sign-up-day", 300, DAY))
RESETS = Limit("reset-network", 20, HOUR)
# Mail that somebody who is not signed in has sent to one address.
MAILS = Limit("mail-address", 5, HOUR)
# People who come from elsewhere: a whole laboratory may come from one network at once. New ones by
# a link that nobody signed are counted for the link as well, and those turned away are written
# down so often and no more.
ENTRIES = Limit("entry-network", 120, MINUTE)
NEW_VISITORS = Limit("entry-new", 600, HOUR)
REFUSALS = Limit("entry-refused", 20, HOUR)
# Shared results, which people open without an account.
SHARED = Limit("shared-network", 120, MINUTE)
# What somebody without an account of their own leaves in the audit log.
VISITOR_ENTRIES = Limit("audit-visitor", 200, HOUR)
# What somebody with an account leaves there by changing what is their own: agreements, recordings,
# language, notices, saved views.
OWN_ENTRIES = Limit("audit-own", 600, HOUR)
# Changes of one's own account: name, address, password.
CHANGES = Limit("change-person", 20, HOUR)
THEMES = Limit("theme-person", 60, HOUR)
# Projects that one person makes, the copies and scored tables among them.
PROJECTS = Limit("project-person", 40, DAY)
# Megapixels of images that are decoded for one person, and previews of what they write.
PIXELS = Limit("pixels-person", 1_500, 10 * MINUTE)
PREVIEWS = Limit("preview-person", 120, MINUTE)
# Messages between workers and the people of a project, and what is told to all workers of a task.
MESSAGES = Limit("message-person", 30, HOUR)
REPORTS = Limit("report-person", 20, HOUR)
ANNOUNCEMENTS = Limit("announcement-task", 5, DAY)

_COUNT = """
INSERT INTO crowdqc_limit AS kept (key, tries, ends)
VALUES (%(key)s, %(units)s, clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (key) DO UPDATE SET
    tries = CASE WHEN kept.ends <= clock_timestamp() THEN %(units)s ELSE kept.tries + %(units)s END,
    ends = CASE WHEN kept.ends <= clock_timestamp() THEN EXCLUDED.ends ELSE kept.ends END
WHERE kept.ends <= clock_timestamp() OR kept.tries + %(units)s <= %(most)s
RETURNING tries
"""
_BACK = "UPDATE crowdqc_limit SET tries = tries - 1 WHERE key = %s AND tries > 0"
_LEFT = "SELECT extract(epoch FROM ends - clock_timestamp()) FROM crowdqc_limit WHERE key = %s"
_TRIES = "SELECT tries FROM crowdqc_limit WHERE key = %s AND ends > clock_timestamp()"
_SWEEP = "DELETE FROM crowdqc_limit WHERE ends <= clock_timestamp()"


def _key(limit: Limit, about: str) -> str:
    digest = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{limit.name}:{digest[:40]}"


def count_try(limit: Limit, about: object, units: int = 1) -> bool:
    """Count a try, which may weigh several; whether it is within the limit.

    The first of a window always is.
    """
    values: dict[str, str | int] = {
        "key": _key(limit, str(about)),
        "seconds": limit.seconds,
        "most": limit.most,
        "units": units,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, values)
        return cursor.fetchone() is not None


def give_back(limit: Limit, about: object) -> None:
    """Uncount a try that turned out to be a right one."""
    with connection.cursor() as cursor:
        cursor.execute(_BACK, [_key(limit, str(about))])


def tries_left(limit: Limit, about: object) -> int:
    """How many more tries are within the limit."""
    with connection.cursor() as cursor:
        cursor.execute(_TRIES, [_key(limit, str(about))])
        row = cursor.fetchone()
    return max(0, limit.most - row[0]) if row else limit.most


def seconds_left(limit: Limit, about: object) -> int:
    """Seconds until the window ends; 0 where none is open."""
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, [_key(limit, str(about))])
        row = cursor.fetchone()
    return max(0, math.ceil(row[0])) if row else 0


def hold(limit: Limit, about: object, what: Words, units: int = 1) -> None:
    """Count a try; raise TooMuch with ``what`` and the time to wait where it is one too many."""
    if not count_try(limit, about, units):
        raise TooMuch(f"{what} {_again(seconds_left(limit, about))}")


def _again(seconds: int) -> str:
    if seconds <= MINUTE:
        return _("Wait a minute, then try again.")
    minutes = math.ceil(seconds / MINUTE)
    if minutes < 120:
        return _("Try again in %(minutes)s minutes.") % {"minutes": minutes}
    return _("Try again in %(hours)s hours.") % {"hours": math.ceil(minutes / 60)}


def sweep() -> int:
    """Delete counters whose window has ended; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_SWEEP)
        return cursor.rowcount


# -- what is counted -------------------------------------------------------------------------------


def same_name(name: str) -> str:
    """A name as it is compared: all spellings of one name count as one."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


NOWHERE = "0.0.0.0"  # noqa: S104  (a unix socket, or nonsense: all of them count as one)


def client_address(request: Any) -> str:
    """Where a request came from, as ``crowdqc.web.forwarded`` has set it."""
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return NOWHERE


def network(request: Any) -> str:
    """The address as it is counted: whoever has one IPv6 address has the /64 it lies in."""
    address = ipaddress.ip_address(client_address(request))
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


# -- devices ---------------------------------------------------------------------------------------

DEVICE_DAYS = 365
DEVICE_SALT = "crowdqc.device"
MAILED = "mail."  # how the number of a device begins that only a mailbox vouches for
MOST_NAMES = 12  # of people who share a device, each with a few names


def device_cookie() -> str:
    """The cookie's name; the prefix has browsers take it from this host over TLS only."""
    return "__Host-device" if settings.SESSION_COOKIE_SECURE else "device"


def _names_of_device(request: Any) -> dict[str, str]:
    """Digest of a name -> this device's secret number for it; {} where no cookie is valid."""
    text = request.COOKIES.get(device_cookie(), "")
    try:
        found: Any = signing.loads(text, salt=DEVICE_SALT, max_age=DEVICE_DAYS * DAY)
    except signing.BadSignature:
        return {}
    return found if isinstance(found, dict) else {}


def _digest(name: str) -> str:
    return hashlib.sha256(same_name(name).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def counted_as(request: Any, name: str, *, signed_in: bool = False) -> str:
    """What tries under a name count for: this device, if it is known for the name, or the name.

    With ``signed_in`` a device counts only where somebody signed in on it with all that it takes.
    """
    nonce = "" if request is None else _names_of_device(request).get(_digest(name), "")
    if signed_in and nonce.startswith(MAILED):
        nonce = ""
    return f"device {nonce} {same_name(name)}" if nonce else f"name {same_name(name)}"


def remember_device(
    request: HttpRequest, response: HttpResponse, names: Iterable[str], *, mailed: bool = False
) -> None:
    """Know this device again for these names, after somebody signed in on it under them.

    ``mailed``: they opened a link from their mailbox, and showed no second factor.
    """
    known, fresh = _names_of_device(request), MAILED * mailed + secrets.token_urlsafe(12)
    mine = {_digest(name): fresh for name in names if name}
    others = {name: nonce for name, nonce in known.items() if name not in mine}
    kept = dict(list(({**others, **mine}).items())[-MOST_NAMES:])
    response.set_cookie(
        device_cookie(),
        signing.dumps(kept, salt=DEVICE_SALT),
        max_age=DEVICE_DAYS * DAY,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


# -- signing in ------------------------------------------------------------------------------------

NETWORK = gettext_lazy("Too many tries from this address.")
NAME = gettext_lazy("Too many tries under this name.")


def hold_back(request: HttpRequest, *, name: str) -> None:
    """Raise TooMuch where this network tried too often, or this name on devices like this one."""
    hold(SIGN_INS, network(request), NETWORK)
    hold_name(request, name)


def hold_name(request: Any, name: str) -> None:
    """The same for the name alone, as for somebody who is signed in already."""
    about = counted_as(request, name)
    for limit in TRIES:
        hold(limit, about, NAME)


def forgive(request: Any, *, name: str) -> None:
    """Uncount a try under the name, whose password was right."""
    about = counted_as(request, name)
    for limit in TRIES:
        give_back(limit, about)


def hold_code(request: Any, user: Any) -> str:
    """Count a try of a second factor's code; gives what it counts for.

    Raises TooMuch where it is one too many, whichever page or program it comes by.
    """
    about = f"{user.pk} {counted_as(request, user.username, signed_in=True)}"
    for limit in CODES:
        hold(limit, about, _("Too many tries."))
    return about


def first_use(about: str, user: Any, code: str) -> bool:
    """Uncount a try whose code was right; False where the code was used before, in any process."""
    if not count_try(USED_CODES, f"{user.pk} {code}"):
        return False
    for limit in CODES:
        give_back(limit, about)
    return True


class PerAddress(BaseThrottle):
    """Tries to get a token of the API from one network."""

    def __init__(self) -> None:
        self._left = 0

    def allow_request(self, request: Any, view: Any) -> bool:
        self._left = (
            0
            if count_try(API_SIGN_INS, network(request))
            else seconds_left(API_SIGN_INS, network(request))
        )
        return not self._left

    def wait(self) -> float | None:
        return self._left or None


class PerName(BaseThrottle):
    """Tries to get a token under one name, counted together with those over the pages."""

    def __init__(self) -> None:
        self._left = 0

    def allow_request(self, request: Any, view: Any) -> bool:
        name: Any = request.data.get("username") if isinstance(request.data, dict) else None
        if not isinstance(name, str):
            return True
        about = counted_as(request, name)
        for limit in TRIES:
            if not count_try(limit, about):
                self._left = seconds_left(limit, about) or 1
                return False
        return True

    def wait(self) -> float | None:
        return self._left or None
