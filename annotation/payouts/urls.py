"""Addresses of money and of what counts: of workers, and under a project."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.payouts.corrections import views as corrections
    from annotation.payouts.views import details, manager, months, statements

HAND = "payouts/by-hand/"
ROW = "statements/<int:statement_id>/rows/<int:place>/"
WORK = "work/projects/<int:project_id>/payment/"
REJECTION, CORRECTION = "rejections/<int:rejection_id>/", "ledger/corrections/<int:correction_id>/"
urlpatterns = [
    path(WORK, details.payment_details, name="payment_details"),
    path(f"{WORK}remove/", details.payment_details_remove, name="payment_details_remove"),
]
project_patterns = [
    path("ledger/", manager.ledger, name="ledger"),
    path("ledger.csv", manager.ledger_export, name="ledger_export"),
    path("ledger/correct/", manager.ledger_correct, name="ledger_correct"),
    path(f"{CORRECTION}approve/", corrections.correction_approve, name="correction_approve"),
    path(f"{CORRECTION}decline/", corrections.correction_decline, name="correction_decline"),
    path(HAND, statements.payment_by_hand, name="payment_by_hand"),
    path("payouts/by-hand.csv", statements.payment_by_hand_export, name="payment_by_hand_export"),
    path(f"{HAND}<int:number>/done/", statements.payment_by_hand_done, name="payment_by_hand_done"),
    path(f"{HAND}remind/", statements.payment_details_remind, name="payment_details_remind"),
    path("statements/", statements.statement_list, name="statement_list"),
    path("statements/<int:statement_id>/", statements.statement, name="statement"),
    path(
        "statements/<int:statement_id>/book/",
        statements.statement_book_matching,
        name="statement_book_matching",
    ),
    path(f"{ROW}book/", statements.statement_book, name="statement_book"),
    path("payouts/months/", months.month_statement, name="month_statement"),
    path("payouts/months/<str:month>.csv", months.month_export, name="month_export"),
    path(
        "payouts/months/<str:month>/<int:membership_id>/",
        months.person_month,
        name="person_month",
    ),
    path(
        "payouts/months/<str:month>/<int:membership_id>.csv",
        months.person_month_export,
        name="person_month_export",
    ),
    path("rejections/", manager.rejection_list, name="rejection_list"),
    path(f"{REJECTION}decide/", manager.rejection_decide, name="rejection_decide"),
    path("answers/<int:answer_id>/counts/", manager.answer_counts, name="answer_counts"),
    path("payments/", statements.payment_list, name="payment_list"),
    path("payments/send/", statements.payment_send, name="payment_send"),
    path("payments/<int:payment_id>/resolve/", statements.payment_resolve, name="payment_resolve"),
    path("payments/<slug:what>.csv", statements.payment_export, name="payment_export"),
]
