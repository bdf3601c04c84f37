"""Leases, attempts and money of calls, each moved in one short transaction per batch.

All that concerns an endpoint's money and limits happens while its row is locked, so that any
number of processes together keep its budget and its limits. The row is always locked before
calls are.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from annotation.models import Organisation
from annotation.records.installation_state import is_switched_on
from crowdqc.money import as_decimal
from evaluation.llm.organisation import Room, is_shared_with, lock_organisation_of, room_in
from evaluation.llm.quotas import add_to_month, month_use, spend_limit
from evaluation.models import CallState, Endpoint, LLMCall

LEASE = dt.timedelta(seconds=30)  # renewed by whoever works on a call, three times in it
MINUTE = dt.timedelta(seconds=60)
KEPT_TEXT = 20_000  # characters kept of an answer that was none


@dataclass(frozen=True)
class LeaseRequest:
    """A call to be leased: the tokens that count against the minute, and the most it can cost."""

    call_id: int
    tokens: int
    most: Decimal


@dataclass(frozen=True)
class Cap:
    """What the calls of one run may cost together, from ``since`` on."""

    run_id: int
    most: Decimal
    since: dt.datetime


@dataclass(frozen=True)
class Settled:
    """What came of an attempt, and what its call is now."""

    id: int
    number: int
    most: str  # what was reserved
    outcome: str
    state: str  # of the call
    status: int | None = None
    reason: str = ""
    text: str = ""  # what came
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: str | None = None
    latency: int | None = None
    value: Any = None
    chances: Any = None
    not_before: str | None = None


@dataclass
class Turn:
    """What a batch was given: attempt numbers of leased calls, and why others were not leased."""

    leased: dict[int, int] = field(default_factory=dict)
    elsewhere: list[int] = field(default_factory=list)  # finished, or held by somebody else
    until: dt.datetime | None = None  # nothing more before: the limits of a minute, or a pause
    short: bool = False  # a hard budget does not allow the next one now: the endpoint's,
    shared: Room | None = None  # this one, of the organisation,
    quota: Decimal | None = None  # or what models of the project may cost in a month
    month: Decimal = Decimal()  # the same, where it is asked for
    capped: bool = False  # what the run may cost does not allow the next one now
    refused: str = ""  # why nothing at all may be asked any more
    taken: set[int] = field(default_factory=set)  # not settled: somebody took the call up
    budget: Decimal | None = None
    spent: Decimal = Decimal()
    reserved: Decimal = Decimal()


@transaction.atomic
def settle_and_lease(
    *,
    endpoint_id: int,
    model_id: int,
    lease: uuid.UUID,
    settled: Sequence[Settled] = (),
    wanted: Sequence[LeaseRequest] = (),
    pause: dt.datetime | None = None,
    priced: bool = True,
    cap: Cap | None = None,
) -> Turn:
    """Book what came back and lease further calls, within budget and rate limits."""
    endpoint, beside = _lock(endpoint_id, with_project=bool(wanted))
    found = Turn(budget=endpoint.hard_budget)
    if settled:
        found.taken = _settle(endpoint, lease, settled)
    if pause is not None and (endpoint.paused_until is None or endpoint.paused_until < pause):
        endpoint.paused_until = pause
    organisation = lock_organisation_of(endpoint) if wanted else None
    own = None if endpoint.project_id is None else [endpoint, *beside]
    project_id = endpoint.project_id or (_project_of(wanted[0]) if wanted else None)
    if wanted:
        found.refused = _refusal(endpoint, organisation, wanted, priced=priced, cap=cap)
    if wanted and not found.refused:
        # All calls at this endpoint line up at its row: nobody adds to what was spent meanwhile.
        # So do, at its organisation's row, all calls that count for the same project.
        limits = _Limits(
            cap=None if cap is None else cap.most - spent_by(cap.run_id, cap.since),
            month=_room(project_id, own, wanted, found),
            shared=None if organisation is None else room_in(organisation, endpoint),
        )
        granted = _grant(endpoint, wanted, found, limits)
        if granted:
            _lease(model_id, lease, granted, found)
    endpoint.save(
        update_fields=[
            "spent",
            "reserved",
            "month",
            "month_spent",
            "paused_until",
            "window_at",
            "window_requests",
            "window_tokens",
        ]
    )
    found.spent, found.reserved = endpoint.spent, endpoint.reserved
    if found.quota is not None and project_id is not None:
        use = month_use(project_id, own)
        found.spent, found.reserved = use.total, use.reserved
    elif found.shared is not None:
        found.budget = found.shared.most
        found.spent, found.reserved = found.shared.spent, found.shared.reserved
    return found


def _lock(endpoint_id: int, *, with_project: bool) -> tuple[Endpoint, list[Endpoint]]:
    """Lock an endpoint, and with it all others of its project: a month's costs are theirs too.

    One that an organisation shares has no project, so it is locked alone.
    """
    rows = Endpoint.objects.select_for_update(no_key=True)
    if not with_project:
        return rows.get(pk=endpoint_id), []
    of_project = Endpoint.objects.filter(pk=endpoint_id).values("project")
    mine = Q(pk=endpoint_id) | Q(project__in=of_project)
    found = {one.pk: one for one in rows.filter(mine).order_by("pk")}
    return found.pop(endpoint_id), list(found.values())


def _project_of(wanted: LeaseRequest) -> int | None:
    """Return the project of a call, whose run asks for all calls of a batch."""
    return LLMCall.objects.values_list("project_id", flat=True).get(pk=wanted.call_id)


def _room(
    project_id: int | None,
    own: Sequence[Endpoint] | None,
    wanted: Sequence[LeaseRequest],
    found: Turn,
) -> Decimal | None:
    """Return what the project's models may still cost this month; None where calls cost nothing."""
    if project_id is None or not any(one.most for one in wanted):
        return None
    found.month = spend_limit(project_id)
    return found.month - month_use(project_id, own).total


def _refusal(
    endpoint: Endpoint,
    organisation: Organisation | None,
    wanted: Sequence[LeaseRequest],
    *,
    priced: bool,
    cap: Cap | None,
) -> str:
    """Why nothing may be asked, whatever was so when the run began; else ""."""
    if not is_switched_on("models"):
        return "The owner of this site switched calls to language models off."
    if endpoint.archived_at is not None:
        return f"{endpoint.name} was archived; nothing more is asked there."
    if (
        organisation is not None
        and endpoint.project_id is None
        and not is_shared_with(organisation, wanted[0].call_id)
    ):
        return f"{endpoint.name} is shared by {organisation.name}, which the project has left."
    return "" if priced else _price_refusal(endpoint, organisation, cap)


def _price_refusal(endpoint: Endpoint, organisation: Organisation | None, cap: Cap | None) -> str:
    """Why a model without prices may not be asked; else ""."""
    budgets = [(endpoint.name, endpoint.hard_budget)]
    if organisation is not None:
        budgets.append((organisation.name, organisation.model_budget))
    for name, budget in budgets:
        if budget is not None:
            return f"{name} has a hard budget now, which needs the prices of the model."
    if cap is not None:
        return "What this run may cost is limited, which needs the prices of the model."
    return ""


SPENT = """
SELECT coalesce(sum(CASE WHEN a.outcome = 'sent' THEN c.reserved ELSE coalesce(a.cost, 0) END), 0)
FROM evaluation_llmattempt a JOIN evaluation_llmcall c ON c.id = a.call_id
WHERE a.sent_at >= %s AND a.call_id IN (SELECT call_id FROM evaluation_calluse WHERE run_id = %s)
"""


def spent_by(run_id: int, since: dt.datetime) -> Decimal:
    """Return the cost of a run's calls since a time; calls in flight count with their reserve.

    An attempt that another run made at such a call meanwhile is in it too.
    """
    with connection.cursor() as cursor:
        cursor.execute(SPENT, [since, run_id])
        found: Decimal = cursor.fetchone()[0]
    return found


@dataclass
class _Limits:
    """What the next calls may cost: by the run, the project's month and the organisation."""

    cap: Decimal | None
    month: Decimal | None
    shared: Room | None

    def take(self, most: Decimal) -> None:
        """Set aside what a call can cost at most."""
        self.cap = None if self.cap is None else self.cap - most
        self.month = None if self.month is None else self.month - most
        if self.shared is not None:
            self.shared.reserved += most


def _grant(
    endpoint: Endpoint,
    wanted: Sequence[LeaseRequest],
    found: Turn,
    limits: _Limits,
) -> list[LeaseRequest]:
    """Return the calls that may be sent now; note in ``found`` what became of the others."""
    now = timezone.now()
    if endpoint.paused_until is not None and endpoint.paused_until > now:
        found.until = endpoint.paused_until
        return []
    if endpoint.window_at is None or now - endpoint.window_at >= MINUTE:
        endpoint.window_at, endpoint.window_requests, endpoint.window_tokens = now, 0, 0
    ids = [one.call_id for one in wanted]
    free = set(
        LLMCall.objects.select_for_update(no_key=True)  # inserted uses share its key
        .filter(pk__in=ids, state=CallState.QUEUED)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    granted: list[LeaseRequest] = []
    for one in wanted:
        if one.call_id not in free:
            found.elsewhere.append(one.call_id)
        elif _over_limit(endpoint, one):
            found.until = endpoint.window_at + MINUTE
            break
        elif (
            endpoint.hard_budget is not None
            and endpoint.spent + endpoint.reserved + one.most > endpoint.hard_budget
        ):
            found.short = True
            break
        elif limits.month is not None and one.most and one.most > limits.month:
            found.short, found.quota = True, found.month
            break
        elif limits.shared is not None and one.most > limits.shared.left:
            found.short, found.shared = True, limits.shared
            break
        elif limits.cap is not None and one.most > limits.cap:
            found.capped = True
            break
        else:
            limits.take(one.most)
            endpoint.window_requests += 1
            endpoint.window_tokens += one.tokens
            endpoint.reserved += one.most
            granted.append(one)
    return granted


def _over_limit(endpoint: Endpoint, one: LeaseRequest) -> bool:
    requests, tokens = endpoint.requests_per_minute, endpoint.tokens_per_minute
    if requests is not None and endpoint.window_requests + 1 > requests:
        return True
    # A call larger than a minute's tokens gets a minute of its own, or it would wait for ever.
    return (
        tokens is not None
        and endpoint.window_tokens > 0
        and endpoint.window_tokens + one.tokens > tokens
    )


# The attempt is written with the lease, before anything is sent.
LEASING = """
WITH leased AS (
    UPDATE evaluation_llmcall AS c
    SET state = 'sent', lease = %s, lease_until = %s, model_id = %s, reserved = x.most,
        attempts = c.attempts + 1, not_before = NULL
    FROM jsonb_to_recordset(%s::jsonb) AS x(id bigint, most numeric)
    WHERE c.id = x.id
    RETURNING c.id, c.attempts)
INSERT INTO evaluation_llmattempt (call_id, number, sent_at, outcome, reason, text)
SELECT id, attempts, %s, 'sent', '', '' FROM leased
RETURNING call_id, number
"""


def _lease(model_id: int, lease: uuid.UUID, granted: Sequence[LeaseRequest], found: Turn) -> None:
    now = timezone.now()
    rows = json.dumps([{"id": one.call_id, "most": str(one.most)} for one in granted])
    with connection.cursor() as cursor:
        cursor.execute(LEASING, [lease, now + LEASE, model_id, rows, now])
        found.leased.update(cursor.fetchall())


# What an answer was not taken from stands at the attempt, what it was taken from at the call.
SETTLING = """
WITH x AS (
    SELECT * FROM jsonb_to_recordset(%s::jsonb) AS x(
        id bigint, number int, outcome text, state text, status smallint, text text, value jsonb,
        chances jsonb, reason text, tokens_in int, tokens_out int, cost numeric, latency int,
        not_before timestamptz)),
held AS (
    UPDATE evaluation_llmcall AS c
    SET state = x.state, lease = NULL, lease_until = NULL, reserved = 0, text = x.text,
        value = x.value, chances = x.chances, reason = x.reason,
        tokens_in = coalesce(x.tokens_in, c.tokens_in),
        tokens_out = coalesce(x.tokens_out, c.tokens_out),
        cost = CASE WHEN x.cost IS NULL THEN c.cost ELSE coalesce(c.cost, 0) + x.cost END,
        latency_ms = coalesce(x.latency, c.latency_ms), not_before = x.not_before,
        finished_at = CASE WHEN x.state IN ('done', 'failed') THEN %s::timestamptz END
    FROM x
    WHERE c.id = x.id AND c.attempts = x.number AND c.state = 'sent' AND c.lease = %s
    RETURNING c.id),
tried AS (
    UPDATE evaluation_llmattempt AS a
    SET outcome = x.outcome, status = x.status, reason = x.reason,
        text = CASE WHEN x.value IS NULL THEN left(x.text, %s) ELSE '' END,
        tokens_in = x.tokens_in, tokens_out = x.tokens_out, cost = x.cost, latency_ms = x.latency,
        ended_at = greatest(%s::timestamptz, a.sent_at)
    FROM x JOIN held ON held.id = x.id
    WHERE a.call_id = x.id AND a.number = x.number AND a.outcome = 'sent')
SELECT id FROM held
"""


def _settle(endpoint: Endpoint, lease: uuid.UUID, settled: Sequence[Settled]) -> set[int]:
    """Write what came; returns the calls for which that was too late.

    The attempt of one whose lease ran out was settled by whoever took the call up.
    """
    now = timezone.now()
    rows = json.dumps([vars(one) for one in settled])
    with connection.cursor() as cursor:
        cursor.execute(SETTLING, [rows, now, lease, KEPT_TEXT, now])
        held = {row[0] for row in cursor.fetchall()}
    mine = [one for one in settled if one.id in held]
    cost = sum((as_decimal(one.cost) for one in mine if one.cost), Decimal())
    endpoint.spent += cost
    add_to_month(endpoint, cost)
    back = sum((as_decimal(one.most) for one in mine), Decimal())
    endpoint.reserved = max(Decimal(), endpoint.reserved - back)
    return {one.id for one in settled} - held


def renew(lease: uuid.UUID) -> None:
    """Renew the lease of this process' calls in flight."""
    LLMCall.objects.filter(lease=lease, state=CallState.SENT).update(
        lease_until=timezone.now() + LEASE
    )


LOST = """
UPDATE evaluation_llmattempt AS a
SET outcome = 'lost', reason = %s, ended_at = greatest(%s::timestamptz, a.sent_at),
    cost = CASE WHEN %s THEN c.reserved END
FROM evaluation_llmcall AS c
WHERE a.call_id = c.id AND a.number = c.attempts AND a.outcome = 'sent' AND c.id = ANY(%s)
"""
AGAIN = """
UPDATE evaluation_llmcall SET state = 'queued', lease = NULL, lease_until = NULL, reserved = 0,
    cost = CASE WHEN %s THEN coalesce(cost, 0) + reserved ELSE cost END
WHERE id = ANY(%s)
"""


def sweep(endpoint_id: int) -> int:
    """Release calls whose lease expired, as their worker died; return how many.

    The attempt that was in flight may have been billed, so it costs what was reserved for it.
    """
    expired = LLMCall.objects.filter(
        state=CallState.SENT, lease_until__lt=timezone.now(), model__endpoint=endpoint_id
    )
    if not expired.exists():
        return 0
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint_id)
        rows = list(
            expired.select_for_update(of=("self",), no_key=True)
            .order_by("pk")
            .values_list("pk", "reserved", "model__price_in")
        )
        for priced in (True, False):
            ids = [row[0] for row in rows if (row[2] is not None) == priced]
            if ids:
                _lose(ids, priced, "The worker ended before the answer came.")
        lost = sum((row[1] for row in rows), Decimal())
        endpoint.spent += lost
        add_to_month(endpoint, lost)
        endpoint.reserved = max(Decimal(), endpoint.reserved - lost)
        endpoint.save(update_fields=["spent", "reserved", "month", "month_spent"])
    return len(rows)


def _lose(ids: Collection[int], priced: bool, reason: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(LOST, [reason, timezone.now(), priced, list(ids)])
        cursor.execute(AGAIN, [priced, list(ids)])
