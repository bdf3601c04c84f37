"""Authentication by name and password."""

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
    """Sign in by username or address, with exactly one password check.

    One check: an answer that took two for known names would tell which names are known. Programs
    that sign in without a page (``request`` is None) cannot be asked for a code of their mailbox,
    so an address that was never proven lets nobody in there.
    """

    def get_user(self, user_id: Any) -> User | None:
        """Return a session's user; None for people who may not sign in."""
        user = USER.first(pk=user_id)
        return user if user is not None and self.user_can_authenticate(user) else None

    def _authenticate(
        self, request: HttpRequest | None, **credentials: Any
    ) -> AbstractBaseUser | None:
        name = credentials.get("username") or credentials.get("email") or ""
        user = self._check_password(selectors.find_user(name), credentials["password"])
        if user is not None and request is None and selectors.has_unverified_address_only(user):
            return None
        return user
