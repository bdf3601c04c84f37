"""The baselines against NLTK, a textbook LCS and crowd-kit, on the same generated answers."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.harness import figure

WORKERS, LENGTH, VOCABULARY, WIDTH = 20, 20, 2000, 384
SIZES = (87, 290, 870)  # questions; the first is Mohler's, and the peers run on it
PEERS = Path(__file__).resolve().parents[3] / ".venv" / "peers"


def crowd(questions: int) -> tuple[np.ndarray, list[list[str]]]:
    """The question of each answer and its words, as often as in a language; 20 each."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, VOCABULARY + 1)
    size = (questions, WORKERS, LENGTH)
    words = rng.choice(VOCABULARY, size=size, p=share / share.sum())
    truth = rng.choice(VOCABULARY, size=(questions, 1, LENGTH), p=share / share.sum())
    words = np.where(rng.random(size) < 0.4, truth, words).reshape(-1, LENGTH)
    lengths = rng.integers(5, LENGTH + 1, len(words))
    texts = [[f"w{k}" for k in row[:n]] for row, n in zip(words, lengths, strict=True)]
    return np.repeat(np.arange(questions), WORKERS), texts


def best_of(call: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """The shortest time of a few, and what came out."""
    took, out = [], None
    for _ in range(times):
        start = time.perf_counter()
        out = call()
        took.append(time.perf_counter() - start)
    return min(took), out


def measure(questions: int) -> dict[str, Any]:
    """Seconds of each baseline from lists of words to scores, and the peak memory."""
    from evaluation.methods.baselines import rasa, roy
    from evaluation.methods.text.corpus import token_ids
    from evaluation.methods.text.metrics import bleu, f1, reduce_pairs, rouge_l

    question, texts = crowd(questions)
    votes = np.ones(len(texts), dtype=bool)
    data = vectors(questions)
    seconds = {
        "BLEU4": lambda: bleu(token_ids(texts), question, votes),
        "F1": lambda: reduce_pairs(f1(token_ids(texts)), question, votes),
        "ROUGE-L": lambda: reduce_pairs(rouge_l(token_ids(texts)), question, votes),
        "Roy et al.": lambda: roy.sequence_scores(token_ids(texts), question),
        "RASA": lambda: rasa.reliabilities(data, max_rounds=9, tolerance=1e-300),
    }
    out = {name: best_of(call)[0] for name, call in seconds.items()}
    return {**out, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}


def vectors(questions: int) -> Any:
    """Vectors of as many answers."""
    from evaluation.methods.core.base import Texts

    rng = np.random.default_rng(1)
    truth = rng.standard_normal((questions, 1, WIDTH))
    raw = truth + 2 * rng.standard_normal((questions, WORKERS, WIDTH))
    return Texts.build(
        np.tile(np.arange(WORKERS), questions),
        np.repeat(np.arange(questions), WORKERS),
        raw.reshape(-1, WIDTH).astype(np.float32),
        workers=[str(k) for k in range(WORKERS)],
        questions=[str(k) for k in range(questions)],
    )


def apart(questions: int) -> dict[str, Any]:
    """``measure`` in a process of its own, so that its peak memory is only its own."""
    command = [sys.executable, "-m", "tests.bench.methods.bench_baselines", str(questions)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def slow_bleu(texts: list[list[str]]) -> list[float]:
    from nltk.translate.bleu_score import sentence_bleu

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            sentence_bleu(texts[at:row] + texts[row + 1 : at + WORKERS], texts[row])
            for at in range(0, len(texts), WORKERS)
            for row in range(at, at + WORKERS)
        ]


def slow_pairs(texts: list[list[str]], alike: Callable[[Any, Any], float]) -> list[float]:
    """Best reference of each answer; each pair is compared once."""
    best = [0.0] * len(texts)
    for at in range(0, len(texts), WORKERS):
        for a in range(at, at + WORKERS):
            for b in range(at, a):
                value = alike(texts[a], texts[b])
                best[a], best[b] = max(best[a], value), max(best[b], value)
    return best


def slow_f1(a: list[str], b: list[str]) -> float:
    from nltk.metrics.scores import f_measure

    return f_measure(set(a), set(b)) or 0.0


def slow_rouge(a: list[str], b: list[str]) -> float:
    """The textbook recursion, row by row."""
    before = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(before[j + 1], row[j]))
        before = row
    return 2 * before[-1] / (len(a) + len(b))


def peers() -> dict[str, tuple[str, float]]:
    """Name and seconds of each peer on the first size; each must give our scores."""
    from evaluation.methods.baselines import rasa
    from evaluation.methods.text.corpus import token_ids
    from evaluation.methods.text.metrics import bleu, f1, reduce_pairs, rouge_l

    question, texts = crowd(SIZES[0])
    votes, ids = np.ones(len(texts), dtype=bool), token_ids(texts)
    out = {}
    for name, peer, call, ours in (
        ("BLEU4", "NLTK sentence_bleu", lambda: slow_bleu(texts), bleu(ids, question, votes)),
        (
            "F1",
            "NLTK f_measure",
            lambda: slow_pairs(texts, slow_f1),
            reduce_pairs(f1(ids), question, votes),
        ),
        (
            "ROUGE-L",
            "plain Python LCS",
            lambda: slow_pairs(texts, slow_rouge),
            reduce_pairs(rouge_l(ids), question, votes),
        ),
    ):
        seconds, theirs = best_of(call, 1)
        np.testing.assert_allclose(theirs, ours, atol=1e-9)
        out[name] = (peer, seconds)
    if PEERS.is_dir():
        sys.path.insert(0, str(PEERS))
        import pandas
        from crowdkit.aggregation import RASA

        data = vectors(SIZES[0])
        unit = data.vectors / data.norms[:, None]
        frame = pandas.DataFrame(
            {"task": data.question, "worker": data.worker, "embedding": list(unit)}
        )
        seconds, model = best_of(lambda: RASA(n_iter=10, tol=0.0).fit(frame), 1)
        ours = rasa.reliabilities(data, max_rounds=9, tolerance=1e-300).reliability
        np.testing.assert_allclose(model.skills_.sort_index(), ours, rtol=1e-4)
        out["RASA"] = ("crowd-kit RASA, 10 iterations", seconds)
    return out


def run() -> list[dict[str, Any]]:
    """A row a baseline and peer, then how the largest size compares with the first."""
    found, beside = {size: apart(size) for size in SIZES}, peers()
    rows = []
    for name in ("BLEU4", "F1", "ROUGE-L", "Roy et al.", "RASA"):
        small, large = found[SIZES[0]][name], found[SIZES[-1]][name]
        sizes = ", ".join(f"{size * WORKERS}: {1000 * found[size][name]:.0f} ms" for size in SIZES)
        if name in beside:
            peer, seconds = beside[name]
            rows.append(
                figure(
                    f"{name}, {SIZES[0] * WORKERS} answers",
                    1000 * small,
                    "ms",
                    (peer, 1000 * seconds),
                    f"{seconds / small:.0f} times its speed, same scores",
                )
            )
        rows.append(
            figure(
                f"{name}, {SIZES[-1] * WORKERS} answers",
                1000 * large,
                "ms",
                ("ours on a tenth", 1000 * small),
                f"answers: {sizes}; peak {found[SIZES[-1]]['peak']:.2f} GB, all of them together",
            )
        )
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
