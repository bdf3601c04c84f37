"""Addresses of a project's first page and of a task's precision."""

from django.urls import path

from evaluation.overview import views

urlpatterns = [
    path("", views.project, name="project"),
    path("tasks/<int:task_id>/precision/", views.task_precision, name="task_precision"),
]
