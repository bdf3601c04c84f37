"""Addresses of overview, review, payouts and the worker's card."""

from django.urls import path

from evaluation.overview import views as overview
from evaluation.payouts.views import proposals as payouts
from evaluation.payouts.views import review
from evaluation.payouts.views import rule as payout_rule
from evaluation.people.views import workers
from evaluation.writing.replay import views as replay

urlpatterns = [
    path("", overview.project, name="project"),
    path("tasks/<int:task_id>/precision/", overview.task_precision, name="task_precision"),
    path("tasks/<int:task_id>/review/", review.review, name="review"),
    path(
        "tasks/<int:task_id>/review/<int:assignment_id>/",
        review.review_answers,
        name="review_answers",
    ),
    path("tasks/<int:task_id>/replay/<int:answer_id>/", replay.replay, name="replay"),
    path(
        "tasks/<int:task_id>/replay/<int:answer_id>/data/", replay.replay_data, name="replay_data"
    ),
    path("tasks/<int:task_id>/payouts/new/", payouts.payout_new, name="payout_new"),
    path("tasks/<int:task_id>/payouts/rule/", payout_rule.payout_rule, name="payout_rule"),
    path("payouts/", payouts.payout_list, name="payout_list"),
    path("payouts/<int:number>/", payouts.payout, name="payout"),
    path("payouts/<int:number>/approve/", payouts.payout_approve, name="payout_approve"),
    path("payouts/<int:number>/back/", payouts.payout_send_back, name="payout_send_back"),
    path(
        "payouts/<int:number>/lines/<int:line_id>/reject/",
        payouts.payout_line_reject,
        name="payout_line_reject",
    ),
    path("payouts/<int:number>.csv", payouts.payout_export, name="payout_export"),
    path("workers/<int:membership_id>/", workers.worker_card, name="worker_card"),
]
