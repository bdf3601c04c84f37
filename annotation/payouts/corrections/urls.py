"""Addresses of corrections, under a project."""

from django.urls import path

from annotation.payouts.corrections import views

HERE = "ledger/corrections/<int:correction_id>/"
urlpatterns = [
    path(f"{HERE}approve/", views.correction_approve, name="correction_approve"),
    path(f"{HERE}decline/", views.correction_decline, name="correction_decline"),
]
