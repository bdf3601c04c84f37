"""Codes of a second factor: few tries and one use, whichever way they come by."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.models import User
from tests.security.accounts.factors import current_code
from tests.security.accounts.mailbox import link_for
from tests.support import factories

pytestmark = pytest.mark.django_db
SECRET = "JBSWY3DPEHPK3PXP"
CODE_PAGE = "mfa_authenticate"


@pytest.fixture
def user() -> User:
    made = factories.make_user("with-app", password=factories.PASSWORD)
    made.email = "with-app@example.org"
    made.save()
    made.emailaddress_set.create(email=made.email, verified=True, primary=True)
    TOTP.activate(made, SECRET)
    return made


def right() -> str:
    return current_code(SECRET)


def token(client: Client, user: User, code: str, password: str = factories.PASSWORD) -> Any:
    form = {"username": user.username, "password": password, "code": code}
    return client.post("/api/token/", form, content_type="application/json")


def let_names_rest() -> None:
    """The tries of the name end long before those of the codes."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM crowdqc_limit WHERE key NOT LIKE 'code%'")


def test_programs_try_codes_as_often_as_pages_do(client: Client, user: User) -> None:
    codes = []
    for number in range(7):
        let_names_rest()
        codes.append(token(client, user, f"{number:06}").status_code)
    assert codes == [403] * 5 + [429] * 2
    # The page counts with them.
    client.post(reverse("login"), {"login": user.username, "password": factories.PASSWORD})
    assert client.post(reverse(CODE_PAGE), {"code": right()}).status_code == 429


def test_a_code_opens_once_for_pages_and_programs_together(user: User) -> None:
    """Each process of the web server remembers used codes by itself."""
    code, page = right(), Client()
    page.post(reverse("login"), {"login": user.username, "password": factories.PASSWORD})
    assert page.post(reverse(CODE_PAGE), {"code": code}).status_code == 302
    cache.clear()
    assert token(Client(), user, code).status_code == 403
    cache.clear()
    assert token(Client(), user, f"{code[:3]}-{code[3:]}").status_code == 403


def test_a_program_gets_a_token_for_a_fresh_code(user: User) -> None:
    assert token(Client(), user, right()).status_code == 200


def test_a_mailbox_alone_gives_no_more_tries_of_codes(user: User) -> None:
    """Each reset made a device known, and each known device had tries of its own."""
    tried = []
    for turn in range(3):
        client, password = Client(), f"a new passphrase {turn}"
        client.post(reverse("password_reset"), {"email": user.email})
        path = re.sub(r"https?://[^/]+", "", link_for(user.email))
        page = client.get(path, follow=True)
        sent = client.post(page.request["PATH_INFO"], {"password1": password})
        assert sent.status_code == 302 and "device" in client.cookies
        form = {"login": user.username, "password": password}
        assert client.post(reverse("login"), form)["Location"] == reverse(CODE_PAGE)
        tried += [
            client.post(reverse(CODE_PAGE), {"code": f"{turn}{n:05}"}).status_code for n in range(5)
        ]
    assert tried == [422] * 5 + [429] * 10
