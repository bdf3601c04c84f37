"""A public demo signs in by one click, lets nothing out, and keeps its accounts as they are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from annotation.accounts.demo import PASSWORD
from annotation.models import Role, User
from annotation.records.installation_state import is_switched_on
from crowdqc import outbound
from crowdqc.outbound.web_request import NoOutboundCalls
from evaluation.demo.public import add_viewer
from tests.support import factories as make
from tests.support.processes import ROOT

pytestmark = [pytest.mark.db, pytest.mark.django_db]
NOTICE = "Public demo: all visitors share these accounts."
SHOWN = """
import json
import django
django.setup()
from django.conf import settings as s
print(json.dumps([s.EMAIL_BACKEND, s.CROWDQC_IMPORT_MAX_BYTES, sorted(s.CROWDQC_QUOTAS),
    "reset-demo" in s.CELERY_BEAT_SCHEDULE, s.CROWDQC_DEMO_SIGN_IN,
    any("PublicDemo" in one for one in s.MIDDLEWARE)]))
"""
PRODUCTION = {
    "CROWDQC_ENV": "production",
    "SECRET_KEY": "Zq3xW8vT1nB6yL0kR5mJ9dF2hS7gC4pA-eUoIiEaYtQw_QsD5fGk",
    "ALLOWED_HOSTS": "demo.example.org",
    "DATABASE_URL": "postgresql://crowdqc:8f1e5c0b9a7d4e2f6c3b@db.example.org/crowdqc",
    "BROKER_URL": "redis://redis.example.org",
    "EMAIL_URL": "smtp+tls://user:word@mail.example.org:587",
    "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
}


@pytest.fixture
def people() -> dict[str, User]:
    names = ("requester", "manager", "worker1")
    found = {name: make.make_user(name, password=PASSWORD) for name in names}
    project = make.make_project(owner=found["requester"])
    make.make_member(project, Role.MANAGER, found["manager"])
    make.make_worker(project, found["worker1"])
    add_viewer(project)
    return found


@pytest.fixture
def public(settings: Any, people: dict[str, User]) -> None:
    settings.CROWDQC_DEMO, settings.CROWDQC_DEMO_SIGN_IN = "public", True
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "annotation.installation.public_demo.PublicDemo"]


def test_each_role_signs_in_by_one_click(public: None, client: Client) -> None:
    page = client.get("/login/").content.decode()
    names = re.findall(r'name="login" value="([\w-]+)"', page)
    assert names == ["requester", "manager", "worker1", "demo-viewer"] and NOTICE in page
    for name in names:
        visitor = Client()
        visitor.post("/login/", {"login": name, "password": PASSWORD})
        assert visitor.get("/projects/").context["user"].username == name


def test_nothing_leaves_and_the_reason_is_clear(public: None) -> None:
    with (
        outbound.Client(seconds=5.0, most_bytes=10) as system,
        pytest.raises(outbound.NotReached, match="public demo: nothing is sent"),
    ):
        system.send("POST", "https://example.org/in")
    names = ("sign_ups", "boards", "models")
    visitor = NoOutboundCalls(lambda request: list(map(is_switched_on, names)))  # type: ignore[arg-type,return-value]
    assert visitor(HttpRequest()) == [False] * 3
    assert all(map(is_switched_on, names))  # as the command that loads the demo needs
    assert mail.outbox == []


def test_accounts_stay_and_an_address_changes_only_so_much(
    public: None, people: dict[str, User], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from annotation.installation import public_demo

    client.force_login(people["requester"])
    for name in ("password_change", "account_email", "account_close", "mfa_activate_totp"):
        answer = client.post(reverse(name), {"password": "another 1"})
        assert answer.status_code == 403, name
        assert "accounts and members cannot be changed" in answer.content.decode()
    few = public_demo.limits.Limit("demo-test", 1, 60)
    monkeypatch.setattr(public_demo, "CHANGES", few)
    statuses = [client.post("/projects/new/", {"name": "More"}).status_code for _ in range(2)]
    assert statuses == [422, 429]  # the form lacks a field; then the limit


def test_without_the_setting_there_is_nothing_of_it(
    people: dict[str, User], client: Client, settings: Any
) -> None:
    settings.CROWDQC_DEMO_SIGN_IN = True
    page = client.get("/login/").content.decode()
    assert NOTICE not in page and 'value="demo-viewer"' not in page
    for action in ("keep", "reset"):
        with pytest.raises(CommandError, match="no public demo"):
            call_command("crowdqc_demo", action)


@pytest.mark.parametrize("demo", ["public", ""])
def test_settings_of_a_production_site(demo: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOWN], cwd=ROOT, capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], **PRODUCTION, "CROWDQC_DEMO": demo},
    )  # fmt: skip
    backend, most, quotas, resets, signs_in, guards = json.loads(done.stdout.splitlines()[-1])
    assert backend.endswith("dummy.EmailBackend" if demo else "smtp.EmailBackend")
    assert most == (2 * 2**20 if demo else 64 * 2**20) and bool(quotas) == bool(demo)
    assert resets == signs_in == guards == bool(demo)
