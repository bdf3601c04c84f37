"""The list of a project's proposals to pay, and approving many of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.access import Access
from annotation.lists.definition import Bulk, Choice, Column, Filter, Listing, Reasons
from annotation.lists.state import by_number
from annotation.models import PayoutBatch, PayoutLine
from annotation.payouts.actions.many import (
    amounts_seen,
    approve_proposals,
    reasons_against,
    totals_of,
)
from annotation.payouts.actions.rules import why_not_decide_in
from annotation.payouts.selectors import proposals as reads
from crowdqc.numbers import money


def _columns() -> tuple[Column, ...]:
    return (
        Column("proposal", _("Proposal"), sort=("number",), down=True, fixed=True),
        Column("state", _("State"), sort=("state",)),
        Column("proposed", _("Proposed"), sort=("proposed_at",), down=True),
        Column("decided", _("Decided"), sort=("decided_at",), down=True),
        Column("people", _("People"), sort=("people",), number=True, down=True),
        Column("held", _("Held"), sort=("held",), number=True, down=True, term="held"),
        Column("rejected", _("Rejected"), sort=("rejected",), number=True, down=True),
        Column("pay", _("Pay"), sort=("to_pay",), number=True, down=True),
    )


def _of_worker(word: str) -> Q:
    lines = PayoutLine.objects.filter(
        batch=OuterRef("pk"), assignment__worker__pseudonym__icontains=word
    )
    return Q(Exists(lines))


def proposal_list(access: Access, counts: Mapping[str, int]) -> Listing:
    """The proposals of a project, the newest first."""
    states = [
        Choice(
            value,
            _("Waiting") if value == PayoutBatch.State.PROPOSED else label,
            Q(state=value),
            counts.get(value, 0),
        )
        for value, label in PayoutBatch.State.choices
    ]
    decides = access.is_manager or not why_not_decide_in(access.project, access.user)
    return Listing(
        slug="payouts",
        nouns="proposal,proposals",
        caption=_("Proposals to pay"),
        rows=reads.proposals(access.project),
        columns=_columns(),
        template="evaluation/payouts/_proposal.html",
        order="-proposal",
        search=(
            "title",
            "task__current__title",
            "proposed_by__display_name",
            "proposed_by__username",
            by_number,
            _of_worker,
        ),
        search_label=_("Search by title, number or person"),
        filters=(Filter("state", _("State"), states, tabs=True),),
        bulk=[_approve(access)] if decides else [],
        name_of=lambda batch: _("Proposal %(batch)s") % {"batch": batch.number},
        url_of=lambda batch: reverse("payout", args=[access.project.pk, batch.number]),
        per_page=25,
    )


def _approve(access: Access) -> Bulk:
    project = access.project

    def effect(rows: Sequence[PayoutBatch]) -> list[str]:
        totals = totals_of(rows)
        amount = money(sum(totals.values()), project.currency)
        told = [_("%(amount)s will be written to the ledger.") % {"amount": amount}]
        held = [str(row.number) for row in rows if row.held]  # type: ignore[attr-defined]
        if held:
            told.append(
                _("What is held in proposal %(names)s can be proposed again.")
                % {"names": ", ".join(held)}
            )
        return told

    def act(rows: Sequence[PayoutBatch], values: Mapping[str, Any]) -> Reasons:
        seen = amounts_seen(values.get("sent", {}))
        return approve_proposals(by=access.user, project=project, batches=rows, seen=seen)

    return Bulk(
        "approve",
        _("Approve"),
        _("Approved"),
        act,
        why_not=lambda rows: reasons_against(by=access.user, batches=rows),
        effect=effect,
        carry=lambda rows: {f"seen_{pk}": str(amount) for pk, amount in totals_of(rows).items()},
    )
