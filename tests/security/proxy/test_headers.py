"""Headers hold for every answer, signed-in pages are stored nowhere (all pages: test_access)."""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import urlencode

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tests.security.proxy.headers import lacks
from tests.support import factories
from tests.support.processes import ROOT
from tests.test_settings import GOOD


def in_production(code: str, **more: str) -> str:
    """What a process with production's settings, and more of them, prints."""
    env = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "crowdqc.settings", **GOOD}
    env |= more
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_cookies_of_production_are_bound_to_the_host() -> None:
    code = (
        "from crowdqc import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME,"
        "s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SESSION_COOKIE_HTTPONLY,"
        "s.SESSION_COOKIE_SAMESITE, getattr(s, 'SESSION_COOKIE_DOMAIN', None))"
    )
    said = in_production(code).split()
    assert said == ["__Host-sessionid", "__Host-csrftoken", "True", "True", "True", "Lax", "None"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "max-age=31536000"),
        ({"SECURE_HSTS_SECONDS": "60"}, "max-age=60"),
        (
            {"SECURE_HSTS_INCLUDE_SUBDOMAINS": "true", "SECURE_HSTS_PRELOAD": "true"},
            "max-age=31536000; includeSubDomains; preload",
        ),
    ],
)
def test_only_a_setting_binds_subdomains_and_browsers_lists_to_https(
    more: dict[str, str], expected: str
) -> None:
    code = (
        "import django; django.setup();"
        "from django.http import HttpResponse; from django.test import RequestFactory;"
        "from django.middleware.security import SecurityMiddleware as Security;"
        "request = RequestFactory().get('/', secure=True);"
        "print(Security(lambda request: HttpResponse())(request)['Strict-Transport-Security'])"
    )
    assert in_production(code, **more).strip() == expected


@pytest.mark.django_db
def test_errors_redirects_and_files_carry_the_headers_too() -> None:
    world = factories.make_world(n=1)
    signed_in, anybody = Client(), Client()
    signed_in.force_login(world.requester)
    for client in (signed_in, anybody):
        for path in ("/", "/login/", "/no/such/page/", "/api/projects/", "/static/css/base.css"):
            response = client.get(path)
            if response.streaming:
                b"".join(response)  # to the end, which closes the file
            # A file is public, and its policy says what X-Frame-Options says of pages.
            spared = ("may be stored", "X-Frame") if path.startswith("/static/") else ()
            kept = [text for text in lacks(response) if not any(part in text for part in spared)]
            assert not kept, (path, kept)


@pytest.mark.django_db
def test_only_what_a_program_reads_by_token_may_be_kept_to_ask_again() -> None:
    world = factories.make_world(n=1)
    browser = Client()
    browser.force_login(world.requester)
    path = f"/api/projects/{world.project.pk}/"
    assert browser.get(path)["Cache-Control"] == "no-store, private"
    token = factories.api_token(world.requester, ("read",))
    program = APIClient(HTTP_AUTHORIZATION=f"Token {token}")
    first = program.get(path)
    assert first["Cache-Control"] == "private, no-cache"
    assert program.get(path, HTTP_IF_NONE_MATCH=first["ETag"]).status_code == 304
    refused = APIClient(HTTP_AUTHORIZATION="Token wrong").get(path)
    assert (refused.status_code, refused["Cache-Control"]) == (401, "no-store, private")


@pytest.mark.django_db
def test_what_was_written_is_not_lost_with_a_refusal() -> None:
    """Pages are not stored, so that going back shows an empty form: the refusal gives the text."""
    world = factories.make_world(n=1)
    client = Client()
    client.force_login(world.requester)
    written = "The instructions that took me half an hour to write, <b>all</b> of them."
    fields = {"text": written, "short": "x", "password": "never-to-be-shown-" * 4}
    refused = client.post(
        f"/projects/{world.project.pk}/tasks/999999/move/",
        urlencode(fields),
        content_type="application/x-www-form-urlencoded",
    )
    text = refused.content.decode()
    assert refused.status_code == 404
    assert "What you wrote" in text and "&lt;b&gt;all&lt;/b&gt; of them." in text
    assert "never-to-be-shown" not in text and "Go back with your browser" not in text


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/no-such-page/", "/projects/999999/", "/projects/{}/runs/"])
def test_a_refusal_speaks_of_changes_only_where_some_were_sent(path: str) -> None:
    world = factories.make_world(n=1)
    client = Client()
    client.force_login(world.worker.user)
    address = path.format(world.project.pk)
    text = client.get(address).content.decode()
    assert "changed" not in text and "Go back" not in text and "you wrote" not in text
    assert 'href="/"' in text
    sent = client.post("/projects/999999/tasks/1/move/", {"text": "x"}).content.decode()
    assert "Go back and try again" in sent
