"""Addresses of traces under review."""

from django.urls import path

from evaluation.traces import views

urlpatterns = [
    path("traces/", views.trace_list, name="trace_list"),
    path("traces/<int:trace_id>/", views.trace, name="trace"),
]
