"""The annotation app: what people author, answer and are paid for."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        """Register the job queue, system checks, and receivers of sign-ins and restores."""
        from django.contrib.auth.signals import user_logged_in

        from annotation.accounts import quotas  # noqa: F401
        from annotation.accounts.signing import signals  # noqa: F401
        from annotation.accounts.signing.middleware import begin_session
        from crowdqc import (
            celery,  # noqa: F401  # the application that jobs belong to
            plugins,
        )
        from crowdqc.deployment import checks  # noqa: F401
        from crowdqc.hooks import after_restore, is_read_only

        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            from crowdqc.deployment.traces import start_traces

            start_traces()  # before the handler of requests lists its middleware
        after_restore.register(_hold_payments)
        is_read_only.register(_is_read_only)
        plugins.add_check(_check_addition)
        user_logged_in.connect(begin_session, dispatch_uid="session-begins")


def _check_addition(addition: Any) -> None:
    from annotation.formats.registry import check_format_addition
    from annotation.gallery.templates import check_template_addition

    check_format_addition(addition)
    check_template_addition(addition)


def _hold_payments(made_at: str) -> list[str]:
    from annotation.payouts.actions.restored import hold_payments

    return hold_payments(made_at)


def _is_read_only() -> bool:
    from annotation.records.installation_state import current_state

    return current_state().is_read_only
