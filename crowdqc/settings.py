"""Settings, all from the environment; production refuses to start on anything left out."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from crowdqc.deployment import languages, production
from crowdqc.deployment.installation import ASSETS, default_home, read_version
from crowdqc.files.places import configured_storages, s3_options
from crowdqc.jobs import schedule

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
HOME = default_home()


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


SECRET_KEY = (
    _required("SECRET_KEY")
    if PRODUCTION
    else (os.environ.get("SECRET_KEY") or _development_secret())
)
ALLOWED_HOSTS = (
    _required("ALLOWED_HOSTS").split(",")
    if PRODUCTION
    else env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]", "testserver"])
)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
# Earlier keys, newest first: what was signed and sealed with them is still read.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])

DATABASE_URL = _database_url()
if PRODUCTION:
    production.refuse_problems(globals())
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
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "annotation",
    "evaluation",
]
MIDDLEWARE = [
    "crowdqc.outbound.web_request.NoOutboundCalls",
    "crowdqc.web.forwarded.Forwarded",
    "crowdqc.web.middleware.SecurityHeaders",
    "crowdqc.web.public.StripSession",
    "django.middleware.security.SecurityMiddleware",
    "crowdqc.web.health.Probes",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "crowdqc.web.language.Language",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "crowdqc.web.public.AnonymousLimit",
    "annotation.accounts.signing.middleware.SessionLimits",
    "crowdqc.web.bodies.BodyLimit",
    "crowdqc.web.middleware.DomainErrors",
    "annotation.accounts.security.middleware.StepUp",
]
# Who reads /metrics shows this token; empty: there is no such page, and nothing is counted.
CROWDQC_METRICS_TOKEN = env.str("CROWDQC_METRICS_TOKEN", default="")
if CROWDQC_METRICS_TOKEN:
    if len(CROWDQC_METRICS_TOKEN) < 24:
        raise ImproperlyConfigured("CROWDQC_METRICS_TOKEN needs at least 24 characters.")
    MIDDLEWARE.insert(0, "crowdqc.web.metrics.RequestMetrics")
ROOT_URLCONF = "crowdqc.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ASSETS / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "evaluation.shell.shell",
            ],
            "builtins": [
                "annotation.templatetags.crowdqc",
                "crowdqc.web.tables",
                "django.templatetags.i18n",
            ],
            "loaders": [
                (
                    "crowdqc.web.templates.Loader",
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
DATABASES["default"]["ENGINE"] = "crowdqc.database.postgresql"
_database = DATABASES["default"].setdefault("OPTIONS", {})
# Rows are read to the end: no plan favours the first tenth. What is prepared looks rows up by keys.
_plans = "-c cursor_tuple_fraction=1 -c plan_cache_mode=force_generic_plan"
_database["options"] = f"{_database.get('options', '')} {_plans}".strip()
# Statements of crowdqc.database.compiled are prepared after so many uses of a connection.
DATABASES["default"]["OPTIONS"]["prepare_threshold"] = 3
# A pooled connection is tested before use: none outlives a restart of the server.
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# A server that is gone without a word is noticed: by a new connection, and by one that waits.
for _name, _seconds in {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}.items():
    DATABASES["default"]["OPTIONS"].setdefault(_name, _seconds)
# Threads of one web process share these connections (crowdqc.web.server); jobs, commands and tests
# open their own, whatever is set here.
CROWDQC_POOL = {
    "min_size": 1,
    "max_size": env.int("CROWDQC_POOL_SIZE", default=10),
    "timeout": 1.0,  # seconds that a request waits for a connection
    # The breaker tries until the database is back; the pool gives up, and is free to try then.
    "reconnect_timeout": 0.5,
}
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # What all web processes must agree on, and may lose. Limits have a table of their own.
    "shared": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "crowdqc_cache",
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "annotation.User"
AUTHENTICATION_BACKENDS = ["annotation.accounts.signing.backends.AccountBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# What pages without a catalogue, jobs and files are written in (docs/develop/translate.md).
LANGUAGE_CODE = "en-gb"
LANGUAGES = languages.LANGUAGES
LOCALE_PATHS = [ASSETS / "locale"]
# For people who chose no language and whose browser asks for none of these, and for their mail.
CROWDQC_LANGUAGE = env.str("CROWDQC_LANGUAGE", default=LANGUAGE_CODE)
if CROWDQC_LANGUAGE not in dict(LANGUAGES):
    raise ImproperlyConfigured(
        f"CROWDQC_LANGUAGE is {CROWDQC_LANGUAGE!r}; it must be one of "
        f"{', '.join(code for code, _ in LANGUAGES)}."
    )
LANGUAGE_COOKIE_SECURE = env.bool("SECURE_COOKIES", default=PRODUCTION)
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_AGE = 365 * 86_400
CROWDQC_TRANSLATED_VIEWS = (
    *languages.TRANSLATED_VIEWS,
    "evaluation.people.views.data.own_data_erase",
    "evaluation.people.views.workers.own_card",
    "evaluation.writing.replay.views.own_replay",
)
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(HOME / "static")))
STATICFILES_DIRS = [ASSETS / "static"]
STATICFILES_FINDERS = [
    "crowdqc.web.bundles.BundleFinder",
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]
# Files (docs/admin/storage.md): those made for downloading, uploads, images and recordings.
CROWDQC_S3_OPTIONS = s3_options(env)
CROWDQC_FILE_PLACES = configured_storages(env, CROWDQC_S3_OPTIONS)
CROWDQC_FILES = env.str("CROWDQC_FILES", default="database")
if CROWDQC_FILES not in CROWDQC_FILE_PLACES:
    raise ImproperlyConfigured(
        "CROWDQC_FILES must be 'database', 'folder' (with CROWDQC_FILES_FOLDER) or 's3' (with "
        "CROWDQC_S3_BUCKET)."
    )
STORAGES = {
    **CROWDQC_FILE_PLACES,
    "default": CROWDQC_FILE_PLACES[CROWDQC_FILES],
    "staticfiles": {"BACKEND": f"crowdqc.web.static.{'Hashed' if PRODUCTION else 'Plain'}Storage"},
}
# Without a collected manifest the finders serve the files, so a fresh clone needs no extra step.
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = not PRODUCTION

# Where make docs has built the documentation, which is then served at /docs/.
CROWDQC_DOCS = Path(env.str("CROWDQC_DOCS", default=str(BASE_DIR / "build" / "docs")))

# -- proxies and limits for anonymous requests ----------------------------------------------------
# Addresses or networks of the proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
CROWDQC_TRUSTED_PROXIES = env.list("CROWDQC_TRUSTED_PROXIES", default=[])
# Requests a minute that one network may send to one web process without signing in; 0: no limit.
CROWDQC_ANONYMOUS_REQUESTS = env.int("CROWDQC_ANONYMOUS_REQUESTS", default=600)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("SECURE_COOKIES", default=PRODUCTION)
if SESSION_COOKIE_SECURE:  # such a name is refused by browsers where another host sets it
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
SESSION_ENGINE = "annotation.accounts.signing.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=PRODUCTION)
# Probes and scrapes come over plain HTTP from inside the network.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=31536000 if PRODUCTION else 0)
# Both bind more than this site: all names below it, and the lists that browsers are built with.
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("SECURE_HSTS_INCLUDE_SUBDOMAINS", default=False)
SECURE_HSTS_PRELOAD = env.bool("SECURE_HSTS_PRELOAD", default=False)
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]  # these are choices
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# crowdqc.web.bodies bounds whole requests; this bounds what of one is held in memory besides files.
DATA_UPLOAD_MAX_MEMORY_SIZE = 20 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000

# Without mail nobody can sign up or be invited, so production is told; consolemail:// is an answer.
EMAIL_URL = _required("EMAIL_URL") if PRODUCTION else ""
EMAIL_CONFIG = env.email("EMAIL_URL", default="consolemail://")
globals().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="crowdqc@localhost")
EMAIL_TIMEOUT = 10  # seconds that a mail server may take


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

# -- Accounts (annotation/accounts) ----------------------------------------------------------------
# Who may create an account: "open"; "closed", only whoever has an invitation; "sso", these and
# whoever the provider below lets in. With domains, only addresses of these may.
CROWDQC_SIGNUP = env.str("CROWDQC_SIGNUP", default="open")
if CROWDQC_SIGNUP not in {"open", "closed", "sso"}:
    raise ImproperlyConfigured("CROWDQC_SIGNUP must be 'open', 'closed' or 'sso'.")
CROWDQC_SIGNUP_DOMAINS = [d.lower() for d in env.list("CROWDQC_SIGNUP_DOMAINS", default=[])]
# Days after which a session ends: unused, and in any case.
CROWDQC_SESSION_IDLE_DAYS = env.int("CROWDQC_SESSION_IDLE_DAYS", default=14)
CROWDQC_SESSION_DAYS = env.int("CROWDQC_SESSION_DAYS", default=30)
SESSION_COOKIE_AGE = CROWDQC_SESSION_DAYS * 86_400
ACCOUNT_ADAPTER = "annotation.accounts.signing.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "annotation.accounts.signing.forms.SignInForm",
    "signup": "annotation.accounts.signing.forms.SignUpForm",
    "add_email": "annotation.accounts.signing.forms.EmailForm",
    "change_password": "annotation.accounts.signing.forms.ChangePasswordForm",
    "set_password": "annotation.accounts.signing.forms.SetPasswordForm",
    "reset_password": "annotation.accounts.signing.forms.ResetPasswordForm",
    "reset_password_from_key": "annotation.accounts.signing.forms.NewPasswordForm",
    "confirm_email_verification_code": "annotation.accounts.signing.forms.EmailCodeForm",
    "reauthenticate": "annotation.accounts.signing.forms.ReauthenticateForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
# By a code that is typed where one signed up, and not by a link: whoever is sent a link could be
# led to prove their address for somebody else's account.
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT = 30 * 60
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = 3
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_USER_DISPLAY = str
# Those of the library forget under load; crowdqc.limits counts.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ALLAUTH_TRUSTED_PROXY_COUNT = 0  # crowdqc.web.forwarded has set REMOTE_ADDR
MFA_ADAPTER = "annotation.accounts.signing.adapter.FactorAdapter"
MFA_FORMS = {
    "authenticate": "annotation.accounts.signing.forms.CodeForm",
    "reauthenticate": "annotation.accounts.signing.forms.ReauthenticateCodeForm",
    "activate_totp": "annotation.accounts.signing.forms.AddAppForm",
    "add_webauthn": "annotation.accounts.signing.forms.AddPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = MFA_TRUST_ENABLED = MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TRUST_COOKIE_AGE = 30 * 86_400
MFA_TRUST_COOKIE_NAME = "__Host-trusted" if SESSION_COOKIE_SECURE else "trusted"
MFA_TOTP_ISSUER = "crowdqc"
MFA_TOTP_TOLERANCE = 1
# Single sign-on with one provider of OpenID Connect, where its address is set.
OIDC_SERVER_URL = env.str("OIDC_SERVER_URL", default="")
OIDC_NAME = env.str("OIDC_NAME", default="Single sign-on")
SOCIALACCOUNT_ADAPTER = "annotation.accounts.signing.sso.SsoAdapter"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = False
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": OIDC_NAME,
                "client_id": env.str("OIDC_CLIENT_ID", default=""),
                "secret": env.str("OIDC_CLIENT_SECRET", default=""),
                "settings": {"server_url": OIDC_SERVER_URL.rstrip("/")},
            }
        ]
        if OIDC_SERVER_URL
        else [],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotation.api.frame.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "annotation.api.frame.auth.InScope",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["crowdqc.web.parsers.JSONBody"],
    "DEFAULT_SCHEMA_CLASS": "annotation.api.frame.base.Schema",
    "EXCEPTION_HANDLER": "annotation.api.frame.base.refusal_response",
    "NUM_PROXIES": 0,  # crowdqc.web.forwarded has set REMOTE_ADDR
}
SPECTACULAR_SETTINGS = {
    "TITLE": "crowdqc",
    "DESCRIPTION": "Collect, score, review and pay, with the same permissions as the browser.",
    "VERSION": read_version(),
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "Role": "annotation.models.people.Role",
        "TaskState": "annotation.models.tasks.TaskState",
        "AssignmentState": "annotation.models.assignments.AssignmentState",
        "RunState": "evaluation.models.RunState",
        "DecisionEnum": "annotation.models.PayoutLine.Decision",
        "WorkDecision": "annotation.models.decisions.Decision",
        "PayoutState": "annotation.models.PayoutBatch.State",
        "PaymentState": "annotation.models.Payment.State",
        "FileState": "annotation.models.ExportFile.State",
        "DeliveryState": "annotation.models.HookDelivery.State",
        "LedgerKind": "annotation.models.LedgerEntry.Kind",
        "RecruitmentKind": "annotation.models.Recruitment.Kind",
        "RejectionOutcome": "annotation.models.Rejection.Outcome",
        "StaffRole": ["requester", "manager"],
        "CorrectionState": "annotation.models.Correction.State",
        "RoleGrantState": "annotation.models.RoleGrant.State",
    },
}

# Folders (and all below them) from which runs may take a sentence model or a cross-encoder, by the
# name of its folder or by its path.
CROWDQC_ENCODER_DIRS = env.list("CROWDQC_ENCODER_DIRS", default=[])
# Where sentence models compute: auto (an accelerator if there is one), cuda, cuda:1, mps or cpu.
CROWDQC_DEVICE = env.str("CROWDQC_DEVICE", default="auto")
# Texts that one worker encodes at a time; what a killed worker loses at most.
CROWDQC_SHARD_TEXTS = env.int("CROWDQC_SHARD_TEXTS", default=1024)
# Days for which vectors stay that no run has read; 0: for ever.
CROWDQC_VECTOR_DAYS = env.int("CROWDQC_VECTOR_DAYS", default=90)
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

# Calls to other systems: the seconds that one may take in all (payments: above; models: each
# endpoint says), and how long a job may wait in its queue before /readyz says that it is stuck.
CROWDQC_KEYS_TIMEOUT = env.float("CROWDQC_KEYS_TIMEOUT", default=5.0)
CROWDQC_WEBHOOK_TIMEOUT = env.float("CROWDQC_WEBHOOK_TIMEOUT", default=15.0)
CROWDQC_PROBE_TIMEOUT = env.float("CROWDQC_PROBE_TIMEOUT", default=120.0)  # all its questions
CROWDQC_QUEUE_AGE = env.float("CROWDQC_QUEUE_AGE", default=600.0)
# Seconds after which a run is stopped: one that computes, and one that asks language models.
CROWDQC_RUN_LIMIT = env.int("CROWDQC_RUN_LIMIT", default=6 * 3600)
CROWDQC_MODEL_RUN_LIMIT = env.int("CROWDQC_MODEL_RUN_LIMIT", default=24 * 3600)
# Megabytes that a process which works on jobs may hold: a run that would need more is refused, or
# fails. -1: 40 % of the machine's or container's memory, and at least 2 GB; 0: no limit.
CROWDQC_JOB_MEMORY = env.int("CROWDQC_JOB_MEMORY", default=-1)
# How much a person, a project and the installation may have, where it is not the default
# (annotation/accounts/quotas.py): projects=200,megabytes=500000.
CROWDQC_QUOTAS = env.dict("CROWDQC_QUOTAS", default={})
CROWDQC_JOB_QUEUES = schedule.JOB_QUEUES
# Files that are imported: the most bytes, rows and columns of one.
CROWDQC_IMPORT_MAX_BYTES = env.int("CROWDQC_IMPORT_MAX_BYTES", default=64 * 1024 * 1024)
CROWDQC_IMPORT_MAX_ROWS = env.int("CROWDQC_IMPORT_MAX_ROWS", default=500_000)
CROWDQC_IMPORT_MAX_COLUMNS = env.int("CROWDQC_IMPORT_MAX_COLUMNS", default=500)
# How often an hour a worker may take a task again that they returned.
CROWDQC_RETURNS_AN_HOUR = env.int("CROWDQC_RETURNS_AN_HOUR", default=5)
# Step-up and the security log.
# Whoever approves or sends money needs a second factor; a project's owner may say otherwise.
CROWDQC_REQUIRE_SECOND_FACTOR = env.bool("CROWDQC_REQUIRE_SECOND_FACTOR", default=PRODUCTION)
# Seconds for which a sign-in or confirmation is good enough to move money.
ACCOUNT_REAUTHENTICATION_TIMEOUT = env.int("CROWDQC_CONFIRM_AFTER", default=900)
# Days for which the security log is kept.
CROWDQC_SECURITY_LOG_DAYS = env.int("CROWDQC_SECURITY_LOG_DAYS", default=180)

# -- backups (docs/admin/backup.md) ----------------------------------------------------------------
# The folder or s3://bucket/folder they go to, and a file whose first line encrypts them.
CROWDQC_BACKUP_FOLDER = env.str("CROWDQC_BACKUP_FOLDER", default="")
CROWDQC_BACKUP_PASSPHRASE_FILE = env.str("CROWDQC_BACKUP_PASSPHRASE_FILE", default="")
# Hours between two, how many are kept, and days between two tests that restore one (0: none).
CROWDQC_BACKUP_HOURS = env.float("CROWDQC_BACKUP_HOURS", default=24.0)
CROWDQC_BACKUP_KEEP = env.int("CROWDQC_BACKUP_KEEP", default=14)
CROWDQC_BACKUP_TEST_DAYS = env.float("CROWDQC_BACKUP_TEST_DAYS", default=7.0)

CELERY_BEAT_SCHEDULE = schedule.PERIODIC

LOG_FORMAT = env.str("LOG_FORMAT", default="plain")
if LOG_FORMAT not in {"plain", "json"}:
    raise ImproperlyConfigured("LOG_FORMAT must be 'plain' or 'json'.")
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {"short": {"()": "crowdqc.database.breaker.OmitTraceback"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["short"],
        }
    },
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    # A line for each request to a model; the attempts are rows.
    "loggers": {"httpx2": {"level": "WARNING"}},
}
if LOG_FORMAT == "json":
    LOGGING["formatters"]["json"] = {"()": "crowdqc.deployment.logs.json_formatter"}
    # Django and gunicorn have handlers of their own, which would write lines for people.
    LOGGING["loggers"] |= {
        name: {"handlers": [], "propagate": True} for name in ("django", "gunicorn.error")
    }
    MIDDLEWARE.insert(0, "crowdqc.deployment.logs.RequestIds")

# Where traces go; empty: nowhere (annotation.apps starts them).
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")
SENTRY_DSN = env.str("SENTRY_DSN", default="")
if SENTRY_DSN:
    from crowdqc.deployment.errors import report_to_sentry

    report_to_sentry(SENTRY_DSN, ENVIRONMENT)
