"""Sessions end: by the clock, by the person, by a new password."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.urls import reverse

from annotation.accounts.signing import middleware
from annotation.models import User
from tests.support import factories

pytestmark = pytest.mark.django_db
DAY = 86_400


@pytest.fixture
def person() -> User:
    return factories.make_user("person", password=factories.PASSWORD)


def signed_in(agent: str = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0") -> Client:
    client = Client(headers={"User-Agent": agent})
    answer = client.post(reverse("login"), {"login": "person", "password": factories.PASSWORD})
    assert answer.status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


@pytest.mark.parametrize(
    ("days", "stays"), [((13,), True), ((15,), False), ((10, 20, 29), True), ((10, 20, 31), False)]
)
def test_a_session_ends_when_it_is_not_used_and_after_a_month(
    person: User, monkeypatch: Any, days: tuple[int, ...], stays: bool
) -> None:
    client = signed_in()
    assert is_in(client)
    began = middleware.time.time()
    for day in days:
        monkeypatch.setattr(middleware.time, "time", lambda day=day: began + day * DAY)
        found = is_in(client)
    assert found is stays


def test_one_device_or_all_others_are_signed_out(person: User) -> None:
    here, phone, third = signed_in(), signed_in("Mozilla/5.0 (iPhone) Safari/600"), signed_in()
    page = here.get(reverse("account")).content.decode()
    assert "Firefox on Linux" in page and "Safari on iPhone" in page and "this session" in page
    key = phone.session.session_key
    row = UserSession.objects.get(session_key=key)
    here.post(reverse("account_session_end", args=[row.pk]))
    assert is_in(here) and not is_in(phone) and is_in(third)
    here.post(reverse("account_sessions_end"))
    assert is_in(here) and not is_in(third)


def test_nobody_ends_the_sessions_of_others(person: User) -> None:
    victim = signed_in()
    other = Client()
    other.force_login(factories.make_user())
    row = UserSession.objects.get(user=person)
    assert other.post(reverse("account_session_end", args=[row.pk])).status_code == 404
    other.post(reverse("account_sessions_end"))
    assert is_in(victim)


def test_a_new_password_ends_all_other_sessions(person: User) -> None:
    here, there = signed_in(), signed_in()
    form = {"oldpassword": factories.PASSWORD, "password1": "brass-heron-417"}
    assert here.post(reverse("password_change"), form).status_code == 302
    assert is_in(here) and not is_in(there)
    assert UserSession.objects.filter(user=person).count() == 1


def test_closing_an_account_leaves_none_of_its_addresses_factors_and_sessions(
    person: User,
) -> None:
    from allauth.account.models import EmailAddress

    EmailAddress.objects.create(user=person, email="p@example.org", verified=True, primary=True)
    client = signed_in()
    client.post(reverse("account_close"))
    assert not UserSession.objects.exists() and not EmailAddress.objects.exists()
