"""Scores of texts that were given elsewhere: people's, as a reference, and published judges'.

They stand as published runs with a row a text and dimension. Every set of scores is held against
the human ones as soon as both are there, and what comes of it is kept with the later of the two.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from annotation.files.reading.importer import MAX_PROBLEMS
from annotation.files.reading.sheet import read
from annotation.models import Candidate, Project, Task, User
from annotation.records.actions.audit import record
from annotation.task_types.scales import name_of
from crowdqc.errors import Invalid
from crowdqc.numbers import count
from evaluation.methods.checklists.correlation import correlation_rows
from evaluation.models import CandidateScore, Run, RunFigure, RunState
from evaluation.models.runs import PUBLISHED
from evaluation.runs.numbering import next_number
from evaluation.runs.official.selectors import IS_OFFICIAL
from evaluation.runs.results.rows import BATCH, result_hash

HUMAN, JUDGE = "human", "judge"  # whose scores a published run holds: params["role"]
AGAINST = "against_people"  # figure: correlations of this run's scores with human ones
OTHERS = "others_against_these"  # figure of human scores: the same of runs that were there before
MEASURED = "measured_against_people"  # figure: the same of each measure of a run
CHECKLIST = "checklist"  # the own method of tasks of filled checklists
REFERENCES = "text_references"  # the method of scores against references
PROBABILITIES = "probability_scores"  # the method of scores by a model's probabilities
SCORING = (
    CHECKLIST,
    "g_eval",
    PROBABILITIES,
    REFERENCES,
    PUBLISHED,
)  # methods whose runs score texts
COLUMNS = ("key", "dimension", "score")  # of a file of human scores
IMPORTED = "from a file"  # version of such a run
NO_INTERVAL = "published without an interval"
Row = dict[str, Any]
Scores = Mapping[str, Mapping[int, float]]  # dimension -> candidate -> score


def dimension_name(words: str) -> str:
    """The short name under which scores of a dimension are kept: ``Coherence`` -> coherence."""
    return name_of(words, []) if words.strip() else ""


@dataclass(frozen=True)
class Human:
    """Human scores of some texts on one dimension, and the run that holds them."""

    run: Run | None
    scores: Mapping[int, float]  # candidate -> score

    @property
    def name(self) -> str:
        return str(self.run.params.get("name", self.run.method)) if self.run is not None else ""


def human_scores(project_id: int, dimension: str, candidates: Collection[int]) -> Human:
    """Return the newest human scores of these texts: imported ones or means of a rating task.

    Of a rating task it is the official run.
    """
    rated = Run.objects.filter(IS_OFFICIAL, project=project_id, method="ratings")
    people = Q(run__method=PUBLISHED, run__params__role=HUMAN) | Q(run__in=rated)
    rows: Any = CandidateScore.objects.filter(
        people,
        run__project=project_id,
        run__state=RunState.DONE,
        dimension=dimension,
        candidate__in=candidates,
        estimate__isnull=False,
    ).values_list("run__method", "run_id", "candidate_id", "estimate")
    found: dict[tuple[bool, int], dict[int, float]] = {}
    for method, run, candidate, estimate in rows:
        found.setdefault((method == PUBLISHED, run), {})[candidate] = estimate
    if not found:
        return Human(None, {})
    best = max(found)
    return Human(Run.objects.get(pk=best[1]), found[best])


def plain(row: Mapping[str, Any]) -> Row:
    """Convert a row to JSON values: NaN and infinity become None."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def held_against(
    scores: Mapping[int, float], human: Mapping[int, float], topics: Mapping[int, str]
) -> list[Row]:
    """Correlate scores with human ones on the texts that have both; [] if fewer than two.

    ``topics`` say of each text what it was written about: the articles of eq. (2).
    """
    common = sorted(scores.keys() & human.keys())
    if len(common) < 2:
        return []
    names = sorted({topics[pk] for pk in common})
    place = {name: k for k, name in enumerate(names)}
    rows = correlation_rows(
        np.array([scores[pk] for pk in common]),
        np.array([human[pk] for pk in common]),
        np.array([place[topics[pk]] for pk in common]),
    )
    return [plain(row) for row in rows]


def topics_of(candidates: Collection[int]) -> dict[int, str]:
    """Return the topic of each candidate, by id."""
    return dict(Candidate.objects.filter(pk__in=candidates).values_list("pk", "topic"))


def against_people(project_id: int, scores: Scores) -> Row:
    """Correlate a run's scores with human scores, by dimension."""
    told: Row = {}
    for dimension, given in scores.items():
        human = human_scores(project_id, dimension, given.keys())
        rows = held_against(given, human.scores, topics_of(given.keys()))
        if human.run is not None and rows:
            told[dimension] = {"human_run": human.run.pk, "human": human.name, "rows": rows}
    return told


def _score_rows(scores: Scores) -> list[Row]:
    return [
        {
            "candidate_id": candidate,
            "dimension": dimension,
            "estimate": float(score),
            "n": 1,
            "extra": {"no_interval": NO_INTERVAL},
        }
        for dimension, given in sorted(scores.items())
        for candidate, score in sorted(given.items())
    ]


@transaction.atomic
def publish(
    *,
    by: User,
    task: Task,
    name: str,
    version: str,
    role: str,
    scores: Scores,
    about: Mapping[str, Any] | None = None,
) -> tuple[Run, bool]:
    """Store scores as a published run of the task; return it and whether it is new.

    The same scores under the same name are there once. ``role`` is HUMAN or JUDGE, ``about`` what
    else is known of them (evaluator, prompt).
    """
    Project.objects.select_for_update().get(pk=task.project_id)
    rows = _score_rows(scores)
    digest = result_hash({CandidateScore: rows}, {})
    params = {"name": name, "role": role, **(about or {})}
    there = task.runs.filter(
        method=PUBLISHED, state=RunState.DONE, result_hash=digest, params=params
    ).first()
    if there is not None:
        return there, False
    now = timezone.now()
    run = Run.objects.create(
        project_id=task.project_id,
        task=task,
        method=PUBLISHED,
        version=version,
        params=params,
        number=next_number(task.project_id),
        state=RunState.DONE,
        trigger="import",
        started_by=by,
        started_at=now,
        finished_at=now,
        result_hash=digest,
    )
    CandidateScore.objects.bulk_create(
        (CandidateScore(run=run, **row) for row in rows), batch_size=BATCH
    )
    recipe = {"method": PUBLISHED, "version": version, "params": params, "seed": 0}
    figures: Row = {"recipe": recipe}
    if role == JUDGE:
        figures[AGAINST] = against_people(task.project_id, scores)
    else:
        figures[OTHERS] = _earlier_runs(run, scores)
    RunFigure.objects.bulk_create(
        RunFigure(run=run, name=key, data=data) for key, data in figures.items()
    )
    record(by=by, project=task.project, action="scores.import", on=run, name=name, rows=len(rows))
    return run, True


def _earlier_runs(run: Run, human: Scores) -> Row:
    """Runs that scored these texts before, held against the human scores that came now."""
    told: Row = {}
    for other in scoring_runs(run.project_id):
        for dimension, given in human.items():
            mine = series_of(other, dimension)
            for component, scores in mine.items():
                rows = held_against(scores, given, topics_of(scores.keys()))
                if rows:
                    told[f"{other.pk}/{component}/{dimension}"] = rows
    return told


def scoring_runs(project_id: int) -> list[Run]:
    """Return the runs that score texts (not human scores), the newest of each kind and task.

    Of a task's own method it is the official run.
    """
    done = Run.objects.filter(project=project_id, method__in=SCORING, state=RunState.DONE)
    official = Q(pk__in=Run.objects.filter(IS_OFFICIAL, project=project_id))
    runs = done.filter(~Q(method=CHECKLIST) | official).order_by("-id")
    found: dict[Any, Run] = {}
    for run in runs:
        if run.is_published and run.params.get("role") != JUDGE:
            continue  # what another study published
        own = run.params.get("name", "") if run.is_published else run.lane
        found.setdefault((run.task_id, run.method, own), run)
    return sorted(found.values(), key=lambda run: run.pk)


def series_of(run: Run, dimension: str) -> dict[int, dict[int, float]]:
    """Return a run's scores on a dimension by component and text."""
    found: dict[int, dict[int, float]] = {}
    rows: Any = CandidateScore.objects.filter(run=run, dimension=dimension, estimate__isnull=False)
    for component, candidate, estimate in rows.values_list("component", "candidate", "estimate"):
        found.setdefault(component, {})[candidate] = estimate
    return found


def read_scores(
    task: Task, rows: Sequence[tuple[int, Mapping[str, str]]]
) -> tuple[Scores, list[Row]]:
    """Scores by dimension from rows (line; key, dimension, score), and those that cannot be read.

    A bad row has line, column, value, wrong and mend, as every import's.
    """
    keys = dict(
        Candidate.objects.filter(
            project=task.project_id, key__in={row.get("key", "") for _, row in rows}
        ).values_list("key", "pk")
    )
    found: dict[str, dict[int, float]] = {}
    bad: list[Row] = []
    for line, row in rows:
        problem = _problem(row, keys, found)
        if problem:
            column, wrong, mend = problem
            bad.append(
                {
                    "line": line,
                    "column": column,
                    "value": row.get(column, "")[:80],
                    "wrong": wrong,
                    "mend": mend,
                }
            )
            continue
        dimension = dimension_name(row["dimension"])
        found.setdefault(dimension, {})[keys[row["key"]]] = float(row["score"])
    return found, bad


def _problem(
    row: Mapping[str, Any], keys: Mapping[str, int], found: Scores
) -> tuple[str, str, str] | None:
    key, dimension = str(row.get("key", "")), str(row.get("dimension", "")).strip()
    if key not in keys:
        return (
            "key",
            gettext("The project has no text of this key."),
            gettext("Use the texts’ own keys."),
        )
    if not dimension:
        return (
            "dimension",
            gettext("The dimension is empty."),
            gettext("Name what the score is of."),
        )
    try:
        score = float(str(row.get("score", "")))
    except ValueError:
        return "score", gettext("The score is no number."), gettext("Write a number, as 3.67.")
    if not math.isfinite(score):
        return "score", gettext("The score is no number."), gettext("Write a number, as 3.67.")
    if keys[key] in found.get(dimension_name(dimension), {}):
        return (
            "key",
            gettext("The text has a score on this dimension already."),
            gettext("Keep one of the two."),
        )
    return None


def import_human(
    *, by: User, task: Task, content: bytes, file: str, name: str = ""
) -> tuple[Run, bool, int]:
    """Keep the human scores of a CSV or JSONL file: the run, whether it is new, how many scores.

    Columns key, dimension and score. Everything is written or nothing. Raises Invalid naming a
    missing column, or every row that cannot be read.
    """
    sheet = read(content, file)
    missing = [column for column in COLUMNS if column not in sheet.columns]
    if missing:
        raise Invalid(
            gettext("The file has no column %(missing)s; it has %(columns)s.")
            % {"missing": missing[0], "columns": ", ".join(sheet.columns)},
            fields={"file": gettext("Columns %(columns)s.") % {"columns": ", ".join(COLUMNS)}},
        )
    problems = [problem.as_dict() for problem in sheet.unreadable]
    scores, bad = read_scores(task, [(row.line, row.values) for row in sheet.rows])
    if problems or bad:
        raise Invalid(
            gettext("%(problems)s of %(total)s rows cannot be read. Nothing was imported.")
            % {"problems": count(len(problems) + len(bad)), "total": count(sheet.total)},
            fields={"file": gettext("Mend the rows and choose the file again.")},
            rows=[*problems, *bad][:MAX_PROBLEMS],
        )
    name = (name.strip() or file.rpartition("/")[2])[:80]
    run, new = publish(by=by, task=task, name=name, version=IMPORTED, role=HUMAN, scores=scores)
    return run, new, sum(len(given) for given in scores.values())
