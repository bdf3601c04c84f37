"""Addresses of recruitment and of what platforms are told, under a project."""

from django.urls import path

from annotation.payouts.views import payments
from annotation.recruitment.views import recruitment

TASK = "tasks/<int:task_id>/recruitment/"
ONE = f"{TASK}<int:recruitment_id>/"
urlpatterns = [
    path(TASK, recruitment.recruitment_list, name="recruitment_list"),
    path(f"{TASK}new/<slug:kind>/", recruitment.recruitment_new, name="recruitment_new"),
    path(ONE, recruitment.recruitment, name="recruitment"),
    path(f"{ONE}edit/", recruitment.recruitment_edit, name="recruitment_edit"),
    path(f"{ONE}links/", recruitment.recruitment_links, name="recruitment_links"),
    path(f"{ONE}let-in/", recruitment.recruitment_let_in, name="recruitment_let_in"),
    path("payments/", payments.payment_list, name="payment_list"),
    path("payments/send/", payments.payment_send, name="payment_send"),
    path("payments/<int:payment_id>/resolve/", payments.payment_resolve, name="payment_resolve"),
    path("payments/<slug:what>.csv", payments.payment_export, name="payment_export"),
]
