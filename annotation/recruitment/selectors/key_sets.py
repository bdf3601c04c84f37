"""Reads about ways into a task."""

from __future__ import annotations

import datetime as dt

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import KeySet, Recruitment

# A key that the platform took back is believed for so long at most.
TRUSTED = dt.timedelta(days=1)


def key_set_of(url: str) -> KeySet | None:
    """What is known of the keys under an address."""
    return KeySet.objects.filter(url=url).first()


def is_fresh(row: KeySet | None) -> bool:
    """Whether keys were read recently enough to be trusted."""
    return (
        row is not None and row.fetched_at is not None and timezone.now() - row.fetched_at < TRUSTED
    )


def key_addresses() -> QuerySet[Recruitment, str]:
    """The addresses of key sets that active ways in check their entries by."""
    signed = Recruitment.objects.filter(Q(active=True), entry=Recruitment.Entry.JWT)
    return signed.order_by("jwks_url").values_list("jwks_url", flat=True).distinct()
