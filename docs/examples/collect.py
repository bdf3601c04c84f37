"""Put questions to people, and print who answered what.

    python collect.py          creates a task, and prints a link for workers
    python collect.py TASK     prints the answers so far

CROWDQC_URL names the server, CROWDQC_TOKEN a token with the scopes read and write.
"""

from __future__ import annotations

import sys

from crowdqc_client import Client

QUESTIONS = [
    {"item_id": "tides-1", "question": "Why are there two tides a day?", "topic": "Tides"},
    {"item_id": "tides-2", "question": "When are tides highest?", "topic": "Tides"},
]


def create_task(client: Client) -> None:
    """Create a project and a task with its questions; print a link for workers."""
    project = client.projects.create("Tides")
    task = client.tasks.create(project.id, "Questions about tides")
    client.tasks.update(task.id, pay="1.50", redundancy=3, items_per_assignment=2)
    added = client.items.add(task.id, QUESTIONS).new
    client.tasks.publish(task.id)
    link = client.projects.invite(project.id, max_uses=20).link
    print(f"task {task.id}: {added} questions; workers join by {link}")


def print_answers(client: Client, task: int) -> None:
    """Print every answer under its author's pseudonym."""
    for answer in client.answers.list(task, author="worker"):
        print(f"{answer.item_id}\t{answer.worker}\t{answer.answer or '(I don’t know)'}")


def main(task: str = "") -> None:
    """Create a task, or print the answers of one."""
    with Client() as client:
        if task:
            print_answers(client, int(task))
        else:
            create_task(client)


if __name__ == "__main__":
    main(*sys.argv[1:])
