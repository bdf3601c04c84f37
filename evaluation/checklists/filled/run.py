"""Runs on filled checklists: scores of texts by everybody who answered, and what the list is worth.

The method is pure (methods/checklist_study.py); here its inputs are frozen, other scores of the
same texts are put beside (other checklists, ratings, published judges), and rows are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from crowdqc.numbers import plural
from evaluation.checklists.filled.dataset import ChecksDataset, freeze_checks, load
from evaluation.checklists.filled.text_scores import (
    JUDGE,
    PROBABILITIES,
    REFERENCES,
    dimension_name,
    plain,
    scoring_runs,
    series_of,
)
from evaluation.checklists.filled.texts import condition_of, shown_version
from evaluation.methods.checklists import study as checklist_study
from evaluation.methods.checklists.correlation import compare_rows
from evaluation.methods.checklists.study import MAJORITY
from evaluation.methods.core.base import FloatArray, Hooks, Result
from evaluation.methods.registry import get_method
from evaluation.models import CandidateScore, Run, RunFigure
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder, step_of
from evaluation.runs.results import look_alikes
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG = checklist_study.NAME
CONDITIONS = gettext_noop("Other scores of the same texts")
ASKED_LIST = "asked_list"  # the figure with the questions of the list and where they came from
MOST_OTHERS = 24  # series that one run is held against
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Series:
    """Scores of texts by one answerer under one condition, aligned with the run's texts."""

    key: str  # run/component, or own/component: a run's own number is no part of its result
    run: int | None
    method: str
    name: str
    detail: str
    condition: str
    scores: FloatArray
    people: bool = False


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    frozen: ChecksDataset
    result: Result
    compared: Row = field(default_factory=dict)


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the answers, score the texts, and compare with other scores."""
    steps.begin(SNAPSHOT)
    snapshot = freeze(run, freeze_checks)
    frozen = load(snapshot)
    counts = snapshot.counts
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(counts['answers'] + counts['system_answers'], 'filled checklist')}",
    )
    others = other_series(run, frozen) if frozen.human.scores else []
    return fit(run, frozen, others, Hooks(progress=steps.named))


def fit(run: Run, frozen: ChecksDataset, others: Sequence[Series], hooks: Hooks) -> Computed:
    """Score, and hold the scores against ``others`` of the same texts; reads no database."""
    rng = np.random.default_rng(run.seed)
    result = get_method(run.method).fit(frozen.study, rng=rng, hooks=hooks, **run.params)
    hooks.step(CONDITIONS, 0, 0)
    compared = compare(run, frozen, result, others) if frozen.human.scores else {}
    return Computed(frozen, result, compared)


def own_series(frozen: ChecksDataset, result: Result) -> list[Series]:
    """This run's scores of the majority of people and of each model."""
    table = result.estimates["text"]
    found = []
    for answerer in sorted(set(table["answerer"].tolist())):
        if answerer != MAJORITY and frozen.authors[answerer - 1].kind == "person":
            continue
        mine = table["answerer"] == answerer
        scores = np.full(len(frozen.candidates), np.nan)
        scores[table["text"][mine]] = table["estimate"][mine]
        name, detail = _named(frozen, answerer)
        found.append(
            Series(
                f"own/{answerer}",
                None,
                SLUG,
                name,
                detail,
                frozen.condition,
                scores,
                answerer == MAJORITY,
            )
        )
    return found


def _named(frozen: ChecksDataset, answerer: int) -> tuple[str, str]:
    if answerer == MAJORITY:
        return "Most people", ""
    author = frozen.authors[answerer - 1]
    return author.name, author.detail


def other_series(run: Run, frozen: ChecksDataset) -> list[Series]:
    """Collect the scores of other runs on the same texts and dimension."""
    dimension = dimension_name(frozen.dimension)
    found = []
    for other in scoring_runs(run.project_id):
        if other.method == SLUG and other.task_id == run.task_id:
            continue
        names = answerers_of(other)
        for component, given in sorted(series_of(other, dimension).items()):
            about = names.get(component, {})
            if other.method == SLUG and about.get("kind") == "person":
                continue
            scores = on_texts(frozen.candidates, given)
            if np.isfinite(scores).any():
                found.append(
                    Series(
                        f"{other.pk}/{component}",
                        other.pk,
                        other.method,
                        about.get("name", ""),
                        about.get("detail", ""),
                        _condition(other),
                        scores,
                        about.get("kind") == "majority",
                    )
                )
    return found[:MOST_OTHERS]


def on_texts(candidates: Sequence[int], given: Mapping[int, float]) -> FloatArray:
    """Arrange scores by candidate id as an array (texts,), NaN where there is none."""
    return np.array([given.get(pk, np.nan) for pk in candidates], dtype=float)


def answerers_of(run: Run) -> dict[int, Row]:
    """Return who gave the scores of each component of a run: kind, name and detail."""
    if run.is_published:
        return {0: {"kind": "judge", "name": run.params.get("name", ""), "detail": ""}}
    figure = RunFigure.objects.filter(run=run, name__in=("answerers", "asked")).first()
    if figure is None:
        return {}
    if figure.name == "asked":
        detail = figure.data.get("measure", "")
        return {0: {"kind": "model", "name": figure.data["model"], "detail": detail}}
    return {row["component"]: row for row in figure.data}


def _condition(run: Run) -> str:
    if run.method == SLUG:
        return f"{condition_of(run.task)}, “{shown_version(run.task).title}”"
    if run.is_published:
        return "published judge" if run.params.get("role") == JUDGE else "published"
    if run.method in (REFERENCES, PROBABILITIES):
        return "no checklist"
    return "rating by a form, after G-Eval"


def pairs_of(own: Sequence[Series], others: Sequence[Series]) -> list[tuple[int, int]]:
    """Return the series to compare: an answerer with itself on another list, and with baselines.

    People are held against people on another list only; a model against the same model there,
    and against ratings and judges, which have no list.
    """
    pairs = []
    for k, mine in enumerate(own):
        for j, other in enumerate(others, len(own)):
            same = (mine.name, mine.people) == (other.name, other.people)
            if (other.method == SLUG and same) or other.method != SLUG:
                pairs.append((k, j))
    return pairs


def compare(
    run: Run,
    frozen: ChecksDataset,
    result: Result,
    others: Sequence[Series],
) -> Row:
    """The figure of conditions: the series, and a row a pair of them."""
    own = own_series(frozen, result)
    series = [*own, *others]
    rows = compare_rows(
        [one.scores for one in series],
        frozen.study.human,
        frozen.study.article,
        pairs_of(own, others),
        level=run.params["level"],
    )
    return {
        "series": [
            {
                "key": one.key,
                "run": one.run,
                "method": one.method,
                "name": one.name,
                "detail": one.detail,
                "condition": one.condition,
                "n": int(np.isfinite(one.scores).sum()),
            }
            for one in series
        ],
        "rows": [plain(row) for row in rows],
    }


def write(run: Run, done: Computed) -> Outcome:
    """Return the rows and figures of a run."""
    frozen, tables = done.frozen, done.result.estimates
    dimension = dimension_name(frozen.dimension)
    kinds = {row["component"]: row["kind"] for row in _answerers(frozen, tables["text"].rows())}
    rows: dict[Any, list[Row]] = {
        CandidateScore: [
            {
                "candidate_id": frozen.candidates[row["text"]],
                "dimension": dimension,
                "component": row["answerer"],
                "estimate": row["estimate"],
                "n": row["total"],
                "extra": {
                    "kind": kinds[row["answerer"]],
                    "yes": row["yes"],
                    "total": row["total"],
                    "weighted": row["weighted"],
                },
            }
            for row in tables["text"].rows()
        ]
    }
    told: Row = {name: tables[name].rows() for name in tables if name != "text"}
    told |= {
        "answerers": _answerers(frozen, tables["text"].rows()),
        ASKED_LIST: [dict(row) for row in frozen.asked],
        "compare": done.compared,
        "diagnostics": dict(done.result.diagnostics),
        "about": {
            "dimension": frozen.dimension,
            "name": dimension,
            "condition": frozen.condition,
            "title": frozen.title,
            "human": frozen.human.name,
            "human_run": frozen.human.run.pk if frozen.human.run else None,
            "human_scores": _human(frozen),
        },
        "recipe": {
            "method": SLUG,
            "version": done.result.version,
            "params": dict(run.params),
            "seed": run.seed,
            "snapshot": run.snapshot.content_hash if run.snapshot else "",
            "human": frozen.human.run.result_hash if frozen.human.run else "",
        },
    }
    told[look_alikes.FIGURE] = _look_alikes(frozen)
    return Outcome(rows, told)


def _look_alikes(frozen: ChecksDataset) -> Row:
    """People who tick alike beyond what their quality explains."""
    data = frozen.study
    own = np.flatnonzero(data.person[data.author])
    size = len(data.questions)
    ids = [author.pk for author in frozen.authors]
    item = data.text[own] * size + data.question[own]
    answers = (data.author[own], item, data.yes[own].astype(np.int64))
    return look_alikes.figure(*answers, ids=ids, per=max(size, 1))


def _human(frozen: ChecksDataset) -> Row:
    return {str(pk): score for pk, score in frozen.human.scores.items()}


def _answerers(frozen: ChecksDataset, texts: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Everybody with a score: component, kind, name, and of how many texts."""
    found: dict[int, int] = {}
    for row in texts:
        found[row["answerer"]] = found.get(row["answerer"], 0) + 1
    rows = []
    for component, n in sorted(found.items()):
        name, detail = _named(frozen, component)
        author = frozen.authors[component - 1] if component != MAJORITY else None
        rows.append(
            {
                "component": component,
                "kind": author.kind if author else "majority",
                "pk": author.pk if author else None,
                "name": name,
                "detail": detail,
                "texts": n,
            }
        )
    return rows


RUNS = RunType(
    checklist_study.METHOD,
    ("checks",),
    gettext_noop("filled checklists"),
    (SNAPSHOT, *map(step_of, checklist_study.STAGES), CONDITIONS),
    compute,
    write,
    export=OWN_ROWS,
    reads_texts=False,
)
