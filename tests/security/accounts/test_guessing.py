"""Passwords and codes cannot be guessed, and whose they are is not locked out by who tries."""

from __future__ import annotations

import threading
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.core.cache import cache
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse

from crowdqc import limits
from tests.security.accounts.factors import current_code
from tests.support import factories

pytestmark = pytest.mark.django_db
WRONG = {"password": "a wrong one"}


def tries(client: Client, name: str, password: str = WRONG["password"], **more: Any) -> int:
    answer = client.post(reverse("login"), {"login": name, "password": password}, **more)
    return answer.status_code


class _Stays(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


@pytest.mark.django_db(transaction=True)
def test_of_fifty_guesses_at_once_ten_are_looked_at(live_server: Any) -> None:
    """(B13) Fifty threads against a running server, one name, another network each."""
    factories.make_user("guessed", password=factories.PASSWORD)
    page = urllib.request.urlopen(live_server.url + "/login/")
    cookie = page.headers["Set-Cookie"].split(";")[0]
    start, seen = threading.Barrier(50), Counter[str]()
    opener = urllib.request.build_opener(_Stays)
    token = cookie.partition("=")[2]

    def guess(number: int) -> None:
        data = {"login": "guessed", "password": f"wrong-{number}", "csrfmiddlewaretoken": token}
        request = urllib.request.Request(
            live_server.url + "/login/",
            urllib.parse.urlencode(data).encode(),
            headers={"Cookie": cookie},
        )
        start.wait()
        while not seen[f"done {number}"]:
            try:
                opener.open(request, timeout=60)
            except urllib.error.HTTPError as answer:
                seen.update([str(answer.code), f"done {number}"])
            except OSError:  # the server's queue of connections is shorter than fifty
                continue

    threads = [threading.Thread(target=guess, args=[number]) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen["422"] <= 10 and seen["422"] + seen["429"] == 50


@pytest.mark.django_db(transaction=True)
def test_the_counter_itself_holds_under_fifty_threads() -> None:
    """(B13) One statement counts and decides."""
    start, allowed = threading.Barrier(50), []
    limit = limits.Limit("test", 10, 60)

    def count() -> None:
        start.wait()
        allowed.append(limits.count_try(limit, "somebody"))
        connection.close()

    threads = [threading.Thread(target=count) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(allowed) == 10


def test_all_spellings_of_a_name_count_as_one(client: Client) -> None:
    """(B13) Full-width letters, capitals and blanks are the same name to whoever signs in."""
    factories.make_user("anna", password=factories.PASSWORD)
    wide = str.maketrans("an", "ａｎ")
    spellings = ["anna", "ANNA", " anna", "anna ".translate(wide), "Anna", "anNa".translate(wide)]
    codes = [tries(client, spellings[turn % len(spellings)]) for turn in range(12)]
    assert codes == [422] * 10 + [429] * 2


def test_networks_of_ipv6_are_counted_whole() -> None:
    """(B13) Whoever has one address has all 2^64 of its network."""

    def at(address: str) -> str:
        return limits.client_network(RequestFactory().get("/", REMOTE_ADDR=address))

    assert at("2001:db8:1:2::1") == at("2001:db8:1:2:ffff::9") != at("2001:db8:1:3::1")
    assert at("::ffff:192.0.2.7") == at("192.0.2.7")
    assert at("192.0.2.7") != at("192.0.2.8")


def test_counters_are_not_forgotten_among_many() -> None:
    """(B13) The cache kept 300 rows and dropped others at random."""
    limit = limits.Limit("test", 1, 60)
    assert limits.count_try(limit, "first")
    for number in range(400):
        limits.count_try(limit, number)
    assert not limits.count_try(limit, "first")


def test_windows_end_and_what_ended_is_swept() -> None:
    limit = limits.Limit("test", 1, 60)
    assert limits.count_try(limit, "a") and not limits.count_try(limit, "a")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE crowdqc_limit SET ends = clock_timestamp() - interval '1 second'")
    assert limits.count_try(limit, "a") and not limits.count_try(limit, "a")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE crowdqc_limit SET ends = clock_timestamp() - interval '1 second'")
    assert limits.delete_ended_windows() >= 1 and limits.seconds_left(limit, "a") == 0


def test_the_owner_signs_in_where_they_did_before_while_others_guess() -> None:
    """(B13) Ten wrong tries locked the true owner out; a known device is counted apart."""
    factories.make_user("owner", password=factories.PASSWORD)
    own, stranger = Client(), Client()
    assert tries(own, "owner", factories.PASSWORD) == 302
    own.post(reverse("logout"))
    assert [tries(stranger, "owner") for _ in range(12)][-1] == 429
    assert tries(stranger, "owner", factories.PASSWORD) == 429  # the right one by chance
    assert tries(own, "owner", factories.PASSWORD) == 302
    own.post(reverse("logout"))
    # The device has ten tries of its own, and no more.
    assert [tries(own, "owner") for _ in range(11)] == [422] * 10 + [429]


def test_a_device_is_known_for_the_names_that_signed_in_on_it_only() -> None:
    """(B13) An own account gives nobody tries under another name; nor does a forged cookie."""
    factories.make_user("mallory", password=factories.PASSWORD)
    factories.make_user("victim", password=factories.PASSWORD)
    client, other = Client(), Client()
    assert tries(client, "mallory", factories.PASSWORD) == 302
    client.post(reverse("logout"))
    other.cookies["device"] = "forged:" + client.cookies["device"].value
    for one in (client, other):
        assert [tries(one, "victim") for _ in range(6)][-1] in (422, 429)
    assert tries(Client(), "victim") == 429


def test_right_passwords_do_not_count() -> None:
    factories.make_user("busy", password=factories.PASSWORD)
    for _ in range(12):
        assert tries(Client(), "busy", factories.PASSWORD) == 302


def test_one_check_of_a_password_whatever_the_name(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names cannot be told apart by how long an answer takes: each costs one hash."""
    from django.contrib.auth import hashers

    from annotation.accounts.actions import vouched_accounts as accounts

    accounts.sign_up(username="ada@example.org", display_name="Ada", password=factories.PASSWORD)
    factories.make_user("plain", password=factories.PASSWORD)
    factories.make_user("nopassword")
    count, hasher = [0], hashers.get_hasher()
    encode = type(hasher).encode

    def counted(self: Any, *args: Any, **kwargs: Any) -> str:
        count[0] += 1
        return str(encode(self, *args, **kwargs))

    monkeypatch.setattr(type(hasher), "encode", counted)
    costs, texts = [], set()
    for name in ("ada@example.org", "plain", "nopassword", "nobody", "nobody@example.org"):
        count[0] = 0
        answer = client.post(reverse("login"), {"login": name, **WRONG})
        costs.append(count[0])
        texts.add(answer.content.decode().count("Name and password do not match"))
    assert costs == [1] * 5 and texts == {1}


# -- second factors --------------------------------------------------------------------------------


def with_app(name: str = "manager-with-app") -> tuple[Any, str]:
    secret = "JBSWY3DPEHPK3PXP"
    user = factories.make_user(name, password=factories.PASSWORD)
    TOTP.activate(user, secret)
    return user, secret


def test_a_second_factor_stands_between_the_password_and_the_account(client: Client) -> None:
    user, secret = with_app()
    answer = client.post(reverse("login"), {"login": user.username, "password": factories.PASSWORD})
    assert answer["Location"] == reverse("mfa_authenticate")
    assert client.get(reverse("account"))["Location"].startswith(reverse("login"))
    page = client.get(reverse("mfa_authenticate"))
    assert "Enter your code" in page.content.decode()
    wrong = client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert "That code is not right. 4 tries left." in wrong.content.decode()
    code = current_code(secret)
    assert client.post(reverse("mfa_authenticate"), {"code": code}).status_code == 302
    assert client.get(reverse("account")).status_code == 200
    # The same code once more, from somebody who looked over the shoulder.
    other = Client()
    cache.clear()  # in another process of the web server
    other.post(reverse("login"), {"login": user.username, "password": factories.PASSWORD})
    again = other.post(reverse("mfa_authenticate"), {"code": code})
    assert "This code was used" in again.content.decode()


def test_codes_are_tried_five_times(client: Client) -> None:
    """A password that is known opens no account by guessing its six digits."""
    user, _ = with_app()
    client.post(reverse("login"), {"login": user.username, "password": factories.PASSWORD})
    url = reverse("mfa_authenticate")
    codes = [client.post(url, {"code": f"{n:06}"}).status_code for n in range(6)]
    assert codes == [422] * 5 + [429]


def test_a_device_that_is_trusted_is_not_asked_for_thirty_days(client: Client) -> None:
    user, secret = with_app()
    form = {"login": user.username, "password": factories.PASSWORD}
    client.post(reverse("login"), form)
    client.post(reverse("mfa_authenticate"), {"code": current_code(secret), "trust": "1"})
    client.post(reverse("logout"))
    assert client.post(reverse("login"), form)["Location"] == reverse("home")
    assert Client().post(reverse("login"), form)["Location"] == reverse("mfa_authenticate")


def test_secrets_of_second_factors_are_sealed_at_rest() -> None:
    user, secret = with_app()
    assert secret not in str(Authenticator.objects.get(user=user).data)


@pytest.mark.parametrize(
    "junk",
    [
        "[]",
        "{}",
        '"x"',
        "1",
        '{"response": 1}',
        "{" * 3000,
        "null",
        '{"response": {"userHandle": "w6c"}}',
    ],
)
def test_junk_for_a_passkey_is_refused(client: Client, junk: str) -> None:
    client.get(reverse("mfa_login_webauthn"), headers={"Accept": "application/json"})
    answer = client.post(reverse("mfa_login_webauthn"), {"credential": junk})
    assert answer.status_code in (302, 400, 422)
