"""System checks of production's settings: ``manage.py check --deploy``.

Production does not start on what ``crowdqc.deployment.production`` names; the others are choices
that a trial may make and a site in use must not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DatabaseError
from django.utils import timezone

from crowdqc.deployment import production
from crowdqc.deployment.backup.records import BackupState, backup_state
from crowdqc.deployment.backup.recovery import recovery_problems, recovery_state

UNSENT = ("console", "dummy", "locmem", "filebased")


def _own(number: str, found: str, hint: str) -> list[CheckMessage]:
    return [Error(found, hint=hint, id=f"crowdqc.E{number}")] if found else []


@register(Tags.security, deploy=True)
def check_dangerous_settings(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Report settings with which production refuses to start."""
    found: list[CheckMessage] = []
    hint = f"Make one with: {production.GOOD_SECRET}"
    for name, keys in (
        ("SECRET_KEY", [settings.SECRET_KEY]),
        ("SECRET_KEY_FALLBACKS", settings.SECRET_KEY_FALLBACKS),
    ):
        for key in keys:
            if why := production.weak_secret(key):
                found += _own("001", f"{name} is weak: {why}.", hint)
    if why := production.open_hosts(settings.ALLOWED_HOSTS):
        found += _own("002", f"ALLOWED_HOSTS is open: {why}.", "Name the hosts of this site.")
    if settings.DEBUG:
        found += _own("003", "CROWDQC_DEBUG is on.", "Error pages show settings; leave it out.")
    if why := production.weak_database_password(settings.DATABASE_URL):
        found += _own("005", f"DATABASE_URL is weak: {why}.", "Use 24 random bytes or more.")
    return found


@register(Tags.security, deploy=True)
def check_mail(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that mail is delivered: sign-up and password reset need it."""
    if settings.CROWDQC_DEMO:
        return []
    backend = settings.EMAIL_BACKEND.rpartition(".")[0].rpartition(".")[2]
    if backend in UNSENT:
        said = f"EMAIL_URL sends no mail (backend {backend})."
        return _own("004", said, "For example smtp+tls://user:password@mail.example.org:587")
    if settings.DEFAULT_FROM_EMAIL.endswith("@localhost"):
        said = "DEFAULT_FROM_EMAIL is an address at localhost."
        return [Warning(said, hint="Mail servers refuse it.", id="crowdqc.W004")]
    return []


@register(Tags.security, deploy=True)
def check_transport(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that cookies and pages use TLS only, and that the proxy is known."""
    found: list[CheckMessage] = []
    if not (settings.SESSION_COOKIE_SECURE and settings.CSRF_COOKIE_SECURE):
        found += _own("007", "Cookies may travel without TLS.", "Leave out SECURE_COOKIES=false.")
    elif not settings.SESSION_COOKIE_NAME.startswith("__Host-"):
        found += _own("007", "The session's cookie is not bound to this host.", "__Host-sessionid")
    if not (settings.SECURE_SSL_REDIRECT and settings.SECURE_HSTS_SECONDS):
        hint = "Leave out SECURE_SSL_REDIRECT=false and SECURE_HSTS_SECONDS=0."
        found += _own("008", "Pages may travel without TLS.", hint)
    if not settings.CROWDQC_BASE_URL.startswith("https://"):
        found += _own("008", "Links in mails lead to http://.", "Set CROWDQC_BASE_URL.")
    if not settings.CROWDQC_TRUSTED_PROXIES:
        hint = "Give the proxy's address: without it all clients count as one, and none is on TLS."
        found += _own("009", "CROWDQC_TRUSTED_PROXIES is empty.", hint)
    elif any(text.endswith("/0") for text in settings.CROWDQC_TRUSTED_PROXIES):
        hint = "Anybody could claim any address."
        found += _own("009", "CROWDQC_TRUSTED_PROXIES trusts everybody.", hint)
    return found


@register(Tags.security, deploy=True)
def check_outbound_settings(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Check that requests to other hosts stay out of this network."""
    if not settings.CROWDQC_LOCAL_ENDPOINTS:
        return []
    said = "CROWDQC_LOCAL_ENDPOINTS lets requesters reach this machine's own network."
    return [Warning(said, hint="Only for models that run there.", id="crowdqc.W010")]


@register(Tags.database, deploy=True)
def check_backups(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that there is a recent backup that could be restored."""
    try:
        found = backup_problems(backup_state()) + recovery_problems(recovery_state())
    except DatabaseError:  # not migrated yet, or not reachable: others say so
        return []
    return [Warning(said, hint="docs/admin/backup.md", id=f"crowdqc.{id}") for id, said in found]


def backup_problems(state: BackupState) -> list[tuple[str, str]]:
    """List the problems of a site's backups, each with its check's number."""
    found = []
    late = dt.timedelta(hours=2 * settings.CROWDQC_BACKUP_HOURS)
    if state.made_at is None:
        found.append(("W011", "There is no backup."))
    elif state.made_at + late < timezone.now():
        found.append(("W012", f"The last backup is of {state.made_at:%Y-%m-%d %H:%M} UTC."))
    if state.failure:
        found.append(("W013", f"The last try to make a backup failed: {state.failure}"))
    if state.test_error:
        found.append(("W014", f"The last backup could not be restored: {state.test_error}"))
    if not settings.CROWDQC_BACKUP_FOLDER:
        found.append(("W015", "No backups are scheduled: CROWDQC_BACKUP_FOLDER is not set."))
    return found
