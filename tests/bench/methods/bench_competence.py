"""MACE and Dawid-Skene as ratios to crowd-kit's, on the same votes, each in a process of its own.

MACE makes the same rounds and restarts and picks by the same objective; Dawid-Skene stops by half
the tolerance. Seconds are processor time of one thread, as machines are shared. Both objectives
are worked out again from the parameters, in the same way.
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

from tests.bench.harness import ROOT, figure

PEERS = ROOT / ".venv" / "peers"
VOTES, PER_WORKER, LABELS = 5, 16, 3  # votes an item and a worker, as in the published crowd
SIZES = (946, 9_464, 94_717)  # items; the second is the published number of votes, 47,320
ROUNDS, RESTARTS = 100, 20
FEW = 5  # rounds of one restart from which the peer's time on the largest size is scaled


def votes(items: int) -> tuple[Any, Any, Any]:
    """Worker, item and label of 5 votes an item, of workers from guessing to knowing."""
    rng = np.random.default_rng(0)
    n = items * VOTES
    item = np.repeat(np.arange(items), VOTES)
    worker = rng.permutation(np.arange(n) * (n // PER_WORKER) // n)
    strategy = rng.dirichlet(np.full(LABELS, 3.0), worker.max() + 1).cumsum(axis=1)
    drawn = (rng.random((n, 1)) > strategy[worker]).sum(axis=1).clip(max=LABELS - 1)
    knows = rng.random(n) < rng.uniform(0, 1, worker.max() + 1)[worker]
    truth = rng.integers(0, LABELS, items)
    return tuple(
        # crowd-kit takes order of appearance for sorted order, so both have to be the same.
        np.unique(column, return_index=True)[1].argsort().argsort()[column]
        for column in (worker, item, np.where(knows, truth[item], drawn))
    )


def warm() -> None:
    """Load what our methods load at their first use; the peer's imports are not timed either."""
    import scipy

    assert scipy.sparse.csr_array and scipy.special.expit


def labels(worker: Any, item: Any, label: Any) -> Any:
    """The votes as our methods take them."""
    from evaluation.methods.core.votes import Labels

    sizes = [int(column.max()) + 1 for column in (worker, item, label)]
    names = [[str(k) for k in range(size)] for size in sizes]
    return Labels.build(worker, item, label, workers=names[0], items=names[1], labels=names[2])


def our_mace(data: tuple[Any, Any, Any], rounds: int, restarts: int) -> tuple[float, float]:
    """Seconds from the table of votes to the result, and the log marginal likelihood."""
    from evaluation.methods.competence.mace import method as mace

    table = labels(*data)
    warm()
    began = time.process_time()
    found = mace.fit(
        table,
        rng=np.random.default_rng(0),
        iterations=rounds,
        restarts=restarts,
        polish=0,
        tolerance=0.0,
        resamples=0,
        prevalence="uniform",  # as the peer's model
        beside=False,
    )
    took = time.process_time() - began
    return took, found.diagnostics["log_marginal_likelihood"]


def peer_mace(data: tuple[Any, Any, Any], rounds: int, restarts: int) -> tuple[float, float]:
    """The same of crowd-kit."""
    from evaluation.methods.competence.mace import core as mace_core
    from evaluation.methods.competence.mace import data as mace_data
    from evaluation.methods.competence.mace.data import label_parts

    aggregation, frame = _peer(data)
    model = aggregation.MACE(n_restarts=restarts, n_iter=rounds, smoothing=0.1 / LABELS)
    began = time.process_time()
    model.fit(frame)
    took = time.process_time() - began
    ours = labels(*data)
    laid = mace_data.prepare(ours, *label_parts(ours))
    spam, know = model.spamming_.T[:, :, None]
    strategy = model.thetas_[laid.worker, laid.shown][:, None]
    state = mace_data.State(spam, know, strategy, spam, strategy)
    log_total = mace_core.e_step(laid, mace_core.odds(laid, state))[2]
    em = mace_data.Priors(variational=False)
    return took, float(mace_core.objectives(laid, em, state, log_total)[0].sum())


def our_dawid_skene(data: tuple[Any, Any, Any]) -> tuple[float, float]:
    """Seconds from the table of votes to the result, and the log-likelihood."""
    from evaluation.methods.competence import dawid_skene

    table = labels(*data)
    warm()
    began = time.process_time()
    found = dawid_skene.fit(
        table,
        rng=np.random.default_rng(0),
        smoothing=1e-10,
        tolerance=5e-6,
        resamples=0,
        iterations=100,
    )
    return time.process_time() - began, found.diagnostics["log_likelihood"]


def peer_dawid_skene(data: tuple[Any, Any, Any]) -> tuple[float, float]:
    """The same of crowd-kit, at its defaults: 100 rounds or a tolerance of 1e-5."""
    from evaluation.methods.competence import dawid_skene as core
    from evaluation.methods.competence.mace.data import label_parts

    aggregation, frame = _peer(data)
    model = aggregation.DawidSkene(n_iter=100, tol=1e-5)
    began = time.process_time()
    model.fit(frame)
    took = time.process_time() - began
    ours = labels(*data)
    counts = core.prepare(ours, *label_parts(ours))
    given = np.full((len(ours.workers), LABELS, LABELS), 1e-10)
    errors = model.errors_
    at = tuple(errors.index.get_level_values(k).to_numpy() for k in (0, 1))
    given[at] = errors[list(range(LABELS))].to_numpy()
    prior = model.priors_.loc[list(range(LABELS))].to_numpy()[None]
    return took, float(core.e_step(counts, given, prior)[1].sum())


def _peer(data: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(PEERS))
    import pandas
    from crowdkit import aggregation

    return aggregation, pandas.DataFrame(dict(zip(("worker", "task", "label"), data, strict=True)))


CASES = {
    "our_mace": our_mace,
    "peer_mace": peer_mace,
    "our_dawid_skene": our_dawid_skene,
    "peer_dawid_skene": peer_dawid_skene,
}


def measure(case: str, items: int, *counts: int) -> dict[str, float]:
    """One case in this process: seconds, objective, peak memory in GB."""
    seconds, objective = CASES[case](votes(items), *counts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": seconds, "objective": objective, "peak": peak}


def apart(case: str, items: int, *counts: int) -> dict[str, float]:
    """``measure`` in a process of its own with one thread."""
    command = [sys.executable, "-m", "tests.bench.methods.bench_competence", case, str(items)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [*command, *map(str, counts)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **one},
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _row(
    name: str, ours: dict[str, float], theirs: dict[str, float], *, more: str = ""
) -> dict[str, Any]:
    faster = theirs["seconds"] / ours["seconds"]
    note = (
        f"{faster:.0f} times as fast; log-likelihood {ours['objective']:.1f} against "
        f"{theirs['objective']:.1f}; peak memory {ours['peak']:.2f} against {theirs['peak']:.2f} GB"
    )
    return figure(name, ours["seconds"], "s", ("crowd-kit", theirs["seconds"]), note + more)


def mace_rows() -> list[dict[str, Any]]:
    """MACE at three sizes; at the largest the peer's time is scaled from a few rounds."""
    rows = []
    for items in SIZES:
        ours = apart("our_mace", items, ROUNDS, RESTARTS)
        name = f"MACE VB {ROUNDS} x {RESTARTS}, {items * VOTES:,} votes"
        if items < SIZES[-1]:
            theirs = apart("peer_mace", items, ROUNDS, RESTARTS)
            aim = "; aim 25 times" if items == SIZES[1] else ""
            rows.append(_row(name, ours, theirs, more=aim))
            continue
        few = apart("peer_mace", items, FEW, 1)
        scaled = few["seconds"] * (RESTARTS * (ROUNDS + 1) + 1) / (FEW + 2)
        note = (
            f"aim < 60 s; the peer's time is scaled from {FEW} rounds of one restart; peak memory "
            f"{ours['peak']:.2f} against {few['peak']:.2f} GB"
        )
        rows.append(figure(name, ours["seconds"], "s", ("crowd-kit, scaled", scaled), note))
    return rows


def run() -> list[dict[str, Any]]:
    """All rows; none where crowd-kit is not installed."""
    if not PEERS.is_dir():
        raise SystemExit("crowd-kit is not installed: make bench puts it into .venv/peers")
    rows = mace_rows()
    for items in SIZES:
        ours, theirs = apart("our_dawid_skene", items), apart("peer_dawid_skene", items)
        aim = "; aim 10 times" if items == SIZES[1] else ""
        rows.append(_row(f"Dawid-Skene, {items * VOTES:,} votes", ours, theirs, more=aim))
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:]))))
