"""Step-up authentication: proofs of people and requirements of actions.

Whoever acts comes as ``by``, and carries the proof of the session or token they came with. An
action asks for a recent confirmation (``needs_stepup``) or for a second factor
(``require_second_factor``), so a page, the API and a new address are held alike. Jobs and
commands act without a proof: they are not asked to confirm, but have no second factor either.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import ApiToken, Membership, Project, Role, User
from crowdqc.errors import NotAllowed
from crowdqc.web.terms import Words

P = ParamSpec("P")
R = TypeVar("R")
# When the person signed in, for sign-ins that leave no record of their own in the session.
SIGNED_IN_AT = "crowdqc_authenticated_at"
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)  # recovery codes only help out


class ConfirmationNeeded(NotAllowed):
    """The person must confirm their identity; pages redirect to it."""

    code = "confirmation-needed"

    def __init__(self, doing: Words, *, second_factor: bool = False) -> None:
        said = (
            _("Confirm it’s you with your second factor to %(doing)s.")
            if second_factor
            else _("Confirm it’s you to %(doing)s.")
        )
        super().__init__(said % {"doing": doing})
        self.doing, self.second_factor = str(doing), second_factor


class SecondFactorNeeded(NotAllowed):
    """The action needs a second factor that the person or token lacks."""

    code = "second-factor-needed"


class Proof(Protocol):
    """What a person has proved before acting."""

    @property
    def second_factor(self) -> bool:
        """Whether a second factor was shown."""

    @property
    def recent(self) -> bool:
        """Whether the proof is recent enough for critical actions."""


class SessionProof:
    """The proof of a browser session, read lazily since a request may renew it."""

    def __init__(self, request: HttpRequest, user: User) -> None:
        self.request, self.user = request, user

    @property
    def second_factor(self) -> bool:
        records = get_authentication_records(self.request, self.user)
        return any(record.get("method") == "mfa" for record in records)

    @property
    def recent(self) -> bool:
        records = get_authentication_records(self.request, self.user)
        times = [record.get("at") for record in records]
        times.append(self.request.session.get(SIGNED_IN_AT))
        last = max((at for at in times if isinstance(at, int | float)), default=0)
        return 0 <= time.time() - last < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT


class TokenProof:
    """The proof of an API token as its maker had shown; it cannot be renewed."""

    recent = True

    def __init__(self, token: ApiToken) -> None:
        self.second_factor = token.second_factor


def attach_proof(user: User, proof: Proof) -> User:
    """Return the person with their proof attached."""
    user.proof = proof  # type: ignore[attr-defined]
    return user


def get_proof(user: Any) -> Proof | None:
    """Return the person's proof; None for jobs, commands and plain rows."""
    return getattr(user, "proof", None)


# What people have -------------------------------------------------------------------------------


def has_second_factor(user: User) -> bool:
    """Whether the person has an authenticator app or passkey."""
    return bool(is_mfa_enabled(user, types=list(FACTORS)))


def confirmation_methods(user: User) -> list[dict[str, Any]]:
    """Return available confirmations (password, code, passkey) with their pages."""
    return list(get_adapter().get_reauthentication_methods(user))


def _can_confirm(user: User) -> bool:
    """Whether the person has anything to confirm with."""
    return bool(confirmation_methods(user)) or SocialAccount.objects.filter(user=user).exists()


def has_shown_second_factor(user: User) -> bool:
    """Whether the session or token proved a second factor."""
    proof = get_proof(user)
    return proof is not None and proof.second_factor and has_second_factor(user)


# What actions ask for ---------------------------------------------------------------------------


def require_recent(by: User, doing: Words) -> None:
    """Raise ConfirmationNeeded if the last proof is too old for ``doing``."""
    proof = get_proof(by)
    if proof is not None and not proof.recent and _can_confirm(by):
        raise ConfirmationNeeded(doing)


def needs_stepup(doing: Words) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Require a fresh proof of identity of an action's ``by``: "approve payments"."""

    def declare(action: Callable[P, R]) -> Callable[P, R]:
        @wraps(action)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            by: Any = kwargs["by"]
            require_recent(by, doing)
            return action(*args, **kwargs)

        return guarded

    return declare


def is_second_factor_required(project: Project | None, by: User) -> bool:
    """Whether payments need a second factor in this project.

    Without a project (a token for all of them): if any that the person helps to run needs it.
    """
    if project is not None:
        wanted = project.second_factor
        return settings.CROWDQC_REQUIRE_SECOND_FACTOR if wanted is None else wanted
    if settings.CROWDQC_REQUIRE_SECOND_FACTOR:
        return True
    theirs = Membership.objects.filter(user=by, removed_at=None, project__second_factor=True)
    return theirs.exclude(role=Role.WORKER).exists()


def require_second_factor(project: Project | None, by: User, doing: Words) -> None:
    """Raise unless a required second factor was shown."""
    if not is_second_factor_required(project, by) or has_shown_second_factor(by):
        return
    proof = get_proof(by)
    if isinstance(proof, TokenProof):
        raise SecondFactorNeeded(
            _(
                "To %(doing)s, a token must be made with a second factor. Set one up, sign "
                "in with it, and create a new token on your account page."
            )
            % {"doing": doing}
        )
    if proof is not None and has_second_factor(by):
        raise ConfirmationNeeded(doing, second_factor=True)
    raise SecondFactorNeeded(
        _("To %(doing)s, you need a second factor: an authenticator app or a passkey.")
        % {"doing": doing},
        link=(_("Set up a second factor"), reverse("mfa_index")),
    )


def require_strength(project: Project, by: User, doing: Words) -> None:
    """Require a recent second factor, as for all approvals and payments."""
    require_second_factor(project, by, doing)
    require_recent(by, doing)


def lacks_second_factor(project: Project, by: User) -> bool:
    """Whether the person must set up a second factor to approve."""
    return is_second_factor_required(project, by) and not has_second_factor(by)
