"""Addresses, by who uses them."""

from django.urls import include, path

from crowdqc.web.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("", include("annotation.urls")),
    path("", include("evaluation.urls")),
]
handler400 = "annotation.records.views.bad_request"
handler403 = "annotation.records.views.permission_denied"
handler404 = "annotation.records.views.not_found"
handler500 = "annotation.records.views.server_error"
