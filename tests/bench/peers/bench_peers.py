"""Ten people who answer one item after the other, without pause: crowdqc, Potato, Label Studio.

All servers run at once and are asked in turn, some rounds of all; figures are medians of rounds.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench import harness
from tests.bench.peers import crowdqc, label_studio, potato, tools

PEOPLE, ROUNDS, SECONDS = 10, 4, 6.0
ALONE = 40  # turns of one person


def round_of(tool: tools.Tool, people: Sequence[tools.Person]) -> dict[str, float]:
    """Answers a second of all at once; then one person alone, medians in ms."""
    for person in people:
        person.times.clear()
    took = harness.together(people, SECONDS, tool.turn)
    handed = sum(len(person.times.get("submit", [])) for person in people)
    loaded, (first, *_) = tool.memory(), people
    first.times.clear()
    for _ in range(ALONE):
        tool.turn(first)
    alone = {name: 1000 * median(times) for name, times in first.times.items()}
    return {
        "rate": handed / took,
        "memory": loaded,
        "submit": alone["submit"],
        "next": alone["next"] + alone.get("claim", 0.0) + alone.get("step", 0.0),
    }


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields. Raises NotHere."""
    rounds = int(os.environ.get("CROWDQC_BENCH_ROUNDS", ROUNDS))
    with contextlib.ExitStack() as stack:
        folders = [
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crowdqc-peer-")))
            for _ in range(2)
        ]
        found = [
            stack.enter_context(potato.served(folders[0])),
            stack.enter_context(label_studio.served(folders[1])),
            *stack.enter_context(crowdqc.served(PEOPLE)),
        ]
        people = {tool.name: tool.people(PEOPLE) for tool in found}
        for tool in found:  # imports, plans and connections are there afterwards
            harness.together(people[tool.name], 2.0, tool.turn)
        measured = [[round_of(tool, people[tool.name]) for tool in found] for _ in range(rounds)]
    middle = {
        tool.name: {key: median(one[at][key] for one in measured) for key in measured[0][at]}
        for at, tool in enumerate(found)
    }
    rows, note = [], f"median of {rounds} rounds in turn, one item an assignment"
    for tool in found[2:]:
        for peer in found[:2]:
            for key, name, unit in (
                ("rate", f"answers, {PEOPLE} people without pause", "1/s"),
                ("submit", "one person alone, hand in", "ms"),
                ("next", "one person alone, the next item", "ms"),
            ):
                other = (peer.name, middle[peer.name][key])
                value = middle[tool.name][key]
                rows.append(harness.figure(f"{tool.name}: {name}", value, unit, other, note))
    return rows
