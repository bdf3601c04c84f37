"""Calls to a model that answers at once, with every call and attempt as a row in PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.bench import harness
from tests.bench.harness import ROOT, figure

CALLS, THREADS = 10_000, 8
PEER = "the bare openai client, as many threads, no rows"


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    command = [sys.executable, "-m", "tests.bench.service.calls_server"]
    with (
        harness.scratch_database() as environment,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        plain = environment
        try:
            told = json.loads(
                harness.python(
                    plain, "-m", "tests.bench.service.calls_work", address, str(CALLS), str(THREADS)
                )
            )
        finally:
            server.kill()
    for name in ("answered", "calls", "attempts", "cached"):
        if told[name] != CALLS:
            raise RuntimeError(f"{told[name]} {name}, not {CALLS}")
    if told["wrong"]:
        raise RuntimeError(f"progress was ahead of the rows {told['wrong']} times")
    early, late = (told["memory"][key] for key in ("2000", str(CALLS)))
    note = (
        f"{CALLS:,} calls, {THREADS} threads, budget kept, a row a call and a row an attempt; "
        f"progress looked at {told['looks']} times and never ahead; aim 100 calls/s"
    )
    peer = (PEER, told["peer"])
    return [
        figure("calls to a model", told["rate"], "calls/s", peer, note),
        figure(
            "calls to a model, asked again",
            told["again"],
            "calls/s",
            peer,
            "all answered by the rows there are, none sent",
        ),
        figure(
            "memory of a run of calls",
            late,
            "MB",
            ("the same run after 2,000 calls", early),
            f"resident, after {CALLS:,} calls; flat is 1",
        ),
    ]
