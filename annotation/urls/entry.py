"""Addresses that people and platforms from elsewhere come to."""

from django.urls import path

from annotation.recruitment.views import entry

urlpatterns = [
    path("enter/<str:token>/", entry.entry, name="entry"),
    path("leave/", entry.leave, name="entry_leave"),
    path("hooks/prolific/<int:recruitment_id>/", entry.platform_hook, name="platform_hook"),
]
