"""What is kept of a worker, what stands in the way of erasing it, and which words are theirs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import (
    Count,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Coalesce

from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    Candidate,
    Item,
    Membership,
    Payment,
    Project,
    Rejection,
    Role,
    TextValue,
    User,
    Visit,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.privacy.selectors.retention import KeptLogs, kept_of_workers
from crowdqc.numbers import plural

ONE_DAY = Value(dt.timedelta(days=1), output_field=DurationField())
ON_THE_WAY = (
    Payment.State.PLANNED,
    Payment.State.PREPARED,
    Payment.State.SENDING,
    Payment.State.UNCLEAR,
)
# Approved pay that people still have to send: without the names nobody could.
TO_BE_PAID = Q(what__in=("base", "bonus"), state__in=(Payment.State.BY_HAND, Payment.State.FAILED))


def waiting() -> QuerySet[Membership]:
    """Workers whose erasure was decided and is not done."""
    return Membership.objects.filter(erase_asked_at__isnull=False, erased_at__isnull=True)


def is_asked(project_id: int) -> bool:
    """Whether somebody of the project is to be erased and is not yet."""
    return waiting().filter(project=project_id).exists()


@dataclass(frozen=True)
class Held:
    """What is kept of one worker: what goes, what stays, and what is undecided."""

    texts: int  # answers, explanations, attributes, transcripts
    forms: int  # answers with questionnaires
    drafts: int
    judged: int  # their texts that others judge
    replies: int
    logs: KeptLogs
    visits: int  # names that a platform knows them by
    choices: int  # answers whose judgments, ratings and ticks stay
    in_work: int
    unsettled: int
    to_answer: int  # replies to rejections that nobody answered
    on_the_way: int  # payments

    @property
    def undecided(self) -> list[str]:
        """What waits for a decision, in words."""
        said = []
        if self.unsettled:
            said.append(plural(self.unsettled, "submitted assignment"))
        if self.to_answer:
            said.append(plural(self.to_answer, "reply to a rejection", "replies to rejections"))
        return said


def held(worker: Membership) -> Held:
    """What is kept of a worker."""
    own = worker.assignments.all()
    main = Answer.objects.filter(worker=worker, stage=Answer.Stage.MAIN)
    states = own.aggregate(
        in_work=Count("pk", filter=Q(state=AssignmentState.LEASED)),
        unsettled=Count("pk", filter=Q(state=AssignmentState.SUBMITTED, settled_at__isnull=True)),
    )
    replies = Rejection.objects.filter(assignment__worker=worker).exclude(reply="")
    return Held(
        texts=TextValue.objects.filter(answer__worker=worker).count(),
        forms=Answer.objects.filter(worker=worker).exclude(stage=Answer.Stage.MAIN).count(),
        drafts=drafts_of(own).count(),
        judged=Candidate.objects.filter(author=worker).exclude(text="").count(),
        replies=replies.count(),
        logs=kept_of_workers([worker])[worker.pk],
        visits=Visit.objects.filter(worker=worker).count(),
        choices=main.filter(choices__isnull=False).distinct().count(),
        to_answer=replies.filter(outcome="").count(),
        on_the_way=worker.payments.filter(Q(state__in=ON_THE_WAY) | TO_BE_PAID).count(),
        **states,
    )


def drafts_of(assignments: QuerySet[Assignment]) -> QuerySet[AssignmentItem]:
    """What was drafted in these assignments."""
    return AssignmentItem.objects.filter(assignment__in=assignments).exclude(draft={})


def due(now: dt.datetime) -> QuerySet[Assignment]:
    """Assignments whose texts were kept for as long as their project says.

    Only work that is over and waits for nothing: neither for a decision, nor for others who
    still judge a text made from it.
    """
    ended = Coalesce("submitted_at", "expires_at")
    until = ExpressionWrapper(
        ended
        + ExpressionWrapper(
            F("task__project__answer_days_kept") * ONE_DAY, output_field=DurationField()
        ),
        output_field=DateTimeField(),
    )
    judged = Item.objects.filter(
        Q(first__source_answer__assignment=OuterRef("pk"))
        | Q(second__source_answer__assignment=OuterRef("pk")),
        task__state__in=(TaskState.OPEN, TaskState.PAUSED),
    )
    return (
        with_words(Assignment.objects.filter(task__project__answer_days_kept__isnull=False))
        .annotate(words_until=until)
        .filter(words_until__lte=now)
        .exclude(state=AssignmentState.LEASED)
        .exclude(state=AssignmentState.SUBMITTED, settled_at__isnull=True)
        .exclude(Exists(judged))
    )


def with_words(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Of these, the ones that hold a text or a draft."""
    texts = TextValue.objects.filter(answer__assignment=OuterRef("pk"))
    drafts = AssignmentItem.objects.filter(assignment=OuterRef("pk")).exclude(draft={})
    return assignments.filter(Exists(texts) | Exists(drafts))


@dataclass(frozen=True)
class KeptWords:
    """The answers' texts of a project: how many, and when the first go."""

    number: int
    days: int | None
    first_until: dt.datetime | None


def kept_words(project: Project) -> KeptWords:
    """How many assignments of a project hold texts, and until when they are kept."""
    rows = with_words(Assignment.objects.filter(task__project=project))
    found = rows.aggregate(n=Count("pk"), first=Min(Coalesce("submitted_at", "expires_at")))
    days = project.answer_days_kept
    until = found["first"] + dt.timedelta(days=days) if days and found["first"] else None
    return KeptWords(found["n"], days, until)


def words_of(assignments: Sequence[int], author: Membership | None = None) -> Iterator[str]:
    """Every text and every draft in these assignments, and what they were copied to.

    With ``author`` the texts under judgment as well that name this worker as their author.
    """
    yield from TextValue.objects.filter(answer__assignment__in=assignments).values_list(
        "text", flat=True
    )
    copies = Q(source_answer__assignment__in=assignments)
    if author is not None:
        copies |= Q(author=author)
    yield from Candidate.objects.filter(copies).values_list("text", flat=True)
    yield from Rejection.objects.filter(assignment__in=assignments).values_list("reply", flat=True)
    rows = AssignmentItem.objects.filter(assignment__in=assignments).exclude(draft={})
    for draft in rows.values_list("draft", flat=True):
        yield from strings(draft)


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


OTHERS = """
SELECT x.text FROM annotation_textvalue x JOIN annotation_answer a ON a.id = x.answer_id
WHERE x.text = ANY(%(words)s)
  AND (a.assignment_id IS NULL OR NOT a.assignment_id = ANY(%(assignments)s))
UNION
SELECT c.text FROM annotation_candidate c WHERE c.text = ANY(%(words)s)
  AND (c.source_answer_id IS NULL OR NOT EXISTS (
    SELECT 1 FROM annotation_answer a
    WHERE a.id = c.source_answer_id AND a.assignment_id = ANY(%(assignments)s)))
  AND c.author_id IS DISTINCT FROM %(author)s
"""


def own_words(assignments: Sequence[int], author: Membership | None = None) -> set[str]:
    """The texts of these assignments that nobody else wrote word for word."""
    words = {text.strip() for text in words_of(assignments, author)} - {""}
    values: dict[str, Any] = {
        "words": list(words),
        "assignments": list(assignments),
        "author": author.pk if author is not None else None,
    }
    with connection.cursor() as cursor:
        cursor.execute(OTHERS, values)
        return words - {row[0] for row in cursor.fetchall()}


def answers_with_words(assignments: Sequence[int]) -> set[int]:
    """The answers in these assignments that hold what goes, and that a run may have read."""
    answers = Answer.objects.filter(assignment__in=assignments)
    told = answers.exclude(stage=Answer.Stage.MAIN).filter(choices__isnull=False)
    texts = answers.filter(texts__isnull=False)
    return {*texts.values_list("pk", flat=True), *told.values_list("pk", flat=True)}


def keeps_account(user: User) -> str:
    """Why the person's account cannot be closed yet, in words; empty where it can."""
    if Membership.objects.filter(user=user, removed_at__isnull=True).exists():
        return "You still belong to a project. Work of yours is erased project by project first."
    if user.owned_projects.exists():
        return "You own a project; its owner stays with it."
    if kept_work(user):
        return "Work of yours is still kept, or is just being erased."
    return ""


def kept_work(user: User) -> list[Membership]:
    """Where something that the person did as a worker is kept, also where they have left."""
    rows = Membership.objects.filter(user=user, role=Role.WORKER, erased_at__isnull=True)
    return list(rows.select_related("project").order_by("pk"))
