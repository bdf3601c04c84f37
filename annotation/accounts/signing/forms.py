"""Account forms: allauth's with our texts and limits."""

from __future__ import annotations

import unicodedata
from typing import Any

from allauth.account import forms as account
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.manage_email import email_already_exists
from allauth.core import context
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.base import forms as mfa
from allauth.mfa.totp import forms as totp
from allauth.mfa.webauthn import forms as webauthn
from django import forms
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.signing import actions, selectors
from annotation.models import User
from crowdqc import limits
from crowdqc.numbers import plural

MAILS = gettext_lazy("Too many mails were sent to this address.")
CODE = {
    "inputmode": "numeric",
    "autocomplete": "one-time-code",
    "autofocus": True,
    "class": "code-input",
}
LONGEST = 1000  # characters of a password: hashing a longer one is work for whoever sends it


def _set_plain_labels(form: forms.BaseForm, **labels: str) -> None:
    """Remove placeholders and limit lengths of codes and passwords."""
    for name, field in form.fields.items():
        field.widget.attrs.pop("placeholder", None)
        if name in labels:
            field.label = labels[name]
        if isinstance(field, forms.CharField) and field.max_length is None:
            field.max_length = LONGEST
            field.validators.append(_not_endless)


def _not_endless(value: str) -> None:
    if len(value) > LONGEST:
        raise ValidationError(_("At most %(longest)s characters.") % {"longest": LONGEST})


class SignInForm(account.LoginForm):
    """Username or address, and password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, login=_("E-mail or username"), password=_("Password"))
        attrs = {"autocomplete": "username webauthn", "autocapitalize": "none"}
        self.fields["login"].widget.attrs.update(attrs)
        self.fields["password"].help_text = ""

    def clean_login(self) -> str:
        return unicodedata.normalize("NFKC", self.cleaned_data["login"]).strip()

    def user_credentials(self) -> dict[str, str]:
        """Return one name, so that responses do not reveal accounts."""
        data = self.cleaned_data
        return {"username": data["login"], "password": data["password"]}


class SignUpForm(account.SignupForm):
    """A new account: an address to verify, a name and a password."""

    display_name = forms.CharField(
        label=gettext_lazy("Your name"),
        max_length=80,
        help_text=gettext_lazy("Shown to your teams. Workers are shown under a pseudonym."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    field_order = ("email", "display_name", "password1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, email=_("E-mail"), password1=_("Password"))
        self.fields["email"].help_text = _("We send a code to it.")
        self.fields["email"].widget.attrs["autofocus"] = True
        self.fields["password1"].help_text = _("At least 8 characters.")

    def validate_unique_email(self, value: str) -> str:
        self.account_already_exists = selectors.is_address_taken(value)
        return value

    def save(self, request: HttpRequest) -> User:
        """Create the account with a claimed address; others may claim it too."""
        adapter = get_adapter(request)
        user: User = adapter.save_user(request, adapter.new_user(request), self)
        actions.claim_address(user=user, address=self.cleaned_data["email"])
        return user

    def try_save(self, request: HttpRequest) -> Any:
        """Create the account; for a known address act alike, so that nobody learns it exists."""
        limits.require_try(limits.MAILS, f"sign-up {self.cleaned_data['email']}", MAILS)
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])
            return super().try_save(request)
        try:
            with transaction.atomic():
                return super().try_save(request)
        except IntegrityError:  # somebody was faster
            self.account_already_exists = True
            return super().try_save(request)


class EmailCodeForm(account.ConfirmEmailVerificationCodeForm):
    """The code that verifies an address and removes other claims of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, code=_("Code"))
        self.fields["code"].help_text = _("It is valid for 30 minutes.")
        self.fields["code"].widget.attrs.update({**CODE, "inputmode": "text"})

    def clean_code(self) -> str:
        code = account.BaseConfirmCodeForm.clean_code(self)
        if self.user is None:  # sign-up with an address that has an account: no code opens it
            raise ValidationError(_("That code is not right."), code="incorrect_code")
        actions.release_address(by=self.user, address=self.email)
        email_already_exists(user=self.user, email=self.email, always_raise=True)
        return code


class EmailForm(account.AddEmailForm):
    """A new address, valid once its code was entered."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, email=_("New e-mail"))

    def save(self, request: HttpRequest) -> Any:
        assert self.user is not None  # noqa: S101
        limits.require_try(limits.CHANGES, f"email {self.user.pk}", _("Too many changes."))
        limits.require_try(limits.MAILS, f"change {self.cleaned_data['email']}", MAILS)
        return super().save(request)


class NameForm(forms.Form):
    """The name that teams see."""

    display_name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class ChangePasswordForm(account.ChangePasswordForm):
    """A new password, with the current one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, oldpassword=_("Current password"), password1=_("New password"))
        del self.fields["password2"]
        self.fields["oldpassword"].help_text = ""
        self.fields["password1"].help_text = _("At least 8 characters.")

    def clean_oldpassword(self) -> str:
        user, request = self.user, context.request
        assert isinstance(user, User)  # noqa: S101
        limits.require_name_try(request, user.username)
        found: str = super().clean_oldpassword()
        limits.uncount_password_try(request, name=user.username)
        return found


class SetPasswordForm(account.SetPasswordForm):
    """A first password, for people who sign in by other means."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, password1=_("Password"))
        del self.fields["password2"]
        self.fields["password1"].help_text = _("At least 8 characters.")


class ResetPasswordForm(account.ResetPasswordForm):
    """Request a link to one's address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, email=_("E-mail"))

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"].lower()
        user = selectors.find_user(email)
        # The link goes to the address as it was typed, so it must be the account's to the letter.
        mine = user is not None and user.is_active and selectors.has_address(user, email)
        self.users = [user] if mine else []
        return email

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Send nothing above the limit, with the same response."""
        email: str = self.cleaned_data["email"]
        if limits.count_try(limits.MAILS, f"reset {limits.limit_key(request, email)}"):
            super().save(request, **kwargs)
        return email


class NewPasswordForm(account.ResetPasswordKeyForm):
    """A new password by a mailed link."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, password1=_("New password"))
        del self.fields["password2"]
        self.fields["password1"].help_text = _("At least 8 characters.")


class _Counted:
    """Second-factor codes with limited tries per device, each usable once."""

    user: Any
    cleaned_data: dict[str, Any]

    def clean_code(self) -> str:
        about = limits.require_code_try(context.request, self.user)
        code = normalize_user_code(self.cleaned_data["code"])
        try:
            found: str = super().clean_code()  # type: ignore[misc]
        except ValidationError:
            left = limits.remaining_tries(limits.CODES[0], about)
            tries = plural(left, "try", "tries")
            raise ValidationError(
                _("That code is not right. %(tries)s left.") % {"tries": tries},
                code="incorrect_code",
            ) from None
        if not limits.accept_code(about, self.user, code):
            raise ValidationError(_("This code was used. Enter the next one."), code="used_code")
        return found


class CodeForm(_Counted, mfa.AuthenticateForm):
    """The second factor of a sign-in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self)
        self.fields["code"].widget.attrs.update(CODE)


class ReauthenticateForm(account.ReauthenticateForm):
    """The password of somebody who is signed in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, password=_("Password"))


class ReauthenticateCodeForm(_Counted, mfa.ReauthenticateForm):
    """The second factor of somebody who is signed in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, code=_("Code"))
        self.fields["code"].widget.attrs.update(CODE)


class AddAppForm(totp.ActivateTOTPForm):
    """The first code of a new authenticator app."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _set_plain_labels(self, code=_("Code"))
        self.fields["code"].widget.attrs.update(CODE)

    def clean_code(self) -> str:
        limits.require_try(limits.CHANGES, f"app {self.user.pk}", _("Too many tries."))
        found: str = super().clean_code()
        return found


class AddPasskeyForm(webauthn.AddWebAuthnForm):
    """A new passkey, always with the device's own verification."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["passwordless"]
        self.fields["name"].label = _("Name")
        self.fields["name"].max_length = 60
        self.fields["name"].widget.attrs["maxlength"] = 60
        self.fields["name"].help_text = _("To tell your passkeys apart.")

    def clean(self) -> dict[str, Any]:
        """Require user verification, as if ``passwordless`` was ticked."""
        self.cleaned_data["passwordless"] = True
        found: dict[str, Any] = super().clean()
        return found
