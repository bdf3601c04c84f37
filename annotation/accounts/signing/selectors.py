"""Read accounts: verified addresses and protection."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from allauth.account.internal.flows.email_verification_by_code import EmailVerificationProcess
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation.models import AuditEntry, User
from crowdqc import limits


def verified_addresses(user: Any) -> set[str]:
    """Return the person's verified addresses in lower case."""
    if user.pk is None:
        return set()
    rows = EmailAddress.objects.filter(user_id=user.pk, verified=True)
    return {address.lower() for address in rows.values_list("email", flat=True)}


def has_verified(user: Any, address: str) -> bool:
    """Whether the person verified ``address``."""
    return address.strip().lower() in verified_addresses(user)


def has_unverified_address_only(user: Any) -> bool:
    """Whether the account names an address and has verified none.

    Accounts without any address (made by commands, the demo) have nothing to prove.
    """
    claimed = EmailAddress.objects.filter(user_id=user.pk).values_list("verified", flat=True)
    return not any(claimed) and bool(user.email or claimed)


def has_passkeys() -> bool:
    """Whether anybody here has a passkey to sign in with."""
    return Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN).exists()


def find_user(name: str) -> User | None:
    """Return the user who signs in with a username or address; a verified address wins.

    ``find_proven_user`` is for giving somebody anything.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    if not name or "\0" in name or name.encode("utf-8", "replace").decode() != name:
        return None  # no text that the database could hold
    if "@" in name:
        rows = EmailAddress.objects.filter(email=name.lower(), verified=True)
        if proven := rows.select_related("user").first():
            return proven.user
    if user := User.objects.filter(username=name).first():
        return user
    found = find_similar_accounts("username", name)
    if len(found) == 1:
        return found[0]
    return next(iter(find_similar_accounts("email", name)), None) if "@" in name else None


def find_proven_user(name: str) -> User | None:
    """Return whose user name or verified address this is, to give them something.

    An address that somebody claimed at their sign-up and never verified leads to nobody.
    """
    user = find_user(name)
    if user is None or user.username == name.strip() or "@" not in name:
        return user
    return user if has_verified(user, name) else None


def find_similar_accounts(field: str, name: str) -> list[User]:
    """Return accounts whose name or address differs only in spelling.

    The database alone says more: to it a dotless ı is an i, and a mailbox of somebody else.
    """
    found = User.objects.filter(**{f"{field}__iexact": name}).order_by("pk")
    wanted = limits.normalize_name(name)
    return [one for one in found if limits.normalize_name(getattr(one, field)) == wanted]


def sign_in_names(user: Any) -> set[str]:
    """Return all names that the person may sign in with."""
    return {user.username, user.email, *verified_addresses(user)} - {""}


def has_address(user: User, address: str) -> bool:
    """Whether the account's address equals this one, ignoring case."""
    return address.lower() in {user.email.lower(), *verified_addresses(user)} - {""}


def is_address_taken(address: str) -> bool:
    """Return whether an account uses this address as its own.

    An address that somebody entered at sign-up but never verified does not count.

    Whoever only wrote it into the sign-up form and never proved it holds nothing.
    """
    proven = EmailAddress.objects.filter(email=address.lower(), verified=True)
    return proven.exists() or bool(find_similar_accounts("email", address))


# -- the account page ------------------------------------------------------------------------------


@dataclass(frozen=True)
class SessionRow:
    """A device on which the person is signed in."""

    pk: int
    device: str
    ip: str
    seen_at: dt.datetime
    is_current: bool


@dataclass(frozen=True)
class AccountPage:
    """Contents of the account page above the tokens."""

    address: str
    is_proven: bool
    pending: str  # a new address whose code was sent in this session
    has_password: bool
    password_at: dt.datetime | None
    passkeys: list[Authenticator]
    totp: Authenticator | None
    codes_left: int | None
    codes_total: int
    sso: str  # the provider's name; "" where none is set up
    sso_account: SocialAccount | None
    sessions: list[SessionRow]

    @property
    def is_protected(self) -> bool:
        return self.totp is not None or bool(self.passkeys)


def account_page(request: HttpRequest, user: User) -> AccountPage:
    """Return the account page without ended sessions."""
    process = EmailVerificationProcess.resume(request)
    factors = list(Authenticator.objects.filter(user=user).order_by("pk"))
    by_type: dict[str, Authenticator] = {one.type: one for one in factors}
    codes = by_type.get(Authenticator.Type.RECOVERY_CODES)
    changed = AuditEntry.objects.filter(
        actor=user, action="account.password", object_id=user.pk
    ).order_by("-pk")
    return AccountPage(
        address=user.email,
        is_proven=has_verified(user, user.email),
        pending=process.email if process else "",
        has_password=user.has_usable_password(),
        password_at=changed.values_list("at", flat=True).first(),
        passkeys=[one for one in factors if one.type == Authenticator.Type.WEBAUTHN],
        totp=by_type.get(Authenticator.Type.TOTP),
        codes_left=len(codes.wrap().get_unused_codes()) if codes else None,
        codes_total=10,
        sso=settings.OIDC_NAME if settings.OIDC_SERVER_URL else "",
        sso_account=SocialAccount.objects.filter(user=user).first(),
        sessions=_sessions(request, user),
    )


def _sessions(request: HttpRequest, user: User) -> list[SessionRow]:
    rows = [
        SessionRow(
            one.pk,
            device_name(one.user_agent),
            one.ip,
            one.last_seen_at,
            one.session_key == request.session.session_key,
        )
        for one in UserSession.objects.purge_and_list(user)
    ]
    return sorted(rows, key=lambda row: (not row.is_current, -row.seen_at.timestamp()))


BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("CriOS", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def browser_and_system(agent: str) -> tuple[str, str]:
    """Return browser and system by the user agent, "" if unknown."""
    browser = next((name for sign, name in BROWSERS if sign in agent), "")
    return browser, next((name for sign, name in SYSTEMS if sign in agent), "")


def device_name(agent: str) -> str:
    """Return a name such as ``Firefox on Linux``."""
    browser, system = browser_and_system(agent)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or re.sub(r"[/ ].*", "", agent)[:40] or _("Unknown device")
