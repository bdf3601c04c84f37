"""Compare systems until the result is precise enough: see live_evaluation.md.

    python live.py open URL TOKEN OUTPUTS.jsonl    prints the task and a link for workers
    python live.py add URL TOKEN TASK MORE.jsonl   sends further outputs
    python live.py watch URL TOKEN TASK            prints the result once it has ended
    python live.py end URL TOKEN TASK              ends it now

The token needs the scopes read and write. A line of the file is one output:
{"prompt": "p1", "question": "Why is the sky blue?", "system": "model-a", "text": "..."}
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path

from crowdqc_client import Client, Live

PAY, BUNDLE, HALF_WIDTH, BUDGET, SECONDS = "0.50", 5, 0.1, "150.00", 30.0
AT_ONCE = 2000  # outputs in one request


def read(path: str) -> list[dict[str, str]]:
    """The outputs of a file."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def send(client: Client, task: int, rows: list[dict[str, str]]) -> int:
    """Send outputs in parts of whole prompts (a prompt's rows are together); how many pairs."""
    systems = len({row["system"] for row in rows})
    size, pairs = AT_ONCE // systems * systems, 0
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        key = hashlib.sha256(json.dumps(part).encode()).hexdigest()  # sent twice, added once
        pairs += client.add_outputs(task, key, part)
    return pairs


def begin(client: Client, path: str) -> None:
    """A project, a task, its live evaluation, and all outputs of the file."""
    rows = read(path)
    systems = sorted({row["system"] for row in rows})
    project = client.begin_project("Live evaluation")
    task = client.begin_task(project.id, "Which answer is better?", type="pairwise")
    client.change_draft(task.id, pay=PAY, redundancy=1, items_per_assignment=BUNDLE)
    client.open_live(task.id, systems, half_width=HALF_WIDTH, budget=BUDGET)
    pairs = send(client, task.id, rows)
    link = client.invite(project.id, max_uses=200)["link"]
    print(f"task {task.id}: {pairs} pairs of {', '.join(systems)}; workers join by {link}")


def watch(client: Client, task: int) -> Live:
    """Wait for the end; a webhook for live.ended tells the same without asking."""
    while not (found := client.live(task)).over:
        time.sleep(SECONDS)
    print(f"ended: {found.reason}, {found.board['votes']} judgments, {found.money} spent")
    for row in found.board["systems"]:
        print(f"{row['system']}\t{row['share']}\t{row['low']} to {row['high']}")
    return found


def main(what: str, url: str, token: str, of: str, path: str = "") -> None:
    client = Client(url, token)
    if what == "open":
        begin(client, of)
    elif what == "add":
        print(f"{send(client, int(of), read(path))} pairs added")
    else:
        if what == "end":
            client.end_live(int(of))
        watch(client, int(of))


if __name__ == "__main__":
    main(*sys.argv[1:])
