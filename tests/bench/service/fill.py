"""Fill the scratch database: one open task of many questions, half of them with answers.

Run as ``python -m tests.bench.service.fill '{"items": 10000, "people": 10}'``; prints JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from django.db import connection  # noqa: E402
from django.urls import reverse  # noqa: E402

from annotation.accounts.tokens import actions as tokens  # noqa: E402
from annotation.authoring.actions import tasks  # noqa: E402
from annotation.models import Task, User  # noqa: E402
from annotation.traces.actions.queue import create_queue  # noqa: E402
from annotation.traces.actions.sources import create_source  # noqa: E402
from tests.evaluation.corpora import labels  # noqa: E402
from tests.support import factories  # noqa: E402
from tests.support.studies import writing  # noqa: E402

BUNDLE = 5


def make_task(items: int, bundle: int) -> Task:
    """A published task of so many questions with five answers wanted each."""
    task = factories.make_task(None, 1, publish=False, passage="", items_per_assignment=bundle)
    rows = [
        {"item_id": f"i-{n}", "question": f"What is meant by term number {n}?"}
        for n in range(items)
    ]
    tasks.import_items(by=task.project.owner, task=task, rows=rows)
    tasks.edit_draft(by=task.project.owner, task=task, fields={"redundancy": 5})
    tasks.publish(by=task.project.owner, task=task)
    return task


def make_labels(items: int, bundle: int) -> Task:
    """A published task of so many claims with three fields and five labels wanted each."""
    scale = {"name": "sure", "label": "Sure", "question": "How sure are you?", "kind": "scale"}
    further = [{**scale, "low": 1, "high": 5}]
    return labels.make_task(items=items, further=further, items_per_assignment=bundle)


def make_writing(topics: int, passages: int) -> Task:
    """A published task of so many topics to write about, with so many passages each."""
    rng = random.Random(1)
    words = "storks nest on poles and roofs where meadows are wet and frogs are many".split()
    found = [
        {"key": f"p-{n}", "title": f"Passage {n}", "text": " ".join(rng.choices(words, k=120))}
        for n in range(1, passages + 1)
    ]
    limits = {"min_words": 50, "target_words": 250, "max_words": 2000}
    return writing.make_writing(factories.make_project(), topics, passages=found, settings=limits)


def answer_half(task: Task, people: int = 40) -> None:
    """Two answers to each question of the first half, as imported files bring them."""
    keys = list(task.items.order_by("pk").values_list("key", flat=True))
    half = keys[: len(keys) // 2]
    text = "It means what most people think it means, as far as I know."
    for start in range(0, people, 2):
        part = half[start * len(half) // people : (start + 2) * len(half) // people]
        given = {f"file-{start + n}": dict.fromkeys(part, text) for n in range(2)}
        factories.make_answers(task, given)


def token_of(user: User, *scopes: str) -> str:
    """A token of the API for the person's program, as fast as tokens may be."""
    return tokens.create_token(by=user, name="bench", scopes=scopes, days=1, per_minute=6000)[1]


def source_token(task: Task) -> str:
    """The token of a source whose traces are drawn for review by the usual rules."""
    owner = task.project.owner
    settings = {"spans_per_minute": 10_000_000, "idle_seconds": 5}
    source, token = create_source(by=owner, project=task.project, name="bench", settings=settings)
    create_queue(by=owner, source=source, reviews=3)
    return token


def main(sizes: dict[str, int]) -> dict[str, Any]:
    """Make it all; returns sessions and addresses."""
    passages = sizes.get("passages", 0)
    items, bundle = sizes.get("items", 10_000), sizes.get("bundle", BUNDLE)
    make = make_labels if sizes.get("labels") else make_task
    task = make_writing(items, passages) if passages else make(items, bundle)
    if sizes.get("answered", 1):
        answer_half(task)
    workers = [factories.make_worker(task.project) for _ in range(sizes.get("people", 10))]
    project = task.project.pk
    leases = [factories.claim(task, worker) for worker in workers[: sizes.get("leases", 0)]]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {
        "sessions": [factories.session_of(worker.user) for worker in workers],
        "tokens": [token_of(worker.user, "work") for worker in workers],
        "api_claim": reverse("api_claim", args=[task.pk]),
        "requester": factories.session_of(task.project.owner),
        "bundle": bundle,
        "source": source_token(task) if sizes.get("sources") else "",
        "claim": reverse("work_claim", args=[task.pk]),
        "home": reverse("work_home"),
        "lists": {
            "task_list": reverse("task_list", args=[project]),
            "task": reverse("task", args=[project, task.pk]),
            "people": reverse("people", args=[project]),
        },
        "leases": [lease.pk for lease in leases],
        "first_items": [lease.entries.get(position=0).item_id for lease in leases],
        "item": task.items.order_by("pk").values_list("pk", flat=True)[0],
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}"))))
