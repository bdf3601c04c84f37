"""The environment, secrets, hosts and the addresses of database and broker."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from crowdqc.deployment import production
from crowdqc.deployment.installation import default_home

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parents[2]
ENVIRONMENT = env.str("CROWDQC_ENV", default="development")
if ENVIRONMENT not in {"development", "production"}:
    raise ImproperlyConfigured(
        f"CROWDQC_ENV is {ENVIRONMENT!r}; it must be 'development' or 'production'."
    )
PRODUCTION = ENVIRONMENT == "production"
DEBUG = env.bool("CROWDQC_DEBUG", default=False)
# A site that anybody may try: shared accounts, nothing leaves, and every night it begins anew.
CROWDQC_DEMO = env.str("CROWDQC_DEMO", default="")
if CROWDQC_DEMO not in {"", "public"}:
    raise ImproperlyConfigured(f"CROWDQC_DEMO is {CROWDQC_DEMO!r}; it must be 'public' or empty.")
# Where the embedded database and generated secrets live; unused in production.
HOME = default_home()


def require(name: str) -> str:
    """The value of a variable that production cannot do without."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ImproperlyConfigured(f"{name} is not set; CROWDQC_ENV=production needs it.")
    return value


def _development_secret() -> str:
    """A secret made once and kept, so that sessions and signed links survive a restart."""
    path = HOME / "secret_key"
    if not path.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another process of the same start was first
            return path.read_text().strip()
        with os.fdopen(fd, "w") as handle:
            handle.write(secrets.token_urlsafe(48))
    return path.read_text().strip()


def _database_url() -> str:
    """DATABASE_URL, or outside production the embedded cluster's deterministic address."""
    if PRODUCTION or os.environ.get("DATABASE_URL"):
        return require("DATABASE_URL")
    from crowdqc.devstack import database_url

    return database_url(HOME)


SECRET_KEY = (
    require("SECRET_KEY") if PRODUCTION else (os.environ.get("SECRET_KEY") or _development_secret())
)
ALLOWED_HOSTS = (
    require("ALLOWED_HOSTS").split(",")
    if PRODUCTION
    else env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]", "testserver"])
)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
# Earlier keys, newest first: what was signed and sealed with them is still read.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])

DATABASE_URL = _database_url()
if PRODUCTION:
    production.refuse_problems(globals())
BROKER_URL = require("BROKER_URL") if PRODUCTION else os.environ.get("BROKER_URL", "")
