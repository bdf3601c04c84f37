"""Put questions to people, and print who answered what: python collect.py URL TOKEN.

The token needs the scopes read and write; create it on your account page.

Afterwards somebody opens the printed link, joins and answers; run it again with the task's number
to read the answers: python collect.py URL TOKEN TASK.
"""

from __future__ import annotations

import sys

from crowdqc_client import Client

QUESTIONS = [
    {"item_id": "tides-1", "question": "Why are there two tides a day?", "topic": "Tides"},
    {"item_id": "tides-2", "question": "When are tides highest?", "topic": "Tides"},
]


def begin(client: Client) -> None:
    """A project, a task with its questions, and a link for workers."""
    project = client.begin_project("Tides")
    task = client.begin_task(project.id, "Questions about tides")
    client.change_draft(task.id, pay="1.50", redundancy=3, items_per_assignment=2)
    new = client.import_rows(task.id, "items", QUESTIONS)
    client.publish(task.id)
    link = client.invite(project.id, max_uses=20)["link"]
    print(f"task {task.id}: {new} questions; workers join by {link}")


def show(client: Client, task: int) -> None:
    """Every answer under its author's pseudonym."""
    for answer in client.answers(task, author="worker"):
        print(f"{answer.item_id}\t{answer.worker}\t{answer.answer or '(I don’t know)'}")


def main(url: str, token: str, task: str = "") -> None:
    client = Client(url, token)
    if task:
        show(client, int(task))
    else:
        begin(client)


if __name__ == "__main__":
    main(*sys.argv[1:])
