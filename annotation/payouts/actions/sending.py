"""Sending what was approved, exactly once, over an interface that pays twice when asked twice.

Every step: take one payment (a short lease), commit the intent, send, confirm. Whoever finds a
payment in ``sending`` first asks the platform what happened. A bonus that had no answer is sent
again only after a settling time far beyond the platform's own, at which it still is not there;
what does not add up then waits for a person. Nothing here holds a transaction over a request.
"""

from __future__ import annotations

import datetime as dt
import random
import time
from contextlib import ExitStack
from typing import Any, Self, cast

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Payment, PaymentAttempt, Recruitment, Rejection, Statement
from annotation.payouts.actions.payments import OPEN, TAKEN_BACK, State, What, confirm, overturned
from annotation.payouts.actions.reasons import MIN_REASON, PROLIFIC_CATEGORIES
from annotation.records.actions.audit import record
from annotation.recruitment.platforms import prolific
from annotation.recruitment.platforms.prolific import NoAnswer, NotSent, Prolific, Refused, to_pence
from crowdqc.deployment.backup.recovery import hold_if_recovered, restored_at
from crowdqc.errors import DomainError
from crowdqc.sealing import sealed

MAX_TRIES = 14  # with pauses up to a quarter of an hour: about two hours
MAX_RESENDS = 3
SLOW = 5.0  # seconds for one payment; a platform that needs more gets one payment a turn
CONCLUDED = "looked: nothing was paid"


class LeaseLost(Exception):
    """The lease ran out, so that another worker may be at it: nothing more is sent here."""


def send_due(*, seconds: float = 40.0) -> int:
    """Send what is due until nothing is or the time is over; gives how many steps that were.

    As many of these may run as there are workers: each takes what nobody else holds. Projects
    take turns, in an order that is drawn anew, and one whose platform fails or is slow is left
    alone for the rest of the time: others do not wait behind it.
    """
    hold_if_recovered()
    until, steps = time.monotonic() + seconds, 0
    projects = _due().order_by().values_list("recruitment__task__project_id", flat=True)
    waiting = list(projects.distinct())
    random.shuffle(waiting)
    with PlatformConnections() as desk:
        while waiting:
            for project in list(waiting):
                if time.monotonic() > until:
                    return steps
                taken = _lease_payment(project)
                if taken is None or not _step(desk, *taken):
                    waiting.remove(project)
                steps += taken is not None
    return steps


def is_due() -> bool:
    """Whether a payment waits to be sent or looked at."""
    return _due().exists()


def _due() -> QuerySet[Payment]:
    return Payment.objects.filter(
        Q(held_until=None) | Q(held_until__lte=timezone.now()), state__in=OPEN
    ).exclude(recruitment=None)


@transaction.atomic
def _lease_payment(project: int) -> tuple[Payment, str] | None:
    """One payment of the project that is due, leased, with the state it was found in."""
    now = timezone.now()
    payment = (
        _due()
        .select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("recruitment", "line", "assignment__visit")
        .filter(recruitment__task__project=project)
        .order_by("pk")
        .first()
    )
    if payment is None:
        return None
    held = Statement.objects.filter(
        task=payment.assignment.task_id,
        rows__contains=[{"payment": payment.pk, "waits": True, "books": True}],
    ).first()
    if held is not None and payment.state != State.SENDING:
        payment.state, payment.held_until = State.UNCLEAR, None
        payment.error = (_("%(statement)s says that it was paid.") % {"statement": held.name})[:300]
        payment.save(update_fields=["state", "held_until", "error"])
        return _lease_payment(project)
    found = payment.state
    payment.held_until = now + dt.timedelta(seconds=settings.CROWDQC_PAYMENT_LEASE)
    payment.attempts += 1
    if payment.what != What.BONUS:  # these may be repeated, so that the intent is the state
        payment.state, payment.sent_at = State.SENDING, payment.sent_at or now
    payment.save(update_fields=["held_until", "attempts", "state", "sent_at"])
    return payment, found


class PlatformConnections:
    """Open connections to the platforms, one a recruitment, for the time of one job."""

    def __init__(self) -> None:
        self._stack, self._open = ExitStack(), dict[int, Prolific]()
        self._studies: dict[tuple[int, str], prolific.Study] = {}
        self._payment: Payment | None = None
        self._attempt: PaymentAttempt | None = None
        self._until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, payment: Payment) -> None:
        """Use the connections for this payment from now on."""
        self._payment, self._attempt = payment, None
        self._until = time.monotonic() + settings.CROWDQC_PAYMENT_LEASE / 2

    def still_ours(self) -> None:
        """Raise LeaseLost if the lease is nearly over and another worker may take the payment."""
        if time.monotonic() > self._until:
            raise LeaseLost

    def client(self, payment: Payment) -> Prolific:
        """The platform of a payment; DomainError where its token or address cannot be used."""
        recruitment = cast(Recruitment, payment.recruitment)
        if recruitment.pk not in self._open:
            token = sealed.unseal(
                recruitment.token_sealed, prolific.PURPOSE, _("The token"), again=_("the token")
            )
            client = Prolific(recruitment.api_url, token, self._note)
            self._open[recruitment.pk] = self._stack.enter_context(client)
        return self._open[recruitment.pk]

    def study(self, payment: Payment) -> prolific.Study:
        """Return what the payment's study pays on Prolific, asked once per job."""
        way = cast(Recruitment, payment.recruitment)
        key = way.pk, payment.assignment.visit.study
        if key not in self._studies:
            self._studies[key] = told = self.client(payment).study(key[1])
            if told.currency and told.currency != way.study_currency:
                way.study_currency = told.currency
                Recruitment.objects.filter(pk=way.pk).update(study_currency=told.currency)
        return self._studies[key]

    def _note(self, request: str, status: int | None, error: str) -> None:
        """Store a row for a request; one that changes something is stored before it is sent."""
        ended = status is not None or bool(error)
        now = timezone.now()
        if ended and self._attempt is not None and self._attempt.request == request:
            self._attempt.status, self._attempt.error = status, error[:300]
            self._attempt.ended_at = now
            self._attempt.save(update_fields=["status", "error", "ended_at"])
            self._attempt = None
            return
        made = PaymentAttempt.objects.create(
            payment=cast(Payment, self._payment),
            request=request,
            status=status,
            error=error[:300],
            started_at=now,
            ended_at=now if ended else None,
        )
        self._attempt = None if ended else made


def _step(desk: PlatformConnections, payment: Payment, found: str) -> bool:
    """Go on with one payment; every way it may end is a state that says so.

    False where its platform gives no answer, or one that took long.
    """
    desk.begin(payment)
    began = time.monotonic()
    try:
        if payment.what == What.BONUS:
            _bonus(desk, payment, found)
        elif payment.what == What.REFUSAL:
            _reject(desk, payment)
        else:
            _approve(desk, payment, first=found == State.PLANNED)
    except NotSent as error:
        _later(payment, str(error), wait=error.wait)
        return False
    except NoAnswer as error:
        _later(payment, str(error))
        return False
    except (Refused, DomainError) as error:
        _refused(payment, str(error), sent=found == State.SENDING)
    except LeaseLost:
        pass
    return time.monotonic() - began < SLOW


def _refused(payment: Payment, why: str, *, sent: bool) -> None:
    """Refused: nothing was done, unless it is a bonus that had been sent already."""
    try:
        if sent and payment.what == What.BONUS:
            _unclear(
                payment, _("It may have been paid, and cannot be looked up. %(why)s") % {"why": why}
            )
        else:
            _save_state(payment, state=State.FAILED, error=why[:300], held_until=None)
    except LeaseLost:
        pass


def _save_state(payment: Payment, **fields: Any) -> None:
    """Write the next state, unless somebody else took the payment over."""
    mine = Payment.objects.filter(pk=payment.pk, attempts=payment.attempts, state__in=OPEN)
    if not mine.update(**fields):
        raise LeaseLost
    for name, value in fields.items():
        setattr(payment, name, value)


def _time_in(seconds: float) -> dt.datetime:
    return timezone.now() + dt.timedelta(seconds=seconds)


def _later(payment: Payment, error: str, *, wait: float | None = None) -> None:
    """Look again after a pause that grows; what cannot be reached for hours is given to people."""
    try:
        if payment.attempts >= MAX_TRIES and payment.state != State.SENDING:
            _save_state(
                payment,
                state=State.FAILED,
                error=(_("Given up. %(error)s") % {"error": error})[:300],
                held_until=None,
            )
        elif payment.attempts >= MAX_TRIES * 2:
            state = State.UNCLEAR if payment.what == What.BONUS else State.FAILED
            _save_state(
                payment,
                state=state,
                error=(_("Given up. %(error)s") % {"error": error})[:300],
                held_until=None,
            )
        else:
            pause = settings.CROWDQC_PAYMENT_CHECK * 2 ** min(payment.attempts - 1, 8)
            pause = min(pause, 900.0) if wait is None else wait
            _save_state(payment, error=error[:300], held_until=_time_in(pause))
    except LeaseLost:
        pass


def _same_currency(desk: PlatformConnections, payment: Payment) -> None:
    """Raise Refused unless the study pays in the currency of the payment: 100 is not 100 else."""
    told = desk.study(payment).currency or cast(Recruitment, payment.recruitment).study_currency
    if not told:
        raise Refused(
            _(
                "The currency of the study is not known. Enter it at the recruitment, then "
                "try again. Nothing was sent."
            )
        )
    if told != payment.currency:
        raise Refused(
            _("The study pays in %(told)s, and this is in %(currency)s. Nothing was sent.")
            % {"told": told, "currency": payment.currency}
        )


# Approving and rejecting: the platform takes a repeat for the same ----------------------------


def _approve(desk: PlatformConnections, payment: Payment, *, first: bool) -> None:
    client, session = desk.client(payment), payment.assignment.visit.session
    _same_currency(desk, payment)
    reward = desk.study(payment).reward
    if reward is not None and reward != to_pence(payment.amount):
        raise Refused(
            _("An approval there pays %(reward)s, not %(amount)s. Nothing was sent.")
            % {"reward": f"{reward / 100:.2f}", "amount": payment.amount}
        )
    status = prolific.WAITING if first else client.submission(session).get("status", "")
    if status == prolific.WAITING:
        try:
            status = client.transition(session, "APPROVE")
        except Refused:
            status = client.submission(session).get("status", "")
            if status == prolific.WAITING:
                raise
    if status == prolific.REJECTED and overturned(payment.assignment):
        client.transition(session, "UNREJECT")
        status = client.transition(session, "APPROVE")
    if status == "PROCESSING":
        raise NotSent(_("The platform is still at it."))
    if status != prolific.APPROVED:
        raise Refused(
            _("The submission is %(status)s there, not approved.")
            % {"status": status or _("in an unknown state")}
        )
    confirm(payment=payment)


def _reject(desk: PlatformConnections, payment: Payment) -> None:
    if overturned(payment.assignment):
        raise Refused(str(TAKEN_BACK))
    reason = Rejection.objects.get(assignment=payment.assignment_id)
    if len(reason.reason) < MIN_REASON:  # written before that was the rule
        raise Refused(
            _("Prolific wants a reason of %(min_reason)s characters; reject it there.")
            % {"min_reason": MIN_REASON}
        )
    client, session = desk.client(payment), payment.assignment.visit.session
    category = PROLIFIC_CATEGORIES.get(reason.reason_code, "OTHER")
    status = client.submission(session).get("status", "")
    if status == prolific.WAITING:
        status = client.transition(
            session, "REJECT", message=reason.reason, rejection_category=category
        )
    if status != prolific.REJECTED:
        raise Refused(
            _("The submission is %(status)s there, not rejected.")
            % {"status": status or _("in an unknown state")}
        )
    confirm(payment=payment)


# A bonus: paying is not idempotent ------------------------------------------------------------


def _bonus(desk: PlatformConnections, payment: Payment, found: str) -> None:
    if found == State.SENDING:
        _reconcile(desk, payment)
        return
    _same_currency(desk, payment)
    client, visit = desk.client(payment), payment.assignment.visit
    seen = _paid(client.submission(visit.session), payment)
    before = payment.seen_before
    if before not in (None, seen):  # an earlier try may have come through after all
        _unclear(
            payment,
            _("%(seen)s bonuses of this amount stand there, %(before)s did before.")
            % {"seen": seen, "before": before},
        )
        return
    if before is None and seen and _may_be_lost(payment, seen):
        _unclear(
            payment,
            _("%(seen)s bonuses of this amount stand there. One may be from before the restore.")
            % {"seen": seen},
        )
        return
    if found == State.PLANNED:
        reference, understood = client.set_up_bonus(visit.study, visit.session, payment.amount)
        if understood is not None and understood != to_pence(payment.amount):
            raise Refused(
                _("The platform understood %(understood)s. Nothing was paid.")
                % {"understood": f"{understood / 100:.2f}"}
            )
        _save_state(payment, state=State.PREPARED, reference=reference, seen_before=seen)
    desk.still_ours()
    _save_state(payment, state=State.SENDING, sent_at=timezone.now(), seen_before=seen, error="")
    try:
        client.pay_bonus(payment.reference)
    except NotSent as error:  # sure that nothing was paid: it is set up, and waits its turn
        pause = settings.CROWDQC_PAYMENT_CHECK if error.wait is None else error.wait
        _save_state(
            payment,
            state=State.PREPARED,
            sent_at=None,
            error=str(error),
            held_until=_time_in(pause),
        )
        return
    _save_state(payment, held_until=_time_in(settings.CROWDQC_PAYMENT_CHECK))


def _paid(told: dict[str, Any], payment: Payment) -> int:
    """Count the submission's bonuses of this amount; Refused if it is another person's."""
    visit = payment.assignment.visit
    who, study = told.get("participant"), told.get("study_id")
    if who not in (None, visit.participant) or study not in (None, visit.study):
        raise Refused(_("The submission belongs to somebody else there. Nothing was paid."))
    bonuses = told.get("bonus_payments") or []
    try:
        return sum(round(float(one)) == to_pence(payment.amount) for one in bonuses)
    except (TypeError, ValueError, OverflowError):
        raise Refused(_("The platform’s list of bonuses cannot be read.")) from None


def _may_be_lost(payment: Payment, seen: int) -> bool:
    """Whether it may have been paid before the database was put back to an earlier moment.

    That is so where more bonuses of this amount stand there than the books have.
    """
    at = restored_at()
    if at is None or payment.assignment.leased_at > at:
        return False
    booked = Payment.objects.filter(
        assignment__visit__session=payment.assignment.visit.session,
        recruitment=payment.recruitment_id,
        what=What.BONUS,
        state=State.DONE,
        amount=payment.amount,
    )
    return seen > booked.exclude(pk=payment.pk).count()


def _reconcile(desk: PlatformConnections, payment: Payment) -> None:
    """Find out what became of a payment that was sent, or was about to be."""
    seen = _paid(desk.client(payment).submission(payment.assignment.visit.session), payment)
    before = payment.seen_before or 0
    if seen == before + 1:
        confirm(payment=payment)
        return
    if seen != before:
        more = _("%(seen)s bonuses of this amount stand there, %(before)s did before.") % {
            "seen": seen,
            "before": before,
        }
        _unclear(payment, more)
        return
    sent_at = payment.sent_at or payment.created_at
    waited = (timezone.now() - sent_at).total_seconds()
    pay = payment.tries.filter(request__contains=f"/{payment.reference}/pay/")
    if pay.filter(status__in=(200, 201, 202, 204)).exists():
        if waited > settings.CROWDQC_PAYMENT_GIVE_UP:
            _unclear(payment, _("The platform took the payment, but it does not appear there."))
        else:
            _later(payment, _("Taken by the platform, not paid yet."))
    elif waited <= settings.CROWDQC_PAYMENT_SETTLE:
        left = settings.CROWDQC_PAYMENT_SETTLE - waited
        pause = min(left + 0.01, settings.CROWDQC_PAYMENT_CHECK * 2 ** min(payment.attempts, 6))
        _save_state(
            payment,
            error=_("No answer came; looking before anything else."),
            held_until=_time_in(pause),
        )
    else:
        _conclude(payment, waited)


def _conclude(payment: Payment, waited: float) -> None:
    """Long after, nothing stands there: it was not paid, and is set up anew."""
    if payment.tries.filter(request=CONCLUDED).count() >= MAX_RESENDS:
        _unclear(
            payment,
            _("No answer %(max_resends)s times, and nothing was paid so far.")
            % {"max_resends": MAX_RESENDS + 1},
        )
        return
    with transaction.atomic():
        words = _("%(waited)s s after it was sent without an answer") % {"waited": f"{waited:.0f}"}
        PaymentAttempt.objects.create(
            payment=payment,
            request=CONCLUDED,
            error=words,
            started_at=timezone.now(),
            ended_at=timezone.now(),
        )
        project = payment.assignment.task.project
        record(by=None, project=project, action="payment.resend", on=payment, waited=int(waited))
        _save_state(
            payment,
            state=State.PLANNED,
            reference="",
            sent_at=None,
            held_until=None,
            error=_(
                "Sent again: %(seconds)s s after it was sent without an answer nothing was paid."
            )
            % {"seconds": f"{waited:.0f}"},
        )


def _unclear(payment: Payment, why: str) -> None:
    _save_state(payment, state=State.UNCLEAR, error=why[:300], held_until=None)
    project = payment.assignment.task.project
    # Not why: the platform's words may name the person, and this log is kept for good.
    record(by=None, project=project, action="payment.unclear", on=payment)
