"""Addresses of the judging side, under a project."""

from django.urls import include, path

urlpatterns = [
    path("", include("evaluation.views.urls_results")),
    path("", include("evaluation.views.urls_review")),
    path("", include("evaluation.views.urls_pairs")),
    path("", include("evaluation.views.urls_models")),
    path("", include("evaluation.views.urls_checklists")),
    path("", include("evaluation.views.urls_checks")),
    path("", include("evaluation.views.urls_study")),
    path("", include("evaluation.views.urls_rescaling")),
    path("", include("evaluation.views.urls_panels")),
    path("", include("evaluation.views.urls_domains")),
    path("", include("evaluation.views.urls_data")),
    path("", include("evaluation.views.urls_bundles")),
]
