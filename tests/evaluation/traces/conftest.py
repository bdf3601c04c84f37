"""A project with a source of traces."""

from __future__ import annotations

import pytest

from annotation.models import Project, TraceSource
from annotation.traces.actions.queue import create_queue
from annotation.traces.actions.sources import create_source
from tests.support import factories


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def source(project: Project) -> TraceSource:
    return make_source(project)


def make_source(project: Project, name: str = "shop", reviews: int = 2) -> TraceSource:
    """A source whose traces are all drawn, for so many reviews each."""
    rules = {"rules": [{"kind": "random", "share": 1.0}], "budget": 0}
    source, token = create_source(by=project.owner, project=project, name=name, settings=rules)
    source.token = token  # type: ignore[attr-defined]
    create_queue(by=project.owner, source=source, reviews=reviews)
    source.refresh_from_db()
    return source
