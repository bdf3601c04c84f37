"""What holds for the whole installation at the moment, set by its owner."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class InstallationState(models.Model):
    """The one row of what the owner has switched; no row means that nothing is."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    # Since when only owners may change anything, and the reason that everybody reads.
    read_only_since = models.DateTimeField(null=True, blank=True)
    read_only_reason = models.CharField(max_length=300, blank=True)
    # One sentence above every page; empty: none.
    banner = models.CharField(max_length=300, blank=True)
    # Quotas (annotation.accounts.quotas) that are not what the settings say: name -> number.
    quotas = models.JSONField(default=dict, blank=True, db_default={})
    # Features (annotation.records.installation_state) that are switched off.
    switched_off = models.JSONField(default=list, blank=True, db_default=[])
    # How long kinds of rows (evaluation.retention.kinds) are kept where that is not as usual:
    # name -> days or years, None: until deleted.
    retention = models.JSONField(default=dict, blank=True, db_default={})
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="installation_state_once"),
            models.CheckConstraint(
                condition=Q(read_only_since__isnull=True) | ~Q(read_only_reason=""),
                name="installation_read_only_says_why",
            ),
        ]
