"""Bundles of filled checklists: every answer, and the scores of texts that it is held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.work.snapshots.checks import CheckRow
from crowdqc.errors import Conflict
from evaluation.bundles.kinds.base import (
    ANSWERS,
    ASKED,
    SOURCES,
    TEXTS,
    Recomputed,
    Row,
    as_run,
    json_bytes,
    jsonl,
    read_jsonl,
    read_value,
    snapshot_of,
)
from evaluation.checklists.filled import dataset
from evaluation.checklists.filled import run as checks_runs
from evaluation.checklists.filled.dataset import Author, ChecksParts
from evaluation.checklists.filled.run import Series
from evaluation.checklists.filled.text_scores import Human, series_of
from evaluation.methods.checklists.study import MAJORITY
from evaluation.methods.core.base import Hooks
from evaluation.models import Run, RunFigure

CHANCES, SCORES, SERIES = "data/chances.jsonl", "data/scores.json", "data/series.jsonl"
OF_AUTHOR = ("kind", "pk", "name", "detail")
OF_SERIES = ("key", "run", "method", "name", "detail", "condition")


class OfChecks:
    """Answers to a checklist, human scores of its texts, and what other runs scored them."""

    given = (
        "No model is asked again: its answers and probabilities are those that it gave. Human "
        "scores, and scores of other runs, are those that this run was held against."
    )

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        found = dict(RunFigure.objects.filter(run=run).values_list("name", "data"))
        parts = _frozen_parts(run, found)
        yield ANSWERS, jsonl(row._asdict() for row in parts.rows)
        yield TEXTS, jsonl([pk, *named] for pk, named in parts.texts.items())
        yield (
            ASKED,
            json_bytes(
                {
                    "questions": parts.asked,
                    "dimension": parts.dimension,
                    "condition": parts.condition,
                    "title": parts.title,
                }
            ),
        )
        yield SOURCES, json_bytes([asdict(one) for one in parts.authors])
        asked = {(row.system_id or 0, row.item_id, row.name) for row in parts.rows}
        yield CHANCES, jsonl([*key, p] for key, p in parts.chances.items() if key in asked)
        held = {name: found["about"][name] for name in ("human", "human_run", "human_scores")}
        yield SCORES, json_bytes({**held, "human_hash": found["recipe"]["human"]})
        yield SERIES, jsonl(_other_scores(run, found, parts))

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        parts = _read(files)
        data_hash = dataset.content_hash(parts.rows)
        run = as_run(recipe, data_hash)
        frozen = dataset.to_arrays(parts)
        others = [
            Series(
                **{name: row[name] for name in OF_SERIES},
                people=row["people"],
                scores=checks_runs.on_texts(frozen.candidates, dict(row["scores"])),
            )
            for row in read_jsonl(files[SERIES])
        ]
        written = checks_runs.write(run, checks_runs.fit(run, frozen, others, hooks))
        return Recomputed(written.rows, dict(written.figures), data_hash)


def _frozen_parts(run: Run, found: Row) -> ChecksParts:
    """Return what the run read: frozen answers, and the rest as the run itself kept it.

    Names, human scores and the words of the list may have changed since.
    """
    about = found["about"]
    known = [one for one in found["answerers"] if one["component"] != MAJORITY]
    return replace(
        dataset.reload_checks(snapshot_of(run)),  # refuses what was changed since
        authors=tuple(Author(*(one[name] for name in OF_AUTHOR)) for one in known),
        asked=tuple(found["asked_list"]),
        dimension=about["dimension"],
        condition=about["condition"],
        title=about["title"],
        chances=dataset.chances_of(run.task, until=run.started_at),
    )


def _other_scores(run: Run, found: Row, parts: ChecksParts) -> Iterator[Row]:
    """Scores of other runs that this one was held against. Raises Conflict where some are gone."""
    held = [one for one in found["compare"].get("series", ()) if one["run"] is not None]
    runs = Run.objects.in_bulk([one["run"] for one in held])
    for one in held:
        source, component = runs.get(one["run"]), int(one["key"].partition("/")[2])
        given = series_of(source, found["about"]["name"]).get(component, {}) if source else {}
        scores = [[pk, given[pk]] for pk in parts.texts if pk in given]
        if source is None or len(scores) != one["n"]:
            raise Conflict(
                _("Scores that run %(number)s was held against are gone, so it has no bundle.")
                % {"number": run.number}
            )
        who = checks_runs.answerers_of(source).get(component, {})
        yield {
            **{name: one[name] for name in OF_SERIES},
            "people": who.get("kind") == "majority",
            "scores": scores,
        }


def _read(files: Mapping[str, bytes]) -> ChecksParts:
    held: dict[str, Any] = read_value(files[SCORES])
    source = None
    if held["human_run"] is not None:
        params = {"name": held["human"]}
        source = Run(pk=held["human_run"], params=params, result_hash=held["human_hash"])
    asked = read_value(files[ASKED])
    return ChecksParts(
        [CheckRow(**row) for row in read_jsonl(files[ANSWERS])],
        tuple(Author(**one) for one in read_value(files[SOURCES])),
        {pk: (key, topic) for pk, key, topic in read_jsonl(files[TEXTS])},
        tuple(asked["questions"]),
        asked["dimension"],
        asked["condition"],
        asked["title"],
        Human(source, {int(pk): score for pk, score in held["human_scores"].items()}),
        {(system, item, name): p for system, item, name, p in read_jsonl(files[CHANCES])},
    )
