"""Agreement against the krippendorff and crowd-kit packages on the same votes, at three sizes."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.harness import best, figure

PEERS = Path(__file__).resolve().parents[3] / ".venv" / "peers"
# Votes of the CrowdRAG design (5 an item, 3 labels), then 10 and 100 times as many.
SIZES = (47_320, 473_200, 4_732_000)
EACH, LABELS, CROWDKIT_MOST = 5, 3, 47_320

OTHERS = {"fleiss": "Fleiss' kappa", "gwet_ac1": "Gwet's AC1"}


def votes(size: int) -> tuple[Any, Any, Any]:
    """Workers, items and labels (size,); two thirds of the votes say the item's label."""
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(size // EACH), EACH)
    truth = rng.integers(0, LABELS, size // EACH)
    label = np.where(rng.random(size) < 0.5, truth[item], rng.integers(0, LABELS, size))
    # Five different workers an item.
    worker = (np.arange(size) * 7) % max(420, size // 112)
    return worker, item, label


def measure(size: int) -> dict[str, float]:
    """Seconds and results of one size, in this process."""
    import krippendorff

    from evaluation.methods.agreement import coefficients as agreement
    from evaluation.methods.core.votes import Labels

    intervals = {"fleiss": agreement.kappa_interval, "gwet_ac1": agreement.gwet_interval}
    worker, item, label = votes(size)
    data = Labels.build(
        worker,
        item,
        label,
        workers=[str(k) for k in range(int(worker.max()) + 1)],
        items=[str(k) for k in range(size // EACH)],
        labels=["A", "N", "B"],
    )
    counts = np.bincount(item * LABELS + label, minlength=(size // EACH) * LABELS)
    counts = counts.reshape(-1, LABELS)
    ours, alpha = best(lambda: agreement.krippendorff_alpha(data, "ordinal"), 7)
    interval, _ = best(
        lambda: agreement.alpha_interval(
            data, "ordinal", rng=np.random.default_rng(0), resamples=2000
        ),
        2,
    )
    others = {
        name: best(lambda fit=fit: fit(data, rng=np.random.default_rng(0), resamples=2000), 2)[0]
        for name, fit in intervals.items()
    }
    tracemalloc.start()
    agreement.krippendorff_alpha(data, "ordinal")
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    peer, other = best(
        lambda: krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal"), 7
    )
    if abs(alpha - other) > 1e-12:
        raise RuntimeError(f"the two alphas differ: {alpha} and {other}")
    found = {"ours": ours, "peer": peer, "interval": interval, "peak": peak, "alpha": alpha}
    found |= others
    if size <= CROWDKIT_MOST and PEERS.is_dir():
        found["crowdkit"] = crowdkit(worker, item, label)
    return found


def crowdkit(worker: Any, item: Any, label: Any) -> float:
    """Seconds of crowd-kit's (nominal) alpha."""
    sys.path.insert(0, str(PEERS))
    import pandas
    from crowdkit.metrics.data import alpha_krippendorff

    frame = pandas.DataFrame({"task": item, "worker": worker, "label": label})
    return best(lambda: alpha_krippendorff(frame), 1)[0]


def run() -> list[dict[str, Any]]:
    """A row a size and peer; each size in a process of its own."""
    rows = []
    for size in SIZES:
        command = [sys.executable, "-m", "tests.bench.methods.bench_agreement", str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        name, note = (
            f"Krippendorff's alpha, {size:,} votes",
            f"peak {found['peak']:.0f} MB beside the votes",
        )
        rows.append(
            figure(
                name,
                1000 * found["ours"],
                "ms",
                ("krippendorff, from value counts", 1000 * found["peer"]),
                f"ordinal, from votes; equal to 1e-12; {note}",
            )
        )
        rows.append(
            figure(
                f"{name}: interval",
                1000 * found["interval"],
                "ms",
                ("krippendorff x 2,000 resamples", 1000 * 2000 * found["peer"]),
                "bootstrap of 2,000; the peer's time is that of one alpha times 2,000",
            )
        )
        rows += [
            figure(
                f"{label}, {size:,} votes: interval",
                1000 * found[kind],
                "ms",
                ("krippendorff, one alpha", 1000 * found["peer"]),
                "bootstrap of 2,000 beside a single value of another coefficient",
            )
            for kind, label in OTHERS.items()
        ]
        if "crowdkit" in found:
            rows.append(
                figure(
                    name,
                    1000 * found["ours"],
                    "ms",
                    ("crowd-kit", 1000 * found["crowdkit"]),
                    "the peer knows the nominal level only",
                )
            )
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
