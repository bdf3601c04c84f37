"""Addresses of the audit log, under a project."""

from django.urls import path

from annotation.records import views

project_patterns = [
    path("settings/log/", views.audit_log, name="audit_log"),
    path("settings/log.csv", views.audit_log_export, name="audit_log_export"),
]
