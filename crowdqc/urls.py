"""Addresses, by who uses them."""

from django.urls import include, path

from crowdqc.web import manual
from crowdqc.web.health import healthz, readyz
from crowdqc.web.language import script_words

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("docs/", manual.page, {"path": ""}, name="manual"),
    path("docs/<path:path>", manual.page, name="manual_page"),
    path("words/<str:language>.js", script_words, name="script_words"),
    path("", include("annotation.urls")),
    path("", include("evaluation.urls")),
]
handler400 = "annotation.records.views.bad_request"
handler403 = "annotation.records.views.permission_denied"
handler404 = "annotation.records.views.not_found"
handler500 = "annotation.records.views.server_error"
