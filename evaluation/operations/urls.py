"""Addresses of the installation: its operations page, and its metrics."""

from django.urls import path

from evaluation.operations import views

urlpatterns = [
    path("metrics", views.metrics, name="metrics"),
]
