"""Production does not start on what is dangerous, and the checks name what a site must not use."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.core import checks
from django.test import override_settings

from crowdqc.deployment import production
from evaluation.demo.loader import ACCOUNTS, PASSWORD
from evaluation.demo.password_check import demo_passwords
from tests.support import factories
from tests.support.processes import ROOT

KEY = "Zq3xW8vT1nB6yL0kR5mJ9dF2hS7gC4pA-eUoIiEaYtQw_QsD5fGk"
GOOD = {
    "CROWDQC_ENV": "production",
    "SECRET_KEY": KEY,
    "ALLOWED_HOSTS": "crowd.example.org",
    "DATABASE_URL": "postgresql://crowdqc:8f1e5c0b9a7d4e2f6c3b@db.example.org/crowdqc",
    "BROKER_URL": "redis://redis.example.org",
    "EMAIL_URL": "smtp+tls://user:word@mail.example.org:587",
    "DEFAULT_FROM_EMAIL": "crowd@example.org",
    "CROWDQC_TRUSTED_PROXIES": "172.30.77.2",
}
START = "import crowdqc.settings"
# Networks are read when the application is built, of which this is the part that reads them.
BUILD = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "crowdqc.settings"
from django.conf import settings
from django.utils.module_loading import import_string
[forwarded] = [one for one in settings.MIDDLEWARE if one.endswith(".Forwarded")]
import_string(forwarded)(None)
"""


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process with the variables of a good production, changed as given; "": left out."""
    env = {"PATH": os.environ["PATH"]} | {k: v for k, v in (GOOD | variables).items() if v}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", "x"),
        ("SECRET_KEY", ""),
        ("ALLOWED_HOSTS", "crowd.example.org,*"),
        ("CROWDQC_DEBUG", "true"),
        ("DATABASE_URL", "postgresql://crowdqc:crowdqc@postgres/crowdqc"),
        ("EMAIL_URL", ""),
        ("SECRET_KEY_FALLBACKS", "changeme"),
        ("CROWDQC_TRUSTED_PROXIES", "10.0.0.1/8"),
    ],
)
def test_production_does_not_start_on_what_is_dangerous(name: str, value: str) -> None:
    """(B19)"""
    start = START if name != "CROWDQC_TRUSTED_PROXIES" else BUILD
    done = run("-c", start, **{name: value})
    assert done.returncode != 0
    assert "ImproperlyConfigured" in done.stderr and name in done.stderr.splitlines()[-1]


def test_everything_dangerous_is_named_at_once_with_the_way_out() -> None:
    """(B19)"""
    done = run("-c", START, SECRET_KEY="x", ALLOWED_HOSTS="*", CROWDQC_DEBUG="1")
    said = done.stderr
    assert all(name in said for name in ("SECRET_KEY", "ALLOWED_HOSTS", "CROWDQC_DEBUG"))
    assert "secrets.token_urlsafe(48)" in said


def test_a_good_production_starts_and_passes_its_checks() -> None:
    """(B19)"""
    done = run("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("x", "has 1 characters"),
        ("a" * 60, "repeats"),
        ("abcdefghijklmnopqrstuvwxyz012345" * 2, "repeats"),
        ("django-insecure-" + KEY, "everybody knows"),
        ("Please-CHANGEME-" + KEY, "everybody knows"),
        (KEY, ""),
    ],
)
def test_a_weak_secret_is_known(value: str, why: str) -> None:
    """(B19)"""
    said = production.weak_secret(value)
    assert why in said if why else not said


@pytest.mark.parametrize(
    ("url", "weak"),
    [
        ("postgresql://crowdqc:postgres@db/crowdqc", True),
        ("postgresql://mine:mine@db/crowdqc", True),
        ("postgresql://mine:Other@db/other", True),
        ("postgresql://mine:x@db/crowdqc", True),
        ("postgresql://mine:8f1e5c0b9a7d4e2f6c3b@db/crowdqc", False),
        ("postgresql:///crowdqc?host=/run/postgresql", False),
    ],
)
def test_a_default_password_of_the_database_is_known(url: str, weak: bool) -> None:
    """(B19)"""
    assert bool(production.weak_database_password(url)) is weak


@pytest.mark.parametrize("hosts", [["*"], [], [""], [".org"], ["good.example", "*"]])
def test_open_hosts_are_known(hosts: list[str]) -> None:
    """(B19)"""
    assert production.open_hosts(hosts)
    assert not production.open_hosts(["crowd.example.org", ".example.org", "[::1]"])


SAFE: dict[str, Any] = {
    "SECRET_KEY": KEY,
    "SECRET_KEY_FALLBACKS": [],
    "ALLOWED_HOSTS": ["crowd.example.org"],
    "DEBUG": False,
    "DATABASE_URL": GOOD["DATABASE_URL"],
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "DEFAULT_FROM_EMAIL": "crowd@example.org",
    "SESSION_COOKIE_SECURE": True,
    "CSRF_COOKIE_SECURE": True,
    "SESSION_COOKIE_NAME": "__Host-sessionid",
    "SECURE_SSL_REDIRECT": True,
    "SECURE_HSTS_SECONDS": 3600,
    "CROWDQC_BASE_URL": "https://crowd.example.org",
    "CROWDQC_TRUSTED_PROXIES": ["172.30.77.2"],
    "CROWDQC_LOCAL_ENDPOINTS": False,
}


def own(**changed: Any) -> set[str]:
    """Ids of our checks that speak up, with these settings beside safe ones."""
    with override_settings(**SAFE | changed):
        found = checks.run_checks(tags=[checks.Tags.security], include_deployment_checks=True)
    return {one.id for one in found if (one.id or "").startswith("crowdqc.")}


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, set()),
        ({"SECRET_KEY": "x"}, {"crowdqc.E001"}),
        ({"SECRET_KEY_FALLBACKS": ["x"]}, {"crowdqc.E001"}),
        ({"ALLOWED_HOSTS": ["*"]}, {"crowdqc.E002"}),
        ({"DEBUG": True}, {"crowdqc.E003"}),
        (
            {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"},
            {"crowdqc.E004"},
        ),
        ({"DEFAULT_FROM_EMAIL": "crowdqc@localhost"}, {"crowdqc.W004"}),
        ({"DATABASE_URL": "postgresql://a:postgres@b/c"}, {"crowdqc.E005"}),
        ({"SESSION_COOKIE_SECURE": False}, {"crowdqc.E007"}),
        ({"SESSION_COOKIE_NAME": "sessionid"}, {"crowdqc.E007"}),
        ({"SECURE_SSL_REDIRECT": False}, {"crowdqc.E008"}),
        ({"SECURE_HSTS_SECONDS": 0}, {"crowdqc.E008"}),
        ({"CROWDQC_BASE_URL": "http://crowd.example.org"}, {"crowdqc.E008"}),
        ({"CROWDQC_TRUSTED_PROXIES": []}, {"crowdqc.E009"}),
        ({"CROWDQC_TRUSTED_PROXIES": ["0.0.0.0/0"]}, {"crowdqc.E009"}),
        ({"CROWDQC_LOCAL_ENDPOINTS": True}, {"crowdqc.W010"}),
    ],
)
def test_the_checks_name_each_weakness(changed: dict[str, Any], ids: set[str]) -> None:
    """(B19)"""
    assert own(**changed) == ids


@pytest.mark.django_db
def test_demo_accounts_with_their_public_password_are_found() -> None:
    """(B19)"""
    name = next(iter(ACCOUNTS))
    user = factories.make_user(name, password=PASSWORD)
    assert not demo_passwords(None)
    [found] = demo_passwords(None, databases=["default"])
    assert found.id == "crowdqc.E006" and name in found.msg
    user.set_password(factories.PASSWORD)
    user.save()
    assert not demo_passwords(None, databases=["default"])
