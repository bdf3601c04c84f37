"""Addresses of the installation: its operations page, and its metrics."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.operations import views

urlpatterns = [
    path("metrics", views.metrics, name="metrics"),
    path("operations/", views.operations, name="operations"),
    path("operations/report.json", views.report, name="operations_report"),
    path("operations/backup/", views.start_backup, name="operations_backup"),
    path("operations/retry/", views.retry_all, name="operations_retry_all"),
    path(
        "operations/failures/<slug:kind>/<int:row>/",
        views.failure,
        name="operations_failure",
    ),
]
