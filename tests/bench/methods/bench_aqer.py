"""AQER on large crowds: beside a plain pass over the same vectors a round, and without vectors."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

WORKERS, QUESTIONS, WIDTH = 1000, 1000, 384
REPEATS = 3
REFITS = 200


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


def streamed(folder: Path, questions: int, workers: int, answers: int) -> dict[str, float]:
    """Seconds and CPU seconds from vectors that nobody keeps; 0 refits above a million answers."""
    from evaluation.methods.aqer.grams import stream
    from evaluation.methods.aqer.resample import replicate
    from evaluation.methods.aqer.rounds import Options, iterate
    from evaluation.methods.core.bootstrap import WeightsByResample

    made = np.zeros(2)
    begun = clocks()
    rows = stream(pieces(questions, workers, answers, made), workers, folder)
    found = dict(zip(("build", "build_cpu"), clocks() - begun - made, strict=True))
    begun = clocks()
    fit = iterate(rows, Options(), np.random.default_rng(0))
    found |= dict(zip(("fit", "fit_cpu"), clocks() - begun, strict=True))
    refits = REFITS if len(rows.worker) <= 1_000_000 else 0
    weights = WeightsByResample(0, refits, questions, complete=False)
    begun = clocks()
    if refits:
        replicate(rows, weights, Options(), each=lambda chunk, result: None)
    found |= dict(zip(("refits", "refits_cpu"), clocks() - begun, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {**found, "answers": len(rows.worker), "rounds": fit.rounds, "peak": peak}


def clocks() -> Any:
    """Seconds that passed and that this process worked (2,)."""
    return np.array([time.perf_counter(), time.process_time()])


def pieces(questions: int, workers: int, answers: int, made: Any) -> Iterator[Any]:
    """Answers of planted quality to 2,000 questions at a time, each drawing used ten times.

    ``made`` grows by the clocks' time that the making took. With ``answers`` a question 0, it has
    5 to 10.
    """
    rng = np.random.default_rng(0)
    quality = rng.uniform(0.2, 0.9, workers).astype(np.float32)
    step = min(2000, questions)
    for start in range(0, questions, step):
        begun = clocks()
        if start % (10 * step) == 0:
            sizes = np.full(step, answers) if answers else rng.integers(5, 11, step)
            owner = np.repeat(np.arange(step), sizes)
            place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            begin = rng.integers(0, workers, step)
            stride = rng.integers(1, workers // sizes.max(), step)
            worker = (begin[owner] + stride[owner] * place) % workers
            order = np.lexsort((worker, owner))
            worker, known = worker[order], quality[worker[order], None]
            vectors = rng.standard_normal((len(owner), WIDTH), dtype=np.float32)
            vectors *= np.sqrt(1 - known**2)
            vectors += known * rng.standard_normal((step, WIDTH), dtype=np.float32)[owner]
        made += clocks() - begun
        yield worker, start + owner, vectors


def without_vectors() -> list[dict[str, Any]]:
    """Rows of streamed crowds: the pass over the vectors, a fit, refits, and memory."""
    rows: list[dict[str, Any]] = []

    def row(name: str, value: float, unit: str, aim: float, note: str) -> None:
        told = {"name": name, "value": value, "unit": unit, "peer": "the aim", "note": note}
        rows.append({**told, "peer_value": aim, "ratio": value / aim})

    for words, questions, workers, answers, aims in (
        ("1,000 workers, 1,000 questions of 5 to 10", 1000, 1000, 0, (0.1, 0.3)),
        ("200,000 questions of 5", 200_000, 1000, 5, (5.0, 1.0)),
        ("2,000,000 questions of 5", 2_000_000, 10_000, 5, (5.0, 1.0)),
    ):
        found = apart("streamed", questions, workers, answers)
        name, of = f"AQER without vectors, {words}", found["answers"]
        note = f"{found['build_cpu'] / of * 1e6:.2f} CPU s a million answers"
        row(f"{name}: cosines", of / found["build"] / 1e6, "M answers a second", 1, note)
        note = f"{found['rounds']:.0f} rounds, {found['fit_cpu']:.2f} CPU s"
        row(f"{name}: a fit after that", found["fit"], "s", aims[0], note)
        row(f"{name}: a round", found["fit"] / found["rounds"], "s", 1, note)
        if found["refits"]:
            note = f"{found['refits_cpu']:.1f} CPU s"
            row(f"{name}: {REFITS} resamples, refitted", found["refits"], "s", 60, note)
        row(f"{name}: peak memory", found["peak"], "GB", aims[1], "whole process, cosines mapped")
    return rows


def apart(*arguments: object) -> dict[str, float]:
    """A measurement on one thread in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "tests.bench.methods.bench_aqer", *map(str, arguments)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | one)
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
        *without_vectors(),
    ]


if __name__ == "__main__":
    if sys.argv[1] == "words":
        print(json.dumps(measure_words(int(sys.argv[2]))))
    elif sys.argv[1] == "streamed":
        with tempfile.TemporaryDirectory() as temporary:
            print(json.dumps(streamed(Path(temporary), *map(int, sys.argv[2:]))))
    else:
        print(json.dumps(measure(float(sys.argv[1]), *map(int, sys.argv[2:]))))
