"""What work pays by the hour, over the time in which it was really worked at.

Pure. The log says best how long somebody worked: time away and long gaps are left out. Without
one the time from opening to submitting stands, capped, since a page left open overnight is no work.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeGuard

from django.utils.translation import gettext_noop

from crowdqc.money import as_decimal, round_money
from evaluation.payouts.selectors.evidence import Evidence

CAP = 3  # times the middle time of the task
HOUR = Decimal(3600)
# English, as notes of bonuses keep them; translated where they are shown.
LOGGED = gettext_noop("active time in the log")
OPENED = gettext_noop("from opening to submitting")
CAPPED = gettext_noop("capped at 3 × the median time of the task")
LEASED = gettext_noop("capped at the time that the task allows")


@dataclass(frozen=True)
class WorkedTime:
    """Seconds that somebody worked at an assignment, and how that is known."""

    seconds: float
    how: str

    def __post_init__(self) -> None:
        if self._exact <= 0:
            raise ValueError("There is no rate without time.")

    def rate(self, pay: Decimal) -> Decimal:
        """Return the pay per hour."""
        return round_money(pay * HOUR / self._exact)

    def is_below_floor(self, pay: Decimal, floor: Decimal) -> bool:
        """Whether this pay is less than the floor, to the last digit."""
        return pay * HOUR < floor * self._exact

    def needed(self, floor: Decimal) -> Decimal:
        """The least pay in whole cents that meets the floor."""
        return round_money(floor * self._exact / HOUR, up=True)

    @property
    def _exact(self) -> Decimal:
        return as_decimal(round(self.seconds, 3))


def worked_time(evidence: Evidence, usual: float | None) -> WorkedTime | None:
    """Measure how long an assignment was worked on; None if it cannot be told.

    None for imported work, and for what took no time that could be measured: there is no rate
    without time.
    """
    wall, log = evidence.seconds, evidence.log
    if not _measured(wall):
        return None
    if log.events and not log.snapshots and _measured(log.seconds_worked):
        return WorkedTime(min(wall, log.seconds_worked), LOGGED)
    cap, how = CAP * usual if usual else 0.0, CAPPED
    if not _measured(cap):
        cap, how = evidence.assignment.version.lease_minutes * 60.0, LEASED
    return WorkedTime(cap, how) if wall > cap else WorkedTime(wall, OPENED)


def _measured(seconds: float | None) -> TypeGuard[float]:
    """Whether this is a millisecond at least; less is the noise of the clock."""
    return seconds is not None and round(seconds, 3) > 0
