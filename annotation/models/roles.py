"""How somebody got a role that moves money: who gave it, and who confirmed it."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy

from annotation.models.people import Invitation, Project, Role, User

STAFF = (Role.REQUESTER, Role.MANAGER)


class RoleGrant(models.Model):
    """One person was given one role by another; a second one may confirm that they are two.

    Rows stay when the role ends: together they say who let whom into a project, and nobody
    approves money with somebody of their own letting in. Without any row a membership comes from
    the installation itself (the owner's, the demo's, an import's).
    """

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Awaiting confirmation")
        GIVEN = "given", gettext_lazy("Not confirmed")
        CONFIRMED = "confirmed", gettext_lazy("Confirmed")
        DECLINED = "declined", gettext_lazy("Declined")
        HELD = "held", gettext_lazy("Had a role before")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="role_grants")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(max_length=10, choices=[(r.value, r.label) for r in STAFF])
    given_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    invitation = models.ForeignKey(
        Invitation, on_delete=models.SET_NULL, null=True, related_name="grants"
    )
    state = models.CharField(max_length=10, choices=State.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    # Empty on a confirmed one: by the administrator of the installation.
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "user", "role"],
                condition=Q(state="waiting"),
                name="role_waits_once",
            ),
            models.CheckConstraint(
                condition=~Q(state="confirmed")
                | Q(decided_by__isnull=True)
                | (~Q(decided_by=F("given_by")) & ~Q(decided_by=F("user"))),
                name="role_confirmed_by_a_third",
            ),
        ]
