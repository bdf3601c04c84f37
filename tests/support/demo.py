"""Parts of the demo by themselves, in a project of a test."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

from annotation.models import Project, Task
from evaluation.demo import labels as demo_labels
from tests.support import factories


def make_demo_labels(project: Project | None = None) -> Task:
    """The demo's labels task: 240 claims, of which six people labelled half, and three models."""
    project = project or factories.make_project(also_manager=True)
    loader = SimpleNamespace(
        people={"requester": project.owner},
        say=lambda line: None,
        now=dt.datetime.now(dt.UTC),
        join=lambda project, name: factories.make_worker(project, pseudonym=name),
    )
    return demo_labels.make(loader, project)  # type: ignore[arg-type]
