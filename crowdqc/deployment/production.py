"""Settings that production refuses; ``check --deploy`` shows them.

Each function says in a sentence what is wrong, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SHORTEST_SECRET = 50  # as Django itself warns
GOOD_SECRET = 'python3 -c "import secrets; print(secrets.token_urlsafe(48))"'  # noqa: S105 - a command
# Parts of keys that stand in documentation, templates and tests.
KNOWN_SECRETS = (
    "django-insecure",
    "changeme",
    "change-me",
    "change_me",
    "change this",
    "your-secret",
    "your_secret",
    "secret-key",
    "secret_key",
    "replace",
    "example",
    "insecure",
    "tests only",
)
KNOWN_PASSWORDS = {
    "postgres",
    "postgresql",
    "crowdqc",
    "password",
    "passwort",
    "secret",
    "changeme",
    "admin",
    "root",
    "test",
    "example",
    "letmein",
    "qwerty",
}
SHORTEST_PASSWORD = 12


def weak_secret(value: str) -> str:
    """Return why a signing key is weak."""
    low = value.lower()
    if any(part in low for part in KNOWN_SECRETS):
        return "it is a placeholder that everybody knows"
    if len(value) < SHORTEST_SECRET:
        return f"it has {len(value)} characters, at least {SHORTEST_SECRET} are needed"
    if len(set(value)) < 12 or value in (value + value)[1:-1]:
        return "it repeats itself"
    return ""


def open_hosts(hosts: Sequence[str]) -> str:
    """Return why a list of allowed hosts admits any name."""
    if not any(host.strip() for host in hosts):
        return "it is empty"
    for host in hosts:
        name = host.strip()
        if name == "*" or (name.startswith(".") and "." not in name[1:]):
            return f"{name!r} lets in every name"
    return ""


def weak_database_password(url: str) -> str:
    """Return why the database password is weak; none means other authentication."""
    parts = urlsplit(url)
    password = unquote(parts.password or "")
    if not password:
        return ""
    if password.lower() in {*KNOWN_PASSWORDS, (parts.username or "").lower(), parts.path[1:]}:
        return "its password is a default that everybody knows"
    if len(password) < SHORTEST_PASSWORD:
        return f"its password has fewer than {SHORTEST_PASSWORD} characters"
    return ""


def find_problems(values: Mapping[str, object]) -> list[str]:
    """List all dangerous settings, each with its variable and remedy."""
    found = []
    secrets = [str(values["SECRET_KEY"])]
    for name in ("SECRET_KEY", "SECRET_KEY_FALLBACKS"):
        keys = secrets if name == "SECRET_KEY" else list(values[name])  # type: ignore[call-overload]
        for key in keys:
            if why := weak_secret(key):
                found.append(f"{name} is weak: {why}. Make one with: {GOOD_SECRET}")
    if why := open_hosts(list(values["ALLOWED_HOSTS"])):  # type: ignore[call-overload]
        found.append(
            f"ALLOWED_HOSTS is open: {why}. Name the hosts this site is reached by: "
            "crowd.example.org"
        )
    if values["DEBUG"]:
        found.append("CROWDQC_DEBUG is on: error pages would show settings. Leave it out.")
    if why := weak_database_password(str(values["DATABASE_URL"])):
        found.append(
            f"DATABASE_URL is weak: {why}. Make one with: "
            'python3 -c "import secrets; print(secrets.token_hex(24))"'
        )
    return found


def refuse_problems(values: Mapping[str, object]) -> None:
    """Refuse to start production, naming all problems at once."""
    if found := find_problems(values):
        raise ImproperlyConfigured(
            "CROWDQC_ENV=production does not start:\n" + "\n".join(f"- {text}" for text in found)
        )
