"""A second factor is changed by whoever shows it: the password alone adds and removes none."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import caches
from django.urls import reverse

from tests.security.accounts.factors import (
    person,
    recovery_code_of,
    set_up_app,
    show_factor,
    signed_in,
)
from tests.support import factories as make

pytestmark = [pytest.mark.django_db]
PAGES = (
    "mfa_add_webauthn",
    "mfa_deactivate_totp",
    "mfa_view_recovery_codes",
    "mfa_generate_recovery_codes",
)


@pytest.fixture(autouse=True)
def _fresh_limits() -> None:
    for name in ("default", "shared"):
        caches[name].clear()


def test_a_password_changes_no_second_factor_of_an_account_that_has_one() -> None:
    """(A2) Nobody takes the app off, reads recovery codes or adds a passkey of their own by it."""
    user = person(make.make_user())
    secret = set_up_app(user)
    recovery_code_of(user)
    client = signed_in(user)  # on a device that is not asked for the code
    client.post(reverse("account_reauthenticate"), {"password": make.PASSWORD})
    for name in PAGES:
        for answer in (client.get(reverse(name)), client.post(reverse(name))):
            assert answer.status_code == 302, name
            assert answer["Location"].startswith(reverse("mfa_reauthenticate")), name
    assert Authenticator.objects.filter(user=user).count() == 2
    shown = show_factor(client, secret, next=reverse("mfa_deactivate_totp"))
    assert shown["Location"] == reverse("mfa_deactivate_totp")
    assert client.post(reverse("mfa_deactivate_totp")).status_code == 302
    assert not Authenticator.objects.filter(user=user, type="totp").exists()


def test_a_recovery_code_is_enough_and_the_first_factor_needs_the_password() -> None:
    user = person(make.make_user())
    client = signed_in(user)
    client.post(reverse("account_reauthenticate"), {"password": make.PASSWORD})
    assert client.get(reverse("mfa_activate_totp")).status_code == 200
    set_up_app(user)
    code = recovery_code_of(user)
    client.post(reverse("mfa_reauthenticate"), {"code": code})
    assert client.get(reverse("mfa_deactivate_totp")).status_code == 200
