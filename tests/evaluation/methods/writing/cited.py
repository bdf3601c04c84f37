"""Small studies of cited responses, written down as texts with marks that count from 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from annotation.task_types.writing.citations import parse
from evaluation.methods.writing import method as writing
from evaluation.methods.writing.method import Responses

Written = tuple[str, str, str, str]  # group, style, topic, text


def responses(written: Sequence[Written], passages: Mapping[str, Sequence[str]]) -> Responses:
    groups, styles = (list(dict.fromkeys(row[k] for row in written)) for k in (0, 1))
    topics = list(passages)
    cited = np.array(
        [
            (k, mark.start, mark.end, number - 1)
            for k, row in enumerate(written)
            for mark in parse(row[3])
            for number in mark.numbers
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    return Responses.build(
        [groups.index(row[0]) for row in written],
        [styles.index(row[1]) for row in written],
        [topics.index(row[2]) for row in written],
        [row[3] for row in written],
        response=cited[:, 0],
        start=cited[:, 1],
        end=cited[:, 2],
        rank=cited[:, 3],
        passages=list(passages.values()),
        groups=groups,
        styles=styles,
        topics=topics,
    )


def figures(data: Responses, *, seed: int = 0, **params: Any) -> dict[str, Any]:
    return writing.fit(data, rng=np.random.default_rng(seed), **params).figures


def row(rows: Sequence[dict[str, Any]], **wanted: str) -> dict[str, Any]:
    (found,) = [one for one in rows if all(one[key] == wanted[key] for key in wanted)]
    return found
