"""The judging side: what the collected answers say about workers, items and systems."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
