"""Apps, middleware, templates, languages, cookies and headers."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

from crowdqc.deployment import languages
from crowdqc.deployment.installation import ASSETS
from crowdqc.metrics.folder import parse_listen
from crowdqc.settings.environment import CROWDQC_DEMO, PRODUCTION, env

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
    "crowdqc.web.anonymous_limit.AnonymousLimit",
    "annotation.accounts.signing.middleware.SessionLimits",
    "crowdqc.web.bodies.BodyLimit",
    "crowdqc.web.middleware.DomainErrors",
    "annotation.installation.middleware.ReadOnly",
    "annotation.accounts.security.middleware.StepUp",
    "annotation.accounts.projects.viewers.ViewerLinks",
]
# Entry points of the group crowdqc.plugins that are loaded; others that are installed are not.
CROWDQC_PLUGINS = env.list("CROWDQC_PLUGINS", default=[])
# Who reads /metrics shows this token; empty: there is no such page.
CROWDQC_METRICS_TOKEN = env.str("CROWDQC_METRICS_TOKEN", default="")
if 0 < len(CROWDQC_METRICS_TOKEN) < 24:
    raise ImproperlyConfigured("CROWDQC_METRICS_TOKEN needs at least 24 characters.")
# The port, or address and port, on which the processes of this program show their metrics.
CROWDQC_METRICS_LISTEN = env.str("CROWDQC_METRICS_LISTEN", default="")
try:
    parse_listen(CROWDQC_METRICS_LISTEN)
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error
if CROWDQC_METRICS_TOKEN or CROWDQC_METRICS_LISTEN:
    MIDDLEWARE.insert(0, "crowdqc.web.metrics.RequestMetrics")
if CROWDQC_DEMO:
    MIDDLEWARE.append("annotation.installation.public_demo.PublicDemo")
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
                "evaluation.results.stored_texts",
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
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_I18N = True
USE_TZ = True

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
