"""Step-up: what a person has proved, and what proof an action asks for.

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
    """The person has to confirm that it is them; a page leads to where they do it."""

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
    """The action needs a second factor that the person or their token does not have."""

    code = "second-factor-needed"


class Proof(Protocol):
    """What somebody has proved of themself before they act."""

    @property
    def second_factor(self) -> bool:
        """Whether a second factor was shown."""

    @property
    def recent(self) -> bool:
        """Whether they proved it lately enough for what matters most."""


class SessionProof:
    """The proof of a browser's session; read when asked, since a request may renew it."""

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
    """The proof of an API token: what its maker had shown. Nobody is there to be asked again."""

    recent = True

    def __init__(self, token: ApiToken) -> None:
        self.second_factor = token.second_factor


def attach(user: User, proof: Proof) -> User:
    """The person, with the proof they came with."""
    user.proof = proof  # type: ignore[attr-defined]
    return user


def proof_of(user: Any) -> Proof | None:
    """The proof that the person carries; None for jobs, commands and rows read by themselves."""
    return getattr(user, "proof", None)


# What people have -------------------------------------------------------------------------------


def has_second_factor(user: User) -> bool:
    """Whether the person has set up an authenticator app or a passkey."""
    return bool(is_mfa_enabled(user, types=list(FACTORS)))


def ways_to_confirm(user: User) -> list[dict[str, Any]]:
    """How the person can confirm that it is them: password, code, passkey; each with its page."""
    return list(get_adapter().get_reauthentication_methods(user))


def _can_confirm(user: User) -> bool:
    """Whether there is anything to confirm with; people from a platform may have nothing."""
    return bool(ways_to_confirm(user)) or SocialAccount.objects.filter(user=user).exists()


def shown_second_factor(user: User) -> bool:
    """Whether the person has a second factor and showed it in this session or for this token."""
    proof = proof_of(user)
    return proof is not None and proof.second_factor and has_second_factor(user)


# What actions ask for ---------------------------------------------------------------------------


def require_recent(by: User, doing: Words) -> None:
    """Raise ConfirmationNeeded where the session's last proof is too old for ``doing``."""
    proof = proof_of(by)
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


def second_factor_required(project: Project | None, by: User) -> bool:
    """Whether approving and sending money needs a second factor; the project may say otherwise.

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
    """Raise unless a second factor was shown, where the project or the installation needs one."""
    if not second_factor_required(project, by) or shown_second_factor(by):
        return
    proof = proof_of(by)
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
    """What everything asks for that approves or sends money: a second factor, and lately."""
    require_second_factor(project, by, doing)
    require_recent(by, doing)


def lacks_second_factor(project: Project, by: User) -> bool:
    """Whether the person has to set up a second factor before they can approve anything."""
    return second_factor_required(project, by) and not has_second_factor(by)
