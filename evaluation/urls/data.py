"""Addresses of erasure and of a person's own data."""

from django.urls import path

from evaluation.people.views import data

urlpatterns = [
    path("people/<int:membership_id>/erase/", data.worker_data_erase, name="worker_data_erase"),
    path("people/<int:membership_id>/data.zip", data.worker_data, name="worker_data"),
]
