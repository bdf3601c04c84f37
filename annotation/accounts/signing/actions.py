"""Write accounts: claimed and verified addresses, names, passwords, sessions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.translation import gettext as _

from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.signing import selectors
from annotation.accounts.tokens import actions as tokens
from annotation.models import AuditEntry, Membership, OrganisationMember, User
from annotation.records.actions.audit import record
from crowdqc.errors import Invalid

PENDING_DAYS = 3  # an account whose address nobody proved


def _unproven() -> Q:
    return Q(~Exists(EmailAddress.objects.filter(user=OuterRef("pk"), verified=True)))


@transaction.atomic
def create_pending_account(*, user: User, address: str, display_name: str, password: str) -> User:
    """Create an account that nobody can enter until its address is verified.

    The address is not the account's own yet, so that claiming it takes it from nobody. Not in the
    audit log: whoever writes this is a stranger.
    """
    user.username, user.display_name, user.email = (
        choose_username(address),
        display_name.strip(),
        "",
    )
    if password:
        user.set_password(password)
    else:
        user.set_unusable_password()
    user.save()
    return user


def claim_address(*, user: User, address: str) -> None:
    """Record which address a new account claims."""
    EmailAddress.objects.create(user=user, email=address.lower(), primary=True, verified=False)


def remove_unverified_address(*, user: User) -> None:
    """Remove an unverified address once its owner claims it."""
    user.email = ""
    User.objects.filter(pk=user.pk).update(email="")


def choose_username(address: str) -> str:
    """Return the address as username, or a short variant if it is taken."""
    if len(address) <= 150 and not User.objects.filter(username__iexact=address).exists():
        return address
    return f"{address.partition('@')[0][:100]}-{get_random_string(10).lower()}"


@transaction.atomic
def release_address(*, by: User, address: str) -> None:
    """Take a verified address from accounts that only claimed it."""
    others = User.objects.exclude(pk=by.pk).filter(_unproven())
    claims = EmailAddress.objects.filter(email=address.lower(), verified=False, user__in=others)
    claimed = list(claims.values_list("user", flat=True))
    claims.delete()
    same = [one.pk for one in selectors.find_similar_accounts("email", address)]
    others.filter(pk__in=same).update(email="")
    others.filter(_pending_accounts(), pk__in=claimed).delete()


def _pending_accounts() -> Q:
    """Return accounts that signed up and were never entered."""
    member = Exists(Membership.objects.filter(user=OuterRef("pk")))
    acted = Exists(AuditEntry.objects.filter(actor=OuterRef("pk")))
    belongs = Exists(OrganisationMember.objects.filter(user=OuterRef("pk")))
    return Q(~member, ~acted, ~belongs, last_login=None, email="")


@transaction.atomic
def record_verified_address(*, by: User, address: str, before: str) -> None:
    """Record a verified address as the account's first or new one."""
    user = User.objects.select_for_update(no_key=True).get(pk=by.pk)
    follows = not before or user.username.lower() == before.lower()
    taken = User.objects.exclude(pk=user.pk).filter(username__iexact=address).exists()
    if follows and not taken and len(address) <= 150 and user.username != address:
        user.username = by.username = address
        user.save(update_fields=["username"])
    if before or AuditEntry.objects.filter(action="account.create", actor=user).exists():
        record(by=user, project=None, action="account.email", on=user)
    else:
        record(by=user, project=None, action="account.create", on=user)


@transaction.atomic
def record_sso_account(*, by: User) -> None:
    """Record an account created by single sign-on, with its verified address."""
    made = SocialAccount.objects.filter(user=by).exists()
    if made and not AuditEntry.objects.filter(action="account.create", actor=by).exists():
        record(by=by, project=None, action="account.create", on=by)


@transaction.atomic
def change_name(*, by: User, display_name: str) -> str:
    """Change the person's name; return the previous one."""
    name = " ".join(display_name.split())
    if not name or len(name) > 80:
        raise Invalid(
            _("The name was not changed."), fields={"display_name": _("1 to 80 characters.")}
        )
    user = User.objects.select_for_update(no_key=True).get(pk=by.pk)
    before = user.display_name
    if name != before:
        user.display_name = by.display_name = name
        user.save(update_fields=["display_name"])
        record(by=by, project=None, action="account.name", on=user)
        log_event(Kind.NAME, user=user)
    return before


@transaction.atomic
def set_theme(*, by: User, theme: str) -> None:
    """Set the theme of all pages."""
    if theme not in User.Theme.values:
        raise Invalid(_("There is no such theme."), fields={"theme": _("System, light or dark.")})
    user = User.objects.select_for_update(no_key=True).get(pk=by.pk)
    if user.theme != theme:
        user.theme = by.theme = theme
        user.save(update_fields=["theme"])
        record(by=by, project=None, action="account.theme", on=user)


@transaction.atomic
def set_language(*, by: User, language: str) -> None:
    """Set the language of pages and mails; "" follows the browser."""
    if language not in ("", *dict(settings.LANGUAGES)):
        raise Invalid(
            _("There is no such language."),
            fields={"language": ", ".join(dict(settings.LANGUAGES).values())},
        )
    user = User.objects.select_for_update(no_key=True).get(pk=by.pk)
    if user.language != language:
        user.language = by.language = language
        user.save(update_fields=["language"])
        record(by=by, project=None, action="account.language", on=user)


@transaction.atomic
def set_password(*, by: User, password: str, keep_session: str | None) -> None:
    """Set a password; end other sessions and all tokens."""
    by.set_password(password)
    by.save(update_fields=["password"])
    tokens.revoke_all_tokens(by=by)
    end_sessions(by=by, rows=UserSession.objects.filter(user=by).exclude(session_key=keep_session))
    record(by=by, project=None, action="account.password", on=by)


def end_sessions(*, by: User, rows: Iterable[UserSession]) -> int:
    """End these sessions; return how many ended."""
    mine = [one for one in rows if one.user_id == by.pk]
    for one in mine:
        one.end()
    if mine:
        log_event(Kind.SESSION_ENDED, user=by, sessions=len(mine))
    return len(mine)


def erase_account_data(*, by: User) -> None:
    """Delete what an account holds beside its row, when it is closed."""
    end_sessions(by=by, rows=UserSession.objects.filter(user=by))
    for model in (EmailAddress, Authenticator, SocialAccount):
        model._default_manager.filter(user=by).delete()


def delete_stale_accounts(now: dt.datetime | None = None) -> int:
    """Delete unverified accounts and ended sessions; return how many rows."""
    now = now or timezone.now()
    stale = User.objects.filter(
        _unproven(),
        _pending_accounts(),
        date_joined__lt=now - dt.timedelta(days=PENDING_DAYS),
        pk__in=EmailAddress.objects.filter(verified=False).values("user"),
    )
    gone = stale.delete()[0]
    return gone + Session.objects.filter(expire_date__lt=now).delete()[0]
