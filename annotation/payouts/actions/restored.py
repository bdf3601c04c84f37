"""Payments after a restore: what was sent since the backup is not known, so no bonus is resent."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Payment
from annotation.payouts.actions.payments import OPEN, State, What
from annotation.records.actions.audit import record


@transaction.atomic
def hold_payments(made_at: str) -> list[str]:
    """Hold open bonuses of a restored database for people to check; return messages about them.

    A bonus that waited when the backup was made may have been paid since, and paying is not
    idempotent. Approvals and rejections are: the platform says that they were made.
    """
    why = _("Restored to %(made_at)s. It may have been paid since then.") % {"made_at": made_at}
    held = 0
    waiting = Payment.objects.filter(state__in=OPEN, what=What.BONUS).exclude(recruitment=None)
    for payment in waiting.select_related("assignment__task__project"):
        payment.state, payment.error, payment.held_until = State.UNCLEAR, why, None
        payment.save(update_fields=["state", "error", "held_until"])
        project = payment.assignment.task.project
        record(by=None, project=project, action="payment.unclear", on=payment, restored=made_at)
        held += 1
    if not held:
        return []
    return [
        _(
            "%(held)s bonuses that waited to be sent are held: they may have been paid "
            "since %(made_at)s. Look at each on its platform, then decide on the page "
            "of payments."
        )
        % {"held": held, "made_at": made_at}
    ]
