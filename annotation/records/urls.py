"""Addresses of the audit log, under a project."""

from django.urls import path

from annotation.records.views import audit

project_patterns = [
    path("settings/log/", audit.audit_log, name="audit_log"),
    path("settings/log.csv", audit.audit_log_export, name="audit_log_export"),
]
