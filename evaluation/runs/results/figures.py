"""The named figures of a run, as JSON: what its pages show beside the score rows.

Numbers and ids only; words are made when a page is shown (selectors/findings.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.work.selectors import log
from annotation.work.snapshots import answers
from crowdqc.web.words import count_words
from evaluation.methods.aqer.diagnostics import swaps, worst_sea_error
from evaluation.methods.core.base import Intervals, Result
from evaluation.runs.freezing.snapshots import AnswersDataset

Row = dict[str, Any]
MOST_WORKERS = 1000  # up to here the bound is looked up
# The figures of a component that its pages need.
COMPONENT = (
    "number",
    "workers",
    "questions",
    "answers",
    "complete",
    "ranked_by",
    "rounds",
    "converged",
    "resamples",
    "resamples_refitted",
    "resamples_not_converged",
)

# From here on it is named beside a person's work; none of them decides anything.
PASTED_SHARE = 0.5
DECLINED_SHARE = 0.25  # of the answers, and two at least

SHORT_WORDS = 3  # an answer with fewer is counted as short


def figures(
    frozen: AnswersDataset, result: Result, workers: list[Row], systems: list[Row]
) -> dict[str, Any]:
    """Collect all figures except the recipe and the logs', by name."""
    return {
        "convergence": convergence(result),
        "components": [_component(part, workers, systems) for part in _parts(result)],
        "redundancy": [{"number": part["number"], **part["redundancy"]} for part in _parts(result)],
        "groups": groups(workers, result.intervals["worker"], "worker_id"),
        "system_groups": groups(systems, result.intervals["system"], "system_id")
        if systems
        else [],
        "swaps": [_swaps(part, workers, result.intervals["worker"]) for part in _parts(result)],
        "bounds": [_bound(part) for part in _parts(result)],
        "clusters": [_clusters(part, frozen) for part in _parts(result)],
        "camps": [_camps(part) for part in _parts(result)],
        "left_out": {
            "questions_with_one_answer": _ids(result.diagnostics["questions_with_one_answer"]),
            "workers_not_scored": _ids(result.diagnostics["workers_not_scored"]),
        },
    }


def _parts(result: Result) -> list[dict[str, Any]]:
    return list(result.diagnostics["components"])


def _ids(names: Iterable[str]) -> list[int]:
    return [int(name) for name in names]


def convergence(result: Result) -> dict[str, Any]:
    """The change of the weights by round, for all of the data and for some resamples."""
    return {
        "stop": result.recipe["params"]["tolerance"],
        "most": result.recipe["params"]["max_rounds"],
        "components": [
            {
                "number": part["number"],
                "converged": part["converged"],
                "trace": part["trace"],
                "resamples": part.get("resample_traces", []),
            }
            for part in _parts(result)
        ],
    }


def _component(part: dict[str, Any], workers: list[Row], systems: list[Row]) -> dict[str, Any]:
    """Size, and what its people and systems reach: the references of the other board."""
    people = [
        row["estimate"]
        for row in workers
        if row["component"] == part["number"] and row["estimate"] is not None
    ]
    raw = [
        row["extra"]["raw"]
        for row in workers
        if row["component"] == part["number"] and row["extra"]["raw"] is not None
    ]
    return {
        **{name: part[name] for name in COMPONENT},
        "missing": part["workers"] * part["questions"] - part["answers"],
        "cells": part["workers"] * part["questions"],
        "mean": float(np.mean(people)) if people else None,
        "raw_mean": float(np.mean(raw)) if raw else None,
        "raw_best": max(raw, default=None),
        "systems": sum(row["component"] == part["number"] for row in systems),
    }


def groups(rows: list[Row], intervals: Intervals, name: str) -> list[dict[str, Any]]:
    """Groups that cannot be separated, by component and from the top.

    ``clear_above`` says that every member is surely below every row of the groups above;
    ``band`` is where all intervals of the group overlap, if they do.
    """
    ends: dict[int, dict[int, list[int]]] = {}
    for at, row in enumerate(rows):
        if row["group"] is not None:
            ends.setdefault(row["component"], {}).setdefault(row["group"], []).append(at)
    made = []
    for component, members in sorted(ends.items()):
        above: list[int] = []
        for number, inside in sorted(members.items()):
            made.append(
                {
                    "component": component,
                    "group": number,
                    "first": len(above) + 1,
                    "last": len(above) + len(inside),
                    "members": [rows[at][name] for at in inside],
                    "band": _band(rows, inside),
                    "clear_above": bool(above) and _all_apart(intervals.separable, inside, above),
                }
            )
            above += inside
    return made


def _band(rows: list[Row], inside: list[int]) -> list[float] | None:
    low = max(rows[at]["low"] for at in inside)
    high = min(rows[at]["high"] for at in inside)
    return [low, high] if len(inside) > 1 and low < high else None


def _all_apart(separable: NDArray[np.bool_], inside: list[int], above: list[int]) -> bool:
    return bool(separable[np.ix_(inside, above)].all())


def _swaps(part: dict[str, Any], rows: list[Row], intervals: Intervals) -> dict[str, Any]:
    """Pairs of rows with an interval whose order the iterating turned round, and how surely."""
    places = [
        at
        for at, row in enumerate(rows)
        if row["component"] == part["number"] and row["group"] is not None
    ]
    found = swaps(
        np.array([rows[at]["extra"]["uniterated"] for at in places], dtype=np.float64),
        np.array([rows[at]["estimate"] for at in places], dtype=np.float64),
        [str(at) for at in places],
    )
    for pair in found["listed"]:
        up, down = int(pair["up"]), int(pair["down"])
        pair.update(
            up=rows[up]["worker_id"],
            down=rows[down]["worker_id"],
            sure=bool(intervals.separable[up, down]),
        )
    return {"number": part["number"], **found}


def _bound(part: dict[str, Any]) -> dict[str, Any]:
    """Eq. 6 and 8, and from how many workers on the worst case would say anything."""
    bound = dict(part["bounds"])
    enough = None
    if bound.get("vacuous") and 0 < bound["quality"] <= 1:
        enough = next(
            (
                count
                for count in range(bound["workers"], MOST_WORKERS)
                if worst_sea_error(bound["quality"], count, bound["delta"]) <= 1
            ),
            None,
        )
    return {"number": part["number"], **bound, "enough_workers": enough}


def _clusters(part: dict[str, Any], frozen: AnswersDataset) -> dict[str, Any]:
    """Near-identical answers by question; the centre's answer by its id."""
    told = dict(part["clusters"])
    told["listed"] = [
        {
            **{key: value for key, value in cluster.items() if key != "source"},
            "question": int(cluster["question"]),
            "answer": frozen.answer_ids[cluster["source"]],
            "without": {
                **cluster["without"],
                "listed": [
                    {**move, "worker": int(move["worker"])} for move in cluster["without"]["listed"]
                ],
            },
        }
        for cluster in told.get("listed", [])
    ]
    return {"number": part["number"], **told}


def _camps(part: dict[str, Any]) -> dict[str, Any]:
    """Two groups of workers with common answers of their own, where there are; workers by id."""
    told = dict(part["camps"])
    if told["found"]:
        told["groups"] = [{**one, "workers": _ids(one["workers"])} for one in told["groups"]]
    return {"number": part["number"], **told}


def short_answers(frozen: AnswersDataset) -> dict[str, int]:
    """Count the workers' answers with few words. Reads no database."""
    short = np.array([count_words(text) < SHORT_WORDS for text in frozen.texts], dtype=np.bool_)
    return {
        "short": int(short[frozen.text].sum()),
        "answers": len(frozen.answer_ids),
        "words": SHORT_WORDS,
    }


def log_figure(frozen: AnswersDataset, declined: set[int]) -> dict[str, Any]:
    """Return by worker the share of pasted characters and the number of "I don't know"."""
    own = answers.assignments_of(frozen.answer_ids)
    summaries = log.log_summaries(sorted({pk for pks in own.values() for pk in pks}))
    unknown = Counter(
        frozen.workers[worker]
        for worker, answer in zip(frozen.worker.tolist(), frozen.answer_ids, strict=True)
        if answer in declined
    )
    made = {}
    for worker in frozen.workers:
        logs = [summaries[pk] for pk in sorted(own.get(worker, ()))]
        put_in = sum(one.pasted_chars + one.typed_chars for one in logs)
        pasted = sum(one.pasted_chars for one in logs)
        made[str(worker)] = {
            "pasted": pasted / put_in if put_in else None,
            "pastes_outside": sum(one.pastes_outside for one in logs),
            "events": sum(one.events for one in logs),
            "declined": unknown[worker],
        }
    return made
