"""The judging side: what the collected answers say about workers, items and systems."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        """Register system checks and sealed fields."""
        from evaluation import demo_check  # noqa: F401
