"""Addresses of leaderboards over the tasks of a domain."""

from django.urls import URLPattern, path

from evaluation.people.views import domains

urlpatterns: list[URLPattern] = [
    path("domains/", domains.domain_list, name="domain_list"),
    path("domains/<path:name>/", domains.domain_board, name="domain_board"),
]
