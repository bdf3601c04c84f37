"""How often the signals of writing fire in CrowdRAG's 903 published logs, all accepted responses.

Gienapp et al., "The Viability of Crowdsourcing for RAG Evaluation" (SIGIR 2025), section 3.1.4:
reviewers watched for pastes of other material, jumps, even keys and absent corrections. What was
published are snapshots of the text, so most of that is not recorded in them.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from annotation.task_types.writing import deltas
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.methods.core.base import FloatArray
from evaluation.methods.writing.measures import corrections, part_text, speed
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.presence import Process
from evaluation.methods.writing.process import read
from evaluation.methods.writing.signals import (
    DEFAULTS,
    FIRED,
    SIGNALS,
    base_rates,
    find,
    usual_speed,
)
from evaluation.published.reproduce.rows import Row

TITLE = "CrowdRAG (Gienapp et al. 2025): signals in the writing logs of 903 accepted responses"
LEFT_OUT = (
    "The logs are snapshots of the text: keys, pastes, visibility and openings of passages were "
    "recorded in the study, but not published, so signals that need them are not judged. All "
    "responses passed the study's review: what fires here fires in work that was accepted."
)
JUMPS = (40, 100, 200)
TYPING_MS = 5000  # snapshots further apart than this tell no resolution
LOGS, PASSAGES, TASKS = (
    "raw/study1_responses_human.jsonl.gz",
    "raw/study1_retrieval.jsonl.gz",
    "study1_tasks_surveys.jsonl.gz",
)
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class WritingLog:
    """One response's snapshots in the order of the file, which is that of time."""

    topic: str
    worker: str
    times: list[int]
    texts: list[str]


def reproduce(folder: Path, *, say: Say, seed: int = 0, repetitions: int = 0) -> list[Row]:
    """Compute all rows of the reproduction; it has no randomness, so the seed is unused."""
    logs, passages = load(folder)
    say(f"{len(logs)} logs, {sum(len(log.texts) for log in logs.values()):,} snapshots")
    events = {name: as_events(log) for name, log in logs.items()}
    processes = {name: read(events[name], passages[logs[name].topic]) for name in logs}
    say("replayed and attributed")
    rows = log_rows(logs, events, processes)
    rows += jump_rows(logs, processes)
    return rows + signal_rows(logs, processes, passages)


def load(folder: Path) -> tuple[dict[str, WritingLog], dict[str, Sources]]:
    """The logs by response and the passages by topic; Invalid where a file is not there."""
    home = folder / "crowdrag" if (folder / "crowdrag").is_dir() else folder
    workers = {row["response"]: row["worker"] for row in _lines(home / TASKS)}
    passages = {row["topic"]: Sources(row["references_texts"]) for row in _lines(home / PASSAGES)}
    logs: dict[str, WritingLog] = {}
    for row in _lines(home / LOGS):
        name = row["response"]
        if name not in logs:
            logs[name] = WritingLog(row["topic"], workers[name], [], [])
        logs[name].times.append(row["timestamp"])
        logs[name].texts.append(row["text"])
    return logs, passages


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise Invalid(f"There is no {path.name} in {path.parent}.", fields={"data": "no file"})
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            yield json.loads(line)


def as_events(log: WritingLog) -> list[dict[str, Any]]:
    """The log as the events that an import stores."""
    rows = deltas.of_snapshots(log.times, log.texts)
    first = {"method": "show", "time": 0, "target": "item-1", "delta": rows[0]}
    return [first] + [
        {"method": "input", "name": "snapshot", "time": row[0], "target": "item-1", "delta": row}
        for row in rows[1:]
    ]


def _spacing_rows(table: str, steps: FloatArray) -> list[Row]:
    """Compare how fine the snapshots are; ``steps`` are the ms between two of them."""
    while_typing = steps[(steps > 0) & (steps <= TYPING_MS)]
    return [
        Row(
            table,
            "ms between snapshots, median",
            "all",
            300,
            float(np.median(steps)),
            "a snapshot was published where the text had changed",
        ),
        Row(
            table,
            "ms between snapshots, median",
            "1 ms to 5 s",
            300,
            float(np.median(while_typing)),
            "while somebody types",
        ),
        Row(
            table,
            "snapshots less than 300 ms after another, %",
            "all",
            None,
            float(100 * np.mean(steps < 300)),
        ),
        Row(
            table,
            "snapshots at the same ms as another, %",
            "all",
            None,
            float(100 * np.mean(steps == 0)),
            "their order in the file is as good as random",
        ),
    ]


def log_rows(
    logs: Mapping[str, WritingLog],
    events: Mapping[str, Sequence[Mapping[str, Any]]],
    processes: Mapping[str, Process],
) -> list[Row]:
    """Describe the logs: their number, their resolution, and whether they replay exactly."""
    table = "Logs"
    exact = sum(processes[name].text == log.texts[-1] for name, log in logs.items())
    steps = np.concatenate([np.diff(log.times) for log in logs.values()])
    raw = sum(len(text.encode()) for log in logs.values() for text in log.texts)
    rows = [[event["delta"] for event in listed] for listed in events.values()]
    kept = sum(
        len(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()) for row in rows
    )
    pauses = np.array([len(process.pauses) for process in processes.values()])
    minutes = np.array([process.length / 60_000 for process in processes.values()])
    return [
        Row(table, "responses", "logs", 903, len(logs)),
        Row(table, "snapshots", "logs", None, len(steps) + len(logs)),
        Row(table, "replay equals the last snapshot", "logs", None, exact),
        *_spacing_rows(table, steps),
        Row(table, "text of snapshots over JSON of deltas", "bytes", None, raw / kept),
        Row(
            table,
            "minutes from first to last snapshot, median",
            "logs",
            None,
            float(np.median(minutes)),
            "the paper's mean working time is 10:22",
        ),
        Row(table, "responses with a pause of a minute", "logs", None, int(np.sum(pauses > 0))),
    ]


def jump_rows(logs: Mapping[str, WritingLog], processes: Mapping[str, Process]) -> list[Row]:
    """Count how often texts grow at once, and what explains it."""
    table, rows = "Jumps", []
    for least in JUMPS:
        grown = sum(
            any(len(b) - len(a) >= least for a, b in pairwise(log.texts)) for log in logs.values()
        )
        rows.append(Row(table, "responses", f"{least} characters longer", None, grown))
    for least in JUMPS:
        jumps = [
            change
            for process in processes.values()
            for change in process.changes
            if change.kind in ("jump", "shown") and len(change.inserted) >= least
        ]
        for source in ("passage", "own", "unexplained"):
            number = sum(change.source == source for change in jumps)
            share = 100 * number / len(jumps)
            rows.append(
                Row(
                    table,
                    f"jumps by source, %: {source}",
                    f"{least} characters put in",
                    None,
                    share,
                    f"{number:,} of {len(jumps):,}",
                )
            )
    for least in JUMPS:
        left = sum(
            any(len(part_text(change, "unexplained")) >= least for change in process.changes)
            for process in processes.values()
        )
        rows.append(
            Row(table, "responses with an unexplained jump", f"{least} characters", None, left)
        )
    return rows + _final_rows(processes)


def _final_rows(processes: Mapping[str, Process]) -> list[Row]:
    total: dict[str, int] = {}
    for process in processes.values():
        for part in process.origins():
            total[part.source] = total.get(part.source, 0) + part.end - part.start
    every = sum(total.values())
    names = {"passage": "from a passage", "own": "moved", "": "typed", "unexplained": "unexplained"}
    return [
        Row(
            "Jumps",
            "characters of the final texts, %",
            words,
            None,
            100 * total.get(source, 0) / every,
        )
        for source, words in names.items()
    ]


def signal_rows(
    logs: Mapping[str, WritingLog],
    processes: Mapping[str, Process],
    passages: Mapping[str, Sources],
) -> list[Row]:
    """Count for each signal how often it fired, could be judged, and was not recorded."""
    by_worker: dict[str, list[str]] = {}
    for name, log in logs.items():
        by_worker.setdefault(log.worker, []).append(name)
    paces = {name: speed(process) for name, process in processes.items()}
    findings = {}
    for name, log in logs.items():
        usual = usual_speed(paces[other] for other in by_worker[log.worker] if other != name)
        findings[name] = find(processes[name], usual=usual, passages=passages[log.topic])
    rates = base_rates(findings.values())
    rows = []
    for place, signal in enumerate(SIGNALS):
        rate = rates[signal.slug]
        who = Counter(
            logs[name].worker for name, found in findings.items() if found[place].state == FIRED
        )
        most = max(who.values(), default=0)
        note = f"of {plural(len(who), 'worker')}, {most} of one of them" if who else ""
        rows += [
            Row("Signals", f"{signal.slug}: fired", "of those judged", None, rate.fired, note),
            Row("Signals", f"{signal.slug}: judged", "logs", None, rate.judged),
            Row("Signals", f"{signal.slug}: too little to judge", "logs", None, rate.too_little),
            Row("Signals", f"{signal.slug}: not recorded", "logs", None, rate.not_recorded),
        ]
    made = [corrections(process) for process in processes.values()]
    shares = [back / changes for changes, back in made if changes >= DEFAULTS["correction_changes"]]
    low, middle = np.quantile(shares, (0.05, 0.5))
    return [
        *rows,
        Row(
            "Signals",
            "share of changes that take something away",
            "5 % quantile",
            None,
            float(low),
            f"{len(shares)} logs of 100 changes",
        ),
        Row("Signals", "share of changes that take something away", "median", None, float(middle)),
    ]
