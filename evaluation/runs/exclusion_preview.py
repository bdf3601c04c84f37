"""What leaving workers out would change in a task's results, before it is done.

The task's own method runs twice, with and without them, by the recipe of its official run:
the real run, written and read back inside a transaction that is then rolled back. So every method
is foreseen by the very code that will do it, and nothing is kept. Resamples are bounded, which is
named: they widen or narrow intervals a little and change no score.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.text import get_text_list
from django.utils.translation import gettext

from annotation.models import Candidate, Exclusion, Membership, Task
from annotation.work.actions.exclusions import items_with_plan
from annotation.work.snapshots.answers import pseudonyms
from annotation.work.snapshots.judgments import system_names
from crowdqc import numbers
from crowdqc.errors import Conflict
from crowdqc.numbers import count, listed, mid_sentence, plural, score, several
from evaluation.embeddings import vectors
from evaluation.methods.core.base import BadParameter, DataError
from evaluation.models import (
    CandidateScore,
    ItemLabel,
    Run,
    RunState,
    SystemScore,
    WorkerScore,
)
from evaluation.runs import engine as runs
from evaluation.runs import run_types
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.selectors import official_run
from evaluation.runs.progress import Recorder, fresh_steps
from evaluation.runs.recipe import recipe_in_force
from evaluation.runs.results import rows as results

MOST_RESAMPLES, FEWEST_RESAMPLES, LISTED, NAMED = 200, 100, 40, 3
QUICK, SLOW = 5.0, 20.0  # seconds that the last run took: below, all are drawn; above, the fewest
UNUSED = 2_000_000_000  # numbers from here on belong to no run that is kept
SAME = 5e-4  # what no page shows
TABLES = {
    "workers": (WorkerScore, "worker_id"),
    "systems": (SystemScore, "system_id"),
    "texts": (CandidateScore, "candidate_id"),
}
COLUMNS = ("dimension", "component", "estimate", "low", "high", "rank_low", "rank_high")
Place = tuple[int, str, int]  # whose, dimension, board


@dataclass(frozen=True)
class Score:
    estimate: float | None
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None


@dataclass(frozen=True)
class RunScores:
    """What a run says: scores by table and place, figures by the keys that lead to them."""

    scores: Mapping[str, Mapping[Place, Score]]
    figures: Mapping[tuple[str, ...], float]
    alpha: float | None  # agreement over all items
    answers: int
    labels: Mapping[tuple[int, str], str]  # by item and dimension

    @property
    def scored_workers(self) -> int:
        """Number of workers with a score."""
        own = self.scores["workers"].items()
        return len({place[0] for place, one in own if one.estimate is not None})


@dataclass(frozen=True)
class ScoreChange:
    """A score before and after."""

    name: str
    dimension: str
    before: Score | None
    after: Score | None

    @property
    def change(self) -> float | None:
        """Return the estimate after less before; None where either is missing."""
        if self.before is None or self.after is None:
            return None
        if self.before.estimate is None or self.after.estimate is None:
            return None
        return self.after.estimate - self.before.estimate

    @property
    def moves(self) -> bool:
        """Whether its range of ranks is another one."""
        ends = [(one.rank_low, one.rank_high) if one else None for one in (self.before, self.after)]
        return ends[0] != ends[1]


@dataclass(frozen=True)
class Table:
    """The rows of one kind that change, the largest change first."""

    title: str
    rows: list[ScoreChange]
    changed: int
    n: int
    moved: int

    @property
    def is_ranked(self) -> bool:
        """Whether any score has a rank."""
        scores = [score for row in self.rows for score in (row.before, row.after) if score]
        return any(score.rank_low is not None for score in scores)

    @property
    def by_dimension(self) -> bool:
        return any(row.dimension for row in self.rows)


@dataclass(frozen=True)
class NamedEffect:
    """One line of what changes, in words."""

    label: str
    before: str
    after: str


@dataclass(frozen=True)
class Effect:
    """The preview."""

    sentence: str
    recipe: str
    tables: list[Table]
    answers: int  # of the workers
    named: list[NamedEffect]


class _Undone(Exception):
    """Carries nothing: it takes the transaction back."""


def effect(task: Task, *workers: Membership) -> Effect:
    """The task's results with and without these workers, everything else alike.

    Raises Conflict where nothing of theirs enters results, nothing would be left, or texts have no
    vectors yet.
    """
    method = runs.main_method(task)
    last = official_run(task)
    if not method:
        raise Conflict(gettext("Nothing is computed of this task."))
    if gone := task.exclusions.in_force().filter(worker__in=workers).first():
        raise Conflict(
            gettext("%(pseudonym)s is left out already, so nothing changes.")
            % {"pseudonym": gone.worker.pseudonym}
        )
    in_force = recipe_in_force(task)
    clean, recipe, seed = *_bounded(method, in_force.params, last), in_force.seed
    before = _outcome(task, method, clean, seed, ())
    after = _outcome(task, method, clean, seed, workers)
    if after.answers == before.answers:
        raise Conflict(
            gettext("No answer of %(pseudonym)s enters results, so nothing changes.")
            % {"pseudonym": listed([one.pseudonym for one in workers], NAMED)}
        )
    tables = [
        _table(name, title, before, after, workers)
        for name, title in (
            ("workers", gettext("Other workers")),
            ("systems", gettext("Systems")),
            ("texts", gettext("Texts")),
        )
        if before.scores[name]
    ]
    return Effect(
        _sentence(tables, _figures_changed(before, after)),
        recipe,
        tables,
        before.answers - after.answers,
        list(_named(task, workers, before, after)),
    )


def _figures_changed(before: RunScores, after: RunScores) -> int:
    """How many figures are other ones, or on one side alone."""
    common = before.figures.keys() & after.figures.keys()
    alike = sum(abs(after.figures[path] - before.figures[path]) < SAME for path in common)
    return len(before.figures.keys() | after.figures.keys()) - alike


def _named(
    task: Task, workers: Sequence[Membership], before: RunScores, after: RunScores
) -> Iterator[NamedEffect]:
    """Answers that count, agreement, labels that change, items with too few, workers scored."""
    noun = adapter_of(task).answer_noun
    head = gettext("%(answers)s that count") % {"answers": several(noun).capitalize()}
    yield NamedEffect(head, count(before.answers), count(after.answers))
    alphas = [before.alpha, after.alpha]
    none = gettext("none") if alphas != [None, None] else gettext("not measured")
    was, now = (none if one is None else score(one, 2) for one in alphas)
    yield NamedEffect(gettext("Agreement, α"), was, now)
    told = gettext("no labels")
    if before.labels:
        changed = sum(label != after.labels.get(key) for key, label in before.labels.items())
        told = gettext("%(changed)s of %(n)s") % {
            "changed": count(changed),
            "n": count(len(before.labels)),
        }
    now = "0" if before.labels else told
    yield NamedEffect(gettext("Items whose label changes"), now, told)
    few = [count(_items_with_few(task, without)) for without in ((), workers)]
    yield NamedEffect(
        gettext("Items with fewer %(answers)s than planned") % {"answers": several(noun)}, *few
    )
    yield NamedEffect(
        gettext("Workers with a score"), count(before.scored_workers), count(after.scored_workers)
    )


def _items_with_few(task: Task, without: Sequence[Membership]) -> int:
    """Items in force with fewer counting answers of people than are planned."""
    if task.current is None:
        return 0
    return (
        items_with_plan(task, without=[one.pk for one in without])
        .filter(given__lt=F("planned"))
        .count()
    )


def _bounded(
    method: str, options: Mapping[str, Any], last: Run | None
) -> tuple[dict[str, Any], str]:
    """The options with fewer resamples where there are many, and what the recipe is called."""
    kind = run_types.run_types()[method]
    params = kind.clean_params(options)
    asked = params.get("resamples", 0)
    took = 0.0
    if last is not None and last.started_at and last.finished_at:
        took = (last.finished_at - last.started_at).total_seconds()
    most = MOST_RESAMPLES if took < SLOW else FEWEST_RESAMPLES
    if asked > most and not 0 < took < QUICK:
        params["resamples"] = most
        text = (
            gettext("the recipe of run %(run)s, with %(most)s resamples instead of %(asked)s")
            if last
            else gettext("the default recipe, with %(most)s resamples instead of %(asked)s")
        )
    else:
        text = gettext("the recipe of run %(run)s") if last else gettext("the default recipe")
    told = {"run": last.number if last else 0, "most": most, "asked": numbers.count(asked)}
    return params, text % told


def _outcome(
    task: Task, method: str, params: dict[str, Any], seed: int, without: Sequence[Membership]
) -> RunScores:
    """Return what the run would write, read back before it is all rolled back."""
    found: list[RunScores] = []
    try:
        with transaction.atomic(), vectors.stored_vectors_only():
            for worker in without:
                Exclusion.objects.create(
                    task=task, worker=worker, reason="preview", by_id=task.project.owner_id
                )
            found.append(_run(task, method, params, seed))
            raise _Undone
    except _Undone:
        return found[0]
    except (DataError, BadParameter) as problem:
        raise Conflict(
            gettext("This cannot be foreseen: %(problem)s.") % {"problem": problem}
        ) from problem


def _run(task: Task, method: str, params: dict[str, Any], seed: int) -> RunScores:
    kind, now = run_types.run_types()[method], timezone.now()
    run = Run.objects.create(
        project_id=task.project_id,
        task=task,
        number=UNUSED + secrets.randbelow(10**8),
        method=method,
        lane=f"preview {uuid.uuid4()}",
        version=kind.recipe.version,
        params=params,
        seed=seed,
        state=RunState.RUNNING,
        started_at=now,
        progress=fresh_steps(kind.steps),
    )
    steps = Recorder(run.pk, now, kind.steps)
    done = kind.compute(run, steps)
    result = getattr(done, "result", None)
    if result is not None and not result.converged:
        raise Conflict(gettext("It did not converge without them, so it cannot be foreseen."))
    results.store(run, kind.write(run, done), steps.finish())
    counts = run.snapshot.counts if run.snapshot is not None else {}
    adapter = adapter_of(task)
    wanted = adapter.told_figures
    figures = dict(run.figures.filter(name__in=list(wanted)).values_list("name", "data"))
    return RunScores(
        {name: _scores(run, model, key) for name, (model, key) in TABLES.items()},
        {
            path: value
            for name, data in figures.items()
            for path, value in _numbers(data, (name,), wanted[name])
        },
        adapter.overall_alpha(figures),
        counts.get("answers", 0),
        {
            (item, dimension): label
            for item, dimension, label in ItemLabel.objects.filter(run=run).values_list(
                "item_id", "dimension", "label"
            )
        },
    )


def _scores(run: Run, model: Any, key: str) -> dict[Place, Score]:
    rows = model.objects.filter(run=run).values_list(key, *COLUMNS)
    return {(row[0], row[1], row[2]): Score(*row[3:]) for row in rows}


def _numbers(
    data: Any, path: tuple[str, ...], keys: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], float]]:
    """The named numbers within JSON, each under the keys and names that lead to it."""
    if isinstance(data, list):
        for place, one in enumerate(data):
            if isinstance(one, dict):
                named = [v for v in one.values() if isinstance(v, str) and 0 < len(v) < 60]
                yield from _numbers(one, (*path, *(named or [str(place)])), keys)
    elif isinstance(data, dict):
        for name, value in data.items():
            if isinstance(value, dict | list):
                yield from _numbers(value, (*path, name), keys)
            elif name in keys and isinstance(value, int | float) and not isinstance(value, bool):
                yield (*path, name), float(value)


def _table(
    name: str, title: str, before: RunScores, after: RunScores, workers: Sequence[Membership]
) -> Table:
    """Compare every row of either side but the workers' own; boards may be numbered anew."""
    sides = [
        {place[:2]: one for place, one in side.scores[name].items()} for side in (before, after)
    ]
    places = dict.fromkeys([*sides[0], *sides[1]])
    if name == "workers":
        own = {one.pk for one in workers}
        places = {place: None for place in places if place[0] not in own}
    names = names_of(name, [pk for pk, _ in places])
    every = [
        ScoreChange(
            names.get(pk, str(pk)),
            dimension,
            sides[0].get((pk, dimension)),
            sides[1].get((pk, dimension)),
        )
        for pk, dimension in places
    ]
    rows = [one for one in every if one.change is None or abs(one.change) >= SAME or one.moves]
    rows = [one for one in rows if _known(one)]
    rows.sort(key=lambda one: (-abs(one.change or 0.0), one.name, one.dimension))
    return Table(title, rows[:LISTED], len(rows), len(every), sum(one.moves for one in rows))


def _known(one: ScoreChange) -> bool:
    """Whether there is a score on either side."""
    return any(side is not None and side.estimate is not None for side in (one.before, one.after))


def names_of(name: str, ids: list[int]) -> dict[int, str]:
    """Return the names of a table's rows, by id."""
    if name == "workers":
        return pseudonyms(ids)
    if name == "systems":
        return system_names(ids)
    return dict(Candidate.objects.filter(pk__in=ids).values_list("pk", "key"))


def _sentence(tables: list[Table], figures: int) -> str:
    """What would change, in one line; ``figures`` is how many others do."""
    if not any(table.changed for table in tables) and not figures:
        return gettext("Nothing that a page shows would change.")
    told = [
        (
            gettext("%(changed)s of %(n)s scores of %(table)s (%(ranges)s of ranks)")
            if table.moved
            else gettext("%(changed)s of %(n)s scores of %(table)s")
        )
        % {
            "changed": table.changed,
            "n": table.n,
            "table": mid_sentence(table.title),
            "ranges": plural(table.moved, "range"),
        }
        for table in tables
        if table.changed
    ]
    if figures:
        told.append(plural(figures, "other figure"))
    head = get_text_list(told, gettext("and"))
    return gettext("%(head)s would change.") % {"head": head}
