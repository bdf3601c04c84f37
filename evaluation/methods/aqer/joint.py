"""Systems that vote: language models in place of workers, or together with them.

Section 7.4 of the AQER paper names both and warns that models trained on the same data do not err
independently. So a joint fit always says how alike the answers of systems are, those of workers,
and those of one with the other; and the detection of two camps runs over both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.aqer import method as aqer
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    Texts,
)

MODES = ("together", "systems")


@dataclass(frozen=True, eq=False)
class Authors:
    """Answers of all who vote; ``is_system`` (m,) says which of ``texts.workers`` are systems."""

    texts: Texts
    is_system: NDArray[np.bool_]


def authors(data: Texts, mode: str = "together") -> Authors:
    """The outside answers as votes: beside the workers' ('together') or alone ('systems').

    A system's several answers to one question become one vote, the direction of their mean.
    ``source`` of the result are rows of the workers' answers, then of the systems' answers.
    Raises BadParameter for an unknown mode, EmptyData without outside answers, BadShape where
    widths differ.
    """
    if mode not in MODES:
        raise BadParameter(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")
    outside = data.outside
    if outside is None:
        raise EmptyData("there are no systems' answers")
    if outside.vectors.shape[1] != data.vectors.shape[1]:
        raise BadShape(
            f"the systems' vectors are {outside.vectors.shape[1]} wide, the workers' "
            f"{data.vectors.shape[1]}"
        )
    worker, question, vectors = _one_each(outside)
    if mode == "systems":
        texts = Texts.build(
            worker, question, vectors, workers=outside.workers, questions=data.questions
        )
        return Authors(texts, np.ones(len(outside.workers), dtype=bool))
    count = len(data.workers)
    texts = Texts.build(
        np.concatenate([data.worker, count + worker]),
        np.concatenate([data.question, question]),
        np.concatenate([data.vectors, vectors]),
        vector=np.concatenate([data.vector, len(data.vectors) + np.arange(len(vectors))]),
        workers=(*data.workers, *outside.workers),
        questions=data.questions,
    )
    return Authors(texts, np.arange(count + len(outside.workers)) >= count)


def fit(
    data: Texts,
    *,
    rng: np.random.Generator,
    hooks: Hooks | None = None,
    mode: str = "together",
    **params: Any,
) -> Result:
    """AQER over workers and systems together, or over systems alone; parameters as ``aqer.fit``.

    In every table and interval ``worker`` indexes the workers' names, then the systems' (the
    systems' alone in mode 'systems'); table ``worker`` has a column ``is_system``. Diagnostics
    get ``joint``: the mode, the authors' names in that order, and ``alike``, the mean cosine of
    two authors' answers to one question among workers, among systems and between both, None where
    there is none. Raises what ``authors`` and ``aqer.fit`` raise.
    """
    voting = authors(data, mode)
    result = aqer.fit(voting.texts, rng=rng, hooks=hooks, **params)
    workers = result.estimates["worker"]
    columns = {**workers.columns, "is_system": voting.is_system}
    told = {"mode": mode, "authors": list(voting.texts.workers), "alike": _alike(voting)}
    recipe = dict(result.recipe)
    return Result(
        name="aqer-joint",
        version=result.version,
        estimates={**result.estimates, "worker": Table(columns)},
        intervals=result.intervals,
        diagnostics={**result.diagnostics, "joint": told},
        converged=result.converged,
        recipe={**recipe, "method": "aqer-joint", "params": {**recipe["params"], "mode": mode}},
    )


def _one_each(outside: Texts) -> tuple[IntArray, IntArray, FloatArray]:
    """System, question and unit vector of each system's vote; rows are sorted already."""
    lengths = outside.norms[outside.vector][:, None]
    unit = outside.vectors[outside.vector] / np.where(lengths > 0, lengths, 1.0)
    cell = outside.question * len(outside.workers) + outside.worker
    cells, first = np.unique(cell, return_index=True)
    summed = np.add.reduceat(unit.astype(np.float64), first, axis=0)
    lengths = np.linalg.norm(summed, axis=1, keepdims=True)
    vectors = summed / np.where(lengths > 0, lengths, 1.0)
    return cells % len(outside.workers), cells // len(outside.workers), vectors


def _alike(voting: Authors) -> dict[str, float | None]:
    """Mean cosine of pairs of answers within a question, by what the two authors are.

    From sums alone: |sum of unit answers|^2 holds every pair twice and every answer once.
    """
    texts = voting.texts
    lengths = texts.norms[texts.vector][:, None]
    unit = texts.vectors[texts.vector] / np.where(lengths > 0, lengths, 1.0)
    system = voting.is_system[texts.worker]
    sums, squares, counts = [], [], []
    for chosen in (~system, system):
        rows = np.flatnonzero(chosen)
        total = np.zeros((len(texts.questions), unit.shape[1]))
        np.add.at(total, texts.question[rows], unit[rows])
        sums.append(total)
        counts.append(np.bincount(texts.question[rows], minlength=len(total)).astype(np.float64))
        squares.append(float((unit[rows] ** 2).sum()))
    out: dict[str, float | None] = {}
    for kind, name in enumerate(("workers", "systems")):
        pairs = float((counts[kind] * (counts[kind] - 1)).sum())
        dots = float((sums[kind] ** 2).sum()) - squares[kind]
        out[name] = dots / pairs if pairs else None
    pairs = float((counts[0] * counts[1]).sum())
    out["between"] = float((sums[0] * sums[1]).sum()) / pairs if pairs else None
    return out
