"""Addresses of money and of what counts, under a project."""

from django.urls import path

from . import manager

urlpatterns = [
    path("ledger/", manager.ledger, name="ledger"),
    path("ledger.csv", manager.ledger_export, name="ledger_export"),
    path("rejections/", manager.rejection_list, name="rejection_list"),
    path(
        "rejections/<int:rejection_id>/decide/", manager.rejection_decide, name="rejection_decide"
    ),
    path("answers/<int:answer_id>/counts/", manager.answer_counts, name="answer_counts"),
]
