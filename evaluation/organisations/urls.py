"""Addresses of organisations: their pages, their models, and the owner's API."""

from django.urls import include

from crowdqc.web.addresses import lazy_views, path
from evaluation.llm.urls import endpoint_patterns

with lazy_views():
    from evaluation.organisations import api as endpoints
    from evaluation.organisations import views

ONE = "organisations/<int:organisation_id>/"
urlpatterns = [
    path("organisations/", views.organisation_list, name="organisation_list"),
    path(ONE, views.organisation, name="organisation"),
    path(ONE, include(endpoint_patterns("organisation_models"))),
]
api = [
    path(f"installation/{address}/", view.as_view(), name=f"api_installation_{name}")
    for address, view, name in (
        ("organisations", endpoints.Organisations, "organisations"),
        (ONE.strip("/"), endpoints.OneOrganisation, "organisation"),
        (f"{ONE}members", endpoints.OrganisationMembers, "organisation_members"),
        (f"{ONE}projects", endpoints.OrganisationProjects, "organisation_projects"),
        (f"{ONE}close", endpoints.OrganisationClose, "organisation_close"),
    )
]
