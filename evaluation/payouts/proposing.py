"""Proposing a payout, with the incentives that its lines hold bound to it."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.models import PayoutBatch
from annotation.payouts.actions.proposals import propose_payout
from evaluation.panels.watch import take_incentives


@transaction.atomic
def propose(**proposal: Any) -> PayoutBatch:
    """As ``propose_payout``; an incentive that a line holds is in no other proposal."""
    batch = propose_payout(**proposal)
    if batch.state == PayoutBatch.State.PROPOSED:
        take_incentives(batch)
    return batch
