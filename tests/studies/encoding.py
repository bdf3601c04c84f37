"""How fast workers encode the new texts of a run, end to end, by how many they are.

``python -m tests.studies.encoding [texts]`` imports so many different short answers (5 a question,
about a dozen words) into a scratch database and runs AQER with MiniLM on real Celery workers, once
with one process and once with two, over the broker at BROKER_URL (PostgreSQL without one). The
vectors of both are compared byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

A_QUESTION, A_PERSON = 5, 100
WORDS = (
    "storks nest on poles and roofs where meadows are wet while young frogs wait for rain in June "
    "keepers rang a bell of grey granite before the storm broke over rocks and ships at night"
).split()


def make_task(texts: int) -> Any:
    """A task with so many different answers."""
    from tests.bench.service.fill import make_task as with_questions
    from tests.support import factories

    rng, questions = random.Random(0), texts // A_QUESTION
    task = with_questions(questions, 10)
    keys = list(task.items.order_by("pk").values_list("key", flat=True))
    for start in range(0, questions, A_PERSON):
        part = keys[start : start + A_PERSON]
        truth = {key: rng.choices(WORDS, k=rng.randint(6, 18)) for key in part}
        # Person n of a question has about so many of its words right that the rounds converge.
        given = {
            f"w-{(start // A_PERSON) % 40}-{n}": {
                key: " ".join(
                    word if rng.random() < 0.9 - 0.15 * n else rng.choice(WORDS)
                    for word in truth[key]
                )
                + f" {key} {n}."
                for key in part
            }
            for n in range(A_QUESTION)
        }
        factories.make_answers(task, given)
    return task


def measure(task: Any, processes: int, log: Path) -> dict[str, float | str]:
    """A run's wall and CPU seconds until all is encoded, its rate, and a hash of the vectors."""
    import psutil

    from evaluation.embeddings import shards
    from evaluation.models import Embedding, RunState
    from evaluation.runs import engine
    from tests.support.processes import Worker, empty_queue, until

    empty_queue()
    worker = Worker(log, processes=processes).start()
    assert worker.process is not None
    pool = [*psutil.Process(worker.process.pid).children(recursive=True)]
    begun = time.monotonic()
    run = engine.start(by=None, task=task, params={"encoder": "minilm", "resamples": 200})
    until(run.shards.exists, 600, "the texts to be cut into parts")
    until(lambda: not run.shards.filter(shards.OPEN).exists(), 3600, "the texts to be encoded")
    cpu = sum(sum(one.cpu_times()[:2]) for one in pool)
    tally = shards.tally(run.pk)

    def ended() -> bool:
        run.refresh_from_db()
        return run.state not in (RunState.QUEUED, RunState.RUNNING)

    until(ended, 3600, "the run to end")
    whole = time.monotonic() - begun
    worker.kill_with_pool()
    digest = hashlib.sha256()
    for vector in Embedding.objects.order_by("text_hash").values_list("vector", flat=True):
        digest.update(bytes(vector))
    assert tally is not None
    Embedding.objects.all().delete()
    return {
        "processes": processes,
        "texts": tally.texts,
        "state": f"{run.state}. {run.error}".strip(),
        "encoding, s": round(tally.seconds, 1),
        "texts/s": round(tally.rate, 1),
        "CPU ms a text": round(1000 * cpu / tally.texts, 2),
        "whole run, s": round(whole, 1),
        "vectors": digest.hexdigest()[:16],
    }


def main() -> None:
    texts = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    if "inside" in sys.argv:
        import django

        django.setup()
        task = make_task(texts)
        with tempfile.TemporaryDirectory() as folder:
            for processes in (1, 2):
                found = measure(task, processes, Path(folder, f"worker{processes}.log"))
                print(json.dumps(found), flush=True)
        return
    from tests.bench.harness import python, scratch_database

    with scratch_database() as env:
        inside = {**env, "BROKER_URL": os.environ.get("BROKER_URL", "")}
        print(python(inside, "-m", "tests.studies.encoding", str(texts), "inside"))


if __name__ == "__main__":
    main()
