"""What imported files call the workers of a result, beside their pseudonyms."""

from __future__ import annotations

from collections.abc import Iterable

from annotation.access import Access
from annotation.models import Role


def names_in_files(access: Access, workers: Iterable[int]) -> dict[int, str]:
    """Return by worker the name in the file that they came with, for requesters (one query)."""
    if not access.is_requester:
        return {}
    rows = access.project.memberships.filter(
        role=Role.WORKER, pk__in=list(workers), user=None, erased_at=None
    )
    return dict(rows.values_list("pk", "external_id"))
