"""The evaluation app: what the collected answers say about workers, items and systems."""

from __future__ import annotations

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        """Register extension points, and the system check of the demo's passwords."""
        from evaluation import extensions  # noqa: F401
        from evaluation.llm.quotas import register_spend_quota
        from evaluation.runs.quotas import register_run_quota

        register_run_quota()
        register_spend_quota()
        from evaluation.demo import password_check  # noqa: F401
