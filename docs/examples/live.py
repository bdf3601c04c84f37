"""Compare systems until the result is precise enough: see live_evaluation.md.

    python live.py open OUTPUTS.jsonl     prints the task and a link for workers
    python live.py add TASK MORE.jsonl    sends further outputs
    python live.py watch TASK             prints the result once it has ended
    python live.py end TASK               ends it now

CROWDQC_URL names the server, CROWDQC_TOKEN a token with the scopes read and write. A line of the
file is one output:
{"prompt": "p1", "question": "Why is the sky blue?", "system": "model-a", "text": "..."}
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from crowdqc_client import Client
from crowdqc_client.bodies import OutputIn

PAY, BUNDLE, HALF_WIDTH, BUDGET = "0.50", 5, 0.1, "150.00"
BATCH = 2000  # outputs in one request


def read_outputs(path: str) -> list[OutputIn]:
    """Read the outputs of a file."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def send(client: Client, task: int, rows: list[OutputIn]) -> int:
    """Send outputs in batches of whole prompts, whose rows are together; return the pairs."""
    systems = len({row["system"] for row in rows})
    size, pairs = BATCH // systems * systems, 0
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        key = hashlib.sha256(json.dumps(batch).encode()).hexdigest()  # sent twice, added once
        pairs += client.live.add_outputs(task, batch, key=key).pairs
    return pairs


def open_evaluation(client: Client, path: str) -> None:
    """Create a project and a task, and open its live evaluation with the outputs of a file."""
    rows = read_outputs(path)
    systems = sorted({row["system"] for row in rows})
    project = client.projects.create("Live evaluation")
    task = client.tasks.create(project.id, "Which answer is better?", type="pairwise")
    client.tasks.update(task.id, pay=PAY, redundancy=1, items_per_assignment=BUNDLE)
    client.live.open(task.id, systems=systems, half_width=HALF_WIDTH, budget=BUDGET)
    pairs = send(client, task.id, rows)
    link = client.projects.invite(project.id, max_uses=200).link
    print(f"task {task.id}: {pairs} pairs of {', '.join(systems)}; workers join by {link}")


def watch(client: Client, task: int) -> None:
    """Wait for the end, and print the result."""
    result = client.live.wait(task)
    print(f"ended: {result.reason}, {result.board.votes} judgments, {result.money} spent")
    for row in result.board.systems:
        print(f"{row.system}\t{row.share}\t{row.low} to {row.high}")


def main(verb: str, target: str, path: str = "") -> None:
    """Do what the command line asks for."""
    with Client() as client:
        if verb == "open":
            open_evaluation(client, target)
        elif verb == "add":
            print(f"{send(client, int(target), read_outputs(path))} pairs added")
        else:
            if verb == "end":
                client.live.end(int(target))
            watch(client, int(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
