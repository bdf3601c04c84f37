"""What the evaluation app must know of answers of one shape: one adapter a shape.

A task type says which shape its answers have; the package that judges such
answers holds the adapter of that shape, and ``evaluation.registry`` lists all of them. Packages
below reach them through the task, and ask the adapter instead of comparing the task's type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Answer, Task
from annotation.task_types import TYPES, get_type
from annotation.work.snapshots import judgments
from annotation.work.snapshots.answers import Tally, tally_from_counts
from crowdqc.numbers import plural, several
from crowdqc.web.terms import Words
from evaluation.runs.hooks import load_registry
from evaluation.runs.planning.precision import Planner, Precision

FIRST_WORKERS, FIRST_ANSWERS = 3, 5
AQER_SCORE, COMPETENCE, AGREEMENT = "score", "competence", "agreement"


@dataclass(frozen=True)
class FirstRun:
    """How far a task is from its first run by itself."""

    enough: int  # workers with enough answers
    others: list[int]  # answers of the other workers, the most first
    missing: int  # answers that would do

    @property
    def ready(self) -> bool:
        return not self.missing


@dataclass(frozen=True)
class KnownWords:
    """What a worker's card calls the items whose answer is known."""

    title: Words
    said: Words
    noun: str
    right: Words
    wrong: Words
    share: Words
    cannot: Words


@dataclass(frozen=True)
class CompetenceWords:
    """What a worker's card calls competence in tasks of a shape, and what stands beside it."""

    said: Words
    line: Words
    votes: Words
    every: Words
    no_interval: Words
    shared: Words  # what links workers whose figures compare
    beside: Words
    beside_said: Words
    for_worker: bool = True  # whether the worker, too, may read what stands beside it


KNOWN = KnownWords(
    title=_("Known answers"),
    said=_("items whose answer is known; they never enter results"),
    noun="known answer",
    right=_("Right"),
    wrong=_("Wrong"),
    share=_("Share right"),
    cannot=_(
        "from few known answers how reliable somebody is; the interval says how far they tell."
    ),
)
BY_DIMENSION = CompetenceWords(
    said=_("the probability of not guessing, by dimension"),
    line=_("Dimension"),
    votes=_("Votes"),
    every=_("every vote"),
    no_interval=_("too few shared pairs"),
    shared=pgettext_lazy("noun", "pair"),
    beside=_("Agreement with others"),
    beside_said=_(
        "Agreement with others: decided votes on the side of the majority of the others, whose "
        "majority leaves this vote out"
    ),
)


class ShapeAdapter:
    """Answers of one shape; this class itself stands for a shape that nothing here can judge."""

    shape: str = ""
    answer_noun: str = "answer"  # what a person gives
    item_noun: str = "question"  # to what

    # Runs
    main_run: str = ""  # the method that runs by itself, and whose runs can be official
    start_title: str = ""  # of the page that starts it, where the method's name says too little
    new_noun: str = "answer"  # what came since the last run
    # Figures of a run that are told beside its scores, and which of their numbers.
    told_figures: Mapping[str, tuple[str, ...]] = {}

    # Pages, by the names of their addresses
    results: str = ""
    item_page: str = ""  # one item with everything that was said of it
    after_exclusion: str = ""  # where one returns to when somebody was left out, or is in again

    # People
    worker_score: str = ""  # how a run scores people: one of the three above; "": it does not
    scores_answers: bool = False  # each answer, too; else it is the texts that are scored
    known_words = KNOWN
    competence_words = BY_DIMENSION
    pools: Sequence[str] = ()  # measures of the boards over the tasks of a domain
    cites: bool = False  # people write from passages, so that only a paste from elsewhere is told

    # Models
    without_models: Words = ""  # what can be done without any
    planner: Planner | None = None  # of the Plan page; none where no plan is simulated
    # How models answer the items: of evaluation.llm_runs.answering, a higher package.
    answering: Any = None

    @property
    def first_run_when(self) -> str:
        """Condition of the automatic first run, in figures."""
        return gettext("%(workers)s have %(answers)s each") % {
            "workers": plural(FIRST_WORKERS, "worker"),
            "answers": plural(FIRST_ANSWERS, self.answer_noun),
        }

    @property
    def fixed_words(self) -> Words:
        """Sentence on what no option changes, for the form of a run."""
        return gettext(
            "Intervals are 95%%. The same seed on the same %(nouns)s gives the same numbers."
        ) % {"nouns": several(self.answer_noun)}

    @property
    def score_name(self) -> str:
        """Label of a worker's score beside their work."""
        return gettext("AQER score") if self.worker_score == AQER_SCORE else gettext("Competence")

    def votes_url(self, task: Task, worker_id: int) -> str:
        """Address of the page with everything a worker answered in the task."""
        return reverse("pair_worker", args=[task.project_id, task.pk, worker_id])

    def withhold_competence(self, score: Any) -> str:
        """Clear a stored competence that the answers leave open; return why, "" where it stands."""
        return ""

    def whole_label(self, task: Task, params: Mapping[str, Any]) -> str:
        """Label of a competence that is not of a single dimension."""
        return str(_("All together"))

    def beside_competence(self, extra: Mapping[str, Any]) -> tuple[float, int, str]:
        """Read from a score's ``extra`` how many answers agreed, of how many, and their noun."""
        n = extra.get("n_others") or 0
        return (extra.get("with_others") or 0) * n, n, "pair"

    def overall_alpha(self, figures: Mapping[str, Any]) -> float | None:
        """Agreement of people over all items, of a run's ``told_figures``; None without."""
        return None

    def first_run(self, given: list[int]) -> FirstRun:
        """Say how many workers have enough answers for the first run, from the answers of each."""
        best = [*given, *([0] * FIRST_WORKERS)][:FIRST_WORKERS]
        enough = sum(n >= FIRST_ANSWERS for n in given)
        missing = sum(max(0, FIRST_ANSWERS - n) for n in best)
        return FirstRun(enough, given[enough:], missing)

    def counting_rows(self, task: Task) -> QuerySet[Answer]:
        """The answers that a snapshot of the task would hold: none of people who are left out."""
        return judgments.counting_rows(task)

    def tally(self, task: Task, max_id: int) -> Tally:
        """Count the answers up to an id and above it, with a hash of the former."""
        return tally_from_counts(judgments.counts_of(task), self.counting_rows(task), max_id)

    def precision(self, build: Build) -> Precision:
        """Estimate how precise the results of a drafted task will be."""
        return Precision(why_not=gettext("not simulated for ratings"))


UNKNOWN = ShapeAdapter()


@cache
def _adapters() -> Mapping[str, ShapeAdapter]:
    """Load adapters by shape on first use: they import half of the evaluation app."""
    return {one.shape: one for one in load_registry().ADAPTERS}


def adapter_of(task: Task) -> ShapeAdapter:
    """Return the adapter for the task's kind of answers; a default one for unknown kinds."""
    return _adapters().get(get_type(task.type).shape, UNKNOWN)


def precision(task: Task) -> Precision:
    """Estimate how precise the newest version's results will be once every slot is filled."""
    build = Build(task)
    if not build.questions:
        return Precision(why_not="nothing to simulate yet")
    return adapter_of(task).precision(build)


def main_methods() -> frozenset[str]:
    """The methods that run by themselves, of all shapes."""
    return frozenset(one.main_run for one in _adapters().values() if one.main_run)


def judged_types() -> list[str]:
    """The task types whose tasks have runs of their own, and a page of results."""
    return [slug for slug, kind in TYPES.items() if kind.shape in _adapters()]
