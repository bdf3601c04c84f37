"""How allauth is fitted to crowdqc: limits, mail, names, and who may sign up."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, gettext, gettext_lazy, override

from annotation.accounts.organisations.groups import follow_groups
from annotation.accounts.projects.actions import open_invitation
from annotation.accounts.security.log import Kind, attempted_account, log_event
from annotation.accounts.signing import actions, outbox, selectors
from annotation.models import User
from annotation.records.installation_state import is_sign_up_open
from crowdqc import limits
from crowdqc.errors import DomainError, LimitExceeded
from crowdqc.sealing import sealed
from crowdqc.web.language import known

WRONG = gettext_lazy("Name and password do not match. Check both, then try again.")
# What pages say after a step; steps that show themselves say nothing.
SAID = {
    "account/messages/password_changed.txt": gettext_lazy(
        "Your password was changed. Other devices and programs were signed out."
    ),
    "account/messages/password_set.txt": gettext_lazy("Your password was set."),
    "account/messages/email_confirmed.txt": gettext_lazy("Your e-mail address is verified."),
    "account/messages/email_confirmation_failed.txt": gettext_lazy(
        "This address belongs to another account."
    ),
    "account/messages/unverified_primary_email.txt": gettext_lazy("Verify the address first."),
    "mfa/messages/totp_activated.txt": gettext_lazy("The authenticator app was added."),
    "mfa/messages/totp_deactivated.txt": gettext_lazy("The authenticator app was removed."),
    "mfa/messages/webauthn_added.txt": gettext_lazy("The passkey was added."),
    "mfa/messages/webauthn_removed.txt": gettext_lazy("The passkey was removed."),
    "socialaccount/messages/account_connected.txt": gettext_lazy("Single sign-on was connected."),
    "socialaccount/messages/account_connected_updated.txt": gettext_lazy(
        "Single sign-on was connected."
    ),
    "socialaccount/messages/account_disconnected.txt": gettext_lazy(
        "Single sign-on was disconnected."
    ),
}


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up, sign-in, reset and changes of one's account."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": WRONG,
        "email_password_mismatch": WRONG,
        "incorrect_password": gettext_lazy("This is not your password."),
        "enter_current_password": gettext_lazy("This is not your current password."),
        "incorrect_code": gettext_lazy("That code is not right."),
        "invalid_password_reset": gettext_lazy("This link is no longer valid."),
        "duplicate_email": gettext_lazy("This is your address already."),
        "email_taken": gettext_lazy("This address belongs to another account."),
        "too_many_login_attempts": gettext_lazy("Too many tries. Sign in again for a new code."),
    }

    # -- who may sign up ---------------------------------------------------------------------------

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether sign-up is open to everybody, or this request answers an invitation."""
        if is_sign_up_open():
            return True
        return _is_invited(request.POST.get("next") or request.GET.get("next") or "")

    def clean_email(self, email: str) -> str:
        domains = settings.CROWDQC_SIGNUP_DOMAINS
        if domains and email.rpartition("@")[2].lower() not in domains:
            listed = ", ".join(domains)
            raise ValidationError(
                gettext("Only addresses of these domains may be used: %(listed)s.")
                % {"listed": listed}
            )
        return email

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> User:
        data, fallback = form.cleaned_data, user.display_name
        saved = actions.create_pending_account(
            user=user,
            address=data["email"],
            password=data.get("password1", ""),
            display_name=data.get("display_name") or fallback or data["email"].partition("@")[0],
        )
        return saved

    def populate_username(self, request: HttpRequest, user: Any) -> None:
        user.username = user.username or actions.choose_username(user.email or "member@")

    # -- signing in --------------------------------------------------------------------------------

    def get_login_stages(self) -> list[str]:
        return [
            "annotation.accounts.signing.stages.VerifyAddress",
            "allauth.mfa.stages.AuthenticateStage",
        ]

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Authenticate by name and password, counting tries per name.

        A right password is uncounted.
        """
        name = credentials.get("username") or credentials.get("email") or ""
        try:
            limits.require_sign_in_try(request, name=name)
        except LimitExceeded:
            log_event(Kind.LOCKED, user=attempted_account(name), request=request)
            raise
        AuthenticationBackend.unstash_authenticated_user()
        user = authenticate(request, **credentials)
        user = user or AuthenticationBackend.unstash_authenticated_user()
        if user is None:
            self.authentication_failed(request, **credentials)
        else:
            limits.uncount_password_try(request, name=name)
        return user

    def reauthenticate(self, user: Any, password: str) -> bool:
        found = self.authenticate(context.request, username=user.username, password=password)
        return found is not None and found.pk == user.pk

    def login(self, request: HttpRequest, user: Any) -> None:
        first = user.last_login is None
        super().login(request, user)
        request.session.set_expiry(settings.SESSION_COOKIE_AGE)
        request.device_names = selectors.sign_in_names(user)  # type: ignore[attr-defined]
        if first:
            actions.record_sso_account(by=user)

    def post_login(self, request: HttpRequest, user: Any, **hook: Any) -> Any:
        """Let roles in organisations follow the provider's groups, once all factors are shown."""
        sign_on = (hook.get("signal_kwargs") or {}).get("sociallogin")
        if sign_on is not None:
            claims = sign_on.account.get_provider_account().get_user_data() or {}
            follow_groups(user=user, claims=claims)
        return super().post_login(request, user, **hook)

    # -- addresses and passwords -------------------------------------------------------------------

    @transaction.atomic
    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        user = email_address.user
        before = user.email if selectors.has_verified(user, user.email) else ""
        actions.release_address(by=user, address=email_address.email)
        proven: bool = super().confirm_email(request, email_address)
        if proven:
            actions.record_verified_address(by=user, address=email_address.email, before=before)
        return proven

    def can_delete_email(self, email_address: EmailAddress) -> bool:
        return False

    def set_password(self, user: Any, password: str) -> None:
        request = context.request
        here = request.session.session_key if request.user == user else None
        actions.set_password(by=user, password=password, keep_session=here)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        return reverse("account")

    def is_safe_url(self, url: str) -> bool:
        """Return whether a redirect stays on this site."""
        request = context.request
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )

    def get_client_ip(self, request: HttpRequest) -> str:
        return limits.client_address(request)

    # -- mail and messages -------------------------------------------------------------------------

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Have a mail sent: our own words, and links to where this site is, whatever the request's
        Host header says. The first line of a template is the subject."""
        name = template_prefix.rpartition("/")[2]
        # Whoever has chosen no language reads the mail in that of the page that sent it.
        language = known(getattr(context.get("user"), "language", "")) or get_language()
        with override(language):
            text = render_to_string(
                f"mail/account/{name}.txt",
                {**context, "email": email, "base_url": settings.CROWDQC_BASE_URL},
            )
        subject, _, body = text.strip().partition("\n")
        outbox.queue_mail(email=email, subject=subject, body=body.lstrip())

    def send_notification_mail(
        self,
        template_prefix: str,
        user: Any,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Send a security mail to ``email``, or to the account's address if none is given."""
        super().send_notification_mail(template_prefix, user, context, email or user.email)

    def add_message(  # noqa: PLR0917
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        said = message or SAID.get(message_template or "")
        if said:
            super().add_message(request, level, message=str(said), extra_tags=extra_tags)


def _is_invited(wanted: str) -> bool:
    """Whether an address leads to an invitation that still opens."""
    try:
        match = resolve(urlsplit(wanted).path)
        if match.url_name != "join":
            return False
        invitation = open_invitation(match.kwargs["token"])
    except (Resolver404, DomainError, ValueError):
        return False
    return invitation.uses < invitation.max_uses


class FactorAdapter(DefaultMFAAdapter):
    """Second factors: their secrets are sealed, and passkeys are bound to this site's name."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": gettext_lazy("That code is not right."),
        "unverified_email": gettext_lazy("Verify your e-mail address first."),
    }
    PURPOSE = "second factor"

    def encrypt(self, text: str) -> str:
        return sealed.seal(text, self.PURPOSE).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return sealed.unseal(encrypted_text.encode(), self.PURPOSE, gettext("The second factor"))

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        host = (
            urlsplit(settings.CROWDQC_BASE_URL).hostname or ""
            if settings.PRODUCTION
            else (context.request.get_host().partition(":")[0])
        )
        return {"id": host, "name": "crowdqc"}

    def generate_authenticator_name(self, user: Any, type: Any) -> str:
        """Name a new second factor after the browser's device."""
        return selectors.device_name(context.request.headers.get("User-Agent", ""))
