"""Crowds whose quality is known: answers of people and models with human grades, and simulations.

The real sets come from the data folder (``CROWDQC_DATA``). Their texts are encoded once and kept
as ``<cache>/<encoder>-<hash>.npy``.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.embeddings.embeddings import get_encoder
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.simulation import simulated_texts
from tests.evaluation.methods.simulated import draw_answers

Encode = Callable[[Sequence[str]], FloatArray]
Draw = Callable[[np.random.Generator], "Crowd"]
WORKERS, QUESTIONS = 20, 100  # of a simulated crowd
MIXED = 0.5  # share of Mohler's answers dealt at random: no worker is equally good everywhere
BUNDLE = 20  # answers of one system that count as one worker's, where there are few systems
JUDGED = 5  # graded answers from which a writer's quality is taken as known


@dataclass(frozen=True, eq=False)
class Crowd:
    """Answers (n) with unit vectors (n, d), and the known quality (m,) of their m workers.

    Quality is NaN for a worker about whom nothing is known: their answers vote, no more.
    """

    worker: IntArray
    question: IntArray
    vectors: FloatArray
    quality: FloatArray


@dataclass(frozen=True)
class CrowdSet:
    """A source of crowds: ``draw`` gives the same one each time, or one more of its kind.

    ``real``: people or models wrote the texts, and people graded them. ``most`` is the largest
    redundancy that it has.
    """

    name: str
    draw: Draw
    real: bool
    most: int


def cached_encoder(slug: str, cache: Path) -> Encode:
    """An encoder (n texts -> (n, d)) that keeps what it made in ``cache``.

    Another encoder of the same name, or another text, is encoded anew.
    """

    def encode(texts: Sequence[str]) -> FloatArray:
        encoder = get_encoder(slug)
        told = "\0".join((encoder.identity, *texts))
        path = cache / f"{slug}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.npy"
        if not path.exists():
            cache.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}.npy")
            np.save(part, encoder.encode(texts))
            part.replace(path)  # at once, so that a killed run leaves no half of it
        return np.asarray(np.load(path), dtype=np.float64)

    return encode


def real_sets(folder: Path, encode: Encode) -> list[CrowdSet]:
    """The sets with human grades in the data folder."""
    return [
        summaries(folder, encode),
        explanations(folder, encode),
        writers(folder, encode, models=False),
        writers(folder, encode, models=True),
        *students(folder, encode),
    ]


def _rows(path: Path) -> Iterable[dict[str, str]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    yield from csv.DictReader(io.StringIO(text))


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def _indices(values: Iterable[object]) -> IntArray:
    names: dict[object, int] = {}
    return np.array([names.setdefault(value, len(names)) for value in values])


def _mean_by(values: FloatArray, groups: IntArray) -> FloatArray:
    return np.bincount(groups, weights=values) / np.bincount(groups)


def summaries(folder: Path, encode: Encode) -> CrowdSet:
    """SummEval: 16 systems sum up the same 100 articles; quality is the experts' mean grade."""
    rows = list(_rows(folder / "summeval" / "summeval_summaries_human.csv.gz"))
    grades = np.array(
        [
            np.mean([float(row[k]) for k in ("coherence", "consistency", "fluency", "relevance")])
            for row in rows
        ]
    )
    worker = _indices(row["summary_id"] for row in rows)  # four systems have no name
    question = _indices(row["article_id"] for row in rows)
    vectors = encode([row["summary"] for row in rows])
    crowd = Crowd(worker, question, vectors, _mean_by(grades, worker))
    return CrowdSet("summaries by 16 systems (SummEval)", lambda rng: crowd, True, 16)


def explanations(folder: Path, encode: Encode, *, every: int = 1) -> CrowdSet:
    """INQUISITIVE-BROAD: people and models answer questions on articles; people say how well.

    The four labels of an answer are spread over 0..1; what a system gave is dealt into bundles of
    BUNDLE answers, and a bundle has its system's quality, within the same questions. ``every``
    (2: half of the questions) makes a smaller set.
    """
    base = folder / "explanation-rescaling"
    items = list(_rows(base / "ebr_items.csv.gz"))
    asked = _indices((r["dataset"], r["article_key"], r["question_key"]) for r in items)
    items = [row for row, number in zip(items, asked, strict=True) if number % every == 0]
    label: dict[str, list[float]] = {}
    scale = {"complete": 1.0, "missing_minor": 2 / 3, "missing_major": 1 / 3, "missing_all": 0.0}
    for row in _rows(base / "ebr_annotations.csv.gz"):
        label.setdefault(row["item_id"], []).append(scale[row["complete_label"]])
    grades = np.array([float(np.mean(label[row["item_id"]])) for row in items])
    system = _indices(row["system"] for row in items)
    question = _indices((r["dataset"], r["article_key"], r["question_key"]) for r in items)
    vectors = encode([row["answer"] for row in items])
    quality = _mean_by(grades - _mean_by(grades, question)[question], system)

    def draw(rng: np.random.Generator) -> Crowd:
        worker, known = np.empty(len(items), dtype=np.int64), []
        for number in range(len(quality)):
            own = rng.permutation(np.flatnonzero(system == number))
            parts = np.array_split(own, max(1, len(own) // BUNDLE))
            for part in parts:
                worker[part] = len(known)
                known.append(quality[number])
        return Crowd(worker, question, vectors, np.array(known))

    return CrowdSet("answers by 6 models and people, in bundles", draw, True, 4)


def writers(folder: Path, encode: Encode, *, models: bool) -> CrowdSet:
    """CrowdRAG: people write responses, three a topic; quality is their texts' mean grade.

    With ``models`` GPT-4o's three responses a topic count too, in bundles of BUNDLE.
    """
    base = folder / "crowdrag"
    surveys = _lines(base / "study1_tasks_surveys.jsonl.gz")
    author = {row["response"]: row["worker"] for row in surveys}
    names = ("correctness_topical", "coverage_broad", "coverage_deep", "quality_overall")
    grade = {
        row["response"]: float(np.mean([float(row[name]) for name in names]))
        for row in _rows(base / "grades_published.csv")
    }
    rows = _lines(base / "responses.jsonl.gz")
    vectors = encode([row["cleaned_text"] or row["text"] for row in rows])
    topic = _indices(row["topic"] for row in rows)
    grades = np.array([grade.get(row["response"], np.nan) for row in rows])
    human = np.array([row["origin"] == "human" for row in rows])
    people = _indices(author.get(row["response"], "") for row in rows)

    def draw(rng: np.random.Generator) -> Crowd:
        worker = people.copy()
        machine = rng.permutation(np.flatnonzero(~human))
        for k, part in enumerate(np.array_split(machine, len(machine) // BUNDLE)):
            worker[part] = people.max() + 1 + k
        chosen = np.flatnonzero(human | models)
        # Somebody wrote two responses on a few topics: one of them stays.
        order = rng.permutation(chosen)
        _, first = np.unique(np.stack([worker[order], topic[order]]), axis=1, return_index=True)
        kept = np.sort(order[first])
        _, local = np.unique(worker[kept], return_inverse=True)
        known = np.isfinite(grades[kept])
        count = np.bincount(local[known], minlength=local.max() + 1)
        total = np.bincount(local[known], grades[kept][known], minlength=local.max() + 1)
        quality = np.where(count >= JUDGED, total / np.maximum(count, 1), np.nan)
        return Crowd(local, topic[kept], vectors[kept], quality)

    name = "writers and a model (CrowdRAG)" if models else "writers (CrowdRAG)"
    return CrowdSet(name, draw, True, 6 if models else 3)


def students(folder: Path, encode: Encode) -> list[CrowdSet]:
    """Mohler's graded answers, dealt to 20 workers of planted quality (``semi_synthetic``)."""
    # Not above: this package loads Django, which simulations do without.
    from evaluation.published.reproduce.data import VARIANTS, deal_answers, mohler

    answers = mohler(folder)
    vectors = encode(answers.texts)

    def drawing(variant: str) -> Draw:
        def draw(rng: np.random.Generator) -> Crowd:
            dealt = deal_answers(answers.question, answers.grades, variant, rng, random_share=MIXED)
            q, m = dealt.shape
            flat = dealt.ravel()
            return Crowd(
                np.tile(np.arange(m), q),
                np.repeat(np.arange(q), m),
                vectors[flat],
                answers.grades[dealt].mean(axis=0),
            )

        return draw

    return [
        CrowdSet(f"students, {variant} (Mohler)", drawing(variant), True, 20)
        for variant in VARIANTS
    ]


def simulated_sets() -> list[CrowdSet]:
    """Crowds of planted quality: the paper's models, and one with hard and easy questions."""

    def of(make: Callable[[np.random.Generator], simulated_texts.Simulated]) -> Draw:
        def draw(rng: np.random.Generator) -> Crowd:
            blocks = [make(rng) for _ in range(QUESTIONS // simulated_texts.QUESTIONS)]
            answers = np.concatenate([block.answers for block in blocks])
            truth = np.concatenate([block.truth for block in blocks])
            quality = simulated_texts.Simulated(answers, truth).quality
            return _full(answers, quality)

        return draw

    def planted(rng: np.random.Generator, difficulty: float) -> Crowd:
        truth = rng.standard_normal((QUESTIONS, 64))
        truth /= np.linalg.norm(truth, axis=1, keepdims=True)
        quality = np.linspace(0.2, 0.85, WORKERS)
        parts = [
            draw_answers(rng, np.clip(quality + shift, 0.0, 0.95), truth[j : j + 1])[0]
            for j, shift in enumerate(rng.normal(0, difficulty, QUESTIONS))
        ]
        return _full(np.concatenate(parts, axis=1).transpose(1, 0, 2), quality)

    few, correlated, biased = (
        of(lambda rng: simulated_texts.simulate_few_workers(rng, WORKERS)),
        of(lambda rng: simulated_texts.correlated(rng, 0.3, workers=WORKERS)),
        of(lambda rng: simulated_texts.biased(rng, 0.2, workers=WORKERS)),
    )
    return [
        CrowdSet("F2, three qualities", few, False, WORKERS),
        CrowdSet("F1, errors correlate .3", correlated, False, WORKERS),
        CrowdSet("F4, a fifth biased", biased, False, WORKERS),
        CrowdSet("planted, like questions", lambda rng: planted(rng, 0.0), False, WORKERS),
        CrowdSet("planted, hard and easy questions", lambda rng: planted(rng, 0.2), False, WORKERS),
    ]


def _full(answers: FloatArray, quality: FloatArray) -> Crowd:
    q, m, d = answers.shape
    return Crowd(
        np.tile(np.arange(m), q), np.repeat(np.arange(q), m), answers.reshape(q * m, d), quality
    )
