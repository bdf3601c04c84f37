"""Create accounts without a page, for commands, the demo and tests."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import User
from annotation.records.actions.audit import record
from crowdqc.errors import Invalid

TAKEN = gettext_lazy("Somebody has this already. Sign in, or choose another.")


def sign_up(*, username: str, display_name: str, password: str) -> User:
    """Create an account under a username or verified address; Invalid names the field."""
    username, display_name = username.strip(), display_name.strip()
    user = User(username=username, display_name=display_name)
    if "@" in username:
        user.username = user.email = username.lower()
    wrong = _wrong_name(user) | _wrong_password(password, user)
    if not display_name:
        wrong["display_name"] = _("Write the name that your team sees.")
    if User.objects.filter(username__iexact=user.username).exists():
        wrong["username"] = str(TAKEN)
    if wrong:
        raise Invalid(_("The account was not made."), fields=wrong)
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            if user.email:
                EmailAddress.objects.create(
                    user=user, email=user.email, verified=True, primary=True
                )
            record(by=user, project=None, action="account.create", on=user)
    except IntegrityError as error:  # somebody was faster, or has it as their e-mail address
        raise Invalid(_("The account was not made."), fields={"username": TAKEN}) from error
    return user


def _wrong_name(user: User) -> dict[str, str]:
    try:
        if user.email:
            validate_email(user.email)
        User._meta.get_field("username").clean(user.username, user)
        User._meta.get_field("display_name").clean(user.display_name, user)
    except ValidationError as error:
        about = "display_name" if len(user.display_name) > 80 else "username"
        return {about: " ".join(error.messages)}
    return {}


def _wrong_password(password: str, user: User) -> dict[str, str]:
    try:
        validate_password(password, user)
    except ValidationError as error:
        return {"password": " ".join(error.messages)}
    return {}
