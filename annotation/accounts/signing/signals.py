"""Write sign-in signals of Django and allauth to the security log."""

from __future__ import annotations

import time
from typing import Any

from allauth.account import signals as account
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa import signals as mfa
from allauth.mfa.models import Authenticator
from allauth.socialaccount import signals as social
from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver

from annotation.accounts.security.log import Kind, attempted_account, log_event
from annotation.accounts.security.stepup import SIGNED_IN_AT
from annotation.models import User


@receiver(user_logged_in, dispatch_uid="security-sign-in")
def signed_in(request: Any, user: User, **_: Any) -> None:
    if request is not None and hasattr(request, "session"):
        request.session[SIGNED_IN_AT] = time.time()
    log_event(Kind.SIGN_IN, user=user, request=request)


@receiver(user_logged_out, dispatch_uid="security-sign-out")
def signed_out(request: Any, user: User | None, **_: Any) -> None:
    if user is not None:
        log_event(Kind.SIGN_OUT, user=user, request=request)


@receiver(user_login_failed, dispatch_uid="security-failed")
def log_failed_sign_in(credentials: dict[str, Any], request: Any = None, **_: Any) -> None:
    """Log a failure by account, not by the typed name, which may be a password."""
    name = credentials.get("username") or credentials.get("email")
    log_event(Kind.FAILED, user=attempted_account(name), request=request)


@receiver(account.authentication_step_completed, dispatch_uid="security-confirmed")
def confirmed(request: Any, user: User, method: str, **more: Any) -> None:
    if more.get("reauthenticated"):
        before = request.session.session_key
        request.session.cycle_key()  # a key that was stolen before is worth nothing after
        UserSession.objects.filter(session_key=before).update(
            session_key=request.session.session_key
        )
        log_event(Kind.CONFIRMED, user=user, request=request, method=method)


@receiver(
    [account.password_changed, account.password_reset, account.password_set],
    dispatch_uid="security-password",
)
def password_changed(request: Any, user: User, **_: Any) -> None:
    log_event(Kind.PASSWORD, user=user, request=request)


@receiver(
    [account.email_changed, account.email_added, account.email_removed],
    dispatch_uid="security-email",
)
def email_changed(request: Any, user: User, **_: Any) -> None:
    log_event(Kind.EMAIL, user=user, request=request)


@receiver(mfa.authenticator_added, dispatch_uid="security-factor-added")
def factor_added(request: Any, user: User, authenticator: Authenticator, **_: Any) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        log_event(Kind.FACTOR_ADDED, user=user, request=request, type=authenticator.type)
        if request is not None:  # to be added it had to be shown
            told = {"id": authenticator.pk, "type": authenticator.type, "reauthenticated": True}
            record_authentication(request, user, "mfa", **told)


@receiver(mfa.authenticator_removed, dispatch_uid="security-factor-removed")
def factor_removed(request: Any, user: User, authenticator: Authenticator, **_: Any) -> None:
    if authenticator.type != Authenticator.Type.RECOVERY_CODES:
        log_event(Kind.FACTOR_REMOVED, user=user, request=request, type=authenticator.type)


@receiver(mfa.authenticator_reset, dispatch_uid="security-factor-reset")
def recovery_reset(request: Any, user: User, **_: Any) -> None:
    log_event(Kind.RECOVERY_RESET, user=user, request=request)


@receiver(mfa.authenticator_used, dispatch_uid="security-factor-used")
def factor_used(request: Any, user: User, authenticator: Authenticator, **_: Any) -> None:
    recovery = authenticator.type == Authenticator.Type.RECOVERY_CODES
    kind = Kind.RECOVERY_USED if recovery else Kind.FACTOR_USED
    log_event(kind, user=user, request=request, type=authenticator.type)


@receiver(mfa.authentication_failed, dispatch_uid="security-factor-failed")
def factor_failed(request: Any, user: User, **_: Any) -> None:
    log_event(Kind.FACTOR_FAILED, user=user, request=request)


@receiver(social.social_account_added, dispatch_uid="security-connected")
def connected(request: Any, sociallogin: Any, **_: Any) -> None:
    log_event(Kind.CONNECTED, user=sociallogin.user, request=request)


@receiver(social.social_account_removed, dispatch_uid="security-disconnected")
def disconnected(request: Any, socialaccount: Any, **_: Any) -> None:
    log_event(Kind.DISCONNECTED, user=socialaccount.user, request=request)
