"""Data of methods from names, as a test writes them down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray, Texts, look_up
from evaluation.methods.core.votes import Labels, Pairs


def texts_from_names(
    worker: Sequence[str],
    question: Sequence[str],
    vectors: NDArray[np.floating[Any]],
    *,
    workers: Sequence[str] | None = None,
    questions: Sequence[str] | None = None,
    vector: Sequence[int] | IntArray | None = None,
    outside: Texts | None = None,
    repeats: bool = False,
) -> Texts:
    """Map names to indices once; without ``workers``/``questions``, names in sorted order."""
    all_workers = sorted(set(worker)) if workers is None else list(workers)
    all_questions = sorted(set(question)) if questions is None else list(questions)
    return Texts.build(
        look_up("worker", worker, all_workers),
        look_up("question", question, all_questions),
        vectors,
        workers=all_workers,
        questions=all_questions,
        vector=vector,
        outside=outside,
        repeats=repeats,
    )


def labels_from_names(
    worker: Sequence[str],
    item: Sequence[str],
    label: Sequence[str],
    *,
    workers: Sequence[str] | None = None,
    items: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    shown: Sequence[str] | None = None,
    weight: Sequence[float] | FloatArray | None = None,
) -> Labels:
    """Map names to indices once; without a list of names, those that occur, sorted."""
    every = set(label) | set(shown or ())
    names = {
        "worker": sorted(set(worker)) if workers is None else list(workers),
        "item": sorted(set(item)) if items is None else list(items),
        "label": sorted(every) if labels is None else list(labels),
    }
    return Labels.build(
        look_up("worker", worker, names["worker"]),
        look_up("item", item, names["item"]),
        look_up("label", label, names["label"]),
        workers=names["worker"],
        items=names["item"],
        labels=names["label"],
        shown=None if shown is None else look_up("label", shown, names["label"]),
        weight=weight,
    )


def pairs_from_names(
    first: Sequence[str],
    second: Sequence[str],
    outcome: Sequence[int] | IntArray,
    *,
    players: Sequence[str] | None = None,
    left: Sequence[int] | IntArray | None = None,
    judge: Sequence[str] | None = None,
    weight: Sequence[float] | FloatArray | None = None,
) -> Pairs:
    """Map names to indices once; without ``players``, those that occur, sorted."""
    names = sorted({*first, *second}) if players is None else list(players)
    judges = [] if judge is None else sorted(set(judge))
    return Pairs.build(
        look_up("player", first, names),
        look_up("player", second, names),
        outcome,
        players=names,
        left=left,
        judge=None if judge is None else look_up("judge", judge, judges),
        judges=judges,
        weight=weight,
    )
