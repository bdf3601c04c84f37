"""Systems that vote: language models in place of workers, or together with them.

Section 7.4 of the AQER paper names both and warns that models trained on the same data do not err
independently. So a joint fit always says how alike the answers of systems are, those of workers,
and those of one with the other; and the detection of two camps runs over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
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
    TooFewWorkers,
)
from evaluation.methods.core.memory import board_of_workers
from evaluation.methods.core.params import Params, choice

NAME = "aqer_joint"
MODES = ("together", "systems")
PARAMS = Params(
    NAME,
    (
        choice(
            "mode",
            "together",
            MODES,
            label="Who votes",
            words=("Workers and language models", "Language models alone"),
            help="Models trained on the same data share errors; their votes depend on one another.",
        ),
        # Who starts by entailment needs votes for answers of models too, which nothing makes.
        *(
            replace(
                one,
                words=one.words[:2],
                choices=one.choices[:2],
                help="How the first exemplary answers are found.",
            )
            if one.name == "start"
            else one
            for one in aqer.PARAMS.options
        ),
    ),
    together=lambda settings: aqer.METHOD.check(**_without_mode(settings)),
    version=aqer.VERSION,
)


def _without_mode(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "mode"}


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
        raise EmptyData("no language model has answered yet")
    if outside.rows.shape[1] != data.rows.shape[1]:
        raise BadShape(
            f"the systems' vectors are {outside.rows.shape[1]} wide, the workers' "
            f"{data.rows.shape[1]}"
        )
    worker, question, vectors = _system_votes(outside)
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
        vector=np.concatenate([data.vector, len(data.rows) + np.arange(len(vectors))]),
        workers=(*data.workers, *outside.workers),
        questions=data.questions,
    )
    return Authors(texts, np.arange(count + len(outside.workers)) >= count)


def fit(
    data: Texts,
    *,
    rng: np.random.Generator,
    hooks: Hooks | None = None,
    **params: Any,
) -> Result:
    """AQER over workers and systems together, or over systems alone.

    Parameters: ``mode`` 'together' or 'systems', and those of ``aqer.fit``.

    In every table and interval ``worker`` indexes the workers' names, then the systems' (the
    systems' alone in mode 'systems'); table ``worker`` has a column ``is_system``. Diagnostics
    get ``joint``: the mode, the authors' names in that order, ``alike``, the mean cosine of
    two authors' answers to one question among workers, among systems and between both, None where
    there is none, and ``without`` (see ``_without_systems``). Raises what ``authors`` and
    ``aqer.fit`` raise.
    """
    settings = PARAMS.settings(params)
    mode = settings["mode"]
    voting = authors(data, mode)
    result = aqer.fit(voting.texts, rng=rng, hooks=hooks, **_without_mode(settings))
    workers = result.estimates["worker"]
    columns = {**workers.columns, "is_system": voting.is_system}
    told = {"mode": mode, "authors": list(voting.texts.workers), "alike": _alike(voting)}
    if mode == "together":
        told["without"] = _without_systems(data, result, settings, rng)
    return PARAMS.result(
        settings,
        {**result.estimates, "worker": Table(columns)},
        {**result.diagnostics, "joint": told},
        intervals=result.intervals,
        converged=result.converged,
    )


def _without_systems(
    data: Texts, joint: Result, settings: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    """Say how close everybody is to the answer that workers share if systems have no vote.

    Returns ``score`` and ``place``, a number an author (None where there is none), ``place_with``
    of the joint fit, ``by`` which score (adjusted only where all boards are ranked by it), and
    ``reason``, why there are no places: these are among all authors, who have to be on one board.
    """
    table, size = joint.estimates["worker"], len(data.workers)
    blank: list[Any] = [None] * len(table)
    none = {"score": blank, "place": blank, "place_with": blank, "by": "score"}
    chosen = {**_without_mode(settings), "resamples": 0}
    try:
        alone = aqer.fit(data, rng=rng.spawn(1)[0], **chosen)
    except TooFewWorkers:
        return {**none, "reason": "fewer than two workers answered the same questions"}
    people, systems = alone.estimates["worker"], alone.estimates["system"]
    boards = (*alone.diagnostics["components"], *joint.diagnostics["components"])
    if len(boards) != 2:
        return {**none, "reason": "without the models, some authors share no question with others"}
    orders = {part["ranked_by"] for part in boards} | {boards[0]["systems_ranked_by"]}
    by = "adjusted" if orders == {"adjusted"} else "score"
    own, score = np.full(len(table), np.nan), table[by]
    own[people["worker"]] = people[by]
    own[size + systems["system"]] = systems[by]
    known = np.isfinite(own) & np.isfinite(score)

    def places(values: FloatArray) -> list[int | None]:
        given = iter(scipy.stats.rankdata(-values[known], method="min").astype(int).tolist())
        return [next(given) if one else None for one in known]

    return {
        "score": [float(one) if there else None for one, there in zip(own, known, strict=True)],
        "place": places(own),
        "place_with": places(score),
        "by": by,
        "reason": "",
    }


def _system_votes(outside: Texts) -> tuple[IntArray, IntArray, FloatArray]:
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


METHOD = PARAMS.as_method("AQER, people and models together", Texts, fit, memory=board_of_workers)
