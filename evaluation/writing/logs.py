"""What the logs of frozen responses say of how they were written: signals, and minutes.

Logs are read worker by worker, because a worker's pace is held against their other responses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from annotation.work.selectors.log import event_target
from annotation.work.snapshots.responses import Header, logs
from evaluation.methods.writing.measures import speed
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.presence import Process
from evaluation.methods.writing.process import read
from evaluation.methods.writing.signals import (
    DEFAULTS,
    FIRED,
    NOT_RECORDED,
    QUIET,
    SIGNALS,
    STATES,
    Finding,
    base_rate,
    find,
    usual_speed,
)
from evaluation.writing.dataset import ResponsesDataset
from evaluation.writing.words import describe_finding, describe_moment

logger = logging.getLogger(__name__)
AT_ONCE = 25  # logs in memory
PREPARED = 60  # topics whose passages are held as words


@dataclass(frozen=True)
class WritingProcess:
    """How one response came about; None and no findings where no log tells."""

    minutes: float | None
    findings: tuple[Finding, ...]
    problem: str = ""

    @property
    def fired(self) -> list[Finding]:
        """Signals that fired on the response."""
        return [one for one in self.findings if one.state == FIRED]

    def as_dict(self) -> dict[str, Any]:
        """Return what is stored of the process beside the response."""
        return {
            "minutes": self.minutes,
            "fired": len(self.fired),
            "states": {one.slug: one.state for one in self.findings},
            "values": {one.slug: one.value for one in self.findings if one.value is not None},
            "moments": {
                one.slug: [[at.time_ms, describe_moment(at)] for at in one.moments]
                for one in self.fired
            },
            "sentences": {one.slug: describe_finding(one) for one in self.fired},
        }


def unrecorded_response(problem: str = "") -> WritingProcess:
    """Make the process of a response without a readable log."""
    lacking = tuple(Finding(one.slug, NOT_RECORDED, None, 0.0, (), "no_log") for one in SIGNALS)
    return WritingProcess(None, lacking, problem)


def read_all(
    frozen: ResponsesDataset, *, advance: Callable[[int], None]
) -> dict[int, WritingProcess]:
    """Read the logs of all responses of people, by index; calls ``advance(done)``."""
    sources = _Topics(frozen)
    found: dict[int, WritingProcess] = {}
    for _, places in groupby(frozen.people, key=lambda at: frozen.rows[at].worker_id):
        own = list(places)
        processes: dict[int, Process] = {}
        for at, process, problem in _processes(frozen, own, sources):
            if process is None:
                found[at] = unrecorded_response(problem)
            else:
                processes[at] = process
            advance(len(found) + len(processes))
        paces = {at: speed(process) for at, process in processes.items()}
        for at, process in processes.items():
            others = usual_speed(pace for k, pace in paces.items() if k != at)
            findings = find(process, usual=others, passages=sources.of(at))
            found[at] = WritingProcess(minutes(process), findings)
    return found


def minutes(process: Process) -> float:
    """From the first event to the last, without absences and pauses of a minute or more."""
    away = sum(end - start for start, end in (*process.absences, *process.pauses))
    return max(0, process.length - away) / 60_000


class _Topics:
    """The passages of topics, prepared; the last ``PREPARED`` stay, for memory has an end."""

    def __init__(self, frozen: ResponsesDataset) -> None:
        self.topic, self.frozen = frozen.data.topic, frozen
        self.made: dict[int, Sources] = {}

    def of(self, at: int) -> Sources:
        """Return the prepared passages that the response at this row was written from."""
        topic = int(self.topic[at])
        if topic not in self.made:
            if len(self.made) >= PREPARED:
                self.made.pop(next(iter(self.made)))
            frozen = self.frozen
            self.made[topic] = Sources.of_page(
                frozen.titles[topic], frozen.data.passages[topic], [frozen.queries[topic]]
            )
        return self.made[topic]


def _processes(
    frozen: ResponsesDataset, places: Sequence[int], sources: _Topics
) -> Iterator[tuple[int, Process | None, str]]:
    """Yield each place with what its log tells, or why it tells nothing."""
    for start in range(0, len(places), AT_ONCE):
        chunk = places[start : start + AT_ONCE]
        rows: list[Header] = [frozen.rows[at] for at in chunk]
        wanted = {row.assignment_id for row in rows if row.assignment_id in frozen.logged}
        events: Mapping[int, Any] = logs([pk for pk in wanted if pk is not None])
        for at, row in zip(chunk, rows, strict=True):
            own = events.get(row.assignment_id or 0)
            if not own:
                yield at, None, ""
                continue
            try:
                process = read(
                    own,
                    sources.of(at),
                    target=event_target(row.item_id),
                    first_number=1 if row.first_number is None else row.first_number,
                )
            except ValueError as gap:  # events are missing: said, and nothing is concluded from it
                logger.info("response %s: %s", row.answer_id, gap)
                yield at, None, str(gap)
                continue
            yield (at, process, "") if process.changes else (at, None, "")


def rates(
    frozen: ResponsesDataset, found: Mapping[int, WritingProcess], level: float
) -> dict[str, dict[str, Any]]:
    """Estimate how often each signal fires among people's responses, with intervals."""
    told = {}
    worker = np.array([frozen.rows[at].worker_id or 0 for at in found], dtype=np.int64)
    _, worker = np.unique(worker, return_inverse=True)
    for number, signal in enumerate(SIGNALS):
        given = [written.findings[number] for written in found.values()]
        states = np.array([STATES.index(one.state) for one in given], dtype=np.int64)
        judged = (states == STATES.index(FIRED)) | (states == STATES.index(QUIET))
        fired = states == STATES.index(FIRED)
        rate = base_rate(fired[judged], worker[judged], level)
        counts = dict(zip(STATES, np.bincount(states, minlength=len(STATES)).tolist(), strict=True))
        told[signal.slug] = {
            "judged": rate.n,
            "workers": rate.workers,
            "share": rate.share,
            "low": rate.low,
            "high": rate.high,
            "reason": rate.reason,
            "workers_fired": len(np.unique(worker[fired])),
            **counts,
        }
    return told


def log_summary(found: Mapping[int, WritingProcess]) -> dict[str, Any]:
    """Count the logs that could be read, with the signals' thresholds."""
    return {
        "responses": len(found),
        "logs": sum(written.minutes is not None for written in found.values()),
        "unreadable": sum(bool(written.problem) for written in found.values()),
        "parameters": dict(DEFAULTS),
    }
