"""The security log: who signed in, what failed, and what changed about access and money."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from annotation.models.access import ApiToken
from annotation.models.people import Project, User

# What the detail of an event holds; its values are codes, but for yes and no.
NAMES = {
    "method": gettext_lazy("by"),
    "project": gettext_lazy("project"),
    "required": gettext_lazy("required"),
    "role": gettext_lazy("role"),
    "scopes": gettext_lazy("permissions"),
    "sessions": gettext_lazy("devices"),
    "token": gettext_lazy("token"),
    "type": gettext_lazy("kind"),
}

# Settings whose change is an event, as its detail names them.
CHANGES = {
    "bonus rule": gettext_lazy("bonus rule"),
    "budget": gettext_lazy("budget"),
    "correction_limit": gettext_lazy("limit of corrections"),
    "hourly_floor": gettext_lazy("hourly floor"),
    "platform access": gettext_lazy("platform access"),
    "single_approval": gettext_lazy("approval by one person"),
}


class SecurityEvent(models.Model):
    """One event, kept for some days. A trigger lets rows only be added, counted up or swept."""

    class Kind(models.TextChoices):
        SIGN_IN = "sign-in", gettext_lazy("Signed in")
        FAILED = "sign-in.failed", gettext_lazy("Failed sign-in")
        LOCKED = "sign-in.locked", gettext_lazy("Sign-in blocked after too many tries")
        SIGN_OUT = "sign-out", gettext_lazy("Signed out")
        SESSION_ENDED = "session.ended", gettext_lazy("Session ended")
        CONFIRMED = "confirmed", gettext_lazy("Identity confirmed")
        PASSWORD = "password.changed", gettext_lazy("Password changed")
        EMAIL = "email.changed", gettext_lazy("E-mail address changed")
        NAME = "name.changed", gettext_lazy("Name changed")
        FACTOR_ADDED = "factor.added", gettext_lazy("Second factor added")
        FACTOR_REMOVED = "factor.removed", gettext_lazy("Second factor removed")
        FACTOR_USED = "factor.used", gettext_lazy("Second factor used")
        FACTOR_FAILED = "factor.failed", gettext_lazy("Wrong code for the second factor")
        RECOVERY_USED = "recovery.used", gettext_lazy("Recovery code used")
        RECOVERY_RESET = "recovery.reset", gettext_lazy("Recovery codes replaced")
        CONNECTED = "sign-on.connected", gettext_lazy("Single sign-on connected")
        DISCONNECTED = "sign-on.disconnected", gettext_lazy("Single sign-on disconnected")
        TOKEN_MADE = "token.made", gettext_lazy("API token created")
        TOKEN_ENDED = "token.ended", gettext_lazy("API token ended")
        ROLE_GIVEN = "role.given", gettext_lazy("Role given")
        ROLE_REMOVED = "role.removed", gettext_lazy("Role removed")
        RULES = "rules.changed", gettext_lazy("Budget or payment rules changed")
        FACTOR_RULE = "second-factor.changed", gettext_lazy("Second factor requirement changed")

    kind = models.CharField(max_length=24, choices=Kind.choices)
    # Whose account it is about; empty: of nobody known here. An account that was never confirmed
    # may be deleted, and what was logged of it stays: hence no constraint.
    user = models.ForeignKey(
        User,
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        db_constraint=False,
        related_name="security_events",
    )
    # For roles, rules and money: where it holds.
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, null=True, blank=True, related_name="security_events"
    )
    at = models.DateTimeField(auto_now_add=True)
    # IPv6 by its /64, which is one household or office.
    address = models.CharField(max_length=43, blank=True)
    agent = models.CharField(max_length=60, blank=True)
    detail = models.JSONField(default=dict)
    # How often within the hour; failures are counted up instead of added, so strangers cannot
    # fill the table. ``bucket`` names what is counted together.
    count = models.PositiveIntegerField(default=1)
    bucket = models.CharField(max_length=120, null=True, unique=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["user", "-id"]),
            models.Index(fields=["project", "-id"]),
            models.Index(fields=["at"]),
        ]

    @property
    def summary(self) -> str:
        """The detail in a line."""
        said = {
            name: (_("no"), _("yes"))[one] if isinstance(one, bool) else one
            for name, one in self.detail.items()
        }
        if "scopes" in said:
            known = dict(ApiToken.Scope.choices)
            said["scopes"] = "; ".join(
                str(known.get(one, one)) for one in said["scopes"].split(", ")
            )
        if "role" in said:
            said["role"] = pgettext("role", said["role"])
        changed = str(said.pop("what", "")).split(", ")
        what = ", ".join(str(CHANGES.get(one, one)) for one in changed)
        rest = ", ".join(f"{NAMES.get(name, name)}: {value}" for name, value in said.items())
        return ", ".join(part for part in (what, rest) if part)
