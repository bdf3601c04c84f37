"""Single sign-on, against a provider that runs in a process of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from allauth.account.models import EmailAddress
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.test import Client
from django.urls import reverse

from annotation.access import find_roles
from annotation.accounts.actions import vouched_accounts as accounts
from annotation.accounts.organisations import actions as organisations
from annotation.accounts.signing import selectors
from annotation.models import AuditEntry, OrganisationMember, User
from crowdqc import limits
from crowdqc.errors import Conflict
from crowdqc.settings.accounts import read_groups
from tests.security.accounts.factors import grow_old
from tests.security.accounts.mailbox import code_for, letters
from tests.security.outbound.hostile import hostile
from tests.support import factories
from tests.support.servers import oidc_provider

pytestmark = pytest.mark.django_db
CALLBACK = "http://testserver/sso/sso/callback/"


def connect_to(settings: Any, address: str) -> None:
    """The settings as OIDC_SERVER_URL and its companions make them."""
    settings.OIDC_SERVER_URL, settings.OIDC_NAME = address, "Example University"
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": "sso",
                    "name": "Example University",
                    "client_id": oidc_provider.CLIENT,
                    "secret": oidc_provider.SECRET,
                    "settings": {"server_url": address},
                }
            ],
        }
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oidc_provider.provider(tmp_path_factory.mktemp("provider"), CALLBACK) as found:
        yield found


@pytest.fixture(autouse=True)
def _connected(settings: Any, address: str) -> None:
    connect_to(settings, address)


def comes_back(client: Client, name: str, start: str = "") -> Any:
    """Through the provider and back: the answer to what it sends the browser with."""
    sent = client.post(start or reverse("openid_connect_login", args=["sso"]))
    assert sent.status_code == 302, sent.content
    with requests.Session() as browser:
        page = browser.get(sent["Location"])
        form = {"name": name, "password": oidc_provider.PASSWORD}
        page = browser.post(page.url, form, allow_redirects=False)
        while not page.headers["Location"].startswith(CALLBACK):
            page = browser.get(
                requests.compat.urljoin(page.url, page.headers["Location"]), allow_redirects=False
            )
    parts = urlsplit(page.headers["Location"])
    return client.get(f"{parts.path}?{parts.query}")


def test_whom_the_provider_vouches_for_is_signed_in_with_a_proven_address(client: Client) -> None:
    page = client.get(reverse("login"))
    assert "Sign in with Example University" in page.content.decode()
    assert "form-action 'self' http://127.0.0.1" in page["Content-Security-Policy"]
    answer = comes_back(client, "vouched")
    assert answer["Location"] == reverse("home")
    user = User.objects.get()
    assert user.email == "vouched@uni.example" and str(user) == "Vouched Person"
    assert selectors.has_verified(user, "vouched@uni.example")
    assert AuditEntry.objects.filter(action="account.create", actor=user).count() == 1
    again = Client()
    assert comes_back(again, "vouched")["Location"] == reverse("home")
    assert User.objects.count() == 1


def test_an_address_the_provider_does_not_vouch_for_has_to_be_proven(client: Client) -> None:
    """(A1) Only ``email_verified`` counts."""
    answer = comes_back(client, "claimed")
    assert answer["Location"] == reverse("account_email_verification_sent")
    assert not EmailAddress.objects.filter(verified=True).exists()
    code = {"code": code_for("claimed@uni.example")}
    assert client.post(answer["Location"], code)["Location"] == reverse("home")


@pytest.mark.parametrize("name", ["vouched", "claimed"])
def test_an_account_that_was_there_is_not_opened_by_the_provider(client: Client, name: str) -> None:
    """(A1) Neither by a verified address nor by one that is not; its mailbox is told."""
    address = f"{name}@uni.example"
    accounts.sign_up(username=address, display_name="Ada", password=factories.PASSWORD)
    comes_back(client, name)
    assert client.get(reverse("account")).status_code == 302
    assert User.objects.count() == 1
    assert [subject for subject, _ in letters(address)] == ["Your account on crowdqc"]


def test_somebody_signed_in_connects_the_provider_and_enters_by_it(client: Client) -> None:
    address = "vouched@uni.example"
    user = accounts.sign_up(username=address, display_name="Ada", password=factories.PASSWORD)
    client.post(reverse("login"), {"login": address, "password": factories.PASSWORD})
    start = reverse("openid_connect_login", args=["sso"]) + "?process=connect"
    asked = comes_back(client, "vouched", start)
    if "confirm" in asked["Location"]:
        client.post(asked["Location"], {"password": factories.PASSWORD})
    assert user.socialaccount_set.count() == 1
    other = Client()
    assert comes_back(other, "vouched")["Location"] == reverse("home")
    assert other.get(reverse("account")).context["user"] == user
    assert "Single sign-on was connected" in [subject for subject, _ in letters(address)]


def test_a_second_factor_is_asked_for_after_the_provider_too(client: Client) -> None:
    from allauth.mfa.totp.internal.auth import TOTP

    comes_back(client, "vouched")
    TOTP.activate(User.objects.get(), "JBSWY3DPEHPK3PXP")
    other = Client()
    assert comes_back(other, "vouched")["Location"] == reverse("mfa_authenticate")


def test_a_closed_installation_takes_nobody_new_from_the_provider(
    client: Client, settings: Any
) -> None:
    settings.CROWDQC_SIGNUP = "closed"
    assert "Sign-up is closed" in comes_back(client, "vouched").content.decode()
    settings.CROWDQC_SIGNUP, settings.CROWDQC_SIGNUP_DOMAINS = "sso", ["elsewhere.example"]
    other = Client()
    asked = comes_back(other, "vouched")["Location"]
    assert asked == reverse("socialaccount_signup")
    assert "elsewhere.example" in other.post(asked, {"email": "a@uni.example"}).content.decode()
    settings.CROWDQC_SIGNUP_DOMAINS = []
    assert comes_back(Client(), "vouched")["Location"] == reverse("home")


def test_an_answer_that_nobody_asked_for_signs_nobody_in(client: Client) -> None:
    sent = client.post(reverse("openid_connect_login", args=["sso"]))
    state = re.search(r"state=(\w+)", sent["Location"])
    assert state
    forged = reverse("openid_connect_callback", args=["sso"]) + f"?code=x&state={state[1]}"
    for one in (client, Client()):
        assert "Sign-on did not work" in one.get(forged).content.decode()
        assert one.get(reverse("account")).status_code == 302


@pytest.mark.parametrize("way", ["mute", "drip", "drip_headers", "endless", "redirect"])
def test_a_hostile_provider_holds_one_page_until_its_deadline_and_no_other(
    client: Client, settings: Any, way: str
) -> None:
    settings.SOCIALACCOUNT_REQUESTS_TIMEOUT = 0.5
    start = reverse("openid_connect_login", args=["sso"])
    with hostile() as enemy:
        connect_to(settings, enemy.url(way))
        began = time.monotonic()
        with ThreadPoolExecutor(1) as one:
            held = one.submit(_only, client.post, start)
            time.sleep(0.2)
            second, waited = client.post(start), time.monotonic() - began - 0.2
            answer = held.result()
        took = time.monotonic() - began
    for page in (answer, second):
        assert page.status_code == 503
        assert "Sign-on did not work" in page.content.decode()
    assert took < 4 and waited < 3
    assert not [path for path in enemy.hits if "secret" in path]  # no redirect is followed


def _only(call: Callable[..., Any], *args: Any) -> Any:
    """The answer of a call in a thread of its own, whose connections it closes."""
    try:
        return call(*args)
    finally:
        connections.close_all()


def test_a_stranger_cannot_have_the_provider_asked_without_end(client: Client) -> None:
    start = reverse("openid_connect_login", args=["sso"])
    for _ in range(limits.SSO_STARTS.most):
        limits.count_try(limits.SSO_STARTS, "127.0.0.1")
    answer = client.post(start)
    assert answer.status_code == 429 and "Too many sign-ins" in answer.content.decode()


def put_into(address: str, *groups: str) -> None:
    """Have the provider name these groups of ``vouched`` from now on."""
    requests.get(
        address.removesuffix("/o") + "/groups/",
        {"name": "vouched", "group": groups},  # type: ignore[dict-item]
        timeout=5,
    ).raise_for_status()


def test_roles_in_organisations_follow_the_groups_that_the_provider_names(
    client: Client, settings: Any, address: str
) -> None:
    settings.OIDC_GROUPS = read_groups(
        {
            "heads": "Bird lab:owner",
            "birds": "Bird Lab:member",
            "bees": ["Bee lab:member"],
            "gone": "No such lab:owner",
        }
    )
    head = factories.make_user()
    labs = {
        name: organisations.create_organisation(by=None, name=name, owner=head)
        for name in ("Bird lab", "Bee lab")
    }
    project = factories.make_project(organisation=labs["Bird lab"])

    def roles_after(*groups: str) -> dict[str, str]:
        put_into(address, *groups)
        assert comes_back(Client(), "vouched").status_code == 302
        rows = OrganisationMember.objects.exclude(user=head).select_related("organisation")
        assert all(row.by_group for row in rows)
        return {row.organisation.name: row.role for row in rows}

    assert roles_after("birds", "gone", "others") == {"Bird lab": "member"}
    user = User.objects.exclude(pk__in=[head.pk, project.owner_id]).get()
    assert find_roles(user, project.pk)[1] == {"viewer"}
    assert roles_after("birds", "heads", "bees") == {"Bird lab": "owner", "Bee lab": "member"}
    assert find_roles(user, project.pk)[1] == {"requester"}
    [member] = labs["Bird lab"].members.filter(user=user)
    with pytest.raises(Conflict, match="group"):
        organisations.set_member(by=None, organisation=labs["Bird lab"], user=user, role="member")
    organisations.remove_member(by=None, member=member)
    assert roles_after("birds") == {"Bird lab": "member"}
    assert roles_after() == {} and not find_roles(user, project.pk)[1]
    told = AuditEntry.objects.filter(actor=user, action__startswith="organisation.")
    assert told.count() == 6 and all(entry.detail["by_group"] for entry in told)
    # What an owner gave stays, whatever the groups are.
    organisations.set_member(by=None, organisation=labs["Bee lab"], user=user, role="owner")
    put_into(address, "bees")
    comes_back(Client(), "vouched")
    assert labs["Bee lab"].members.get(user=user).role == "owner"


@pytest.mark.parametrize("wrong", [[], {"a": 1}, {"a": "Lab:boss"}, {"a": ":owner"}, {"a": [1]}])
def test_groups_that_cannot_be_read_are_refused_at_the_start(wrong: Any) -> None:
    with pytest.raises(ImproperlyConfigured):
        read_groups(wrong)


@pytest.mark.parametrize("way", ["password", "app", "passkey", "email"])
def test_an_old_session_of_the_provider_adds_no_way_to_confirm(client: Client, way: str) -> None:
    """(A2) It would be used to confirm with next: the provider is asked again first."""
    comes_back(client, "vouched")
    grow_old(client)
    pages = {
        "password": "account_set_password",
        "app": "mfa_activate_totp",
        "passkey": "mfa_add_webauthn",
        "email": "account_email",
    }
    forms = {
        "password": {"password1": factories.PASSWORD},
        "email": {
            "action_add": "",
            "email": "thief@uni.example",
        },
    }
    answer = client.post(reverse(pages[way]), forms.get(way, {"code": "123456"}))
    assert answer.status_code == 302 and answer["Location"].startswith(reverse("login"))
    assert client.get(reverse("account")).status_code == 302
    user = User.objects.get()
    assert not user.has_usable_password() and not letters("thief@uni.example")
    comes_back(client, "vouched")
    fresh = client.get(reverse(pages[way]))
    assert fresh.status_code == 200 or fresh["Location"] == reverse("account")
