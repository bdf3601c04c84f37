"""What the live server is at, so that a test ends when its pages have been answered."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.core.signals import request_finished, request_started

CALM, MOST = 0.15, 0.8  # seconds without a request that are taken for the end; the most waited


class Traffic:
    """Requests that are being answered in this process, and when the last one began or ended."""

    def __init__(self) -> None:
        self._lock, self._open, self._last = threading.Lock(), 0, 0.0
        request_started.connect(self._begin)
        request_finished.connect(self._end)

    def _begin(self, **_: Any) -> None:
        self._move(1)

    def _end(self, **_: Any) -> None:
        self._move(-1)

    def _move(self, by: int) -> None:
        with self._lock:
            self._open, self._last = self._open + by, time.monotonic()

    def begin(self) -> None:
        """Forget what is open: clients of other tests leave answers unread, which never end."""
        with self._lock:
            self._open = 0

    def wait_for_calm(self) -> None:
        """Wait until nothing is open and nothing has come for a moment."""
        began = time.monotonic()
        while time.monotonic() - began < MOST:
            with self._lock:
                quiet = time.monotonic() - max(began, self._last)
                if self._open <= 0 and quiet >= CALM:
                    return
            time.sleep(0.02)


traffic = Traffic()
