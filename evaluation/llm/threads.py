"""Threads that send requests side by side and hand back what came; they touch no database."""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import Mapping
from typing import Any

from evaluation.llm.client import Sender
from evaluation.llm.completion import Completion, Outcome

logger = logging.getLogger(__name__)
LINGER = 0.01  # seconds in which further answers are waited for, to be settled with a first one


class Threads:
    """Threads that send requests and hand back what came; made when they are needed."""

    def __init__(self, sender: Sender, path: str) -> None:
        self.sender, self.path = sender, path
        self.jobs: queue.SimpleQueue[tuple[int, Mapping[str, Any]] | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[tuple[int, Completion]] = queue.SimpleQueue()
        self.tokens, self.count, self.out = itertools.count(1), 0, 0
        self.abandoned: set[int] = set()

    def send(self, body: Mapping[str, Any]) -> int:
        """Send a request in a thread; return the token under which its answer arrives."""
        token = next(self.tokens)
        self.out += 1
        if self.out > self.count:
            self.count += 1
            threading.Thread(target=self._work, daemon=True, name="llm").start()
        self.jobs.put((token, body))
        return token

    def collect(self, patience: float) -> list[tuple[int, Completion]]:
        """Return all answers that have arrived, waiting up to ``patience`` seconds for the first.

        With quick answers a little patience for those behind it saves half of the transactions.
        """
        found: list[tuple[int, Completion]] = []
        with contextlib.suppress(queue.Empty):
            found.append(
                self.answers.get(timeout=patience) if patience else self.answers.get_nowait()
            )
            end = time.monotonic() + LINGER
            while len(found) < self.out:
                found.append(self.answers.get(timeout=max(0.0, end - time.monotonic())))
        found = [one for one in found if one[0] not in self.abandoned]
        self.out -= len(found)
        return found

    def abandon(self, token: int) -> None:
        """Give up a request that hangs; its thread ends when it returns and is replaced."""
        self.abandoned.add(token)
        self.out -= 1
        self.count -= 1

    def stop(self) -> None:
        """Stop the threads and close their connections."""
        for _ in range(self.count):
            self.jobs.put(None)
        self.sender.close()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            token, body = job
            try:
                answer = self.sender.send(self.path, body)
            except Exception as problem:
                logger.exception("a request failed in an unforeseen way")
                reason = f"The request failed here: {type(problem).__name__}."
                answer = Completion(outcome=Outcome.CONNECTION, reason=reason, sent=True)
            if token in self.abandoned:
                return
            self.answers.put((token, answer))
