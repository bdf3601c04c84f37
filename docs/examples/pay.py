"""Propose to pay what waits, and approve it as somebody else.

    python pay.py propose TASK                       (a requester or manager)
    python pay.py approve PROJECT NUMBER TOTAL       (another manager, with their own token)

CROWDQC_URL names the server, CROWDQC_TOKEN a token with the scopes read and pay. Where payments
need a second factor, create the token on your account page after signing in with it.

The keys are made of what is paid, so that a script that died may simply be run again.
"""

from __future__ import annotations

import hashlib
import sys

from crowdqc_client import Client
from crowdqc_client.bodies import LineIn


def propose(client: Client, task: int) -> None:
    """Propose to approve what has no flag; hold the rest for a person."""
    waiting = client.payouts.waiting(task).to_list()
    if not waiting:
        print("nothing waits")
        return
    lines: list[LineIn] = [
        {"assignment": row.assignment, "decision": "hold" if row.look_first else "approve"}
        for row in waiting
    ]
    assignments = ",".join(str(row.assignment) for row in waiting)
    key = hashlib.sha256(f"propose {assignments}".encode()).hexdigest()
    made = client.payouts.propose(task, lines, key=key, title="Work so far")
    print(f"proposal {made.number}: {made.total} {made.currency}, waits for a second person")


def approve(client: Client, project: int, number: int, total: str) -> None:
    """Approve a proposal for the total that was seen; another total is refused."""
    done = client.payouts.approve(project, number, total, key=f"approve {project} {number}")
    paid = sum(line.decision == "approve" for line in done.lines)
    print(f"proposal {done.number} is {done.state}: {paid} lines, {total} {done.currency}")


def main(verb: str, *rest: str) -> None:
    """Propose or approve."""
    with Client() as client:
        if verb == "propose":
            propose(client, int(rest[0]))
        else:
            approve(client, int(rest[0]), int(rest[1]), rest[2])


if __name__ == "__main__":
    main(*sys.argv[1:])
