"""Which file of transfers named a correction, so that no file of another way names it too."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import Exists, Max, OuterRef, Q, Value
from django.db.models.functions import Concat
from django.utils import timezone

from annotation.models import CorrectionTransfer, LedgerEntry, Project

ACCOUNT = "worker:"  # begins the accounts of workers


def correction_transfers(workers: Collection[int]) -> dict[tuple[int, str], CorrectionTransfer]:
    """By worker and currency, the file that named what corrections add, until that is paid."""
    paid = LedgerEntry.objects.filter(
        project=OuterRef("worker__project"),
        debit=Concat(Value(ACCOUNT), OuterRef("worker")),
        credit__startswith="paid:",
        currency=OuterRef("currency"),
        line=None,
        pk__gt=OuterRef("entry"),
    )
    rows = CorrectionTransfer.objects.filter(worker__in=workers).exclude(Exists(paid))
    return {(row.worker_id, row.currency): row for row in rows}


def name_corrections(
    *, project: Project, way: str, corrected: Iterable[tuple[int, str]]
) -> set[tuple[int, str]]:
    """Note that a file of one way names these corrections, by worker and currency; return which.

    Left out are those that a file of another way named and that are unpaid. The caller holds the
    lock of the workers.
    """
    wanted = set(corrected)
    named = correction_transfers({worker for worker, _currency in wanted})
    for worker, currency in sorted(wanted - named.keys()):
        account = f"{ACCOUNT}{worker}"
        books = project.ledger.filter(Q(debit=account) | Q(credit=account), currency=currency)
        CorrectionTransfer.objects.update_or_create(
            worker_id=worker,
            currency=currency,
            defaults={
                "way": way,
                "entry_id": books.order_by().aggregate(last=Max("pk"))["last"],
                "named_at": timezone.now(),
            },
        )
    return {one for one in wanted if one not in named or named[one].way == way}
