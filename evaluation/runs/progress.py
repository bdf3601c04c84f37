"""What a run says of itself while it works: its steps as rows of JSON, and a sign of life."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_noop

from evaluation.methods.core.base import Cancelled
from evaluation.models import Run, RunState

SNAPSHOT, EMBEDDINGS, UNITERATED, ITERATING, BOOTSTRAP, CHECKS = (
    gettext_noop("Snapshot"),
    gettext_noop("Embeddings"),
    gettext_noop("First-round score"),
    gettext_noop("Iterating"),
    gettext_noop("Bootstrap over questions"),
    gettext_noop("Ranks and warnings"),
)
TEXT_STEPS = (SNAPSHOT, EMBEDDINGS, UNITERATED, ITERATING, BOOTSTRAP, CHECKS)
EVERY_SECONDS = 0.5
# What AQER calls its stages, as steps of the page.
STAGES = {"rounds": ITERATING, "resamples": BOOTSTRAP, "checks": CHECKS}


class Superseded(Exception):
    """The run was taken over, cancelled or ended while this process worked on it."""


class Waiting(Exception):
    """The run waits for jobs that have it taken up again; no worker is held meanwhile."""


def step_of(stage: str) -> str:
    """The step's name on the page for a stage that a method names."""
    return stage[:1].upper() + stage[1:]


def fresh_steps(names: Sequence[str] = TEXT_STEPS) -> list[dict[str, Any]]:
    """Make all steps of a run, none begun."""
    return [
        {"name": name, "state": "draft", "done": 0, "total": 0, "seconds": None} for name in names
    ]


class Recorder:
    """Writes a run's progress at most twice a second; the same write is its heartbeat.

    ``claimed_at`` is the run's ``started_at`` as this process set it: when it has changed, another
    process has taken the run, and Superseded is raised. Cancelled is raised when asked for.
    """

    def __init__(
        self, run_id: int, claimed_at: dt.datetime, names: Sequence[str] = TEXT_STEPS
    ) -> None:
        self.run_id, self.claimed_at = run_id, claimed_at
        self.names = tuple(names)
        self.steps = {step["name"]: step for step in fresh_steps(names)}
        self.current: dict[str, Any] | None = None
        self.part = 0
        self.trace: list[float] = []
        self._began = self._written = time.monotonic()

    def begin(self, name: str, *, total: int = 0, sub: str = "") -> None:
        """End the current step and begin the named one; later steps are reset to not begun."""
        self._close()
        at = self.names.index(name)
        for later in self.names[at:]:
            self.steps[later]["state"] = "draft"
        self.current = self.steps[name]
        self.current.update(state="running", done=0, total=total)
        if sub:
            self.current["sub"] = sub
        self._began = time.monotonic()
        self.write()

    def set_words(self, **said: Any) -> None:
        """Set the current step's words: ``count`` at its end, ``sub`` below its name, ``mono``."""
        if self.current is not None:
            self.current.update(said)

    def advance(self, done: int, total: int | None = None) -> None:
        """Set how much of the current step is done; stored at intervals."""
        if self.current is not None:
            self.current["done"] = done
            if total is not None:
                self.current["total"] = total
        if time.monotonic() - self._written >= EVERY_SECONDS:
            self.write()

    def change(self, value: float) -> None:
        """The change of the weights after another round, for the line that the page draws."""
        if self.current is not self.steps[ITERATING]:
            self.trace = []
        self.trace.append(value)
        self.steps[ITERATING]["trace"] = self.trace

    def named(self, stage: str, done: int, total: int) -> None:
        """A report of a method whose stages are steps; other stages only show life."""
        name = step_of(stage)
        if name not in self.steps:
            self.advance(self.current["done"] if self.current else 0)
            return
        if self.current is not self.steps[name]:
            self.begin(name, total=total)
        self.advance(done, total)

    def stage(self, stage: str, done: int, total: int) -> None:
        """A method's own report (see Hooks.progress), turned into steps."""
        name = STAGES.get(stage)
        if name is None or not total:
            self.advance(self.current["done"] if self.current else 0)
            return
        if name == ITERATING and done == 1:
            self.part += 1
            self.begin(name)
            if self.part > 1:
                self.set_words(
                    sub=f"board {self.part}, whose workers share no question with the others"
                )
        elif self.current is not self.steps[name]:
            self.begin(name, total=total)
        if name == ITERATING:
            self.set_words(count=f"round {done}, of {total} at most")
            self.advance(0)
        else:
            self.advance(done, total)

    def _close(self) -> None:
        if self.current is None:
            return
        spent = time.monotonic() - self._began
        self.current["seconds"] = round((self.current["seconds"] or 0) + spent, 2)
        self.current["state"] = "done"
        self.current["done"] = self.current["total"]

    def write(self) -> None:
        """Store the steps and the heartbeat; raise Superseded or Cancelled where it is so."""
        self._written = time.monotonic()
        steps = list(self.steps.values())
        if self.current is not None and self.current["state"] == "running":
            running = {**self.current, "seconds": round(self._written - self._began, 2)}
            steps = [running if step is self.current else step for step in steps]
        mine = Run.objects.filter(
            pk=self.run_id, state=RunState.RUNNING, started_at=self.claimed_at
        )
        if not mine.update(progress=steps, heartbeat_at=timezone.now()):
            raise Superseded(f"run {self.run_id} is no longer worked on here")
        if mine.filter(cancel_requested=True).exists():
            raise Cancelled("somebody asked for it")

    def finish(self) -> list[dict[str, Any]]:
        """Mark all steps as done and return them for storing."""
        self._close()
        self.current = None
        for step in self.steps.values():  # a method need not go through all of them
            step["state"] = "done"
        return list(self.steps.values())

    def fail(self, at: str = "") -> list[dict[str, Any]]:
        """The current step (or the named one) failed; returns the steps as they stood."""
        if self.current is not None:
            done = self.current["done"]
            self._close()
            self.current["done"] = done
        failed = self.steps[at] if at else self.current
        if failed is not None:
            failed["state"] = "bad"
        return list(self.steps.values())
