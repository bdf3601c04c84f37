"""One worker across the tasks of a project: scores, work, pay, and what is open with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.progress import ENOUGH_TIMES, median_seconds
from annotation.models import (
    Answer,
    Consent,
    LedgerEntry,
    Membership,
    PayoutLine,
    Rejection,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.models.decisions import Decision, with_decision
from annotation.payouts.selectors.proposals import work_facts
from annotation.payouts.selectors.unpaid import UnpaidReason, unpaid_reasons
from annotation.work.selectors.agreements import type_names
from annotation.work.selectors.known import mark_answers
from annotation.work.selectors.log import EMPTY, LogSummary, log_summaries
from annotation.work.selectors.speed import paces_by_assignment
from crowdqc.numbers import count
from crowdqc.web.terms import Words
from evaluation.models import AnswerScore, Run
from evaluation.payouts.selectors.card import CANNOT, CANNOT_SCORE, combined
from evaluation.payouts.selectors.evidence import Evidence, cites, notes, single_texts
from evaluation.payouts.selectors.review import ReadAnswer
from evaluation.people.messages import MESSAGES
from evaluation.people.selectors.facts import (
    Attention,
    Money,
    Pasting,
    Standing,
    Times,
    attention_of,
    money_of,
    pasting_of,
    standing_of,
    times_of,
)
from evaluation.people.selectors.scores import Scores, beside_medians, scores_of
from evaluation.results.findings import Action, Finding, Screen, arrange
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.selectors import official_runs

ZERO = Decimal("0.00")
ANSWERS, WORKS = 12, 20


CANNOT_COMPETENCE = gettext_lazy(
    "that votes were careless. Who sees rightly what most others miss goes against them and is "
    "given a low competence."
)
CANNOT_PARTS = gettext_lazy("how work in parts that share nothing compares.")
CANNOT_AGREE = gettext_lazy("that who agrees is right. The others can share an error.")


MARKS: dict[str, str] = {
    Decision.PAID: "done",
    Decision.APPROVED: "done",
    Decision.UNPAID: "done",
    Decision.REJECTED: "bad",
}


@dataclass(frozen=True)
class Work:
    """One submitted assignment with its evidence and what became of it."""

    evidence: Evidence
    task: Task
    state: str  # a value of ``Decision``
    approved: Decimal
    batch: int | None
    unpaid: UnpaidReason | None = None  # None where it is paid

    @property
    def word(self) -> str:
        if self.state == Decision.PROPOSED:
            return _("In proposal %(batch)s") % {"batch": self.batch}
        return str(Decision(self.state).label)

    @property
    def mark(self) -> str:
        """Return the CSS class that marks the decision."""
        return MARKS.get(self.state, "waiting")


@dataclass(frozen=True)
class WorkerCard:
    """The page."""

    worker: Membership
    scores: Scores
    unscored: list[Task]
    attention: list[Attention]
    times: list[Times]
    pasting: list[Pasting]
    money: Money
    standing: Standing
    domains: list[str]
    cannot: list[Words]
    works: Page
    work_rows: list[Work]
    answers: Page
    answer_rows: list[ReadAnswer]
    log: LogSummary
    logged: int
    submitted: int
    tasks: int
    task_list: list[Task]
    rejections: list[Rejection]
    consent: Consent | None
    consent_types: list[str]  # names of the types of tasks whose text was agreed to; none: all
    current_consent: int
    screen: Screen

    @property
    def disputes(self) -> list[Rejection]:
        """Rejections whose reply nobody has answered."""
        return [r for r in self.rejections if r.replied_at and not r.outcome]

    @property
    def standing_rejections(self) -> int:
        """How many rejections were not overturned."""
        return sum(r.outcome != Rejection.Outcome.OVERTURNED for r in self.rejections)


def worker_card(worker: Membership, *, page: Any, work_page: Any) -> WorkerCard:
    """Everything about one worker, in a fixed number of queries."""
    assignments = list(
        with_decision(worker.assignments.filter(state=AssignmentState.SUBMITTED))
        .select_related("task__current", "version", "worker", "rejection")
        .order_by("-submitted_at", "-pk")
    )
    tasks = {a.task_id: a.task for a in assignments}
    runs = official_runs(tasks)
    scores = scores_of(worker, tasks, runs)
    logs = log_summaries([a.pk for a in assignments])
    works = Paginator(assignments, WORKS).get_page(work_page)
    answers = Paginator(_answers(worker), ANSWERS).get_page(page)
    attention, log = attention_of(worker, tasks), combined([one for one in logs.values()])
    texts = worker.project.consent_texts.order_by("-number").values_list("number", flat=True)
    consent = (
        worker.consents.filter(withdrawn_at__isnull=True)
        .select_related("text")
        .order_by("-text__number")
        .first()
    )
    return WorkerCard(
        worker=worker,
        scores=scores,
        unscored=[task for pk, task in tasks.items() if pk not in scores.tasks and _scores(task)],
        attention=attention,
        times=times_of(assignments, tasks),
        pasting=pasting_of(assignments, logs, tasks, runs),
        money=money_of(worker),
        standing=standing_of(worker),
        domains=sorted({task.domain for task in tasks.values() if task.domain}),
        cannot=cannot_of(scores, attention, log),
        works=works,
        work_rows=_works(worker, list(works.object_list), logs),
        answers=answers,
        answer_rows=_read(list(answers.object_list), runs, logs),
        log=log,
        logged=sum(log.events > 0 for log in logs.values()),
        submitted=len(assignments),
        tasks=len(tasks),
        task_list=list(tasks.values()),
        rejections=list(
            Rejection.objects.filter(assignment__worker=worker)
            .select_related("assignment__task__current", "line__batch", "rejected_by", "outcome_by")
            .order_by("-rejected_at")
        ),
        consent=consent,
        consent_types=type_names(consent.task_types) if consent else [],
        current_consent=texts.first() or 0,
        screen=arrange(median_findings(beside_medians(worker, runs), scores.intervals)),
    )


def median_findings(sides: Sequence[int], intervals: int = 0) -> list[Finding]:
    """Say in how many scored tasks a worker is surely below or above the median.

    ``sides``, one a scored task: 1 surely above, -1 surely below, 0 neither (``beside_medians``).
    ``intervals``: how many scores have one, of which some compare with no median.
    """
    action = Action(_("All answers"), "#answers")
    read = MESSAGES.find("read_worker_answers", action=action)
    above, below = sides.count(1), sides.count(-1)
    values: dict[str, Any] = {"above": count(above), "below": count(below), "n": len(sides)}
    if not sides and intervals:
        return [MESSAGES.find("worker_not_compared", n=intervals), read]
    if not sides:
        return [MESSAGES.find("worker_no_interval"), read]
    if not above and not below:
        return [MESSAGES.find("worker_not_separated")]
    if not below:
        return [MESSAGES.find("worker_better", **values)]
    return [MESSAGES.find("worker_mixed" if above else "worker_worse", **values), read]


def _scores(task: Task) -> bool:
    """Whether a run of this type says something of people."""
    return bool(adapter_of(task).worker_score)


def cannot_of(
    scores: Scores, attention: list[Attention], log: LogSummary | None = None
) -> list[Words]:
    """List what the figures of a card cannot show, each once."""
    found: list[Words] = []
    if scores.texts or not scores.tasks:
        found.append(CANNOT_SCORE)
    if scores.pairs:
        found.append(CANNOT_COMPETENCE)
    if any(one.parts > 1 for one in scores.pairs):
        found.append(CANNOT_PARTS)
    if scores.agreements:
        found.append(CANNOT_AGREE)
    found += dict.fromkeys(one.words.cannot for one in attention)
    if log is not None and log.pastes:
        found.append(CANNOT["Paste"])
    return [*found, CANNOT["Time"]]


def _works(worker: Membership, assignments: list[Any], logs: dict[int, LogSummary]) -> list[Work]:
    ids = [a.pk for a in assignments]
    facts, texts = work_facts(ids), single_texts(a.pk for a in assignments if logs[a.pk].events)
    usual = median_seconds(worker.project)
    paces = paces_by_assignment({a.task_id for a in assignments}, ids)
    approved: dict[int, Decimal] = dict(
        LedgerEntry.objects.owed()
        .filter(assignment__in=ids)
        .order_by()
        .values_list("assignment")
        .annotate(s=Sum("amount"))
    )
    open_lines = dict(
        PayoutLine.objects.filter(
            assignment__in=ids, live=True, batch__state="proposed"
        ).values_list("assignment", "batch__number")
    )
    unpaid = unpaid_reasons(assignments, worker.project_id)
    made = []
    for a in assignments:
        seconds = None
        if a.opened_at and a.submitted_at and a.source != "import":
            seconds = (a.submitted_at - a.opened_at).total_seconds()
        middle, number = usual.get(a.task_id, (None, 0))
        log = logs.get(a.pk, EMPTY)
        told = notes(
            facts[a.pk],
            log,
            seconds,
            middle if number >= ENOUGH_TIMES else None,
            cites=cites(a.task),
            pace=paces.get(a.pk),
        )
        made.append(
            Work(
                evidence=Evidence(
                    a,
                    facts[a.pk],
                    log,
                    seconds,
                    None,
                    tuple(told),
                    text=texts.get(a.pk),
                ),
                task=a.task,
                state=a.decision,
                approved=approved.get(a.pk, ZERO),
                batch=open_lines.get(a.pk),
                unpaid=unpaid.get(a.pk),
            )
        )
    return made


def _answers(worker: Membership) -> Any:
    return (
        Answer.objects.filter(worker=worker)
        .select_related("item__task__current", "assignment", "version")
        .prefetch_related("texts", "choices", "spans")
        .order_by("-assignment__submitted_at", "-assignment_id", "order_shown", "pk")
    )


def _read(
    answers: list[Answer], runs: dict[int, Run], logs: dict[int, LogSummary]
) -> list[ReadAnswer]:
    scores = {
        row.answer_id: row
        for row in AnswerScore.objects.filter(
            run__in=[run.pk for run in runs.values()], answer__in=answers, dimension=""
        )
    }
    own = Answer.objects.filter(pk__in=[answer.pk for answer in answers])
    marks = {one.answer: one.right for one in mark_answers(own)}
    return [
        ReadAnswer.of(
            answer,
            scores.get(answer.pk),
            logged=logs.get(answer.assignment_id or 0, EMPTY).events > 0,
            right=marks.get(answer.pk),
        )
        for answer in answers
    ]
