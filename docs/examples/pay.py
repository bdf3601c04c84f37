"""Propose to pay what waits, and approve it as somebody else.

    python pay.py propose URL TOKEN TASK          (a requester or manager)
    python pay.py approve URL TOKEN PROJECT NUMBER TOTAL    (another manager)

The tokens need the scopes read and pay. Where payments need a second factor, create them on your
account page after signing in with it; Client.sign_in takes its code as well.

The keys are made of what is paid, so that a script that died may simply be run again.
"""

from __future__ import annotations

import hashlib
import sys

from crowdqc_client import Client


def propose(client: Client, task: int) -> None:
    """Approve what nothing stands out of; hold the rest for a look."""
    waiting = list(client.waiting(task))
    if not waiting:
        print("nothing waits")
        return
    lines = [
        {"assignment": row.assignment, "decision": "hold" if row.look_first else "approve"}
        for row in waiting
    ]
    named = ",".join(str(row.assignment) for row in waiting)
    key = hashlib.sha256(f"propose {named}".encode()).hexdigest()
    made = client.propose(task, lines, key=key, title="Work so far")
    print(f"proposal {made.number}: {made.total} {made.currency}, waits for a second person")


def approve(client: Client, project: int, number: int, total: str) -> None:
    """For the total that was seen; another total is refused."""
    done = client.approve(project, number, total, key=f"approve {project} {number}")
    paid = sum(line["decision"] == "approve" for line in done.lines)
    print(f"proposal {done.number} is {done.state}: {paid} lines, {total} {done.currency}")


def main(what: str, url: str, token: str, *rest: str) -> None:
    client = Client(url, token)
    if what == "propose":
        propose(client, int(rest[0]))
    else:
        approve(client, int(rest[0]), int(rest[1]), rest[2])


if __name__ == "__main__":
    main(*sys.argv[1:])
