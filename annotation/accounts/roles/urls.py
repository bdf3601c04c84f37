"""Addresses of roles, under a project."""

from django.urls import path

from annotation.accounts.roles import views

urlpatterns = [
    path("roles/<int:grant_id>/confirm/", views.role_confirm, name="role_confirm"),
    path("roles/<int:grant_id>/decline/", views.role_decline, name="role_decline"),
]
