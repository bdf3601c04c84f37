"""Addresses, by who uses them."""

from django.urls import include, path

from crowdqc.web.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("", include("annotation.accounts.signing.urls")),
    path("", include("annotation.urls.people")),
    path("", include("annotation.urls.worker")),
    path("", include("annotation.urls.entry")),
    path("", include("annotation.urls.account")),
    path("", include("annotation.urls.notices")),
    path("projects/<int:project_id>/", include("annotation.urls.requester")),
    path("projects/<int:project_id>/", include("annotation.urls.manager")),
    *(
        path("projects/<int:project_id>/", include(f"annotation.urls.{part}"))
        for part in ("recruit", "hooks", "audit", "files")
    ),
    path("projects/<int:project_id>/", include("annotation.accounts.roles.urls")),
    path("projects/<int:project_id>/", include("annotation.payouts.corrections.urls")),
    path("api/", include("annotation.urls.api")),
    path("", include("evaluation.urls")),
]
handler400 = "annotation.records.views.errors.bad_request"
handler403 = "annotation.records.views.errors.forbidden"
handler404 = "annotation.records.views.errors.not_found"
handler500 = "annotation.records.views.errors.server_error"
