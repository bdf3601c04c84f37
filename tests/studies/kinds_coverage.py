"""How often boards by kind hold the truth, and tell a difference that is not there.

``python -m tests.studies.kinds_coverage [simulations]`` prints two lines.

Means of ratings: two kinds of 15 topics, two sources, 20 workers with levels of their own, four
ratings a text. "single" is how often an interval of one kind holds, at the level (.975) that makes
both hold at once in .95.

Labels: six workers who agree with the others nine times in ten on both kinds (60 items each): in
how many crowds some worker is said to differ between the kinds.
"""

from __future__ import annotations

import os
import sys

import django
import numpy as np

from evaluation.methods.core.kinds import column_of

WORKERS, TOPICS, SOURCES = 20, 30, 2
TRUE = np.array([[3.0, 3.4], [2.6, 3.5]])  # kind, source


def means(seed: int) -> list[list[bool]]:
    """Of each source whether its interval holds, kind by kind."""
    from evaluation.methods.rescaling import ratings

    rng = np.random.default_rng(seed)
    topic, source = np.repeat(np.arange(TOPICS), SOURCES), np.tile(np.arange(SOURCES), TOPICS)
    texts = np.arange(TOPICS * SOURCES)
    worker = np.concatenate([rng.choice(WORKERS, 4, replace=False) for _ in texts])
    text = np.repeat(texts, 4)
    value = TRUE[topic[text] % 2, source[text]] + rng.normal(0, 0.8, len(text))
    value += rng.normal(0, 0.4, WORKERS)[worker] + rng.normal(0, 0.4, TOPICS)[topic[text]]
    data = ratings.Ratings.build(
        worker,
        text,
        value[:, None],
        system=source,
        topic=topic,
        workers=[str(at) for at in range(WORKERS)],
        texts=[str(at) for at in texts],
        systems=["a", "b"],
        scales=["s"],
        columns={"kind": column_of([str(at % 2) for at in topic])},
    )
    fitted = ratings.fit(data, rng=rng, resamples=100)
    held: list[list[bool]] = [[] for _ in range(SOURCES)]
    for row in fitted.estimates["stratum_system"].rows():
        if row["column"] == "kind":
            true = TRUE[int(row["stratum"]), row["system"]]
            held[row["system"]].append(bool(row["low"] <= true <= row["high"]))
    return held


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    from tests.evaluation.methods.labels.test_kinds import crowd

    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    held = [row for seed in range(simulations) for row in means(seed)]
    single, both = np.mean(held), np.mean([all(row) for row in held])
    print(f"ratings: single {single:.3f}, both kinds at once {both:.3f}")
    rng = np.random.default_rng(11)
    told = sum(bool(crowd(rng)["kind_shift"]) for _ in range(simulations))
    print(f"labels: a difference where there is none in {told} of {simulations} crowds")


if __name__ == "__main__":
    main()
