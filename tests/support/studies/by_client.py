"""A study that is made over the API, by the client."""

from __future__ import annotations

from crowdqc_client import Client
from evaluation.runs import engine


def make_labelled(client: Client) -> tuple[int, int, int]:
    """A task whose items three workers labelled, with a finished run.

    Gives the ids of project and task, and the number of the run.
    """
    project = client.projects.create("Sentiment")
    task = client.tasks.create(project.id, "Mood", type="labels")
    options = [{"value": value, "label": value} for value in ("good", "bad")]
    field = {"name": "mood", "label": "Mood", "kind": "choose_one", "options": options}
    client.tasks.update(task.id, settings={"fields": [field]}, redundancy=3, pay="1.50")
    client.items.add(task.id, [{"item_id": f"t{n}", "text": f"Text {n}"} for n in range(4)])
    client.tasks.publish(task.id)
    rows = [
        {"item_id": f"t{n}", "worker_id": worker, "label": "good" if n % 2 else "bad"}
        for n in range(4)
        for worker in ("w1", "w2", "w3")
    ]
    client.answers.add(task.id, rows, kind="labels")
    run = client.runs.start(task.id, params={"restarts": 2})
    engine.execute(run.id)
    return project.id, task.id, run.number
