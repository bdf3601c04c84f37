"""The work on a run's calls: threads send, the calling thread alone talks to the database.

A call is leased when a thread is free for it and not before, so that what stands as sent was
sent. Each round of the loop settles all answers that have come and leases as many calls again, in
one transaction.
"""

from __future__ import annotations

import datetime as dt
import heapq
import itertools
import logging
import random
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from django.db import DatabaseError
from django.utils import timezone

from crowdqc.errors import Conflict
from evaluation.llm import ledger
from evaluation.llm.ask import BudgetSpent, CapReached, EndpointFails
from evaluation.llm.client import Sender
from evaluation.llm.completion import Completion, Link, Outcome
from evaluation.llm.ledger import LEASE, Cap, LeaseRequest, Settled, Turn
from evaluation.llm.quotas import MODEL_SPEND
from evaluation.llm.threads import Threads
from evaluation.llm.wording import ParsedAnswer, Size, cost_of, highest_cost, unpriced
from evaluation.models import CallState, LanguageModel, LLMCall

logger = logging.getLogger(__name__)
FAULTS = 6  # attempts that a run makes at a call which the endpoint fails
RATE_FAULTS = 12  # the same where it asks for patience
BACKOFF, LONGEST = 1.0, 60.0  # seconds before the second attempt; doubled for each further one
PATIENCE = 600.0  # seconds of pause that an endpoint may ask for; then the call fails
DOWN = 10  # calls failed one after another by the endpoint, after which a run gives up
TICK = 0.25  # seconds between two looks at progress, leases and deadlines
POLL = 0.5  # seconds between two looks at calls that another run has in flight
LATE = 2.0  # seconds beyond the time limit after which a thread is given up
STOP = 2.0  # seconds that a cancelled run waits for what is in flight


class Source(Protocol):
    """What the calls are: their requests, and how answers are read."""

    path: str

    def size(self, call_id: int) -> Size:
        """Return the tokens of a call's request, expected and at most."""

    def body(self, call_id: int) -> Mapping[str, Any]:
        """Return the request of a call, as JSON."""

    def read(self, call_id: int, found: Completion) -> ParsedAnswer:
        """Return what the model's reply to a call says."""

    def tries(self, call_id: int) -> int:
        """Return how often a call may be sent before it is given up."""


@dataclass
class Flight:
    """A request on its way."""

    call_id: int
    number: int
    most: Decimal
    deadline: float


@dataclass
class Tried:
    """Attempts of this run at a call that came to nothing."""

    faults: int = 0
    forms: int = 0


class Engine:
    """One run's work on calls; made for one use."""

    def __init__(
        self,
        model: LanguageModel,
        link: Link,
        source: Source,
        tick: Callable[[int], None],
        cap: Cap | None = None,
    ) -> None:
        self.cap = cap
        self.model, self.endpoint, self.link, self.source = model, model.endpoint, link, source
        self.tick, self.lease = tick, uuid.uuid4()
        self.priced = not unpriced(model)
        self.ready: deque[int] = deque()
        self.later: list[tuple[float, int]] = []
        self.elsewhere: set[int] = set()
        self.flying: dict[int, Flight] = {}
        self.tried: dict[int, Tried] = {}
        self.threads = Threads(Sender(link), source.path)
        self.done, self.in_row, self.faulty, self.last_fault = 0, 0, 0, ""
        self.hold = self.renewed = self.polled = 0.0
        self.pause = dt.datetime.min.replace(tzinfo=dt.UTC)
        self.short_since: float | None = None

    def work(self, ids: Sequence[int]) -> None:
        """Bring all calls to an end, done or failed. Raises BudgetSpent, EndpointFails, and
        whatever ``tick`` raises to stop it; what is in flight is settled before."""
        self.ready.extend(ids)
        self.renewed = self.polled = time.monotonic()
        try:
            self._loop()
        except Conflict:  # the budget, the endpoint: what is in flight may still be answered
            self._drain(self.link.timeout + LATE)
            raise
        except BaseException:
            # The connection may be what failed: then the leases run out by themselves.
            try:
                self._drain(STOP)
            except DatabaseError:
                logger.exception("calls in flight could not be settled")
            raise
        finally:
            self.threads.stop()

    def _loop(self) -> None:
        while self.ready or self.later or self.elsewhere or self.flying:
            self.tick(self.done)
            now = time.monotonic()
            while self.later and self.later[0][0] <= now:
                self.ready.appendleft(heapq.heappop(self.later)[1])
            self._turn(self._collect(self._patience(now)))
            now = time.monotonic()
            if self.flying and now - self.renewed > LEASE.total_seconds() / 3:
                ledger.renew(self.lease)
                self.renewed = now
            if self.elsewhere and now - self.polled > POLL:
                self._look()
                self.polled = now
            if self.in_row >= max(DOWN, 2 * self.endpoint.parallel):
                raise EndpointFails(
                    f"{self.endpoint.name} failed {self.in_row} calls one after another, the last "
                    f"with: {self.last_fault.rstrip('.')}. What was answered is kept."
                )
        self.tick(self.done)

    def _free(self) -> int:
        return self.endpoint.parallel - len(self.flying)

    def _patience(self, now: float) -> float:
        """Return the seconds to wait for an answer before something else is to be done."""
        if self.ready and self._free() > 0 and self.hold <= now:
            return 0.0
        waits = [TICK]
        if self.later:
            waits.append(self.later[0][0] - now)
        if self.hold > now:
            waits.append(self.hold - now)
        return max(0.005, min(waits))

    # -- what came ---------------------------------------------------------------------------------

    def _collect(self, patience: float) -> list[tuple[Flight, Completion]]:
        """Answers that have come, and those given up for being late."""
        found = []
        for token, answer in self.threads.collect(patience):
            flight = self.flying.pop(token, None)
            if flight is not None:
                found.append((flight, answer))
        now = time.monotonic()
        for token, flight in [(t, f) for t, f in self.flying.items() if f.deadline < now]:
            del self.flying[token]
            self.threads.abandon(token)
            reason = f"No whole answer within {self.link.timeout:g} seconds."
            late = Completion(
                outcome=Outcome.TIMEOUT,
                reason=reason,
                heals=True,
                latency_ms=round(1000 * (self.link.timeout + LATE)),
            )
            found.append((flight, late))
        return found

    def _settle(self, flight: Flight, answer: Completion) -> tuple[Settled, float]:
        """Return what an answer means for its call, and the seconds until it is asked again."""
        read = ParsedAnswer(outcome=answer.outcome, reason=answer.reason)
        if answer.outcome == Outcome.OK:
            read = self.source.read(flight.call_id, answer)
        wait = self._retry_delay(flight.call_id, answer, read)
        if read.value is not None:
            state: str = CallState.DONE
        else:
            state = CallState.FAILED if wait is None else CallState.QUEUED
        not_before = timezone.now() + dt.timedelta(seconds=wait) if wait else None
        settled = Settled(
            flight.call_id,
            flight.number,
            str(flight.most),
            read.outcome,
            state,
            answer.status,
            read.reason,
            answer.text,
            answer.tokens_in,
            answer.tokens_out,
            self._cost(flight, answer),
            answer.latency_ms,
            read.value,
            read.chances,
            not_before.isoformat() if not_before else None,
        )
        return settled, wait or 0.0

    def _written(self, settled: Sequence[tuple[Settled, float]], found: Turn) -> None:
        """Go on from what was written; what came too late is left to whoever took it up."""
        for one, wait in settled:
            if one.id in found.taken:
                self.elsewhere.add(one.id)
            elif one.state == CallState.QUEUED:
                heapq.heappush(self.later, (time.monotonic() + wait, one.id))
            else:
                self.done += 1
                self.tried.pop(one.id, None)

    def _cost(self, flight: Flight, answer: Completion) -> str | None:
        """Return an attempt's cost by its usage; else what was reserved, if it was billed."""
        if self.model.price_in is None:
            return None
        if answer.tokens_in is not None and answer.tokens_out is not None:
            cost = cost_of(self.model, answer.tokens_in, answer.tokens_out)
            return None if cost is None else str(cost)
        return str(flight.most if answer.sent else Decimal())

    def _retry_delay(self, call_id: int, answer: Completion, read: ParsedAnswer) -> float | None:
        """Count failures and return seconds until the retry; None for no retry."""
        if answer.outcome == Outcome.OK:
            self.in_row = self.faulty = 0
            if read.value is not None:
                return None
            tried = self.tried.setdefault(call_id, Tried())
            tried.forms += 1
            return 0.0 if tried.forms < self.source.tries(call_id) else None
        if answer.outcome == Outcome.REFUSED:
            self.in_row = self.faulty = 0
            return None
        self.faulty, self.last_fault = self.faulty + 1, answer.reason
        tried = self.tried.setdefault(call_id, Tried())
        tried.faults += 1
        most = RATE_FAULTS if answer.outcome == Outcome.RATE_LIMITED else FAULTS
        if not answer.heals or tried.faults >= most or (answer.wait or 0.0) > PATIENCE:
            self.in_row += 1
            return None
        wait = min(LONGEST, BACKOFF * 2 ** (tried.faults - 1)) * random.uniform(0.75, 1.25)  # noqa: S311
        wait = max(wait, answer.wait or 0.0)
        if answer.wait:
            self.pause = max(self.pause, timezone.now() + dt.timedelta(seconds=answer.wait))
        elif self.faulty >= self.endpoint.parallel:
            # The endpoint seems to be down: no new calls are tried before the old ones are.
            self.hold = max(self.hold, time.monotonic() + wait)
        return wait

    # -- what goes out -----------------------------------------------------------------------------

    def _turn(self, came: Sequence[tuple[Flight, Completion]]) -> None:
        """Settle and lease in one transaction; hand what was leased to the threads."""
        settled = [self._settle(flight, answer) for flight, answer in came]
        wanted: list[LeaseRequest] = []
        now = time.monotonic()
        if self.hold <= now:
            for call_id in itertools.islice(self.ready, max(0, self._free())):
                size = self.source.size(call_id)
                wanted.append(LeaseRequest(call_id, size.granted, highest_cost(self.model, size)))
        if not wanted and not settled:
            return
        pause = self.pause if self.pause > timezone.now() else None
        found = ledger.settle_and_lease(
            endpoint_id=self.endpoint.pk,
            model_id=self.model.pk,
            lease=self.lease,
            settled=[one for one, _ in settled],
            wanted=wanted,
            pause=pause,
            priced=self.priced,
            cap=self.cap,
        )
        self._written(settled, found)
        self._start_leased(wanted, found)
        if found.refused:
            raise Conflict(found.refused)
        if found.until is not None:
            self.hold = now + max(0.01, (found.until - timezone.now()).total_seconds())
        if found.capped:
            if not self.flying:
                raise CapReached("What this run may cost is used. What was answered is kept.")
            self.hold = now + TICK  # what is in flight may cost less than was reserved
        elif found.short:
            self._short(wanted[len(found.leased) + len(found.elsewhere)], found)
        elif found.leased:
            self.short_since = None

    def _start_leased(self, wanted: Sequence[LeaseRequest], found: Turn) -> None:
        for one in wanted[: len(found.leased) + len(found.elsewhere)]:
            self.ready.popleft()
            number = found.leased.get(one.call_id)
            if number is None:
                self.elsewhere.add(one.call_id)
                continue
            token = self.threads.send(self.source.body(one.call_id))
            deadline = time.monotonic() + self.link.timeout + LATE
            self.flying[token] = Flight(one.call_id, number, one.most, deadline)

    def _short(self, one: LeaseRequest, found: Turn) -> None:
        """Wait for what others have reserved; with nothing in flight the budget is at its end."""
        now = time.monotonic()
        self.short_since = self.short_since or now
        for pk in found.shared.endpoints if found.shared else (self.endpoint.pk,):
            ledger.sweep(pk)
        patience = 2 * LEASE.total_seconds() + self.link.timeout
        if found.reserved > 0 and now - self.short_since < patience:
            self.hold = now + (TICK if self.flying else POLL)
            return
        currency = self.endpoint.owner.currency
        if found.quota is not None:
            raise BudgetSpent(
                f"Models of this project may cost {found.quota} {currency} in a month (quota "
                f"{MODEL_SPEND}): {found.spent:.4f} are spent, and the next call may cost "
                f"{one.most:.4f}. What was answered is kept. Whoever runs this site can raise the "
                "limit; then start again to go on."
            )
        name = found.shared.name if found.shared else self.endpoint.name
        raise BudgetSpent(
            f"The budget of {name} allows no further call: "
            f"{found.spent:.4f} of {found.budget} {currency} "
            f"are spent, and the next call may cost {one.most:.4f}. "
            "What was answered is kept; raise the budget and start again to go on."
        )

    def _look(self) -> None:
        """See what became of calls that another run has in flight."""
        ledger.sweep(self.endpoint.pk)
        ids = list(self.elsewhere)
        for start in range(0, len(ids), 1000):
            part = LLMCall.objects.filter(pk__in=ids[start : start + 1000])
            for call_id, state in part.values_list("pk", "state"):
                if state == CallState.SENT:
                    continue
                self.elsewhere.discard(call_id)
                if state == CallState.QUEUED:
                    self.ready.append(call_id)
                else:
                    self.done += 1

    def _drain(self, seconds: float) -> None:
        """Settle what is in flight: answers that come in time, and the rest as lost."""
        end = time.monotonic() + seconds
        while self.flying:
            left = end - time.monotonic()
            came = self._collect(max(0.005, min(left, TICK)))
            settled = [self._settle(flight, answer)[0] for flight, answer in came]
            if left <= 0:
                settled += [self._lost(flight) for flight in self.flying.values()]
                self.flying.clear()
            if settled:
                ledger.settle_and_lease(
                    endpoint_id=self.endpoint.pk,
                    model_id=self.model.pk,
                    lease=self.lease,
                    settled=settled,
                )
            if self.flying:
                ledger.renew(self.lease)

    def _lost(self, flight: Flight) -> Settled:
        return Settled(
            flight.call_id,
            flight.number,
            str(flight.most),
            Outcome.LOST,
            CallState.QUEUED,
            reason="The run was stopped before the answer came.",
            cost=None if self.model.price_in is None else str(flight.most),
        )
