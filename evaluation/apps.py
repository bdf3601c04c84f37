"""The judging side: what the collected answers say about workers, items and systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from evaluation.embeddings.embeddings import Encoder

MAKERS = "evaluation.bundles.makers"


def _encoder_at_endpoint(slug: str) -> Encoder:
    from evaluation.llm import encoder  # its client takes most of a second to import

    return encoder.EndpointEncoder(encoder.model_of(slug))


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        """Register system checks, sealed fields and the encoders that models at endpoints are."""
        from annotation.formats.exports import makers
        from evaluation.demo import password_check as demo_check  # noqa: F401
        from evaluation.embeddings import embeddings

        embeddings.at_endpoint = _encoder_at_endpoint
        makers.MAKERS |= {"run": f"{MAKERS}.RUN", "bundle": f"{MAKERS}.BUNDLE"}
        makers.RECIPES.append(f"{MAKERS}.recipes")
