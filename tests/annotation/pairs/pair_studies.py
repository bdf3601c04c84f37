"""A study of judgments put together as a requester does, for the tests of its parts."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.formats.actions.imports import import_content
from annotation.models import Task, User
from tests.support.factories import World

HTMX = {"HX-Request": "true"}
ROW = '{{"topic": "{topic}", "query": "{query}", "text": "{text}", "system": "{system}"}}'


def begun(world: World, type: str = "pairwise", title: str = "Which is better?") -> Task:
    """A new draft of this type."""
    return tasks.create_task(by=world.requester, project=world.project, type=type, title=title)


def with_texts(world: World, task: Task, n: int = 4, systems: int = 3) -> Task:
    """``n`` topics with a text of each system, from a file."""
    rows = [
        ROW.format(
            topic=f"t-{k}",
            query=f"What is t-{k} about?",
            system=system,
            text=f"{system} says of t-{k} " + "and more " * (3 + 2 * k),
        )
        for k in range(n)
        for system in "ABCDEF"[:systems]
    ]
    import_content(
        by=world.requester,
        task=task,
        kind="candidates",
        name="texts.jsonl",
        content="\n".join(rows).encode(),
    )
    return task


def signed_in(user: User) -> Client:
    """A browser in which the person is signed in."""
    client = Client()
    client.force_login(user)
    return client


def url(name: str, task: Task, **query: str) -> str:
    """The address of a page of the task."""
    path = reverse(name, args=[task.project_id, task.pk])
    return path + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else "")


def save(world: World, task: Task, name: str, data: dict[str, Any], **query: str) -> Any:
    """What the builder answers to a field or button of the requester's."""
    return signed_in(world.requester).post(url(name, task, **query), data, headers=HTMX)
