"""Interaction events taken by one web process: batches of a minute's typing from many tabs."""

from __future__ import annotations

import random
import uuid
from typing import Any

from tests.bench import harness
from tests.bench.harness import Client, figure, percentile

TABS = 16
BATCH = 60  # a key and a change each, as programs may send them; the page joins them to runs
SECONDS = 10.0
PEER = "trivial Django view, one read and one insert"


def typing(first: int, rng: random.Random) -> list[dict[str, Any]]:
    """A batch as the page sends it."""
    events: list[dict[str, Any]] = []
    for n in range(BATCH // 2):
        ms = 50 * (first + n)
        letter = rng.choice("etaoin shrdlu")
        events.append({"method": "keydown", "time": ms, "target": "item-123", "name": "letter"})
        events.append(
            {
                "method": "input",
                "time": ms,
                "target": "item-123",
                "name": "insertText",
                "delta": [ms, first // 2 + n, 0, letter],
            }
        )
    return events


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    with harness.scratch_database() as environment:
        paths = harness.fill(environment, items=400, people=TABS, answered=0, leases=TABS)
        peer = {
            **environment,
            "DJANGO_SETTINGS_MODULE": "tests.bench.trivial_settings",
            "BENCH_ITEM": str(paths["item"]),
        }
        with harness.served(peer, "crowdqc.wsgi", workers=1) as port:
            rate, made = harness.trivial(port, TABS, SECONDS / 2)
            trivial = percentile(made, "trivial")
        with harness.served(environment, "crowdqc.wsgi", workers=1) as port:
            clients, turn = _tabs(port, paths)
            harness.warm(clients, 1.0, turn)
            took = harness.together(clients, SECONDS, turn)
        batches = harness.count(clients, "events")
        note = (
            f"one gunicorn process with 8 threads, {TABS} tabs, {BATCH} events a batch, "
            "every batch acknowledged; aim 1,000 events/s"
        )
        return [
            figure("interaction events", batches * BATCH / took, "events/s", (PEER, rate), note),
            figure("batches of events", batches / took, "1/s", (PEER, rate), note),
            figure(
                "batch of events p95",
                percentile(clients, "events"),
                "ms",
                (f"{PEER}, p95", trivial),
                note,
            ),
        ]


def _tabs(port: int, paths: dict[str, Any]) -> tuple[list[Client], Any]:
    state: dict[int, dict[str, Any]] = {}
    clients = []
    for session, lease in zip(paths["sessions"], paths["leases"], strict=True):
        client = Client(port, session)
        clients.append(client)
        state[id(client)] = {
            "url": f"/work/assignments/{lease}/events/",
            "stream": str(uuid.uuid4()),
            "first": 0,
            "rng": random.Random(lease),
        }

    def turn(client: Client) -> None:
        tab = state[id(client)]
        body = {
            "stream": tab["stream"],
            "first_seq": tab["first"],
            "events": typing(tab["first"], tab["rng"]),
        }
        status, answer = client.ask("events", "POST", tab["url"], body)
        if status != 200 or answer["next"] != tab["first"] + BATCH:
            raise RuntimeError(f"events answered {status}: {answer!r}")
        tab["first"] = answer["next"]

    return clients, turn
