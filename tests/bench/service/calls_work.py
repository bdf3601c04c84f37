"""The work of the benchmark of calls, on the database of the environment; prints figures as JSON.

``python -m tests.bench.service.calls_work BASE_URL CALLS THREADS``
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, overload

import django
import psutil

django.setup()

from django.utils import timezone  # noqa: E402
from openai import OpenAI  # noqa: E402

from evaluation.llm.ask import ModelQuestion  # noqa: E402
from evaluation.llm.calls import fetch_replies  # noqa: E402
from evaluation.llm.prompting import load  # noqa: E402
from evaluation.llm.schemas import SCORE  # noqa: E402
from evaluation.models import LLMAttempt, LLMCall, Run, RunState  # noqa: E402
from evaluation.runs.progress import Recorder  # noqa: E402
from tests.support import factories  # noqa: E402
from tests.support.servers.llm import make_model  # noqa: E402

EARLY = 2000


class Asks(Sequence[ModelQuestion]):
    """Questions made when they are looked at, so that they take no memory of their own."""

    def __init__(self, count: int) -> None:
        self.count, self.template = count, load("judge_point")

    def __len__(self) -> int:
        return self.count

    @overload
    def __getitem__(self, at: int) -> ModelQuestion: ...
    @overload
    def __getitem__(self, at: slice) -> list[ModelQuestion]: ...
    def __getitem__(self, at: int | slice) -> ModelQuestion | list[ModelQuestion]:
        if isinstance(at, slice):
            return [self[k] for k in range(*at.indices(self.count))]
        if at >= self.count:
            raise IndexError(at)
        prompt = self.template.render(question=f"What is number {at}?", answer="A number. " * 20)
        return ModelQuestion(f"item:{at}", prompt, SCORE, {"temperature": 0, "max_tokens": 20})


class Watched(Recorder):
    """A run's recorder that looks at the process while the run goes on."""

    memory: dict[int, float]
    wrong: int = 0
    looks: int = 0

    def advance(self, done: int, total: int | None = None) -> None:
        """As the recorder does; notes the memory, and whether what is said is so."""
        before = self._written
        super().advance(done, total)
        for moment in (EARLY, total or 0):
            if done >= moment and moment not in self.memory:
                gc.collect()
                self.memory[moment] = psutil.Process().memory_info().rss / 2**20
        if self._written != before:
            self.looks += 1
            self.wrong += LLMCall.objects.filter(state="done").count() < done


def bare(base_url: str, asks: Asks, threads: int) -> float:
    """Calls a second of the openai client alone: no rows, no budget, no retries."""
    client = OpenAI(base_url=base_url, api_key="none", max_retries=0)

    def one(at: int) -> None:
        messages: Any = list(asks[at].prompt.messages)
        found = client.chat.completions.create(
            model="stub-1", messages=messages, temperature=0, max_tokens=20
        )
        SCORE.parse(found.choices[0].message.content or "")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(200)))
        began = time.perf_counter()
        list(pool.map(one, range(len(asks))))
        took = time.perf_counter() - began
    client.close()
    return len(asks) / took


def main() -> None:
    """Measure and print."""
    base_url, calls, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    project = factories.make_project()
    task = factories.make_task(project)
    now = timezone.now()
    run = Run.objects.create(
        project=project,
        task=task,
        number=1,
        method="m",
        version="1",
        state=RunState.RUNNING,
        started_at=now,
        heartbeat_at=now,
    )
    model = make_model(project, base_url, parallel=threads, hard_budget=1000)
    steps = Watched(run.pk, now, ("Calls",))
    steps.memory = {}
    steps.begin("Calls")
    asks = Asks(calls)
    began = time.perf_counter()
    replies = fetch_replies(run, model, asks, steps)
    took = time.perf_counter() - began
    again = time.perf_counter()
    cached = sum(reply.cached for reply in fetch_replies(run, model, asks, steps))
    again = time.perf_counter() - again
    told = {
        "rate": calls / took,
        "memory": steps.memory,
        "wrong": steps.wrong,
        "looks": steps.looks,
        "answered": sum(reply.value is not None for reply in replies),
        "calls": LLMCall.objects.filter(state="done").count(),
        "attempts": LLMAttempt.objects.filter(outcome="ok").count(),
        "cached": cached,
        "again": calls / again,
    }
    if "BENCH_NO_PEER" not in os.environ:
        told["peer"] = bare(base_url, asks, threads)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
