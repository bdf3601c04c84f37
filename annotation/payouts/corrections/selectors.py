"""Reads of bookings by hand that await a second person."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum

from annotation.accounts.roles.selectors import load_ties
from annotation.models import Correction, Project, User
from annotation.payouts.actions.rules import (
    GONE,
    proposers,
    why_nobody_approves,
    why_not_decide_in,
    why_not_second,
)
from annotation.payouts.corrections.actions.propose import booked_alone
from annotation.payouts.selectors.accounts import ZERO
from annotation.payouts.selectors.balance import account_names
from annotation.payouts.selectors.next_steps import ways_out


@dataclass(frozen=True)
class WaitingCorrection:
    """One proposed correction as one person sees it."""

    correction: Correction
    debit: str
    credit: str
    why_not: str  # why the viewer may not approve it; "" when they may
    own: bool
    stuck: str  # why nobody may approve it; "" when somebody may
    ways_out: tuple[tuple[str, str], ...] = ()  # addresses and words of what the viewer can do


def corrections_of(project: Project) -> QuerySet[Correction]:
    """Return all corrections, booked and proposed, newest first."""
    rows = project.corrections.select_related("task", "statement", "proposed_by", "decided_by")
    return rows.order_by("-pk")


@dataclass(frozen=True)
class AccountEffect:
    """What a correction does to one account; of workers, to what they are owed."""

    name: str
    before: Decimal
    after: Decimal


@dataclass(frozen=True)
class CorrectionEffects:
    """What a correction will do, before it is booked."""

    accounts: list[AccountEffect]
    is_more: bool  # a worker is owed more
    is_less: bool  # a worker is owed less
    is_alone: bool  # no second person has to approve it
    booked_today: Decimal  # alone, by anybody


def correction_effects(
    project: Project, *, debit: str, credit: str, amount: Decimal
) -> CorrectionEffects:
    """Compute what a correction will do, and whether one person may book it now."""
    names = account_names(project, (debit, credit))
    sums = project.ledger.filter(currency=project.currency).aggregate(
        **{
            f"{side}_{column}": Sum("amount", filter=Q(**{column: code}), default=ZERO)
            for side, code in (("from", debit), ("to", credit))
            for column in ("debit", "credit")
        }
    )
    found = []
    for side, code, sign in (("from", debit, -1), ("to", credit, 1)):
        before = sums[f"{side}_credit"] - sums[f"{side}_debit"]
        found.append(AccountEffect(names[code], before, before + sign * amount))
    booked = booked_alone(project)
    return CorrectionEffects(
        accounts=found,
        is_more=credit.startswith("worker:"),
        is_less=debit.startswith("worker:"),
        is_alone=project.single_approval or booked + amount <= project.correction_limit,
        booked_today=booked,
    )


def waiting_corrections(project: Project, viewer: User) -> list[WaitingCorrection]:
    """List the corrections that wait for a second person, oldest first."""
    rows = list(corrections_of(project).filter(state=Correction.State.PROPOSED).order_by("pk"))
    why_not = why_not_decide_in(project, viewer)
    may = set(proposers(project))
    chain = load_ties(project)
    names = account_names(project, {c for row in rows for c in (row.debit, row.credit) if c})
    found = []
    for row in rows:
        gone = "" if row.proposed_by_id in may else str(GONE)
        reason = why_not or gone or why_not_second(project, row.proposed_by, viewer, chain)
        own = row.proposed_by_id == viewer.pk
        stuck = why_nobody_approves(project, row.proposed_by)
        debit, credit = names.get(row.debit, ""), names.get(row.credit, "")
        out = ways_out(project, row.proposed_by, viewer) if stuck else ()
        found.append(WaitingCorrection(row, debit, credit, reason, own, stuck, out))
    return found
