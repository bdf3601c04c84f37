"""Addresses of joining and of projects as a whole."""

from django.urls import path

from annotation.accounts.projects import views as people

urlpatterns = [
    path("", people.home, name="home"),
    path("join/<str:token>/", people.join, name="join"),
    path("projects/", people.project_list, name="project_list"),
    path("projects/new/", people.project_new, name="project_new"),
]
