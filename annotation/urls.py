"""Addresses of the annotation app: those of its packages, of a project, and of the API."""

from django.urls import include, path

from annotation.accounts import urls as accounts
from annotation.authoring import urls as authoring
from annotation.conversations import urls as conversations
from annotation.formats import urls as formats
from annotation.gallery import urls as gallery
from annotation.notifications import urls as notifications
from annotation.pairs import urls as pairs
from annotation.panels import urls as panels
from annotation.payouts import urls as payouts
from annotation.privacy import urls as privacy
from annotation.records import urls as records
from annotation.recruitment import urls as recruitment
from annotation.traces import urls as traces
from annotation.work import urls as work

PROJECT = "projects/<int:project_id>/"
IN_PROJECT = (
    accounts,
    privacy,
    authoring,
    pairs,
    panels,
    formats,
    gallery,
    payouts,
    recruitment,
    conversations,
    notifications,
    records,
    traces,
)
urlpatterns = [
    # First what is asked for most: every address before the right one is compared with.
    path("", include(traces)),
    path("api/", include("annotation.api.urls")),
    path("", include(work)),
    path("", include("annotation.accounts.signing.urls")),
    *(
        path("", include(package))
        for package in (
            *(accounts, payouts, recruitment, conversations, privacy, notifications),
            formats,
            gallery,
        )
    ),
    *(path(PROJECT, include(package.project_patterns)) for package in IN_PROJECT),
]
