"""The address of the test whether a model may replace a person."""

from django.urls import path

from evaluation.replacement import views

urlpatterns = [
    path("tasks/<int:task_id>/replace/", views.results, name="replacement"),
]
