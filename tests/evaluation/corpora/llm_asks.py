"""Questions and runs for tests of calls to models."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils import timezone

from annotation.models import Project
from evaluation.llm.ask import ModelQuestion
from evaluation.llm.prompting import load
from evaluation.llm.schemas import SCORE, Schema
from evaluation.models import Run, RunState
from evaluation.runs.progress import Recorder
from tests.support import factories
from tests.support.servers.llm import Body, Chances, Fault

GOOD = '{"score": 70}'
Said = str | Fault | Chances


def ask(number: int, schema: Schema = SCORE, **fields: Any) -> ModelQuestion:
    """A question that names its number."""
    prompt = load("judge_point").render(question=f"Question {number}?", answer="Because.")
    params = fields.pop("params", {"temperature": 0, "max_tokens": 50})
    return ModelQuestion(f"item:{number}", prompt, schema, params, **fields)


def number_of(body: Body) -> int:
    """The number of the question that a request asks."""
    found = re.search(r"Question (\d+)\?", body["messages"][-1]["content"])
    assert found is not None
    return int(found[1])


def scripted(script: Mapping[int, Sequence[Said]]) -> Callable[[Body], Said]:
    """Say to each question what its script says, one after another; at its end, and else, GOOD."""
    asked: Counter[int] = Counter()
    lock = threading.Lock()

    def answer(body: Body) -> Said:
        number = number_of(body)
        with lock:
            asked[number] += 1
            lines = script.get(number, ())
            return lines[asked[number] - 1] if asked[number] <= len(lines) else GOOD

    return answer


def make_run(project: Project | None = None, number: int = 1, **fields: Any) -> Run:
    """A run in work."""
    project = project or factories.make_project()
    task = project.tasks.first() or factories.make_task(project)
    now = timezone.now()
    return Run.objects.create(
        project=project,
        task=task,
        number=number,
        method="m",
        version="1",
        lane=str(number),
        state=RunState.RUNNING,
        started_at=now,
        heartbeat_at=now,
        **fields,
    )


def recorder(run: Run) -> Recorder:
    """The run's recorder, in its one step."""
    assert run.started_at is not None
    steps = Recorder(run.pk, run.started_at, ("Calls",))
    steps.begin("Calls")
    return steps
