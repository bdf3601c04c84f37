"""What is known of a piece of work: score, time, pasting, log. Evidence, never a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
from django.db.models import Count, Min, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.authoring.selectors.progress import ENOUGH_TIMES
from annotation.models import Answer, Assignment, Task
from annotation.payouts.selectors.proposals import WorkFacts, rejected_before, work_facts
from annotation.work.selectors.log import EMPTY, LogSummary, log_summaries
from annotation.work.selectors.speed import READ_AT_MOST, Pace, paces_by_assignment
from crowdqc.numbers import count, duration, interval, percent, plural, score
from crowdqc.web.terms import Words
from evaluation.methods.workers.claims import family_bounds
from evaluation.models import AnswerScore, Run, WorkerScore
from evaluation.payouts.selectors.likeness import (
    GivenAnswer,
    Likeness,
    likenesses,
    newest_answers,
    same_options,
)
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.selectors import official_run
from evaluation.runs.results.figures import PASTED_SHARE

# From here on a figure is named beside a person's work; none of them decides anything.
AWAY_SHARE = 0.5
FAST_SHARE = 1 / 3  # of the median time of the task
BINS = 12
UNCOUNTED = "Uncounted"
NEAR_CHANCE = 0.2  # of the way from guessing to being always right
MOST_ALIKE = 5  # signs of likeness that are named beside one assignment
WRITTEN = Count("texts", filter=Q(texts__field="answer"), distinct=True)


KINDS: dict[str, Words] = {
    "Paste": gettext_lazy("Paste"),
    "Time": gettext_lazy("Time"),
    "Away": gettext_lazy("Away"),
    "Alike": gettext_lazy("Looks like"),
    "Same": gettext_lazy("Same answer"),
    "Guessing": gettext_lazy("Near chance"),
    UNCOUNTED: gettext_lazy("Uncounted"),
    "Overturned": gettext_lazy("Rejection overturned"),
}


@dataclass(frozen=True)
class Note:
    """One thing that stands out; ``look`` puts the work under "Look first"."""

    kind: str
    text: Words
    look: bool = True
    worker: int | None = None  # whose card it leads to

    @property
    def word(self) -> str:
        """Label of the note's kind."""
        return str(KINDS[self.kind])


OVERTURNED_NOTE = Note("Overturned", gettext_lazy("it cannot be rejected again"), look=False)


@dataclass(frozen=True)
class Evidence:
    """All of it for one assignment."""

    assignment: Assignment
    facts: WorkFacts
    log: LogSummary
    seconds: float | None
    score: WorkerScore | None
    notes: tuple[Note, ...]
    text: int | None = None  # its answer, where it is one text whose writing can be replayed
    overturned: bool = False  # a rejection of it was overturned, so that it cannot be repeated

    @property
    def look_first(self) -> bool:
        """Whether a note asks to look at the work before it is paid."""
        return any(note.look for note in self.notes)

    @property
    def pasted(self) -> float | None:
        """Share of what was put in that was pasted; None where nothing was recorded."""
        return self.log.known_paste_share


@dataclass(frozen=True)
class TaskEvidence:
    """What the work of a whole task looks like, to stand one person's beside it."""

    run: Run | None
    seconds: dict[int, float]
    logs: dict[int, LogSummary]
    cites: bool = False  # a task whose passages are there to be used
    paces: Mapping[int, Pace] = field(default_factory=dict)
    alike: Mapping[int, Sequence[Likeness]] = field(default_factory=dict)  # by worker
    of_workers: Mapping[int, Sequence[Note]] = field(default_factory=dict)  # on all their work

    @cached_property
    def median_seconds(self) -> float | None:
        """Return the median time of an assignment; None with too few."""
        return median(self.seconds.values()) if len(self.seconds) >= ENOUGH_TIMES else None

    def notes(self, assignment_id: int, worker_id: int, facts: WorkFacts) -> list[Note]:
        """Return the notes on one assignment of the task, and on whom its worker resembles."""
        log, seconds = self.logs.get(assignment_id, EMPTY), self.seconds.get(assignment_id)
        pace = self.paces.get(assignment_id)
        found = notes(facts, log, seconds, self.median_seconds, cites=self.cites, pace=pace)
        return [*found, *self.of_workers.get(worker_id, ())] + [
            Note("Alike", f"{one.name}: {one.evidence}", look=one.look, worker=one.worker)
            for one in self.alike.get(worker_id, ())[:MOST_ALIKE]
        ]

    @property
    def number(self) -> int | None:
        """The number of the run, as a proposal keeps it."""
        return self.run.number if self.run is not None else None

    @property
    def source(self) -> str:
        """The run and the snapshot that the scores are of, as a proposal keeps it; "" without."""
        if not self.run:
            return ""
        snapshot = self.run.snapshot.content_hash[:8] if self.run.snapshot else "none"
        return f"run {self.run.number}, snapshot {snapshot}"


def worker_scores(run: Run | None, worker_ids: Iterable[int]) -> dict[int, WorkerScore]:
    """Return the workers' scores in a run, by worker; also rows without an estimate."""
    if run is None:
        return {}
    rows = WorkerScore.objects.filter(run=run, worker__in=list(worker_ids), dimension="")
    return {row.worker_id: row for row in rows}


def answer_scores(run: Run | None, answer_ids: Iterable[int]) -> dict[int, AnswerScore]:
    """Scores of these answers in a run."""
    if run is None:
        return {}
    rows = AnswerScore.objects.filter(run=run, answer__in=list(answer_ids), dimension="")
    return {row.answer_id: row for row in rows}


def task_evidence(task: Task, run: Run | None = None) -> TaskEvidence:
    """Run, times and logs of all submitted work of a task, in a fixed number of queries.

    The run is the official one, unless another is named.
    """
    paces = paces_by_assignment([task.pk])
    seconds = {pk: pace.seconds for pk, pace in paces.items()}
    run, answers = run or official_run(task), newest_answers(task.project)
    noted = worker_notes({task.pk: run} if run else {}, answers)
    return TaskEvidence(
        run=run,
        seconds=seconds,
        logs=log_summaries(sorted(seconds)),
        cites=cites(task),
        paces=paces,
        alike=likenesses(task.project, answers=answers),
        of_workers={worker: own for (of, worker), own in noted.items() if of == task.pk},
    )


def worker_notes(
    runs: Mapping[int, Run], answers: Iterable[GivenAnswer]
) -> dict[tuple[int, int], list[Note]]:
    """By task and worker, what stands out in all of their work there: always one answer, chance.

    ``runs`` are the official ones by task; one query.
    """
    found: dict[tuple[int, int], list[Note]] = {}
    for key, same in same_options(answers).items():
        found.setdefault(key, []).append(Note("Same", str(same)))
    names = ("run_id", "worker_id", "estimate", "low", "high", "extra__chance")
    rows = WorkerScore.objects.filter(
        run__in=[run.pk for run in runs.values()], dimension="", low__isnull=False
    )
    by_run: dict[int, list[tuple[Any, ...]]] = {}
    for run, *row in rows.values_list(*names):
        by_run.setdefault(run, []).append(tuple(row))
    for task, one in runs.items():
        for worker, note in _near_chance(one, by_run.get(one.pk, ())):
            found.setdefault((task, worker), []).append(note)
    return found


def _near_chance(run: Run, rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Note]]:
    """Yield workers whose competence surely is that of guessing, all workers compared at once."""
    figures = np.array([row[1:4] for row in rows], dtype=float).reshape(-1, 3).T
    low, high = family_bounds(*figures)
    from_zero = run.params.get("competence_from") == "mace"
    for (worker, estimate, *own, chance), _below, above in zip(rows, low, high, strict=True):
        guess = 0.0 if from_zero else chance
        if guess is not None and above <= guess + NEAR_CHANCE * (1 - guess):
            values = {"value": score(estimate), "chance": score(guess)}
            values["interval"] = interval(*own)  # the run's own, as all pages show it
            text = _("competence %(value)s (%(interval)s), guessing gives %(chance)s")
            yield worker, Note("Guessing", text % values)


def cites(task: Task) -> bool:
    """Return whether the task's workers write from passages, so that pasting those is normal."""
    return adapter_of(task).cites


def gather_evidence(
    assignments: Sequence[Assignment], around: TaskEvidence, *, counted: bool = True
) -> dict[int, Evidence]:
    """The evidence of each of these assignments of one task.

    Without ``counted`` their answers are not counted: enough to sort them and to find those to
    look at first.
    """
    ids = [a.pk for a in assignments]
    facts = work_facts(ids) if counted else dict.fromkeys(ids, WorkFacts())
    scores = worker_scores(around.run, {a.worker_id for a in assignments})
    overturned = rejected_before(ids)
    texts = single_texts(a.pk for a in assignments if around.logs.get(a.pk, EMPTY).events)
    found = {}
    for assignment in assignments:
        pk = assignment.pk
        found[pk] = Evidence(
            assignment=assignment,
            facts=facts[pk],
            log=around.logs.get(pk, EMPTY),
            seconds=around.seconds.get(pk),
            score=scores.get(assignment.worker_id),
            notes=(
                *around.notes(pk, assignment.worker_id, facts[pk]),
                *([OVERTURNED_NOTE] if pk in overturned else []),
            ),
            text=texts.get(pk),
            overturned=pk in overturned,
        )
    return found


def single_texts(assignment_ids: Iterable[int]) -> dict[int, int]:
    """Return by assignment its single answer, for those with one text and nothing else."""
    wanted = list(assignment_ids)
    if not wanted:
        return {}
    rows = (
        Answer.objects.filter(assignment__in=wanted)
        .order_by()
        .values("assignment")
        .annotate(n=Count("pk", distinct=True), answer=Min("pk"), written=WRITTEN)
        .filter(n=1, written=1)
        .values_list("assignment", "answer")
    )
    return dict(rows)


def notes(
    facts: WorkFacts,
    log: LogSummary,
    seconds: float | None,
    usual: float | None,
    *,
    cites: bool = False,
    pace: Pace | None = None,
) -> list[Note]:
    """List what is conspicuous in an assignment, with figures.

    ``usual`` is the task's median time, which hurries with its crowd; ``pace`` holds the floors
    that do not.
    """
    found = []
    pastes = log.pastes_outside if cites else log.pastes
    pasted = log.outside_share if cites else log.paste_share
    if pastes and pasted >= PASTED_SHARE:
        text = (
            _("%(pastes)s from elsewhere, %(share)s of the text")
            if cites
            else _("%(pastes)s, %(share)s of the text")
        )
        told = {"pastes": plural(pastes, "paste"), "share": percent(pasted)}
        found.append(Note("Paste", text % told))
    quick = _too_fast(seconds, usual, pace)
    if quick:
        took = duration(seconds) if seconds and seconds >= 1 else _("under a second")
        found.append(
            Note("Time", _("took %(took)s; %(names)s") % {"took": took, "names": "; ".join(quick)})
        )
    if log.seconds_total and log.seconds_away / log.seconds_total >= AWAY_SHARE:
        share = percent(log.seconds_away / log.seconds_total)
        found.append(Note("Away", _("page not in view %(share)s of the time") % {"share": share}))
    if facts.uncounted:
        found.append(uncounted_note(facts.uncounted, facts.answers))
    return found


def uncounted_note(uncounted: int, answers: int) -> Note:
    """Say how many of the answers do not count."""
    text = ngettext(
        "%(n)s of %(of)s answers does not count", "%(n)s of %(of)s answers do not count", uncounted
    )
    return Note(UNCOUNTED, text % {"n": count(uncounted), "of": count(answers)}, look=False)


def _too_fast(seconds: float | None, usual: float | None, pace: Pace | None) -> list[str]:
    """Against what the time is short: reading, the requester's estimate, the others."""
    found = []
    if pace is not None and pace.is_unread:
        found.append(
            _("reading %(words)s takes %(reading_seconds)s at %(read_at_most)s a minute")
            % {
                "words": plural(pace.words, "word"),
                "reading_seconds": duration(pace.reading_seconds),
                "read_at_most": READ_AT_MOST,
            }
        )
    if pace is not None and pace.is_under_estimate:
        found.append(
            _("the requester expects %(expected_seconds)s")
            % {"expected_seconds": duration(pace.expected_seconds)}
        )
    if seconds is not None and usual and seconds < FAST_SHARE * usual:
        found.append(_("half take over %(usual)s") % {"usual": duration(usual)})
    return found


def binned(values: Sequence[float], low: float, high: float, bins: int = BINS) -> list[int]:
    """Counts in equal bins; what lies outside falls into the first or last one."""
    counts = [0] * bins
    width = (high - low) / bins
    for value in values:
        counts[min(bins - 1, max(0, int((value - low) / width)))] += 1
    return counts
