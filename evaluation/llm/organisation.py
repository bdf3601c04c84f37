"""What calls of all projects of an organisation cost together, and the budget that bounds them.

An organisation's use is that of its projects' endpoints and of its own: it needs no counter that
could differ from theirs. Its row is locked after the endpoint's, and before anything is leased;
a project that joins or leaves locks its endpoints, then the organisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, Sum

from annotation.models import Organisation, Project
from evaluation.models import Endpoint, LLMCall


@dataclass(frozen=True)
class Use:
    """What calls cost so far, and the most that those in flight can cost."""

    spent: Decimal
    reserved: Decimal


def endpoints_of(organisation: Organisation) -> Q:
    """Return the condition of endpoints that count: its own, and those of its projects."""
    return Q(organisation=organisation) | Q(project__organisation=organisation)


def use_of(organisation: Organisation) -> Use:
    """Return what calls of an organisation's projects cost, archived endpoints included."""
    rows = Endpoint.objects.filter(endpoints_of(organisation)).order_by()
    sums = rows.aggregate(spent=Sum("spent"), reserved=Sum("reserved"))
    return Use(sums["spent"] or Decimal(), sums["reserved"] or Decimal())


def organisation_of(endpoint: Endpoint) -> Organisation | None:
    """Return the organisation whose budget bounds calls at an endpoint, if any."""
    if endpoint.project_id is None:
        return endpoint.organisation
    return Organisation.objects.filter(projects=endpoint.project_id).first()


def lock_organisation_of(endpoint: Endpoint) -> Organisation | None:
    """Lock it for this transaction; the endpoint's row is locked already."""
    pk = endpoint.organisation_id
    if endpoint.project_id is not None:
        pk = Project.objects.values_list("organisation_id", flat=True).get(pk=endpoint.project_id)
    if pk is None:
        return None
    return Organisation.objects.select_for_update(no_key=True).get(pk=pk)


@dataclass
class Room:
    """The budget of an organisation whose row is locked, and the endpoints it is spent at."""

    name: str
    most: Decimal
    spent: Decimal
    reserved: Decimal
    endpoints: list[int]

    @property
    def left(self) -> Decimal:
        """What the next call may cost."""
        return self.most - self.spent - self.reserved


def room_in(organisation: Organisation, endpoint: Endpoint) -> Room | None:
    """Return what the budget leaves, with the locked endpoint as it is about to be written.

    None without a budget. Use grows only with the organisation's row locked.
    """
    if organisation.model_budget is None:
        return None
    others = Endpoint.objects.filter(endpoints_of(organisation)).exclude(pk=endpoint.pk)
    rows = [
        (endpoint.pk, endpoint.spent, endpoint.reserved),
        *others.values_list("pk", "spent", "reserved"),
    ]
    return Room(
        organisation.name,
        organisation.model_budget,
        sum((row[1] for row in rows), Decimal()),
        sum((row[2] for row in rows), Decimal()),
        [row[0] for row in rows],
    )


def is_shared_with(organisation: Organisation, call_id: int) -> bool:
    """Whether a call's project belongs to the organisation, whose row is locked."""
    return LLMCall.objects.filter(pk=call_id, project__organisation=organisation).exists()
