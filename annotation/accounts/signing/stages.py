"""Stages between a right password and being signed in."""

from __future__ import annotations

from typing import Any

from allauth.account.stages import EmailVerificationStage
from django.utils.translation import gettext as _

from annotation.accounts.signing import selectors
from crowdqc import limits


class VerifyAddress(EmailVerificationStage):
    """Ask for a code from people who never verified an address."""

    def handle(self) -> tuple[Any, bool]:
        """Return the response that asks for the mailed code (None: no need), and True to go on.

        Raises LimitExceeded after too many mails to this address.
        """
        user = self.login.user
        if user is not None:
            if not selectors.has_unverified_address_only(user):
                return None, True
            if not self.login.signup:  # a sign-up was counted by its form
                about = limits.limit_key(self.request, user.username)
                limits.require_try(
                    limits.MAILS, about, _("Too many codes were sent to your address.")
                )
        found: tuple[Any, bool] = super().handle()
        return found
