"""What a worker sees: open tasks, current work and history."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import connection
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.utils import timezone

from annotation.access import current_and_past_work, worker_memberships
from annotation.authoring.selectors.cost import expected_an_hour, time_in_words
from annotation.authoring.selectors.steps import (
    Step,
    entries,
    problem_of,
    steps,
    texts_of,
    with_texts,
)
from annotation.models import (
    Assignment,
    AssignmentItem,
    Consent,
    ConsentText,
    ItemGroup,
    Membership,
    PanelMember,
    Qualification,
    Task,
    User,
    Visit,
)
from annotation.models.assignments import AssignmentState
from annotation.models.recruitment import CAN_START
from annotation.models.tasks import TaskState
from annotation.pairs.selectors import ReleaseState, release_states
from annotation.panels import selectors
from annotation.task_types import get_type
from annotation.task_types.rating.type import by_document
from annotation.work.selectors import quiz as quizzes

__all__ = [
    "Home",
    "InWork",
    "Offer",
    "Step",
    "count_lost_answers",
    "count_offers",
    "entries",
    "find_offer",
    "is_expired",
    "is_open",
    "list_consents",
    "list_in_work",
    "list_offers",
    "load_home",
    "memberships_with_consent",
    "opened_ms",
    "passage_state",
    "recorded_assignments",
    "seconds_left",
    "seconds_to_wait",
    "steps",
    "texts_of",
    "with_texts",
]

MIN_OTHERS = 5  # submits of others before their usual time is told
SHOWN = 50  # assignments listed of each kind


@dataclass(frozen=True)
class Offer:
    """An open task as one worker may take it."""

    task: Task
    worker: Membership
    fewest: int  # in the next assignment, at least and at most: documents differ in their answers
    questions: int
    left: int  # assignments that this worker could still take
    pay: Decimal
    currency: str
    minutes: float | None  # median of others, else the estimate at publishing
    others: int  # whose median it is; 0: an estimate
    needs_consent: bool
    release: ReleaseState | None = None  # where so many are given out at a time
    quiz: quizzes.QuizStanding | None = None  # where one comes before the first assignment
    starts_there: bool = False  # the next assignment begins on the platform that they came by

    @property
    def available_now(self) -> int | None:
        """How many assignments can be claimed before the next batch; None if all or none can."""
        found = self.release.left if self.release is not None else self.left
        return found if 0 < found < self.left else None

    @property
    def waits(self) -> bool:
        """Whether all that may be claimed for now are taken."""
        return self.release is not None and not self.release.left

    @property
    def noun(self) -> str:
        """Noun of the task's items."""
        version = self.task.current
        return get_type(self.task.type).noun_in(version.settings if version else {})

    @property
    def hourly(self) -> Decimal | None:
        """The hourly pay at this time."""
        return expected_an_hour(self.pay, self.minutes)

    @property
    def time_words(self) -> str:
        """The minutes in words; "" where they are not known."""
        return time_in_words(self.minutes) if self.minutes else ""


@dataclass(frozen=True)
class InWork:
    """An assignment that can still be submitted."""

    assignment: Assignment
    answered: int
    total: int
    late: bool


@dataclass(frozen=True)
class Home:
    """The worker's home over all projects."""

    memberships: list[Membership]  # with ``agreed``: the consent in force, or None
    offers: list[Offer]  # best paid by the hour first, as far as that is known
    in_work: list[InWork]
    rounds: list[Qualification]  # what was said of qualification rounds
    tries: list[Assignment]  # of quizzes, submitted

    @property
    def minutes(self) -> int | None:
        """Minutes of one assignment of each open task; None if one is unknown."""
        known = [offer.minutes for offer in self.offers if offer.minutes is not None]
        return max(1, round(sum(known))) if known and len(known) == len(self.offers) else None

    @property
    def pay(self) -> Decimal:
        """The pay of one assignment of each open task."""
        return sum((offer.pay for offer in self.offers), Decimal(0))

    @property
    def currency(self) -> str:
        """Currency of the open tasks if they share one; "" if there are several."""
        found = {offer.currency for offer in self.offers}
        return found.pop() if len(found) == 1 else ""


def memberships_with_consent(user: User, project_id: int | None = None) -> list[Membership]:
    """Return worker memberships; ``agreed`` is consent to the current text."""
    in_force = ConsentText.objects.filter(project=OuterRef("text__project")).order_by("-number")
    rows = worker_memberships(user).order_by("project__name", "pk")
    members = list(rows if project_id is None else rows.filter(project=project_id))
    consents = {
        consent.membership_id: consent
        for consent in Consent.objects.filter(
            membership__in=members,
            withdrawn_at__isnull=True,
            text=Subquery(in_force.values("pk")[:1]),
        ).select_related("text")
    }
    for member in members:
        member.agreed = consents.get(member.pk)  # type: ignore[attr-defined]
    return members


def load_home(user: User) -> Home:
    """Load the worker's home by a fixed number of queries."""
    members = memberships_with_consent(user)
    own = _assignments_of(current_and_past_work(user))
    return Home(
        memberships=members,
        offers=sorted(list_offers(members), key=lambda one: -(one.hourly or 0)),
        in_work=list_in_work(members),
        rounds=selectors.latest_verdicts(members),
        tries=list(
            own.filter(quiz__isnull=False, state=AssignmentState.SUBMITTED).order_by(
                "-submitted_at"
            )[:SHOWN]
        ),
    )


def _assignments_of(members: Sequence[Membership] | QuerySet[Membership]) -> QuerySet[Assignment]:
    return Assignment.objects.filter(worker__in=members).select_related("version", "task__project")


def list_in_work(members: Sequence[Membership]) -> list[InWork]:
    """Return assignments that can still be submitted, newest first."""
    rows = list(
        _assignments_of(members)
        .filter(state__in=(AssignmentState.LEASED, AssignmentState.EXPIRED))
        .order_by("-pk")[:SHOWN]
    )
    entered: dict[int, list[AssignmentItem]] = {row.pk: [] for row in rows}
    needed = ("assignment", "draft", "flipped", "item__settings")
    held = AssignmentItem.objects.filter(assignment__in=rows).select_related("item").only(*needed)
    for entry in held:
        entered[entry.assignment_id].append(entry)
    found = []
    for row in rows:
        own, late = entered[row.pk], is_expired(row)
        is_answered = get_type(row.task.type).is_answered
        begun = [entry for entry in own if is_answered(entry.draft)]
        if late and not begun:
            continue  # ran out before anything was written: nothing to tell
        on_page = row.source == "browser"
        complete = sum(not problem_of(row, entry, on_page=on_page) for entry in begun)
        found.append(InWork(row, complete, len(own), late))
    return found


def is_expired(assignment: Assignment) -> bool:
    """Whether the lease is over, processed or not."""
    return assignment.state == AssignmentState.EXPIRED or (
        assignment.state == AssignmentState.LEASED and assignment.expires_at <= timezone.now()
    )


# Of items i and versions v: in this version, not in an assignment of the worker in one of these
# states, and no text of their own.
NOT_MET = """AND i.since <= v.number AND (i.until IS NULL OR i.until > v.number)
  AND i.id NOT IN (
    SELECT e.item_id FROM annotation_assignmentitem e
    JOIN annotation_assignment a ON a.id = e.assignment_id
    WHERE a.worker_id = ANY(%(workers)s) AND a.state IN ({}))
  AND NOT EXISTS (
    SELECT 1 FROM annotation_candidate c
    WHERE c.id IN (i.first_id, i.second_id) AND c.author_id = ANY(%(workers)s))"""
IN_HAND = "'leased', 'submitted'"
# The size of the bundle that a worker returned last, if the next claim gives it as it was
# (``slots.repick_bundle``): every item that asks is still open, in the same version.
RETURNED_SIZE = f"""(
  SELECT CASE WHEN bool_and(i.expected IS NOT NULL OR (i.held < i.redundancy
    {NOT_MET.format(IN_HAND)})) THEN count(*) END
  FROM annotation_assignmentitem x JOIN annotation_item i ON i.id = x.item_id
  JOIN annotation_assignment r ON r.id = x.assignment_id
  WHERE r.state = 'returned' AND r.version_id = v.id AND r.quiz IS NULL AND r.id = (
    SELECT a.id FROM annotation_assignment a
    WHERE a.task_id = o.task_id AND a.worker_id = ANY(%(workers)s)
    ORDER BY a.state = 'leased' DESC, a.id DESC LIMIT 1))"""  # noqa: S608 (constants alone)
# What is open to a worker: items (topics, where a task asks once a topic), the bundles that they
# make where each is of one document, the fewest and the most items that a document has, and the
# size of a returned bundle that comes again.
OPEN_SQL = f"""
SELECT o.task_id, CASE WHEN coalesce((v.settings ->> 'once_a_topic')::boolean, false)
                       THEN count(*) ELSE sum(o.n)::int END,
       sum(ceil(o.n::numeric / v.items_per_assignment))::int, min(o.n), max(o.n), {RETURNED_SIZE}
FROM (SELECT i.task_id, i.group_id, t.current_id, count(*) n FROM annotation_item i
JOIN annotation_task t ON t.id = i.task_id
JOIN annotation_taskversion v ON v.id = t.current_id
WHERE i.task_id = ANY(%(tasks)s) AND i.held < i.redundancy
  {NOT_MET.format(IN_HAND)}
  AND NOT (coalesce((v.settings ->> 'once_a_topic')::boolean, false) AND i.group_id IN (
    SELECT x.group_id FROM annotation_assignmentitem e
    JOIN annotation_assignment a ON a.id = e.assignment_id
    JOIN annotation_item x ON x.id = e.item_id
    WHERE a.worker_id = ANY(%(workers)s) AND a.state IN ('leased', 'submitted')))
GROUP BY i.task_id, i.group_id, t.current_id) o
JOIN annotation_taskversion v ON v.id = o.current_id
GROUP BY o.task_id, v.id
"""  # noqa: S608 (constants alone)
# Items with a known answer that the worker has not met: as many come with the next assignment as it
# asks for. Those of a returned assignment come again only with its whole bundle.
ATTENTION_SQL = f"""
SELECT i.task_id, least(count(*), coalesce((v.settings ->> 'gold_per_assignment')::int, 0))::int
FROM annotation_item i
JOIN annotation_task t ON t.id = i.task_id
JOIN annotation_taskversion v ON v.id = t.current_id
WHERE i.task_id = ANY(%(tasks)s) AND i.expected IS NOT NULL
  {NOT_MET.format(IN_HAND + ", 'expired', 'returned'")}
GROUP BY i.task_id, v.id
"""  # noqa: S608 (constants alone)
# Times longer than the lease with all its extensions are of pages left open.
TIMES_SQL = """
SELECT a.task_id, count(*),
       percentile_cont(0.5) WITHIN GROUP (
           ORDER BY extract(epoch FROM a.submitted_at - coalesce(a.opened_at, a.leased_at)))
FROM annotation_assignment a
WHERE a.task_id = ANY(%(tasks)s) AND a.state = 'submitted' AND a.source <> 'import'
  AND a.quiz IS NULL AND NOT a.worker_id = ANY(%(workers)s)
GROUP BY a.task_id
"""


def count_offers(user: User) -> Counter[int]:
    """Count the tasks open to a worker by project."""
    offers = list_offers(memberships_with_consent(user))
    return Counter(offer.task.project_id for offer in offers)


def find_offer(user: User, task: Task) -> Offer | None:
    """Return what a worker may take of one task; None where nothing is left for them."""
    members = memberships_with_consent(user, project_id=task.project_id)
    return next((one for one in list_offers(members) if one.task.pk == task.pk), None)


def list_offers(members: Sequence[Membership]) -> list[Offer]:
    """Return open tasks with something left for the worker."""
    by_project = {member.project_id: member for member in members}
    held = Assignment.objects.filter(
        task=OuterRef("pk"),
        worker__in=members,
        state=AssignmentState.LEASED,
        expires_at__gt=timezone.now(),
    )
    on_panel = PanelMember.objects.filter(
        panel=OuterRef("panel"), worker__in=members, until__isnull=True
    )
    rows = list(
        Task.objects.filter(project__in=by_project, state=TaskState.OPEN)
        .filter(~Exists(held), ~Exists(selectors.stops_work(members).filter(task=OuterRef("pk"))))
        .filter(Q(panel__isnull=True) | Exists(on_panel))
        .select_related("current", "project")
        .order_by("project", "pk")
    )
    left, times = _left_and_times(rows, members)
    batches, closed = release_states(rows), selectors.reasons_barred(rows, members)
    came = _platform_visits(members)
    hidden, asked = _attention_counts(rows, members), quizzes.quiz_standings(rows, members)
    found = []
    for task in rows:
        version = task.current
        open_items, bundles, fewest, most, returned = left.get(task.pk, (0, 0, 0, 0, None))
        quiz = asked.get(task.pk)
        if not open_items or version is None or task.pk in closed or (quiz and quiz.failed):
            continue
        worker, per = by_project[task.project_id], version.items_per_assignment
        agreed: Consent | None = getattr(worker, "agreed", None)
        checks = hidden.get(task.pk, 0)
        checks_at_least = checks
        if by_document(version.settings):
            checks_at_least = 0  # a document may have none
        else:
            bundles, fewest, most = -(-open_items // per), open_items, open_items
        others, seconds = times.get(task.pk, (0, 0.0))
        if others < MIN_OTHERS:
            others, seconds = 0, task.estimated_seconds or 0
        found.append(
            Offer(
                task=task,
                worker=worker,
                fewest=returned or min(fewest, per) + checks_at_least,
                questions=returned or min(most, per) + checks,
                left=bundles,
                pay=version.pay,
                currency=task.project.currency,
                minutes=seconds / 60 or None,
                others=others,
                needs_consent=agreed is None or not agreed.covers(task.type),
                release=batches.get(task.pk),
                quiz=quiz,
                starts_there=worker.pk in came and task.pk not in came[worker.pk],
            )
        )
    return found


def _platform_visits(members: Sequence[Membership]) -> dict[int, set[int]]:
    """By worker who came by a platform, the tasks that they may start without coming anew."""
    named = [one.pk for one in members if one.external_id]
    if not named:
        return {}
    rows = Visit.objects.filter(worker__in=named).annotate(
        free=Case(When(CAN_START, then=True), default=False)
    )
    found: dict[int, set[int]] = {}
    for worker, task, free in rows.values_list("worker", "recruitment__task", "free"):
        own = found.setdefault(worker, set())
        if free:
            own.add(task)
    return found


def _left_and_times(
    tasks: Sequence[Task], members: Sequence[Membership]
) -> tuple[dict[int, tuple[int, int, int, int, int | None]], dict[int, tuple[int, float]]]:
    if not tasks:
        return {}, {}
    ids = {"tasks": [task.pk for task in tasks], "workers": [member.pk for member in members]}
    with connection.cursor() as cursor:
        cursor.execute(OPEN_SQL, ids)
        left = {task: tuple(figures) for task, *figures in cursor}
        cursor.execute(TIMES_SQL, ids)
        times = {task: (count, float(median)) for task, count, median in cursor.fetchall()}
    return left, times


def _attention_counts(tasks: Sequence[Task], members: Sequence[Membership]) -> dict[int, int]:
    """Count attention items of the next assignment, by task."""
    asking = [
        task.pk
        for task in tasks
        if task.current is not None and task.current.settings.get("gold_per_assignment")
    ]
    if not asking:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            ATTENTION_SQL, {"tasks": asking, "workers": [member.pk for member in members]}
        )
        return dict(cursor.fetchall())


# One assignment ----------------------------------------------------------------------------------


def is_open(assignment: Assignment) -> bool:
    """Whether its page still accepts answers, even after the lease expired."""
    return assignment.state in (AssignmentState.LEASED, AssignmentState.EXPIRED)


def count_lost_answers(assignment: Assignment) -> int:
    """Count answers of an expired lease that would not count if submitted now.

    Their places were given to others since, or their worker took them again.
    """
    if assignment.state != AssignmentState.EXPIRED:
        return 0
    entries = AssignmentItem.objects.filter(assignment=assignment, item__expected__isnull=True)
    again = AssignmentItem.objects.filter(
        item=OuterRef("item"),
        assignment__worker=assignment.worker_id,
        assignment__state__in=(AssignmentState.LEASED, AssignmentState.SUBMITTED),
    ).exclude(assignment=assignment)
    return entries.filter(Q(item__held__gte=F("item__redundancy")) | Exists(again)).count()


def passage_state(assignment: Assignment, group: ItemGroup) -> str:
    """Return whether the worker may see the passage: none, open, first or closed.

    "open": it may be looked at while answering. "first": it may not be looked back at, and is
    shown alone before the first of its questions. "closed": one of its questions in this
    assignment has been seen, here or in an earlier lease of the same questions. Everything that
    hands a passage to a worker asks here.
    """
    if not group.passage.strip():
        return "none"
    if group.look_back:
        return "open"
    here = AssignmentItem.objects.filter(assignment=assignment, item__group=group).values("item")
    seen = AssignmentItem.objects.filter(
        assignment__worker=assignment.worker_id, item__in=here, shown_at__isnull=False
    )
    return "closed" if seen.exists() else "first"


def seconds_left(assignment: Assignment, now: dt.datetime | None = None) -> int:
    """Return whole seconds until the lease ends, 0 when it is over."""
    if assignment.state != AssignmentState.LEASED:
        return 0
    return max(0, int((assignment.expires_at - (now or timezone.now())).total_seconds()))


def seconds_to_wait(assignment: Assignment, now: dt.datetime | None = None) -> int:
    """Return whole seconds until the minimum time is over."""
    if assignment.quiz:  # the least time is that of an assignment
        return 0
    begun = assignment.opened_at or assignment.leased_at
    spent = ((now or timezone.now()) - begun).total_seconds()
    return max(0, math.ceil(assignment.version.min_seconds - spent))


def opened_ms(assignment: Assignment, now: dt.datetime | None = None) -> int:
    """Return milliseconds since the opening, from which log times count."""
    begun = assignment.opened_at or assignment.leased_at
    return max(0, int(((now or timezone.now()) - begun).total_seconds() * 1000))


# What is recorded of a person --------------------------------------------------------------------


def list_consents(user: User) -> QuerySet[Consent]:
    """Return every consent of the person with its texts, newest first."""
    return (
        Consent.objects.filter(membership__user=user)
        .select_related("text", "membership__project")
        .prefetch_related("agreed_texts")
        .order_by("-given_at")
    )


def recorded_assignments(user: User) -> QuerySet[Assignment]:
    """Return assignments with counts of stored answers and events."""
    return (
        Assignment.objects.filter(worker__user=user)
        .select_related("version", "task__project", "worker")
        .annotate(
            answers_kept=Count("answers", distinct=True),
            drafts_kept=Count(
                "entries", filter=Q(entries__draft_saved_at__isnull=False), distinct=True
            ),
        )
        .order_by("-pk")
    )
