"""Who a name and a password belong to."""

from __future__ import annotations

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest

from annotation.accounts.signing import selectors
from annotation.models import User
from crowdqc.database.compiled import CompiledQuery, Placeholder

USER = CompiledQuery(lambda: User.objects.filter(pk=Placeholder("pk")).order_by())


class AccountBackend(AuthenticationBackend):
    """Signs in by username or address, with one check of a password whatever the name is.

    One check: an answer that took two for known names would tell which names are known. Programs
    that sign in without a page (``request`` is None) cannot be asked for a code of their mailbox,
    so an address that was never proven lets nobody in there.
    """

    def get_user(self, user_id: Any) -> User | None:
        """Whom a session belongs to; None for nobody, and for whoever may not sign in."""
        user = USER.first(pk=user_id)
        return user if user is not None and self.user_can_authenticate(user) else None

    def _authenticate(
        self, request: HttpRequest | None, **credentials: Any
    ) -> AbstractBaseUser | None:
        name = credentials.get("username") or credentials.get("email") or ""
        user = self._check_password(selectors.user_by_name(name), credentials["password"])
        if user is not None and request is None and selectors.owes_proof(user):
            return None
        return user
