"""Pages over a million judgments: p95 of lists, leaderboards, workers and the API.

The plans of the slowest queries of each page are written to ``build/plans-million.txt``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from tests.bench import harness
from tests.bench.harness import ROOT, Client, figure, percentile

TIMES = 25  # looks at each page, after one that is not counted
PLANS = ROOT / "build" / "plans-million.txt"
PEER = "trivial Django view, one read and one insert, p95"
AIM = 80


def look(client: Client, pages: dict[str, str]) -> None:
    """One person who looks at one page after the other, again and again."""
    for turn in range(TIMES + 1):
        for name, path in pages.items():
            status, answer = client.ask(name if turn else "first", "GET", path)
            if status != 200:
                raise RuntimeError(f"{name} answered {status}: {answer!r}")


def live_rows() -> list[dict[str, Any]]:
    """A study of a million judgments: one judgment more, and the board that counts it."""
    with harness.scratch_database() as environment:
        plain = environment
        made = json.loads(harness.python(plain, "-m", "tests.bench.service.million", "live"))
    rows = []
    for name, words in (
        ("judgment", "changed, with its counts"),
        ("board", "asked for after it, ranking included"),
    ):
        ms = sorted(made[name])
        note = f"{made['judgments']:,} judgments in one study; in one process; aim 50 ms"
        value = ms[int(0.95 * len(ms))]
        rows.append(
            figure(
                f"live {name}, {words}, p95", value, "ms", ("its median", ms[len(ms) // 2]), note
            )
        )
    return rows


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    found: list[dict[str, Any]] = live_rows()
    with harness.scratch_database() as environment:
        plain = environment
        began = time.perf_counter()
        made = json.loads(harness.python(plain, "-m", "tests.bench.service.million", "fill"))
        print(f"filled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        peer = {**environment, "DJANGO_SETTINGS_MODULE": "tests.bench.trivial_settings"}
        with harness.served(peer, "crowdqc.wsgi", workers=1) as port:
            _, clients = harness.trivial(port, 1, 2.0)
            trivial = percentile(clients, "trivial")
        with harness.served(environment, "crowdqc.wsgi", workers=1) as port:
            for pages, client in (
                (made["staff"], Client(port, made["owner"])),
                (made["api"], Client(port, token=made["token"])),
                (made["mine"], Client(port, made["worker"])),
            ):
                look(client, pages)
                for name in pages:
                    note = (
                        f"{made['judgments']:,} judgments in {made['answers']:,} answers; one "
                        f"person, {TIMES} looks, median {percentile([client], name, 0.5):.0f} ms; "
                        f"aim {AIM} ms"
                    )
                    value = percentile([client], name)
                    found.append(
                        figure(f"a million: {name} p95", value, "ms", (PEER, trivial), note)
                    )
        subprocess.run(
            [sys.executable, "-m", "tests.bench.service.million", "plans", str(PLANS)],
            cwd=ROOT,
            env=plain,
            input=json.dumps(made),
            text=True,
            check=True,
        )
    return found
