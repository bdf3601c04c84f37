"""A whole pairwise study scored, against what crowd-kit takes for its competence alone.

420 workers judge 975 pairs of 65 topics by six systems on seven dimensions, seven votes a pair: the
size of the published study. Ours is everything the leaderboard and its pages are drawn from (gold
labels, competence with intervals, boards, grades, agreement, order effects), the peer MACE's labels
and competence, on one dimension and times seven. Processor seconds, each in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from tests.bench.harness import ROOT, figure

PEERS = ROOT / ".venv" / "peers"
DIMENSIONS, RESTARTS, ROUNDS = 7, 20, 100
FEW = 2  # restarts of the peer, whose time is scaled to all of them


def judgments() -> Any:
    """The study, drawn anew in every process from the same seed."""
    from tests.evaluation.methods.pairwise.studies import study

    return study(
        np.random.default_rng(0),
        merits=(0.6, 0.4, 0.2, -0.1, -0.4, -0.7),
        topics=65,
        workers=420,
        votes=7,
        dimensions=DIMENSIONS,
        guessers=60,
        lefts=25,
        forced=True,
    )


def ours() -> float:
    """Seconds of the core run."""
    from evaluation.methods.pairwise import method as pairwise

    data = judgments()
    began = time.process_time()
    pairwise.fit(data, rng=np.random.default_rng(0))
    return time.process_time() - began


def checks() -> float:
    """Seconds of the nulls, cross-fit and intervals that follow it."""
    from evaluation.methods.pairwise import checks as pairwise_checks

    data = judgments()
    began = time.process_time()
    pairwise_checks.fit(data, rng=np.random.default_rng(0))
    return time.process_time() - began


def small_checks() -> float:
    """The same of 36 judgments on seven dimensions."""
    from evaluation.methods.pairwise import checks as pairwise_checks
    from tests.evaluation.methods.pairwise.studies import study

    data = study(np.random.default_rng(0), topics=4, workers=6, votes=3, dimensions=DIMENSIONS)
    began = time.process_time()
    pairwise_checks.fit(data, rng=np.random.default_rng(0))
    return time.process_time() - began


def forest() -> float:
    """Seconds to number the components of 200,000 workers with an item each."""
    from evaluation.methods.core.components import components

    nodes = np.arange(200_000)
    began = time.process_time()
    components(nodes, nodes, len(nodes), len(nodes))
    return time.process_time() - began


def peer() -> float:
    """Seconds of crowd-kit's MACE on all dimensions, from a few restarts on one."""
    data = judgments()
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(PEERS))
    import pandas
    from crowdkit import aggregation

    labels = data.votes.as_labels(0)
    columns = {"worker": labels.worker, "task": labels.item, "label": labels.label}
    frame = pandas.DataFrame(columns)
    model = aggregation.MACE(n_restarts=FEW, n_iter=ROUNDS, smoothing=0.1 / 3)
    began = time.process_time()
    model.fit(frame)
    return (time.process_time() - began) * RESTARTS / FEW * DIMENSIONS


CASES = {
    "ours": ours,
    "checks": checks,
    "small_checks": small_checks,
    "forest": forest,
    "peer": peer,
}


def _apart(case: str) -> float:
    """One case in a process of its own, on one thread."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.bench.service.bench_study", case]
    done = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def run() -> list[dict[str, Any]]:
    other = _apart("peer")
    told = ("crowd-kit MACE x 7", other)
    note = (
        f"420 workers, 975 pairs, 6,825 judgments on 7 dimensions; the peer gives labels and "
        f"competence without intervals, scaled from {FEW} of {RESTARTS} restarts"
    )
    return [
        figure("a study's core, everything its pages show", _apart("ours"), "s", told, note),
        figure("its nulls, cross-fit and intervals", _apart("checks"), "s", told, note),
        figure(
            "the same of 36 judgments",
            _apart("small_checks"),
            "s",
            ("aim", 20.0),
            "one fit after the other it took ten times as long",
        ),
        figure(
            "200,000 components numbered",
            _apart("forest"),
            "s",
            ("aim", 1.0),
            "a pass for each component would be quadratic",
        ),
    ]


if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]]()))
