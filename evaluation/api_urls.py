"""Addresses of runs and scores in the API, and the end of all its addresses."""

from django.urls import path

from crowdqc.api import Unknown

from . import api

urlpatterns = [
    path("tasks/<int:task_id>/runs/", api.TaskRuns.as_view(), name="api_runs"),
    path("runs/<int:run_id>/", api.RunDetail.as_view(), name="api_run"),
    path("runs/<int:run_id>/cancel/", api.RunCancel.as_view(), name="api_run_cancel"),
    *(
        path(f"runs/<int:run_id>/scores/{kind}/", view.as_view(), name=f"api_scores_{kind}")
        for kind, view in api.SCORES.items()
    ),
    path("<path:rest>", Unknown.as_view(), name="api_unknown"),
]
