"""Peak memory of an AQER run whose vectors are in the store: all at once, or in blocks.

``python -m tests.studies.run_memory [answers]`` makes a scratch database with generated vectors
(5 answers a question, 384 wide) and fits in processes of their own, so that each peak is its own.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np

WIDTH, A_QUESTION, WORKERS, RESAMPLES = 384, 5, 2000, 200
ENCODER = "generated@1"


def texts_of(answers: int) -> list[str]:
    return [f"Answer {k} of a generated crowd, in some words." for k in range(answers)]


def fill(answers: int) -> None:
    """Store a vector of each text: a question's truth and noise."""
    from evaluation.embeddings.embeddings import text_hash
    from evaluation.models import Embedding

    texts, rng = texts_of(answers), np.random.default_rng(0)
    for start in range(0, answers, 5000):
        part = texts[start : start + 5000]
        truth = rng.standard_normal((len(part) // A_QUESTION + 1, WIDTH), dtype=np.float32)
        noise = rng.standard_normal((len(part), WIDTH), dtype=np.float32)
        rows = truth[np.arange(len(part)) // A_QUESTION] + noise
        Embedding.objects.bulk_create(
            Embedding(encoder=ENCODER, text_hash=text_hash(text), vector=row.tobytes())
            for text, row in zip(part, rows, strict=True)
        )


def dataset(answers: int) -> Any:
    """The answers as a frozen snapshot would have them."""
    from evaluation.runs.freezing.snapshots import AnswersDataset

    rng = np.random.default_rng(1)
    question = np.arange(answers) // A_QUESTION
    begin = rng.integers(0, WORKERS, question[-1] + 1)[question]
    worker = (begin + 7 * (np.arange(answers) % A_QUESTION)) % WORKERS
    none = np.empty(0, dtype=np.int64)
    return AnswersDataset(
        answer_ids=tuple(range(answers)),
        worker=worker,
        question=question,
        text=np.arange(answers),
        system_answer_ids=(),
        system=none,
        system_question=none,
        system_text=none,
        workers=tuple(range(WORKERS)),
        systems=(),
        items=tuple(range(int(question[-1]) + 1)),
        texts=tuple(texts_of(answers)),
    )


def fit(answers: int, way: str) -> dict[str, float]:
    """Fit with vectors as one matrix ("whole") or read as they are needed ("blocks")."""
    from evaluation.embeddings import vectors
    from evaluation.free_text import run as text_runs
    from evaluation.methods.aqer.method import METHOD
    from evaluation.methods.core.base import Hooks
    from evaluation.models import Run

    class Generated:
        cacheable, identity, dim = True, ENCODER, WIDTH

        def encode(self, texts: Any, *, progress: Any = None) -> Any:
            raise AssertionError("all vectors are stored")

    frozen = dataset(answers)
    run = Run(method=METHOD.slug, seed=0, params={"resamples": RESAMPLES})
    before, begun = peak(), time.process_time()
    if way == "whole":
        rows: Any = vectors.vectors_of(frozen.texts, Generated()).matrix
    else:
        found = vectors.look_up(frozen.texts, ENCODER)
        rows = vectors.encode_missing(frozen.texts, Generated(), found)
    result = text_runs.fit(run, frozen, rows, Hooks())
    total = float(np.nansum(result.estimates["worker"]["score"]))
    spent = time.process_time() - begun
    return {"before": before, "peak": peak(), "cpu": spent, "sum of scores": total}


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> None:
    import django

    if len(sys.argv) > 2:
        django.setup()
        answers = int(sys.argv[2])
        if sys.argv[1] == "fill":
            fill(answers)
        else:
            print(json.dumps(fit(answers, sys.argv[1])))
        return
    from tests.bench.harness import python, scratch_database

    answers = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with scratch_database() as env:
        this = ("-m", "tests.studies.run_memory")
        python(env, *this, "fill", str(answers))
        for way in ("whole", "blocks"):
            print(way, python(env, *this, way, str(answers)).strip())


if __name__ == "__main__":
    main()
