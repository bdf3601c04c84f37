"""The list of a project's proposals to pay, and approving many of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q

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

COLUMNS = (
    Column("proposal", "Proposal", sort=("number",), down=True, fixed=True),
    Column("state", "State", sort=("state",)),
    Column("proposed", "Proposed", sort=("proposed_at",), down=True),
    Column("decided", "Decided", sort=("decided_at",), down=True),
    Column("people", "People", sort=("people",), number=True, down=True),
    Column("held", "Held", sort=("held",), number=True, down=True, term="held"),
    Column("rejected", "Rejected", sort=("rejected",), number=True, down=True),
    Column("pay", "Pay", sort=("to_pay",), number=True, down=True),
)
WORDS = {PayoutBatch.State.PROPOSED: "Waiting"}


def _of_worker(word: str) -> Q:
    lines = PayoutLine.objects.filter(
        batch=OuterRef("pk"), assignment__worker__pseudonym__icontains=word
    )
    return Q(Exists(lines))


def proposal_list(access: Access, counts: Mapping[str, int]) -> Listing:
    """The proposals of a project, the newest first."""
    states = [
        Choice(
            value, WORDS.get(PayoutBatch.State(value), label), Q(state=value), counts.get(value, 0)
        )
        for value, label in PayoutBatch.State.choices
    ]
    decides = access.is_manager or not why_not_decide_in(access.project, access.user)
    return Listing(
        slug="payouts",
        nouns="proposal,proposals",
        caption="Proposals to pay",
        rows=reads.proposals(access.project),
        columns=COLUMNS,
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
        search_label="Search by title, number or person",
        filters=(Filter("state", "State", states, tabs=True),),
        bulk=[_approve(access)] if decides else [],
        name_of=lambda batch: f"Proposal {batch.number}",
        per_page=25,
    )


def _approve(access: Access) -> Bulk:
    project = access.project

    def effect(rows: Sequence[PayoutBatch]) -> list[str]:
        totals = totals_of(rows)
        amount = money(sum(totals.values()), project.currency)
        told = [f"{amount} is written to the ledger."]
        held = [str(row.number) for row in rows if row.held]  # type: ignore[attr-defined]
        if held:
            told.append(f"What is held in proposal {', '.join(held)} can be proposed again.")
        return told

    def act(rows: Sequence[PayoutBatch], values: Mapping[str, Any]) -> Reasons:
        seen = amounts_seen(values.get("sent", {}))
        return approve_proposals(by=access.user, project=project, batches=rows, seen=seen)

    return Bulk(
        "approve",
        "Approve",
        "Approved",
        act,
        why_not=lambda rows: reasons_against(by=access.user, batches=rows),
        effect=effect,
        carry=lambda rows: {f"seen_{pk}": str(amount) for pk, amount in totals_of(rows).items()},
    )
