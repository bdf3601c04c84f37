"""What people without an account cost: limits on every address, and caches they cannot choose."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from annotation.accounts.projects import actions as people
from annotation.accounts.signing.middleware import SEEN
from annotation.api.frame import docs
from annotation.api.frame.auth import TokenAuthentication
from annotation.models import ApiToken, Invitation
from crowdqc.errors import Missing
from crowdqc.web import anonymous_limit
from crowdqc.web.middleware import SecurityHeaders
from tests.support import factories
from tests.support.everything import ROUTES

# Answers that cost nothing, with the reason.
UNLIMITED = {
    "healthz": "touches nothing, and says whether the process serves",
    "readyz": "asks each part once at a time, however many want to know",
}


@pytest.fixture(autouse=True)
def no_requests_yet() -> Iterator[None]:
    """No request was counted before."""
    anonymous_limit.anonymous.clear()
    anonymous_limit.right_tokens.clear()
    yield
    anonymous_limit.anonymous.clear()
    anonymous_limit.right_tokens.clear()


def path_of(name: str) -> str:
    """An address of a route; nothing needs to be there."""
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda m: "1" if m[1] == "int" else "x", ROUTES[name])


@pytest.mark.django_db
def test_every_address_is_limited_for_people_without_an_account(settings: Any) -> None:
    settings.CROWDQC_ANONYMOUS_REQUESTS = 1
    made_up = {
        "nothing": Client(),
        "session": Client(headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={'a' * 32}"}),
        "token": Client(headers={"Authorization": "Token made-up"}),
        "bearer": Client(headers={"Authorization": "Bearer made-up"}),
    }
    assert Client().get("/no/such/page").status_code == 404  # the first, within the limit
    open_addresses = [
        f"{name} with {kind}: {response.status_code}"
        for name in ROUTES.keys() - UNLIMITED.keys()
        for kind, client in made_up.items()
        if (response := client.get(path_of(name))).status_code != 429
        or response["Retry-After"] not in map(str, range(1, 61))
    ]
    assert not open_addresses
    assert Client().get("/no/such/page").status_code == 429
    assert Client(REMOTE_ADDR="192.0.2.9").get("/login/").status_code == 200


@pytest.mark.django_db
def test_people_and_programs_who_signed_in_are_not_limited(settings: Any) -> None:
    settings.CROWDQC_ANONYMOUS_REQUESTS = 1
    person = factories.make_user()
    token = factories.api_token(person, ("read",))
    # A page that a test before left open may still ask from this machine's own address.
    program = Client(headers={"Authorization": f"Token {token}"}, REMOTE_ADDR="192.0.2.7")
    browser = Client(REMOTE_ADDR="192.0.2.7")
    browser.force_login(person)
    for client, path in ((browser, "/projects/"), (program, "/api/projects/")):
        assert [client.get(path).status_code for _ in range(4)] == [200] * 4


@pytest.mark.django_db
def test_a_right_token_is_not_counted_as_wrong_while_the_database_is_away(settings: Any) -> None:
    settings.CROWDQC_ANONYMOUS_REQUESTS = 1
    token = factories.api_token(factories.make_user(), ("read",))
    client = Client(headers={"Authorization": f"Token {token}"})
    client.raise_request_exception = False
    with patch.object(TokenAuthentication, "authenticate", side_effect=OperationalError):
        assert [client.get("/api/projects/").status_code for _ in range(4)] == [503] * 4
    assert client.get("/api/projects/").status_code == 200


@pytest.mark.django_db
def test_beyond_the_limit_no_wrong_token_is_looked_up_and_right_ones_go_on(settings: Any) -> None:
    settings.CROWDQC_ANONYMOUS_REQUESTS = 3
    token = factories.api_token(factories.make_user(), ("read",))
    program = Client(headers={"Authorization": f"Token {token}"})
    assert program.get("/api/projects/").status_code == 200
    looked_up = []
    real = TokenAuthentication.authenticate_credentials

    def counted(self: TokenAuthentication, key: str) -> Any:
        looked_up.append(key)
        return real(self, key)

    with patch.object(TokenAuthentication, "authenticate_credentials", counted):
        wrong = [Client(headers={"Authorization": f"Token wrong-{n}"}) for n in range(8)]
        statuses = [one.get("/api/projects/").status_code for one in wrong]
        assert statuses == [401] * 3 + [429] * 5
        assert len(looked_up) == 3
        assert program.get("/api/projects/").status_code == 200
    # One that was ended is no right one any more.
    ApiToken.objects.update(revoked_at=timezone.now())
    assert [program.get("/api/projects/").status_code for _ in range(2)] == [429] * 2


def test_right_tokens_take_bounded_memory() -> None:
    known = anonymous_limit.RightTokens(most=100)
    for n in range(1000):
        known.note(f"Token {n}", right=True)
    assert len(known._known) == 100 and "Token 999" in known


@pytest.mark.django_db
def test_a_wrong_invitation_is_refused_by_its_signature_before_anything_is_looked_up() -> None:
    right = people.invitation_token(Invitation(pk=1))
    for token in ("nonsense", right[:-1], f"2{right[1:]}", right.replace(":", ":x", 1)):
        with CaptureQueriesContext(connection) as queries, pytest.raises(Missing):
            people.open_invitation(token)
        assert not queries.captured_queries


def test_counters_of_many_networks_take_bounded_memory() -> None:
    counter = anonymous_limit.Counter(most_networks=100)
    waits = [counter.count(f"2001:db8:{n:x}::/64", 1) for n in range(1000)]
    assert not any(waits) and len(counter._windows) == 100
    assert counter.count("2001:db8:3e7::/64", 1) > 0  # the last one, still counted


def test_the_schema_is_made_once_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = SchemaGenerator.get_schema

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(1)
        return real(*args, **kwargs)

    monkeypatch.setattr(SchemaGenerator, "get_schema", counted)
    docs._schema.cache_clear()
    docs._schema_file.cache_clear()
    queries = ("", "?x=1", "?x=2", "?lang=de", "?version=2", "?format=nonsense")
    bodies = {Client().get(f"/api/schema/{query}").content for query in queries}
    wanted = {"Accept": "application/json"}
    first = Client().get("/api/schema/?x=3", headers=wanted)
    assert first.json()["openapi"].startswith("3.")
    assert len(bodies) == 1 and len(made) == 1
    again = {**wanted, "If-None-Match": first["ETag"]}
    assert Client().get("/api/schema/", headers=again).status_code == 304


@pytest.mark.django_db
def test_nothing_that_strangers_send_is_kept_in_a_session() -> None:
    form = {"text": "x" * 60_000}
    kept = set()
    for name in ROUTES:
        Client().post(path_of(name), form)
        if Session.objects.exists():
            kept.add(name)
            Session.objects.all().delete()
    assert not kept


@pytest.mark.django_db
def test_answers_for_everybody_read_no_session_and_set_no_cookie() -> None:
    client = Client()
    client.force_login(factories.make_user())
    session = client.session
    session[SEEN] = int(time.time()) - 3600  # any page would note that it is used
    session.save()
    for path in ("/api/schema/", "/words/de.js", "/healthz", "/readyz"):
        response = client.get(path)
        assert not response.cookies, path
        assert "Cookie" not in response.headers.get("Vary", ""), path
    assert client.get("/api/schema/")["Cache-Control"] == "public, max-age=3600"
    assert client.get("/projects/").cookies  # here it is noted


def test_an_answer_with_a_cookie_is_never_stored() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        response = HttpResponse(headers={"Cache-Control": "public, max-age=60"})
        response.set_cookie("sessionid", "x")
        return response

    assert SecurityHeaders(view)(HttpRequest())["Cache-Control"] == "no-store, private"
