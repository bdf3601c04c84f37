"""Addresses of review, payout rules and payouts."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.payouts import api as endpoints
    from evaluation.payouts.views import figures, review
    from evaluation.payouts.views import proposals as payouts
    from evaluation.payouts.views import rule as payout_rule

TASK = "tasks/<int:task_id>/"
PAYOUT = "payouts/<int:number>/"
REJECT = f"{PAYOUT}lines/<int:line_id>/reject/"

urlpatterns = [
    path(f"{TASK}review/", review.review, name="review"),
    path(f"{TASK}review/<int:assignment_id>/", review.review_answers, name="review_answers"),
    path(f"{TASK}payouts/new/", payouts.payout_new, name="payout_new"),
    path(f"{TASK}payouts/rule/", payout_rule.payout_rule, name="payout_rule"),
    path(f"{TASK}payouts/figures/", figures.task_figures, name="task_figures"),
    path("payouts/", payouts.payout_list, name="payout_list"),
    path(PAYOUT, payouts.payout, name="payout"),
    path(f"{PAYOUT}approve/", payouts.payout_approve, name="payout_approve"),
    path(f"{PAYOUT}back/", payouts.payout_send_back, name="payout_send_back"),
    path(REJECT, payouts.payout_line_reject, name="payout_line_reject"),
    path("payouts/<int:number>.csv", payouts.payout_export, name="payout_export"),
]
PROJECT = "projects/<int:project_id>/"
api = [
    path(f"{TASK}waiting/", endpoints.Waiting.as_view(), name="api_waiting"),
    path(f"{TASK}payout-rule/", endpoints.Rule.as_view(), name="api_payout_rule"),
    path(f"{TASK}payouts/", endpoints.Propose.as_view(), name="api_propose"),
    path(f"{TASK}payouts/preview/", endpoints.ProposePreview.as_view(), name="api_propose_preview"),
    path(f"{PROJECT}payouts/", endpoints.Payouts.as_view(), name="api_payouts"),
    path(f"{PROJECT}{PAYOUT}", endpoints.OnePayout.as_view(), name="api_payout"),
    path(f"{PROJECT}{PAYOUT}approve/", endpoints.Approve.as_view(), name="api_payout_approve"),
    path(f"{PROJECT}{PAYOUT}send-back/", endpoints.SendBack.as_view(), name="api_payout_send_back"),
    path(f"{PROJECT}{REJECT}", endpoints.RejectLine.as_view(), name="api_payout_line_reject"),
]
