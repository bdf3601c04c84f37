"""A whole label run, GLAD, and models with their intervals, beside crowd-kit's fits without any.

10,000 items with 5 labels each by default; ``CROWDQC_BENCH_ITEMS=100000`` measures half a million
labels, of which crowd-kit's GLAD alone takes minutes. Seconds are processor time of one thread.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from tests.bench.harness import ROOT, NotHere, figure
from tests.bench.methods.bench_competence import PEERS, labels

ITEMS, EACH, CLASSES, WORKERS = 10_000, 5, 4, 500
PEER_ROUNDS = 5  # of GLAD's EM; it is given no more, and stops before it has settled


def votes(items: int) -> tuple[Any, Any, Any]:
    """Worker, item and label of 5 labels an item by 500 workers, right .75 of the time."""
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(items), EACH)
    first, step = rng.integers(0, WORKERS, items), rng.integers(1, WORKERS // EACH, items)
    worker = ((first[:, None] + step[:, None] * np.arange(EACH)) % WORKERS).ravel()
    truth = rng.integers(0, CLASSES, items)[item]
    right = rng.random(len(item)) < rng.beta(6, 2, WORKERS)[worker]
    wrong = (truth + rng.integers(1, CLASSES, len(item))) % CLASSES
    return worker, item, np.where(right, truth, wrong)


def ours(case: str, items: int) -> float:
    """Seconds of one of our methods."""
    from evaluation.methods.competence import dawid_skene, glad
    from evaluation.methods.competence.mace import method as mace
    from evaluation.methods.labels import method as study

    fits: dict[str, Any] = {
        "dawid_skene": dawid_skene.fit,
        "mace": mace.fit,
        "glad": glad.fit,
        "run": study.fit,
    }
    data = labels(*votes(items))
    began = time.process_time()
    fits[case](data, rng=np.random.default_rng(0))
    return time.process_time() - began


def peer(case: str, items: int) -> float:
    """Seconds of crowd-kit's; of a run those of its four methods together."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(PEERS))
    import pandas
    from crowdkit import aggregation

    made: dict[str, Any] = {
        "majority": aggregation.MajorityVote,
        "dawid_skene": lambda: aggregation.DawidSkene(n_iter=100, tol=1e-5),
        "mace": lambda: aggregation.MACE(n_restarts=1, n_iter=50),
        "glad": lambda: aggregation.GLAD(n_iter=PEER_ROUNDS),
    }
    frame = pandas.DataFrame(dict(zip(("worker", "task", "label"), votes(items), strict=True)))
    began = time.process_time()
    for name in made if case == "run" else (case,):
        made[name]().fit(frame)
    return time.process_time() - began


def apart(whose: str, case: str, items: int) -> tuple[float, float]:
    """Seconds and peak memory (GB) in a process of its own with one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "tests.bench.methods.bench_labels", whose, case, str(items)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, **one}
    )
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak


NOTES = {
    "dawid_skene": "ours with intervals of 1,000 draws, the peer's without",
    "mace": "ours 20 restarts with intervals of 1,000 draws, the peer's one restart without",
    "glad": f"ours with intervals of 1,000 draws, the peer's {PEER_ROUNDS} rounds without",
    "run": "ours with intervals, agreement and confusion, the peer's four fits alone",
}


def run() -> list[dict[str, Any]]:
    """All rows; left out where crowd-kit is not installed."""
    if not PEERS.is_dir():
        raise NotHere("crowd-kit is not installed: make bench puts it into .venv/peers")
    items = int(os.environ.get("CROWDQC_BENCH_ITEMS", ITEMS))
    rows = []
    for case, note in NOTES.items():
        seconds, peak = apart("ours", case, items)
        theirs, more = apart("peer", case, items)
        rows.append(
            figure(
                f"labels: {case}, {items * EACH:,} labels",
                seconds,
                "s",
                ("crowd-kit", theirs),
                f"{note}; peak memory {peak:.2f} against {more:.2f} GB",
            )
        )
    return rows


if __name__ == "__main__":
    took = {"ours": ours, "peer": peer}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
    print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9]))
