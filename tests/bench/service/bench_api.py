"""Fifty programs at once that claim, answer and submit through the API, each with its own token."""

from __future__ import annotations

import uuid
from typing import Any

from tests.bench import harness
from tests.bench.harness import Client, figure, percentile

PROGRAMS = 50
SECONDS = 12.0
PEER = "trivial Django view, one read and one insert"


def work(paths: dict[str, Any]) -> Any:
    """One turn of a program: claim, submit every answer."""

    def turn(client: Client) -> None:
        status, found = client.ask("claim", "POST", paths["api_claim"], {})
        if status != 200:
            raise RuntimeError(f"claim answered {status}: {found!r}")
        answers = {
            str(entry["item"]): {"text": "It means what I think it means."}
            for entry in found["entries"]
        }
        path = f"/api/work/assignments/{found['id']}/submit/"
        status, answer = client.ask(
            "submit", "POST", path, {"key": str(uuid.uuid4()), "answers": answers}
        )
        if status != 200:
            raise RuntimeError(f"submit answered {status}: {answer!r}")

    return turn


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    with harness.scratch_database() as environment:
        paths = harness.fill(environment, items=10_000, people=PROGRAMS, answered=0)
        peer = {
            **environment,
            "DJANGO_SETTINGS_MODULE": "tests.bench.trivial_settings",
            "BENCH_ITEM": str(paths["item"]),
        }
        with harness.served(peer, "crowdqc.wsgi", workers=2) as port:
            rate, made = harness.trivial(port, PROGRAMS, SECONDS / 2)
            trivial = percentile(made, "trivial")
        with harness.served(environment, "crowdqc.wsgi", workers=2) as port:
            clients = [Client(port, token=token) for token in paths["tokens"]]
            harness.warm(clients, 3.0, work(paths))
            took = harness.together(clients, SECONDS, work(paths))
    requests = harness.count(clients, "submit") + harness.count(clients, "claim")
    note = (
        f"{PROGRAMS} programs without pause, 10,000 questions, bundles of {paths['bundle']}; "
        "a turn is claim and submit"
    )
    return [
        figure(
            "API submit p95, 50 at once",
            percentile(clients, "submit"),
            "ms",
            (f"{PEER}, p95 of {PROGRAMS}", trivial),
            note,
        ),
        figure(
            "API claim p95, 50 at once",
            percentile(clients, "claim"),
            "ms",
            (f"{PEER}, p95 of {PROGRAMS}", trivial),
            note,
        ),
        figure("API requests, 50 at once", requests / took, "1/s", (PEER, rate), note),
        figure(
            "API submits, 50 at once",
            harness.count(clients, "submit") / took,
            "1/s",
            (PEER, rate),
            note,
        ),
    ]
