"""Labels handed in beside answers in words: what three fields cost through the API of one process.

The peer of each row is the other kind of task: assignments of as many items, claimed and handed in
by as many programs, on the same server with one process.
"""

from __future__ import annotations

import uuid
from typing import Any

from tests.bench import harness
from tests.bench.harness import Client, figure, percentile

PROGRAMS = 4
SECONDS = 10.0
ITEMS = 10_000
TEXT = {"text": "It means what I think it means."}
LABELS = {"l-verdict": "supported", "l-tone": "calm", "l-sure": "3"}


def turn_of(claim: str, answer: dict[str, str]) -> Any:
    """One turn of a program: claim, hand in the same answer to every item."""

    def turn(client: Client) -> None:
        status, found = client.ask("claim", "POST", claim, {})
        if status != 200:
            raise RuntimeError(f"claim answered {status}: {found!r}")
        answers = {str(entry["item"]): answer for entry in found["entries"]}
        path = f"/api/work/assignments/{found['id']}/submit/"
        told = {"key": str(uuid.uuid4()), "answers": answers}
        status, said = client.ask("submit", "POST", path, told)
        if status != 200:
            raise RuntimeError(f"submit answered {status}: {said!r}")

    return turn


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    sizes = {"items": ITEMS, "people": PROGRAMS, "answered": 0}
    measured = {}
    with harness.scratch_database() as environment:
        made = {
            "texts": (harness.fill(environment, **sizes), TEXT),
            "labels": (harness.fill(environment, **sizes, labels=1), LABELS),
        }
        with harness.served(environment, "crowdqc.wsgi", workers=1) as port:
            for name, (paths, answer) in made.items():
                clients = [Client(port, token=token) for token in paths["tokens"]]
                turn = turn_of(paths["api_claim"], answer)
                harness.warm(clients, 2.0, turn)
                harness.together(clients, SECONDS, turn)
                measured[name] = clients
    bundle = made["labels"][0]["bundle"]
    note = (
        f"{PROGRAMS} programs without pause, one process, assignments of {bundle} items; "
        f"{harness.count(measured['labels'], 'submit')} and "
        f"{harness.count(measured['texts'], 'submit')} submits"
    )
    return [
        figure(
            f"API submit of labels in 3 fields, {word}",
            percentile(measured["labels"], "submit", share),
            "ms",
            (f"free-text submit, {word}", percentile(measured["texts"], "submit", share)),
            note,
        )
        for word, share in (("median", 0.5), ("p95", 0.95))
    ]
