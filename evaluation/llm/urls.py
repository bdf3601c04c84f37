"""Addresses of a project's language models."""

from django.urls import path

from evaluation.llm.views import models, prompts

ENDPOINT = "models/endpoints/<int:endpoint_id>/"
PROMPT = "models/prompts/<int:prompt_id>/"
MODEL = "models/<int:model_id>/"

urlpatterns = [
    path("models/", models.models, name="models"),
    path("models/prompts/", prompts.prompts, name="models_prompts"),
    path("models/prompts/new/", prompts.prompt_new, name="models_prompt_new"),
    path(PROMPT, prompts.prompt, name="models_prompt"),
    path(f"{PROMPT}edit/", prompts.prompt_edit, name="models_prompt_edit"),
    path(f"{PROMPT}try/", prompts.prompt_try, name="models_prompt_try"),
    path("models/calls/", models.calls, name="models_calls"),
    path("models/calls/<int:call_id>/", models.call, name="models_call"),
    path("models/endpoints/new/", models.endpoint_new, name="models_endpoint_new"),
    path(ENDPOINT, models.endpoint, name="models_endpoint"),
    path(f"{ENDPOINT}archive/", models.endpoint_archive, name="models_endpoint_archive"),
    path(f"{ENDPOINT}new/", models.model_new, name="models_model_new"),
    path(f"{ENDPOINT}names/", models.model_names, name="models_names"),
    path(MODEL, models.model, name="models_model"),
    path(f"{MODEL}probe/", models.model_probe, name="models_model_probe"),
    path(f"{MODEL}found/", models.model_found, name="models_model_found"),
    path(f"{MODEL}archive/", models.model_archive, name="models_model_archive"),
]
