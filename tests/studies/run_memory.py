"""Peak memory of runs, in processes of their own so that each peak is its own.

``python -m tests.studies.run_memory estimates`` fits crowds of labels that are wide in workers,
labels, items or votes on one item, makes their rows, and prints the peak beside what
``methods.labels`` estimates from the counts. ``file`` scores a file of 40,000 workers and 50
labels: it is refused. An AQER run whose vectors are in the store, all at once or in blocks:

``python -m tests.studies.run_memory [answers]`` makes a scratch database with generated vectors
(5 answers a question, 384 wide) and fits in processes of their own, so that each peak is its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
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


# Workers, items, labels, labels a worker gives, draws: each shape is wide in one way.
SHAPES = (
    (60, 400, 5, 40, 400),
    (400, 200, 50, 1, 0),
    (1_000, 500, 50, 1, 0),
    (300, 150, 30, 2, 100),
    (100, 6_000, 20, 120, 0),
    (3_000, 1_500, 4, 2, 400),
    (1_500, 2, 4, 1, 0),
)


def labels(workers: int, items: int, classes: int, each: int) -> Any:
    """Labels that say little: what a fit takes does not depend on it."""
    from evaluation.methods.core.votes import Labels

    rng, n = np.random.default_rng(0), workers * each
    worker = np.repeat(np.arange(workers), each)
    item = (np.arange(n) * 7 + worker // items) % items
    kept = np.unique(worker * items + item, return_index=True)[1]
    return Labels.build(
        worker[kept],
        item[kept],
        rng.integers(0, classes, len(kept)),
        workers=[str(number) for number in range(workers)],
        items=[str(number) for number in range(items)],
        labels=[str(number) for number in range(classes)],
    )


def fit_labels(shape: tuple[int, ...]) -> None:
    """Fit one of SHAPES, make its rows as a run does, and print the peak and the estimate."""
    from annotation.work.snapshots.labels import LabelField
    from evaluation.labels import results
    from evaluation.labels.dataset import LabelsDataset
    from evaluation.methods.core.memory import Size
    from evaluation.methods.labels.method import METHOD

    workers, items, classes, each, draws = shape
    data, before = labels(workers, items, classes, each), peak()
    time_given = np.arange(len(data), dtype=np.float64)
    options = {"resamples": draws, "restarts": 20}
    rng = np.random.default_rng(0)
    found = METHOD.fit(data, rng=rng, time=time_given, **options)
    field = LabelField("label", "Label", tuple((code, code) for code in data.labels))
    gold = np.full(items, -1)
    frozen = LabelsDataset(
        data, gold, time_given, tuple(range(workers)), tuple(range(items)), field
    )
    rows = results.worker_rows(frozen, found), results.label_rows(frozen, found)
    results._pairs(frozen)
    votes = ((str(j), str(i)) for j, i in zip(data.worker, data.item, strict=True))
    size = Size.of_names(votes, labels=classes)
    told = METHOD.memory(size, {**METHOD.params, **options}) / 1e6
    del rows
    print(f"{shape} peak {peak():,.0f} MB (before {before:,.0f}), estimated {told:,.0f} MB")


def score_file(folder: str) -> None:
    """Score 40,000 rows, a worker each, of 50 labels: what it says, and the peak until then."""
    from django.core.management import CommandError, call_command

    lines = [f"w{k},i{k % 8_000},label {k % 50}" for k in range(40_000)]
    path = f"{folder}/labels.csv"
    with open(path, "w") as out:
        out.write("\n".join(["worker,item,label", *lines]) + "\n")
    begun = time.process_time()
    try:
        call_command("crowdqc_score", path)
    except CommandError as refused:
        spent = time.process_time() - begun
        print(f"{refused}\npeak {peak():,.0f} MB, {spent:.1f} s of CPU")


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    if sys.argv[1:2] == ["estimates"]:
        for shape in SHAPES[int(sys.argv[2]) : int(sys.argv[2]) + 1] if sys.argv[2:] else ():
            django.setup()
            fit_labels(shape)
        for number in () if sys.argv[2:] else range(len(SHAPES)):
            words = [sys.executable, "-m", "tests.studies.run_memory", "estimates", str(number)]
            subprocess.run(words, check=True)
        return
    if sys.argv[1:] == ["file"]:
        django.setup()
        with tempfile.TemporaryDirectory() as folder:
            score_file(folder)
        return
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
