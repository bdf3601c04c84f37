"""Addresses of runs and scores in the API, and the end of all its addresses."""

from django.urls import path

from crowdqc.api import Unknown

from . import api, api_models

urlpatterns = [
    path("tasks/<int:task_id>/runs/", api.TaskRuns.as_view(), name="api_runs"),
    path("runs/<int:run_id>/", api.RunDetail.as_view(), name="api_run"),
    path("runs/<int:run_id>/cancel/", api.RunCancel.as_view(), name="api_run_cancel"),
    *(
        path(f"runs/<int:run_id>/scores/{kind}/", view.as_view(), name=f"api_scores_{kind}")
        for kind, view in api.SCORES.items()
    ),
    path(
        "projects/<int:project_id>/models/", api_models.ProjectModels.as_view(), name="api_models"
    ),
    path("tasks/<int:task_id>/asking/", api_models.TaskAsking.as_view(), name="api_asking"),
    path("tasks/<int:task_id>/asking/<slug:method>/", api_models.Ask.as_view(), name="api_ask"),
    path(
        "tasks/<int:task_id>/asking/<slug:method>/preview/",
        api_models.AskPreview.as_view(),
        name="api_ask_preview",
    ),
    path("runs/<int:run_id>/calls/", api_models.RunCalls.as_view(), name="api_run_calls"),
    path("<path:rest>", Unknown.as_view(), name="api_unknown"),
]
