"""Addresses of the audit log, under a project."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.records import views

project_patterns = [
    path("settings/log/", views.audit_log, name="audit_log"),
    path("settings/log.csv", views.audit_log_export, name="audit_log_export"),
]
