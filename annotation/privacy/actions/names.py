"""Taking what platforms and files call a person out of the rows that name them."""

from __future__ import annotations

import secrets
from typing import Any

from django.db import models

from annotation.formats.uploads.actions import drop_uploads_naming
from annotation.models import (
    Membership,
    Payment,
    PaymentAttempt,
    PlatformEvent,
    Statement,
    Visit,
)
from annotation.privacy.name_places import GONE, erased_request
from annotation.privacy.selectors.names import Person, events_naming, person_of, statements_naming


def forget_names(*, worker: Membership) -> None:
    """Erase the names that others have for a worker, each in the places declared for it.

    Part of the transaction that finishes an erasure, with the guards of frozen rows open.
    """
    person = person_of(worker)
    for pk, payload in events_naming(person):
        PlatformEvent.objects.filter(pk=pk).update(payload=payload)
    for pk, rows in statements_naming(person):
        Statement.objects.filter(pk=pk).update(rows=rows)
    drop_uploads_naming(project=worker.project, names={worker.external_id, worker.pseudonym} - {""})
    _forget_payments(person)
    for visit in Visit.objects.filter(worker=worker):
        beside = Visit.objects.filter(recruitment=visit.recruitment_id)
        visit.session = visit.session and free_name(beside, "session", visit.pk)
        visit.participant = free_name(beside, "participant", visit.pk)
        visit.bound = visit.return_to = ""
        visit.save(update_fields=["participant", "session", "bound", "return_to"])


def _forget_payments(person: Person) -> None:
    """What was said with the platform about payments to this person: ids, and its own words."""
    sessions = {name for names in person.by_recruitment.values() for name in names.sessions}
    payments = Payment.objects.filter(worker=person.worker)
    payments.exclude(error="").update(error=GONE)
    for tried in PaymentAttempt.objects.filter(payment__in=payments):
        request = erased_request(tried.request, sessions)
        # A status came with the platform's words; without one the words are ours.
        error = GONE if tried.error and tried.status is not None else tried.error
        if (request, error) != (tried.request, tried.error):
            PaymentAttempt.objects.filter(pk=tried.pk).update(request=request, error=error)


def free_name(rows: models.QuerySet[Any], column: str, pk: int) -> str:
    """``erased-12``, made longer where somebody calls themself so already."""
    name = f"erased-{pk}"
    while rows.filter(**{column: name}).exists():
        name = f"erased-{pk}-{secrets.token_hex(4)}"
    return name
