"""API tokens: created, counted and revoked."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from threading import Lock

from allauth.account.models import EmailAddress
from django.contrib.auth import authenticate
from django.db import connection, transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.access import find_roles
from annotation.accounts.security import factors, stepup
from annotation.accounts.security.log import Kind, log_event
from annotation.models import ApiToken, Project, User
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed

ALL = tuple(ApiToken.Scope.values)
OF_EVERYBODY = tuple(scope for scope in ALL if scope != ApiToken.Scope.INSTALLATION)
MOST_DAYS = 365
SIGN_IN_DAYS = 30
# What a token for name and password may do unless more is asked for.
LEAST = (ApiToken.Scope.READ, ApiToken.Scope.WORK)
MOST = 50  # live tokens of one person
MOST_SIGNED_IN = 20  # of these, given for name and password; the oldest gives way


def live_tokens(user: User) -> Q:
    """Return the person's valid tokens."""
    return Q(user=user, revoked_at=None, expires_at__gt=timezone.now())


def digest_token(token: str) -> str:
    """Return the stored digest of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _check_fields(name: str, scopes: Collection[str], days: int, per_minute: int) -> None:
    """Raise Invalid naming every wrong field of a new token."""
    wrong: dict[str, str] = {}
    if not name.strip() or len(name.strip()) > 80:
        wrong["name"] = _("A name of 1 to 80 characters, to know it by.")
    if not scopes or set(scopes) - set(ALL):
        wrong["scopes"] = _("At least one of: %(all)s.") % {"all": ", ".join(ALL)}
    if not 1 <= days <= MOST_DAYS:
        wrong["days"] = _("1 to %(most_days)s days.") % {"most_days": MOST_DAYS}
    if not 1 <= per_minute <= 6000:
        wrong["per_minute"] = _("1 to 6,000 requests a minute.")
    if wrong:
        raise Invalid(_("The token cannot be made so."), fields=wrong)


@stepup.needs_stepup(gettext_lazy("create a token"))
@transaction.atomic
def create_token(
    *,
    by: User,
    name: str,
    scopes: Collection[str],
    days: int,
    project: Project | None = None,
    per_minute: int = 600,
    by_password: bool = False,
    code_shown: bool = False,
) -> tuple[ApiToken, str]:
    """Create a token; return it with its text, which is not stored.

    It holds whether a second factor was shown: in the session that makes it, or by a code
    (``code_shown``). Where one is required, no other token gets the scope ``pay``.
    """
    _check_fields(name, scopes, days, per_minute)
    if project and not find_roles(by, project.pk)[1]:
        raise Invalid(_("You do not belong to it."), fields={"project": _("One of your projects.")})
    if ApiToken.Scope.INSTALLATION in scopes and (project or not by.is_superuser):
        raise Invalid(
            _("Only owners of the installation run it."),
            fields={"scopes": _("Leave out: installation.")},
        )
    if is_unverified(by):
        raise NotAllowed(_("Confirm your e-mail address before you create a token."))
    strong = code_shown or stepup.has_shown_second_factor(by)
    if ApiToken.Scope.PAY in scopes and not strong:
        stepup.require_second_factor(project, by, _("create a token that pays"))
    User.objects.select_for_update(no_key=True).get(pk=by.pk)  # one at a time, so the cap holds
    if ApiToken.objects.filter(live_tokens(by)).count() >= MOST:
        raise Conflict(
            _("There are %(most)s live tokens. End one that is not needed.") % {"most": MOST}
        )
    text = f"cqc_{secrets.token_urlsafe(32)}"
    row = ApiToken.objects.create(
        user=by,
        name=name.strip(),
        prefix=text[:8],
        digest=digest_token(text),
        project=project,
        scopes=[scope for scope in ALL if scope in scopes],
        per_minute=per_minute,
        by_password=by_password,
        second_factor=strong,
        expires_at=timezone.now() + dt.timedelta(days=days),
    )
    record(
        by=by,
        project=project,
        action="token.make",
        on=row,
        scopes=row.scopes,
        days=days,
        by_password=by_password,
    )
    log_event(Kind.TOKEN_MADE, user=by, token=row.pk, scopes=", ".join(row.scopes))
    return row, text


def is_unverified(user: User) -> bool:
    """Whether the person gave an address and has verified none."""
    addresses = EmailAddress.objects.filter(user=user)
    return addresses.exists() and not addresses.filter(verified=True).exists()


def sign_in_for_token(
    *,
    username: str,
    password: str,
    code: str = "",
    scopes: Collection[str] = LEAST,
    request: HttpRequest | None = None,
) -> tuple[ApiToken, str]:
    """Return a new token; NotAllowed unless name, password and code are right.

    ``code`` is of the authenticator app or a recovery code. An account with a second factor
    needs it for every token, and any account for the scope ``pay``.
    """
    name = username.strip()
    user = authenticate(request, username=name.lower() if "@" in name else name, password=password)
    if not isinstance(user, User):
        raise NotAllowed(_("Name and password do not fit."), code="wrong-password")
    strong = factors.check_code(user, code, request)
    if ApiToken.Scope.PAY in scopes and not strong:
        raise stepup.SecondFactorNeeded(
            _(
                "The scope pay needs a second factor. Set one up on your account page, and "
                "send its code with this."
            )
        )
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        before = ApiToken.objects.filter(live_tokens(user), by_password=True).order_by("-id")
        _end(before[MOST_SIGNED_IN - 1 :], by=user)
        return create_token(
            by=user,
            name="Signed in by password",
            scopes=scopes,
            days=SIGN_IN_DAYS,
            by_password=True,
            code_shown=strong,
        )


def _end(rows: Iterable[ApiToken], *, by: User) -> None:
    for row in rows:
        ApiToken.objects.filter(pk=row.pk).update(revoked_at=timezone.now())
        record(by=by, project=row.project, action="token.revoke", on=row)
        log_event(Kind.TOKEN_ENDED, user=row.user, token=row.pk)


@transaction.atomic
def revoke_token(*, by: User, token_id: int) -> ApiToken:
    """Revoke one of one's own tokens; repeating changes nothing."""
    row = ApiToken.objects.select_for_update(of=("self",)).filter(pk=token_id, user=by).first()
    if row is None:
        raise Missing(_("There is no such token among yours."))
    if row.revoked_at is None:
        _end([row], by=by)
    return row


@transaction.atomic
def revoke_all_tokens(*, by: User) -> None:
    """Revoke all tokens of the person."""
    _end(ApiToken.objects.filter(live_tokens(by)), by=by)


# -- counting ------------------------------------------------------------------------------------
#
# A token's requests of one minute are handed out in blocks: a process takes a twentieth of them
# with one UPDATE and spends them from memory. All processes together never pass the limit within
# a minute of the clock; with several of them, what one holds unspent may be missing for another.

BLOCKS = 20
_counting = Lock()
_held: dict[int, tuple[int, int, int]] = {}  # token -> minute, unspent here, left to be taken


@dataclass(frozen=True)
class CountedRequest:
    """One counted request; at least ``left`` requests remain."""

    allowed: bool
    limit: int
    left: int
    reset: int  # seconds until the next minute


def count_request(token: ApiToken, now: float | None = None) -> CountedRequest:
    """Count a request of a token.

    ``last_used_at`` is written with the block: once a minute for a program that asks seldom.
    """
    now = time.time() if now is None else now
    minute, reset = int(now // 60), 60 - int(now % 60)
    with _counting:
        at, unspent, left = _held.get(token.pk, (0, 0, 0))
    if at != minute or (not unspent and left):  # not under the lock: others need not wait for it
        got, left = _take_block(token, minute)
    else:
        got = 0
    with _counting:
        at, unspent, before = _held.get(token.pk, (0, 0, 0))
        unspent, left = (unspent, min(before, left)) if at == minute else (0, left)
        spent = min(1, unspent + got)
        if len(_held) > 50_000:
            _held.clear()
        _held[token.pk] = (minute, unspent + got - spent, left)
    return CountedRequest(bool(spent), token.per_minute, unspent + got - spent + left, reset)


def _take_block(token: ApiToken, minute: int) -> tuple[int, int]:
    """Reserve a block of the minute's requests; return its size and the rest."""
    block = max(1, token.per_minute // BLOCKS)
    with connection.cursor() as cursor:
        cursor.execute(
            # A clock that is behind finds the minute begun by one that is before it.
            "UPDATE annotation_apitoken SET last_used_at = now(),"
            " minute = GREATEST(minute, %(minute)s), taken = LEAST(per_minute, before + %(block)s)"
            " FROM (SELECT id AS pk, CASE WHEN minute >= %(minute)s THEN taken ELSE 0 END AS before"
            " FROM annotation_apitoken WHERE id = %(id)s FOR NO KEY UPDATE) AS old"
            " WHERE id = pk RETURNING taken - before, per_minute - taken",
            {"minute": minute, "block": block, "id": token.pk},
        )
        row = cursor.fetchone()
    return (row[0], row[1]) if row else (0, 0)
