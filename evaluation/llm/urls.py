"""Addresses of a project's language models."""

from django.urls import URLPattern

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.llm.views import models, prompts

ENDPOINT = "models/endpoints/<int:endpoint_id>/"
PROMPT = "models/prompts/<int:prompt_id>/"
MODEL = "models/<int:model_id>/"


def endpoint_patterns(prefix: str) -> list[URLPattern]:
    """Addresses of the endpoints of a project or an organisation; ``prefix`` begins their names."""
    rows = (
        ("models/endpoints/new/", models.endpoint_new, "endpoint_new"),
        (ENDPOINT, models.endpoint, "endpoint"),
        (f"{ENDPOINT}archive/", models.endpoint_archive, "endpoint_archive"),
        (f"{ENDPOINT}new/", models.model_new, "model_new"),
        (f"{ENDPOINT}names/", models.model_names, "names"),
        (MODEL, models.model, "model"),
        (f"{MODEL}probe/", models.model_probe, "model_probe"),
        (f"{MODEL}found/", models.model_found, "model_found"),
        (f"{MODEL}archive/", models.model_archive, "model_archive"),
    )
    return [path(address, view, name=f"{prefix}_{name}") for address, view, name in rows]


urlpatterns = [
    path("models/", models.models, name="models"),
    path("models/prompts/", prompts.prompts, name="models_prompts"),
    path("models/prompts/new/", prompts.prompt_new, name="models_prompt_new"),
    path(PROMPT, prompts.prompt, name="models_prompt"),
    path(f"{PROMPT}edit/", prompts.prompt_edit, name="models_prompt_edit"),
    path(f"{PROMPT}try/", prompts.prompt_try, name="models_prompt_try"),
    path("models/calls/", models.calls, name="models_calls"),
    path("models/calls/<int:call_id>/", models.call, name="models_call"),
    *endpoint_patterns("models"),
]
