"""Addresses of the results of checklist tasks."""

from django.urls import URLPattern, URLResolver, path

from evaluation.checklists.views import checks

TASK = "tasks/<int:task_id>/checks/"

urlpatterns: list[URLPattern | URLResolver] = [
    path(TASK, checks.results, name="checklist_results"),
    path(f"{TASK}scores/", checks.scores, name="checklist_scores"),
]
