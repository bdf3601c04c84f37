"""Read the tokens of one person for the account page."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import list_organisation_roles
from annotation.models import ApiToken, Project, User

SHOWN_AFTER = dt.timedelta(days=30)  # an ended token is listed for so long
MOST = 100


@dataclass(frozen=True)
class TokenRow:
    """A token and whether it is still valid."""

    token: ApiToken
    state: str  # mark of the state
    word: str

    @property
    def scopes(self) -> list[str]:
        """Return in words what its program may do."""
        return [str(ApiToken.Scope(one).label) for one in self.token.scopes]

    @property
    def is_live(self) -> bool:
        return self.state == "open"


def list_tokens(user: User) -> list[TokenRow]:
    """Return valid and recently ended tokens, newest first."""
    now = timezone.now()
    late = now - SHOWN_AFTER
    rows = ApiToken.objects.filter(
        Q(revoked_at=None) | Q(revoked_at__gt=late), user=user, expires_at__gt=late
    ).select_related("project")
    return [_row(token, now) for token in rows[:MOST]]


def _row(token: ApiToken, now: dt.datetime) -> TokenRow:
    if token.revoked_at:
        return TokenRow(token, "closed", _("Ended"))
    if token.expires_at <= now:
        return TokenRow(token, "closed", _("Expired"))
    return TokenRow(token, "open", _("Live"))


def list_bindable_projects(user: User) -> list[Project]:
    """Return projects to which a token may be bound."""
    theirs = Q(memberships__user=user, memberships__removed_at=None)
    theirs |= Q(pk__in=[pk for pk, _role in list_organisation_roles(user)])
    return list(Project.objects.filter(theirs).distinct().order_by("name", "pk"))
