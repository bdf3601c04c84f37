"""The collecting side: what people author, answer and are paid for."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
