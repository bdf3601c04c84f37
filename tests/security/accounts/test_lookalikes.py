"""A name in letters that only look alike is nobody's: no try and no link passes under it."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.urls import reverse

from annotation.accounts.actions import vouched_accounts as accounts
from annotation.accounts.signing import selectors
from annotation.models import AccountMail, User
from tests.security.accounts.mailbox import letters
from tests.support import factories

pytestmark = pytest.mark.django_db
LINK = "This link sets it"
DOTLESS, LONG_S, KELVIN = "\u0131", "\u017f", "\u212a"


def owner(address: str) -> User:
    """Somebody with a proven address, which is the username as well."""
    user = accounts.sign_up(username=address, display_name="Mike", password=factories.PASSWORD)
    user.email = address
    user.save()
    EmailAddress.objects.filter(user=user).delete()
    EmailAddress.objects.create(user=user, email=address, verified=True, primary=True)
    return user


@pytest.mark.parametrize(
    "typed",
    [
        f"m{DOTLESS}kes@example.org",
        f"mikes@n{DOTLESS}ce.example.org",
        f"mike{LONG_S}@example.org",
        f"mi{KELVIN}es@example.org",
    ],
)
@pytest.mark.parametrize("proven", [True, False])
def test_a_reset_link_goes_to_the_address_of_the_account_only(
    client: Client, typed: str, proven: bool
) -> None:
    """The link would go to the address as it was typed: another mailbox."""
    user = owner("mikes@nice.example.org" if "ce.example" in typed else "mikes@example.org")
    if not proven:
        EmailAddress.objects.all().delete()
    assert client.post(reverse("password_reset"), {"email": typed}).status_code in (302, 422)
    others = AccountMail.objects.exclude(email=user.email).values_list("email", flat=True)
    assert not [body for one in others for _, body in letters(one) if LINK in body]


def test_the_owner_still_gets_the_link(client: Client) -> None:
    user = owner("mikes@example.org")
    client.post(reverse("password_reset"), {"email": "Mikes@Example.org"})
    assert LINK in letters(user.email)[0][1]


def test_spellings_that_count_apart_sign_in_nobody(client: Client) -> None:
    """Ten tries for each way to write the i would be a thousand for ten of them."""
    factories.make_user("iris", password=factories.PASSWORD)
    for name in (f"{DOTLESS}ris", f"ir{DOTLESS}s"):
        assert selectors.find_user(name) is None
        form = {"login": name, "password": factories.PASSWORD}
        assert client.post(reverse("login"), form).status_code == 422
    assert selectors.find_user("IRIS") is not None
