"""Addresses, by who uses them."""

from django.urls import include, path

from crowdqc.api import SignedIn
from crowdqc.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("signed-in", SignedIn.as_view(), name="signed_in"),
    path("", include("annotation.accounts.urls")),
    path("", include("annotation.views.urls_people")),
    path("", include("annotation.views.urls_worker")),
    path("", include("annotation.views.urls_entry")),
    path("", include("annotation.views.urls_account")),
    path("", include("annotation.views.urls_notices")),
    path("", include("evaluation.views.urls_work")),
    path("projects/<int:project_id>/", include("annotation.views.urls_requester")),
    path("projects/<int:project_id>/", include("annotation.views.urls_manager")),
    *(
        path("projects/<int:project_id>/", include(f"annotation.views.urls_{part}"))
        for part in ("recruit", "hooks", "audit", "files")
    ),
    path("projects/<int:project_id>/", include("annotation.accounts.roles.urls")),
    path("projects/<int:project_id>/", include("annotation.payouts.urls")),
    path("projects/<int:project_id>/", include("evaluation.views.urls")),
    path("api/", include("annotation.api.urls")),
    path("api/", include("evaluation.api_urls")),
]
handler400 = "annotation.views.errors.bad_request"
handler403 = "annotation.views.errors.forbidden"
handler404 = "annotation.views.errors.not_found"
handler500 = "annotation.views.errors.server_error"
