"""Report errors to Sentry without personal data. Loaded only with SENTRY_DSN."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

INSTALL = 'SENTRY_DSN is set and sentry-sdk is not installed: pip install "sentry-sdk>=2.75"'


def scrub(event: dict[str, Any], hint: dict[str, Any]) -> dict[str, Any]:
    """Reduce an event to its place in the code: no address, body or person."""
    for part in ("request", "user", "breadcrumbs", "server_name", "extra", "logentry", "modules"):
        event.pop(part, None)
    event.pop("message", None)
    event.get("contexts", {}).pop("response", None)
    for error in event.get("exception", {}).get("values", []):
        error["value"] = ""
        for frame in error.get("stacktrace", {}).get("frames", []):
            frame.pop("vars", None)
    return event


def report_to_sentry(dsn: str, environment: str, **options: Any) -> None:
    """Start reporting errors of this process and its forks."""
    try:
        import sentry_sdk
        from sentry_sdk.integrations.celery import CeleryIntegration
        from sentry_sdk.integrations.django import DjangoIntegration
    except ImportError as error:
        raise ImproperlyConfigured(INSTALL) from error
    sentry_sdk.init(
        dsn=dsn,
        environment=environment,
        # By itself it loads every library that it knows of, which no page waits for.
        auto_enabling_integrations=False,
        integrations=[DjangoIntegration(), CeleryIntegration()],
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        traces_sample_rate=0.0,
        before_send=scrub,  # type: ignore[arg-type]
        **options,
    )
