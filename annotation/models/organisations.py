"""Organisations: groups of projects, and the people who belong to them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import pgettext_lazy

from annotation.models.people import User


class OrganisationRole(models.TextChoices):
    """What somebody may do in an organisation; ``annotation.access`` maps it to its projects."""

    OWNER = "owner", pgettext_lazy("organisation", "owner")
    MEMBER = "member", pgettext_lazy("organisation", "member")


class Organisation(models.Model):
    """Projects of one group, in one currency, with people, models and a budget in common."""

    name = models.CharField(max_length=120)
    currency = models.CharField(max_length=3, default="EUR")
    # What calls to models may cost in all its projects together; empty: no limit.
    model_budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    # What new projects begin with, named as in ``Project``.
    hourly_floor = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    answer_days_kept = models.PositiveIntegerField(null=True, blank=True)
    decide_days = models.PositiveSmallIntegerField(default=7)
    created_at = models.DateTimeField(auto_now_add=True)
    # Since when it has neither people nor projects; its models stay for the calls made to them.
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                Lower("name"), condition=Q(closed_at__isnull=True), name="organisation_name_once"
            ),
            models.CheckConstraint(
                condition=Q(currency__regex=r"^[A-Z]{3}$"), name="organisation_iso"
            ),
            models.CheckConstraint(
                condition=Q(model_budget__isnull=True) | Q(model_budget__gte=0),
                name="organisation_budget_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class OrganisationMember(models.Model):
    """One person's role in an organisation, given by its owners or by a group of sign-on."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="organisations")
    role = models.CharField(max_length=10, choices=OrganisationRole.choices)
    # Whether it follows the groups that the provider of single sign-on names at each sign-in.
    by_group = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "user"], name="organisation_member_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"
