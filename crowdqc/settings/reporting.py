"""Logs, traces and reports of errors."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from crowdqc.settings.environment import ENVIRONMENT, env
from crowdqc.settings.web import MIDDLEWARE

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
    "loggers": {
        # A line for each request to a model; the attempts are rows.
        "httpx2": {"level": "WARNING"},
        # An error with its stack for whoever scans with a name that is not ours; it gets a 400.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
if LOGGING["root"]["level"] != "DEBUG":
    # Three lines for each of 80,000 periodic jobs a day; the metrics count them.
    LOGGING["filters"]["periodic"] = {"()": "crowdqc.jobs.schedule.OmitPeriodicJobs"}
    LOGGING["loggers"] |= {
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"filters": ["periodic"]},
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
