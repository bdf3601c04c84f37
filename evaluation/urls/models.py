"""Addresses of language models: of a project, and on a task."""

from django.urls import URLPattern, URLResolver, path

from evaluation.llm.views import model_calls, models
from evaluation.llm_runs.views import model_tasks

ENDPOINT = "models/endpoints/<int:endpoint_id>/"
MODEL = "models/<int:model_id>/"
TASK = "tasks/<int:task_id>/models/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("models/", models.models, name="models"),
    path("models/prompts/", models.prompts, name="models_prompts"),
    path("models/calls/", model_calls.calls, name="models_calls"),
    path("models/calls/<int:call_id>/", model_calls.call, name="models_call"),
    path("models/endpoints/new/", models.endpoint_new, name="models_endpoint_new"),
    path(ENDPOINT, models.endpoint, name="models_endpoint"),
    path(f"{ENDPOINT}archive/", models.endpoint_archive, name="models_endpoint_archive"),
    path(f"{ENDPOINT}new/", models.model_new, name="models_model_new"),
    path(f"{ENDPOINT}names/", models.model_names, name="models_names"),
    path(MODEL, models.model, name="models_model"),
    path(f"{MODEL}probe/", models.model_probe, name="models_model_probe"),
    path(f"{MODEL}found/", models.model_found, name="models_model_found"),
    path(f"{MODEL}archive/", models.model_archive, name="models_model_archive"),
    path(TASK, model_tasks.task_models, name="task_models"),
    path(f"{TASK}live/", model_tasks.task_models_live, name="task_models_live"),
    path(f"{TASK}<slug:method>/", model_tasks.task_ask, name="task_ask"),
    path(f"{TASK}<slug:method>/preview/", model_tasks.task_ask_preview, name="task_ask_preview"),
]
