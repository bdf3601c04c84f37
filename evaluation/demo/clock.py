"""The application's clock set back while the demo is loaded, so that the demo has a history."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils import timezone


@dataclass
class Clock:
    """What ``timezone.now`` gives while the demo is loaded."""

    moment: dt.datetime

    def __call__(self) -> dt.datetime:
        return self.moment

    def move_to(self, moment: dt.datetime) -> None:
        self.moment = moment


@contextmanager
def clock_at(moment: dt.datetime) -> Iterator[Clock]:
    """Set the application's clock of this process, for as long as the block lasts."""
    real, clock = timezone.now, Clock(moment)
    timezone.now = clock
    try:
        yield clock
    finally:
        timezone.now = real
