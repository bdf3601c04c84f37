"""Settings, all from the environment; production refuses to start on anything left out."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = env.str("CROWDQC_ENV", default="development")
if ENVIRONMENT not in {"development", "production"}:
    raise ImproperlyConfigured(
        f"CROWDQC_ENV is {ENVIRONMENT!r}; it must be 'development' or 'production'."
    )
PRODUCTION = ENVIRONMENT == "production"
DEBUG = env.bool("CROWDQC_DEBUG", default=False)
# Where the embedded database and generated secrets live; unused in production.
HOME = Path(env.str("CROWDQC_HOME", default=str(BASE_DIR / "var"))).resolve()


def _required(name: str) -> str:
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
        return _required("DATABASE_URL")
    from crowdqc.devstack import database_url

    return database_url(HOME)


SECRET_KEY = _required("SECRET_KEY") if PRODUCTION else (
    os.environ.get("SECRET_KEY") or _development_secret()
)  # fmt: skip
ALLOWED_HOSTS = (
    _required("ALLOWED_HOSTS").split(",")
    if PRODUCTION
    else env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]", "testserver"])
)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

DATABASE_URL = _database_url()
BROKER_URL = _required("BROKER_URL") if PRODUCTION else os.environ.get("BROKER_URL", "")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "annotation",
    "evaluation",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "crowdqc.middleware.ContentSecurityPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "crowdqc.middleware.DomainErrors",
]
ROOT_URLCONF = "crowdqc.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "crowdqc.context.shell",
            ],
            "builtins": ["annotation.templatetags.crowdqc"],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
        },
    }
]

DATABASES = {"default": env.db_url_config(DATABASE_URL)}
DATABASES["default"].setdefault("OPTIONS", {})
# Rows are read to the end, so no plan is to favour the first tenth of them.
_options = (DATABASES["default"]["OPTIONS"].get("options", ""), "-c cursor_tuple_fraction=1")
DATABASES["default"]["OPTIONS"]["options"] = " ".join(_options).strip()
# A pooled connection is tested before use: none outlives a restart of the server.
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# Threads of one web process share these connections; jobs and tests open their own.
if env.bool("CROWDQC_POOL", default=False):
    DATABASES["default"]["OPTIONS"]["pool"] = {
        "min_size": 2,
        "max_size": env.int("CROWDQC_POOL_SIZE", default=10),
        "timeout": 10,
    }
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # What all web processes must agree on: how often somebody tried to sign in.
    "shared": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "crowdqc_cache",
    },
}  # fmt: skip
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "annotation.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(HOME / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
# Without a collected manifest the finders serve the files, so a fresh clone needs no extra step.
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = not PRODUCTION

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("SECURE_COOKIES", default=PRODUCTION)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=PRODUCTION)
# Health probes come over plain HTTP from inside the network.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=31536000 if PRODUCTION else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PRODUCTION
if env.bool("BEHIND_TLS_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 20 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000

EMAIL_CONFIG = env.email("EMAIL_URL", default="consolemail://")
globals().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="crowdqc@localhost")
EMAIL_TIMEOUT = 20  # seconds that a mail server may take


def _base_url() -> str:
    """Where this site is reached, for links in mails, which no request stands behind."""
    host = ALLOWED_HOSTS[0].lstrip(".*") if PRODUCTION else ""
    url = env.str("CROWDQC_BASE_URL", default="") or (
        f"https://{host}" if host else "" if PRODUCTION else "http://127.0.0.1:8000"
    )
    if not url.startswith(("http://", "https://")):
        raise ImproperlyConfigured("CROWDQC_BASE_URL must begin with http:// or https://.")
    return url.rstrip("/")


CROWDQC_BASE_URL = _base_url()

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotation.api.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "annotation.api.auth.InScope",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "crowdqc.api.Schema",
    "EXCEPTION_HANDLER": "crowdqc.api.refused",
    # Proxies before the web process whose X-Forwarded-For is believed when requests are counted.
    "NUM_PROXIES": env.int("NUM_PROXIES", default=0),
}
SPECTACULAR_SETTINGS = {
    "TITLE": "crowdqc",
    "DESCRIPTION": "Collect, score, review and pay, with the same permissions as the browser.",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "Role": "annotation.models.people.Role",
        "TaskState": "annotation.models.tasks.TaskState",
        "AssignmentState": "annotation.models.assignments.AssignmentState",
        "RunState": "evaluation.models.RunState",
        "PayoutState": "annotation.models.PayoutBatch.State",
        "PaymentState": "annotation.models.Payment.State",
        "FileState": "annotation.models.ExportFile.State",
        "DeliveryState": "annotation.models.HookDelivery.State",
        "LedgerKind": "annotation.models.LedgerEntry.Kind",
        "RecruitmentKind": "annotation.models.Recruitment.Kind",
        "RejectionOutcome": "annotation.models.Rejection.Outcome",
    },
}

# Folders (and all below them) from which runs may take a sentence model by its path.
CROWDQC_ENCODER_DIRS = env.list("CROWDQC_ENCODER_DIRS", default=[])
# Whether endpoints of language models may lie in this machine's own or a private network.
CROWDQC_LOCAL_ENDPOINTS = env.bool("CROWDQC_LOCAL_ENDPOINTS", default=not PRODUCTION)
# Variables that may hold an endpoint's key: NAME, NAME@host, or *_API_KEY for all that end so.
CROWDQC_KEY_VARIABLES = env.list(
    "CROWDQC_KEY_VARIABLES", default=[] if PRODUCTION else ["*_API_KEY"]
)

# Seconds of paying through a platform: how long one worker has a payment for itself and waits for
# an answer, when it looks again, after how long without a trace a bonus counts as not paid (far
# above what the platform needs, which Prolific calls minutes), and when a person is asked.
CROWDQC_PAYMENT_LEASE = env.float("CROWDQC_PAYMENT_LEASE", default=120.0)
CROWDQC_PAYMENT_TIMEOUT = env.float("CROWDQC_PAYMENT_TIMEOUT", default=20.0)
CROWDQC_PAYMENT_CHECK = env.float("CROWDQC_PAYMENT_CHECK", default=60.0)
CROWDQC_PAYMENT_SETTLE = env.float("CROWDQC_PAYMENT_SETTLE", default=7200.0)
CROWDQC_PAYMENT_GIVE_UP = env.float("CROWDQC_PAYMENT_GIVE_UP", default=86400.0)

CELERY_BEAT_SCHEDULE = {
    "look-after-files": {"task": "annotation.jobs.look_after_files", "schedule": 60.0},
    "release-expired-leases": {"task": "annotation.jobs.release_expired", "schedule": 30.0},
    # Hourly: the schedule counts from the start, and a stack may not run for a whole day.
    "forget-old-replies": {"task": "annotation.jobs.forget_old_replies", "schedule": 3600.0},
    "remind-overdue-replies": {
        "task": "annotation.jobs.remind_overdue_replies",
        "schedule": 3600.0,
    },
    "erase-due-logs": {"task": "annotation.jobs.erase_due_logs", "schedule": 3600.0},
    "erase-due-texts": {"task": "evaluation.jobs.erase_due_texts", "schedule": 3600.0},
    "erase-waiting-workers": {"task": "evaluation.jobs.erase_waiting", "schedule": 60.0},
    "forget-what-has-done-its-work": {"task": "annotation.jobs.sweep", "schedule": 3600.0},
    "send-payments": {"task": "annotation.jobs.send_payments", "schedule": 15.0},
    "start-due-runs": {"task": "evaluation.jobs.start_due_runs", "schedule": 15.0},
    "adapt-collections": {"task": "evaluation.jobs.adapt_all", "schedule": 10.0},
    "resume-abandoned-runs": {"task": "evaluation.jobs.resume_abandoned", "schedule": 20.0},
    "send-mail": {"task": "annotation.jobs.send_mail", "schedule": 30.0},
    "deliver-hooks": {"task": "annotation.jobs.deliver_hooks", "schedule": 10.0},
    "forget-told": {"task": "annotation.jobs.forget_told", "schedule": 3600.0},
    "tell-states": {"task": "annotation.jobs.tell_states", "schedule": 60.0},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    # A line for each request to a model; the attempts are rows.
    "loggers": {"httpx2": {"level": "WARNING"}},
}
