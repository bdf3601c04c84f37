"""Addresses of a person’s own account and of their programs’ tokens."""

from django.urls import path

from annotation.accounts import account_views as account
from annotation.api.frame.base import SignedIn
from annotation.privacy import account_views as account_log

urlpatterns = [
    path("signed-in", SignedIn.as_view(), name="signed_in"),
    path("account/", account.account, name="account"),
    path("account/log/", account_log.account_log, name="account_log"),
    path("account/close/", account_log.account_close, name="account_close"),
    path("account/tokens/<int:token_id>/end/", account.token_revoke, name="account_token_revoke"),
]
