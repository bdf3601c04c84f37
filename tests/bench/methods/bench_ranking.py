"""Bradley-Terry against choix and crowd-kit on the same comparisons, at three sizes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.harness import best, figure

PEERS = Path(__file__).resolve().parents[3] / ".venv" / "peers"
SIZES = (4_732, 47_320, 473_585)
PLAYERS, MIDDLE = 390, 47_320
LARGE = (1_000, 10_000, 100_000)  # players; up to 4,000 they are solved with full matrices


def comparisons(size: int, *, ties: float = 0.0) -> tuple[Any, Any, Any, Any]:
    """First, second, outcome (0 first, 1 tie, 2 second) and judge of each, merits of sd 1."""
    rng = np.random.default_rng(0)
    merit = rng.normal(0, 1, PLAYERS)
    first = rng.integers(0, PLAYERS, size)
    second = (first + rng.integers(1, PLAYERS, size)) % PLAYERS
    won = rng.random(size) < 1 / (1 + np.exp(merit[second] - merit[first]))
    outcome = np.where(rng.random(size) < ties, 1, np.where(won, 0, 2))
    return first, second, outcome, rng.integers(0, 420, size)


def ours(size: int) -> dict[str, float]:
    """Seconds from raw arrays to merits, and to everything on the board; peak memory in MB."""
    from evaluation.methods.bradley_terry import method as bradley_terry
    from evaluation.methods.bradley_terry.cells import cells_of
    from evaluation.methods.bradley_terry.fit import Model, maximise
    from evaluation.methods.core.votes import Pairs
    from tests.evaluation.methods.named import pairs_from_names

    names = [f"p{k}" for k in range(PLAYERS)]
    first, second, outcome, _ = comparisons(size)

    def merits() -> Any:
        data = Pairs.build(first, second, outcome, players=names)
        return maximise(cells_of(data, side=False), Model("none", 0.0))

    one, two = [names[k] for k in first], [names[k] for k in second]

    def named() -> Any:
        data = pairs_from_names(one, two, outcome)
        return maximise(cells_of(data, side=False), Model("none", 0.0))

    def board() -> Any:
        data = Pairs.build(a, b, y, players=names, judge=judge, judges=[str(k) for k in range(420)])
        return bradley_terry.fit(data, rng=np.random.default_rng(0), cluster="judge")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Too few comparisons leave somebody unbeaten, and merits without regularisation infinite.
    seconds, found = best(merits, 5) if size >= MIDDLE else (0.0, None)
    a, b, y, judge = comparisons(size, ties=0.3)
    full, _ = best(board, 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "named": best(named, 5)[0] if found else 0.0,
        "board": full,
        "value": found.value if found else 0.0,
        "peak": (peak - before) / 1024,
    }


def large(players: int) -> dict[str, float]:
    """Merits of many players from ten comparisons each, and everything; ``peak`` in MB.

    Seconds are processor time, as machines are shared.
    """
    from evaluation.methods.bradley_terry import method as bradley_terry
    from evaluation.methods.bradley_terry.cells import cells_of
    from evaluation.methods.bradley_terry.fit import Model, maximise
    from evaluation.methods.core.votes import Pairs

    rng, size = np.random.default_rng(0), 10 * players
    merit = rng.normal(0, 1, players)
    first = rng.integers(0, players, size)
    second = (first + rng.integers(1, players, size)) % players
    won = rng.random(size) < 1 / (1 + np.exp(merit[second] - merit[first]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    names = [f"p{k}" for k in range(players)]
    data = Pairs.build(first, second, np.where(won, 0, 2), players=names)
    maximise(cells_of(data, side=False), Model("none", 0.2))
    merits = time.process_time() - began
    bradley_terry.fit(data, rng=rng, ties="none", resamples=0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    board = time.process_time() - began - merits
    return {"seconds": merits, "board": board, "peak": (peak - before) / 1024}


def _large_rows() -> list[dict[str, Any]]:
    """Ten times as many players at a time; the peer is the same with a tenth of them."""
    rows: list[dict[str, Any]] = []
    before: dict[str, float] | None = None
    for players in LARGE:
        mine = apart("large", players)
        for key, words in (("seconds", "merits"), ("board", "merits with intervals")):
            name = f"Bradley-Terry {words}, {players:,} players, {10 * players:,} comparisons"
            peer = ("a tenth of it", before[key]) if before else ("no peer", 0.0)
            note = f"processor time; {mine['peak']:.0f} MB above the data"
            rows.append(figure(name, mine[key], "s", peer, note))
        before = mine
    return rows


def _likelihood(size: int) -> tuple[Any, Any, Callable[[Any], float]]:
    """Winners, losers, and the log-likelihood of merits (players,)."""
    first, second, outcome, _ = comparisons(size)
    won, lost = np.where(outcome == 0, first, second), np.where(outcome == 0, second, first)
    return won, lost, lambda merit: float(-np.logaddexp(0, merit[lost] - merit[won]).sum())


def with_choix(size: int) -> dict[str, float]:
    """Seconds and log-likelihood of choix's two fits."""
    import choix

    won, lost, value = _likelihood(size)
    pairs = list(zip(won.tolist(), lost.tolist(), strict=True))
    newton, one = best(lambda: choix.opt_pairwise(PLAYERS, pairs, alpha=0.0), 1)
    mm, two = best(lambda: choix.mm_pairwise(PLAYERS, pairs), 1)
    return {"newton": newton, "newton_value": value(one), "mm": mm, "mm_value": value(two)}


def with_crowdkit(size: int, target: float) -> dict[str, float]:
    """Seconds of crowd-kit as it comes, and with as many rounds as ``target`` takes.

    As it comes (1.4.2) it compares a buffer with itself after the second round and stops there;
    a tolerance of 0 makes it go on.
    """
    sys.path.insert(0, str(PEERS))
    import pandas as pd
    from crowdkit.aggregation import BradleyTerry

    won, _, value = _likelihood(size)
    first, second, _, _ = comparisons(size)
    names = np.array([f"p{k}" for k in range(PLAYERS)])
    frame = pd.DataFrame(
        {"worker": 0, "left": names[first], "right": names[second], "label": names[won]}
    )

    def fitted(rounds: int, tolerance: float) -> Any:
        scores = BradleyTerry(n_iter=rounds, tol=tolerance).fit(frame).scores_.loc[names]
        return np.log(np.maximum(scores.to_numpy(), 1e-300))

    plain, stopped = best(lambda: fitted(1000, 1e-5), 3)
    rounds = 4
    while value(fitted(rounds, 0.0)) < target and rounds < 4096:
        rounds *= 2
    equal, _ = best(lambda: fitted(rounds, 0.0), 3)
    return {"plain": plain, "plain_value": value(stopped), "equal": equal, "rounds": rounds}


def apart(what: str, *arguments: float) -> dict[str, float]:
    """One of the above in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.bench.methods.bench_ranking",
        what,
        *map(str, arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _against_peers(size: int, mine: dict[str, float]) -> list[dict[str, Any]]:
    name, value = f"Bradley-Terry merits, {size:,} comparisons", mine["value"]
    rows = []

    def add(words: str, seconds: float, peer: tuple[str, float], note: str) -> None:
        row = figure(name + words, seconds, "s", peer, note)
        rows.append({**row, "value": round(seconds, 4), "peer_value": round(peer[1], 4)})

    if size == MIDDLE:
        other = apart("with_choix", size)
        for way, words in (("newton", "opt_pairwise"), ("mm", "mm_pairwise")):
            note = f"log-likelihood {value:.4f}, theirs {other[way + '_value']:.4f}; aim < .05"
            add("", mine["seconds"], (f"choix {words}", other[way]), note)
    if PEERS.is_dir():
        # A millionth of a unit a comparison is what counts as no worse for them.
        other = apart("with_crowdkit", size, value - 1e-6 * size)
        note = f"{other['rounds']:.0f} rounds of theirs reach our likelihood; aim < .2"
        peer = ("crowd-kit, to the same likelihood", other["equal"])
        add(", from names", mine["named"], peer, note)
        note = f"log-likelihood {value:.1f}; theirs {other['plain_value']:.1f}: stops after round 2"
        peer = ("crowd-kit as it comes", other["plain"])
        add(", from names", mine["named"], peer, note)
    return rows


def run() -> list[dict[str, Any]]:
    """All rows."""
    rows: list[dict[str, Any]] = []
    before: tuple[int, float] | None = None
    for size in SIZES:
        mine = apart("ours", size)
        if size >= MIDDLE:
            rows += _against_peers(size, mine)
        name = f"Bradley-Terry with intervals and ranks, {size:,} comparisons"
        peer = (f"the same at {before[0]:,}", before[1]) if before else ("no peer", 0.0)
        note = f"raw arrays, ties, clusters of 420 judges; {mine['peak']:.0f} MB above the data"
        rows.append(figure(name, mine["board"], "s", peer, note + "; aim < 1 s"))
        before = (size, mine["board"])
    return rows + _large_rows()


if __name__ == "__main__":
    works: dict[str, Callable[..., dict[str, float]]] = {
        "ours": ours,
        "large": large,
        "with_choix": with_choix,
        "with_crowdkit": with_crowdkit,
    }
    work = works[sys.argv[1]]
    print(json.dumps(work(int(float(sys.argv[2])), *map(float, sys.argv[3:]))))
