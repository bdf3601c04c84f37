"""Rate limits, counted in one table for all web processes.

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

from crowdqc.errors import LimitExceeded
from crowdqc.web.terms import Words

MINUTE, HOUR, DAY = 60, 3600, 86_400


@dataclass(frozen=True)
class Limit:
    """At most ``most`` tries within ``seconds`` per key."""

    name: str
    most: int
    seconds: int


# Signing in: from one network, and under one name (a password is right once in a while, so right
# ones are given back by ``uncount_password_try``).
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
# Names and addresses that an owner of an organisation looks up to let people in.
LOOKUPS = Limit("lookup-person", 60, HOUR)
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
    """Count a try of some weight; return whether it is within the limit.

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


def uncount_try(limit: Limit, about: object) -> None:
    """Uncount a try that turned out to be legitimate."""
    with connection.cursor() as cursor:
        cursor.execute(_BACK, [_key(limit, str(about))])


def remaining_tries(limit: Limit, about: object) -> int:
    """Return how many tries remain within the limit."""
    with connection.cursor() as cursor:
        cursor.execute(_TRIES, [_key(limit, str(about))])
        row = cursor.fetchone()
    return max(0, limit.most - row[0]) if row else limit.most


def seconds_left(limit: Limit, about: object) -> int:
    """Return seconds until the window ends, 0 without an open one."""
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, [_key(limit, str(about))])
        row = cursor.fetchone()
    return max(0, math.ceil(row[0])) if row else 0


def require_try(limit: Limit, about: object, what: Words, units: int = 1) -> None:
    """Count a try; raise TooMuch with ``what`` and the wait if over the limit."""
    if not count_try(limit, about, units):
        raise LimitExceeded(f"{what} {_retry_sentence(seconds_left(limit, about))}")


def _retry_sentence(seconds: int) -> str:
    if seconds <= MINUTE:
        return _("Wait a minute, then try again.")
    minutes = math.ceil(seconds / MINUTE)
    if minutes < 120:
        return _("Try again in %(minutes)s minutes.") % {"minutes": minutes}
    return _("Try again in %(hours)s hours.") % {"hours": math.ceil(minutes / 60)}


def delete_ended_windows() -> int:
    """Delete counters of ended windows; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(_SWEEP)
        return cursor.rowcount


# -- what is counted -------------------------------------------------------------------------------


def normalize_name(name: str) -> str:
    """Normalise a name so that all its spellings count as one."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


NOWHERE = "0.0.0.0"  # noqa: S104  (a unix socket, or nonsense: all of them count as one)


def client_address(request: Any) -> str:
    """Return the client's address as ``crowdqc.web.forwarded`` set it."""
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return NOWHERE


def client_network(request: Any) -> str:
    """Return the network that is counted: the address, or the /64 of IPv6."""
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
NUMBER = ""  # under which the cookie keeps the device's own number; no name has this digest
MOST_NAMES = 12  # of people who share a device, each with a few names


def device_cookie() -> str:
    """Return the cookie's name; its prefix binds it to this host and TLS."""
    return "__Host-device" if settings.SESSION_COOKIE_SECURE else "device"


def _names_of_device(request: Any) -> dict[str, str]:
    """Return digests of names with this device's secrets, {} without a cookie."""
    text = request.COOKIES.get(device_cookie(), "")
    try:
        found: Any = signing.loads(text, salt=DEVICE_SALT, max_age=DEVICE_DAYS * DAY)
    except signing.BadSignature:
        return {}
    return found if isinstance(found, dict) else {}


def _digest(name: str) -> str:
    return hashlib.sha256(normalize_name(name).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def device_number(request: Any) -> str:
    """Return the random number of a browser in which somebody came in, or ""."""
    return _names_of_device(request).get(NUMBER, "")


def limit_key(request: Any, name: str, *, signed_in: bool = False) -> str:
    """Return what tries under a name count for: a known device, or the name.

    With ``signed_in`` a device counts only where somebody signed in on it with all that it takes.
    """
    nonce = "" if request is None else _names_of_device(request).get(_digest(name), "")
    if signed_in and nonce.startswith(MAILED):
        nonce = ""
    return f"device {nonce} {normalize_name(name)}" if nonce else f"name {normalize_name(name)}"


def remember_device(
    request: HttpRequest, response: HttpResponse, names: Iterable[str], *, mailed: bool = False
) -> None:
    """Remember this device for the names that somebody signed in with.

    ``mailed``: they opened a link from their mailbox, and showed no second factor.
    """
    known, fresh = _names_of_device(request), MAILED * mailed + secrets.token_urlsafe(12)
    mine = {_digest(name): fresh for name in names if name}
    others = {name: nonce for name, nonce in known.items() if name not in mine}
    number = others.pop(NUMBER, "") or secrets.token_urlsafe(12)
    kept = dict(list(({**others, **mine}).items())[-MOST_NAMES:]) | {NUMBER: number}
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


def require_sign_in_try(request: HttpRequest, *, name: str) -> None:
    """Raise TooMuch after too many tries of this network, name or device."""
    require_try(SIGN_INS, client_network(request), NETWORK)
    require_name_try(request, name)


def require_name_try(request: Any, name: str) -> None:
    """Raise TooMuch after too many tries under the name alone."""
    about = limit_key(request, name)
    for limit in TRIES:
        require_try(limit, about, NAME)


def uncount_password_try(request: Any, *, name: str) -> None:
    """Uncount a try whose password was right."""
    about = limit_key(request, name)
    for limit in TRIES:
        uncount_try(limit, about)


def require_code_try(request: Any, user: Any) -> str:
    """Count a try of a second factor's code; return its key.

    Raises TooMuch where it is one too many, whichever page or program it comes by.
    """
    about = f"{user.pk} {limit_key(request, user.username, signed_in=True)}"
    for limit in CODES:
        require_try(limit, about, _("Too many tries."))
    return about


def accept_code(about: str, user: Any, code: str) -> bool:
    """Uncount a right code; False if any process saw it before."""
    if not count_try(USED_CODES, f"{user.pk} {code}"):
        return False
    for limit in CODES:
        uncount_try(limit, about)
    return True


class PerAddress(BaseThrottle):
    """Tries to get an API token from one network."""

    def __init__(self) -> None:
        self._left = 0

    def allow_request(self, request: Any, view: Any) -> bool:
        self._left = (
            0
            if count_try(API_SIGN_INS, client_network(request))
            else seconds_left(API_SIGN_INS, client_network(request))
        )
        return not self._left

    def wait(self) -> float | None:
        return self._left or None


class PerName(BaseThrottle):
    """Tries to get an API token under one name, shared with the pages."""

    def __init__(self) -> None:
        self._left = 0

    def allow_request(self, request: Any, view: Any) -> bool:
        name: Any = request.data.get("username") if isinstance(request.data, dict) else None
        if not isinstance(name, str):
            return True
        about = limit_key(request, name)
        for limit in TRIES:
            if not count_try(limit, about):
                self._left = seconds_left(limit, about) or 1
                return False
        return True

    def wait(self) -> float | None:
        return self._left or None
