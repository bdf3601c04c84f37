"""Addresses of money and of what counts, under a project."""

from django.urls import path

from annotation.payouts.views import manager, statements

urlpatterns = [
    path("ledger/", manager.ledger, name="ledger"),
    path("ledger.csv", manager.ledger_export, name="ledger_export"),
    path("ledger/correct/", manager.ledger_correct, name="ledger_correct"),
    path("payouts/by-hand/", statements.payment_by_hand, name="payment_by_hand"),
    path("payouts/by-hand.csv", statements.payment_by_hand_export, name="payment_by_hand_export"),
    path(
        "payouts/by-hand/<int:number>/done/",
        statements.payment_by_hand_done,
        name="payment_by_hand_done",
    ),
    path("statements/", statements.statement_list, name="statement_list"),
    path("statements/<int:statement_id>/", statements.statement, name="statement"),
    path(
        "statements/<int:statement_id>/rows/<int:place>/book/",
        statements.statement_book,
        name="statement_book",
    ),
    path("rejections/", manager.rejection_list, name="rejection_list"),
    path(
        "rejections/<int:rejection_id>/decide/", manager.rejection_decide, name="rejection_decide"
    ),
    path("answers/<int:answer_id>/counts/", manager.answer_counts, name="answer_counts"),
]
