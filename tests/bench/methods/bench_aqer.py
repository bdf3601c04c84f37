"""AQER on a large crowd, as a ratio to one plain pass over the same vectors a round."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

WORKERS, QUESTIONS, WIDTH = 1000, 1000, 384
REPEATS = 3


def crowd(workers: int, questions: int, density: float) -> tuple[Any, Any, Any]:
    """Worker and question of each answer, and float32 vectors of planted quality."""
    rng = np.random.default_rng(0)
    asked = rng.random((questions, workers)) < density
    question, worker = np.nonzero(asked)
    quality = rng.uniform(0.2, 0.9, workers).astype(np.float32)
    vectors = np.empty((len(worker), WIDTH), dtype=np.float32)
    bounds = np.searchsorted(question, np.arange(questions + 1))
    for j in range(questions):  # block by block: a second matrix would count as ours
        block = slice(bounds[j], bounds[j + 1])
        truth = rng.standard_normal(WIDTH, dtype=np.float32) / np.float32(WIDTH**0.5)
        part = vectors[block]
        rng.standard_normal(dtype=np.float32, out=part)
        part *= (np.sqrt(1 - quality[worker[block]] ** 2) / np.float32(WIDTH**0.5))[:, None]
        part += quality[worker[block], None] * truth
    return worker, question, vectors


def measure(density: float, questions: int = QUESTIONS) -> dict[str, float]:
    """Best time of a few, from raw arrays to scores; and of a plain pass; in this process."""
    from evaluation.methods.aqer.rounds import Options, iterate, prepare
    from evaluation.methods.core.base import Texts

    worker, question, vectors = crowd(WORKERS, questions, density)
    one = np.ones(WIDTH, dtype=np.float32)
    seconds, passes, rounds, peak = [], [], 0, 0.0
    for _ in range(REPEATS):
        start = time.perf_counter()
        vectors @ one
        passes.append(time.perf_counter() - start)
        start = time.perf_counter()
        texts = Texts.build(
            worker,
            question,
            vectors,
            workers=[str(k) for k in range(WORKERS)],
            questions=[str(k) for k in range(questions)],
        )
        fit = iterate(prepare(texts)[0], Options(), np.random.default_rng(0))
        seconds.append(time.perf_counter() - start)
        rounds = fit.rounds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {
        "seconds": min(seconds),
        "pass": min(passes),
        "rounds": rounds,
        "peak": peak,
        "matrix": vectors.nbytes / 1e9,
        "answers": len(worker),
    }


def measure_words(questions: int) -> dict[str, float]:
    """The same for bags of words: 20 workers, 8 to 24 words an answer; Bags are built before."""
    from evaluation.methods.aqer.rounds import Options
    from evaluation.methods.baselines import bag_of_words

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2000, (questions, 24))
    known = np.linspace(0.3, 0.95, 20)
    words = [
        np.where(rng.random(24) < known[i], truth[j], rng.integers(0, 2000, 24))[
            : rng.integers(8, 25)
        ]
        for j in range(questions)
        for i in range(20)
    ]
    bags = bag_of_words.Bags.build(
        np.tile(np.arange(20), questions),
        np.repeat(np.arange(questions), 20),
        [[str(w) for w in one] for one in words],
        workers=[str(k) for k in range(20)],
        questions=[str(k) for k in range(questions)],
    )
    seconds, rounds = [], 0
    for _ in range(REPEATS):
        start = time.perf_counter()
        rounds = bag_of_words.iterate(bags, Options(), np.random.default_rng(0)).rounds
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": min(seconds), "rounds": rounds, "words": len(bags.cell), "peak": peak}


def apart(*arguments: object) -> dict[str, float]:
    """``measure`` in a process of its own, so that its peak memory is only its own."""
    command = [sys.executable, "-m", "tests.bench.methods.bench_aqer", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def large(density: float, words: str, aims: str) -> list[dict[str, Any]]:
    """The rows of one density."""
    found = apart(density)
    name = f"AQER {WORKERS} x {QUESTIONS} x {WIDTH}, {words}"
    plain = found["pass"] * found["rounds"]
    return [
        {
            "name": name,
            "value": found["seconds"],
            "unit": "s",
            "peer": "one plain pass (matrix @ vector) a round",
            "peer_value": plain,
            "ratio": found["seconds"] / plain,
            "note": f"{found['rounds']:.0f} rounds, checks and lengths included; aim {aims}",
        },
        {
            "name": f"{name}: peak memory",
            "value": found["peak"],
            "unit": "GB",
            "peer": "the vectors alone",
            "peer_value": found["matrix"],
            "ratio": found["peak"] / found["matrix"],
            "note": "whole process; aim < 2 GB",
        },
    ]


def growth() -> list[dict[str, Any]]:
    """Seconds an answer (or word) and round at three sizes, against the smallest size."""
    rows: list[dict[str, Any]] = []
    for name, each, given in (
        (
            f"AQER, {WORKERS} workers x {WIDTH}, 5 % of answers",
            "answers",
            [(0.05, q) for q in (100, 1000, 10_000)],
        ),
        ("bag of words, 20 workers", "words", [("words", q) for q in (100, 1000, 10_000)]),
    ):
        first = None
        for arguments in given:
            found = apart(*arguments)
            unit = 1e9 * found["seconds"] / found[each] / found["rounds"]
            first = unit if first is None else first
            rows.append(
                {
                    "name": f"{name}: {found[each]:,.0f} {each}",
                    "value": unit,
                    "unit": f"ns a round and {each[:-1]}",
                    "peer": "the smallest size",
                    "peer_value": first,
                    "ratio": unit / first,
                    "note": f"{found['seconds']:.3f} s, {found['rounds']:.0f} rounds, peak memory "
                    f"{found['peak']:.2f} GB",
                }
            )
    return rows


def resampled() -> dict[str, Any]:
    """A usual crowd with everything on its board: intervals, ranks, groups, diagnostics."""
    from evaluation.methods.aqer import method as aqer
    from evaluation.methods.core.base import Texts

    worker, question, vectors = crowd(25, 16, 1.0)
    texts = Texts.build(
        worker,
        question,
        vectors,
        workers=[str(k) for k in range(25)],
        questions=[str(k) for k in range(16)],
    )
    times: dict[int, list[float]] = {0: [], 2000: []}
    for _ in range(5):
        for resamples, seconds in times.items():
            start = time.perf_counter()
            aqer.fit(texts, rng=np.random.default_rng(0), resamples=resamples)
            seconds.append(time.perf_counter() - start)
    plain, full = min(times[0]), min(times[2000])
    return {
        "name": f"AQER 25 x 16 x {WIDTH} with 2,000 resamples, each fitted again",
        "value": full,
        "unit": "s",
        "peer": "the same without resamples",
        "peer_value": plain,
        "ratio": full / plain,
        "note": "",
    }


def run() -> list[dict[str, Any]]:
    """All rows."""
    return [
        *large(1.0, "full", "< 2 s"),
        *large(0.05, "5 % of answers", "< 0.2 s"),
        *growth(),
        resampled(),
    ]


if __name__ == "__main__":
    if sys.argv[1] == "words":
        print(json.dumps(measure_words(int(sys.argv[2]))))
    else:
        print(json.dumps(measure(float(sys.argv[1]), *map(int, sys.argv[2:]))))
