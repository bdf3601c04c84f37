"""Addresses of the results of turns."""

from django.urls import path

from evaluation.turns import views

urlpatterns = [
    path("tasks/<int:task_id>/turns/", views.results, name="turn_results"),
    path("tasks/<int:task_id>/turns/export/", views.export, name="turn_export"),
]
