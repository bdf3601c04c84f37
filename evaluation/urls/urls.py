"""Addresses of the judging side, under a project."""

from django.urls import include, path

urlpatterns = [
    path("", include("evaluation.urls.results")),
    path("", include("evaluation.urls.review")),
    path("", include("evaluation.urls.pairs")),
    path("", include("evaluation.urls.models")),
    path("", include("evaluation.urls.checklists")),
    path("", include("evaluation.urls.checks")),
    path("", include("evaluation.urls.study")),
    path("", include("evaluation.urls.rescaling")),
    path("", include("evaluation.urls.panels")),
    path("", include("evaluation.urls.domains")),
    path("", include("evaluation.urls.data")),
    path("", include("evaluation.urls.bundles")),
]
