"""What is kept of a worker, what stands in the way of erasing it, and which words are theirs."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
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
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation.accounts.organisations.selectors import list_sole_ownerships
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    Candidate,
    Item,
    Membership,
    Message,
    Payment,
    PaymentDetails,
    PlatformEvent,
    Project,
    Recording,
    Recruitment,
    Rejection,
    Role,
    Statement,
    TextValue,
    User,
    Visit,
    WorkerOrigin,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.privacy.name_places import NameKind, Names, erased_at, named_in, places_in
from annotation.privacy.selectors.retention import KeptLogs, kept_of_workers
from annotation.recruitment.platforms.entry_params import external_id
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


def waiting_erasures() -> QuerySet[Membership]:
    """Return the workers whose erasure was decided and is not finished."""
    return Membership.objects.filter(erase_asked_at__isnull=False, erased_at__isnull=True)


def has_pending_erasure(project_id: int) -> bool:
    """Whether an erasure in the project is requested and not done."""
    return waiting_erasures().filter(project=project_id).exists()


@dataclass(frozen=True)
class HeldData:
    """What is kept of one worker: what goes, what stays, and what is undecided."""

    texts: int  # answers, explanations, attributes, transcripts
    forms: int  # answers with questionnaires
    drafts: int
    recordings: int  # of their voice
    judged: int  # their texts that others judge
    replies: int
    messages: int  # of their conversations, both sides
    logs: KeptLogs
    visits: int  # names that a platform knows them by
    origins: int  # hashes of devices and networks
    payment_details: int  # 1 where they said how they want to be paid
    choices: int  # answers whose judgments, ratings and ticks stay
    in_work: int
    unsettled: int
    to_answer: int  # replies to rejections that nobody answered
    on_the_way: int  # payments

    @property
    def undecided(self) -> list[str]:
        """Return what still waits for a decision, as phrases."""
        said = []
        if self.unsettled:
            said.append(plural(self.unsettled, "submitted assignment"))
        if self.to_answer:
            said.append(plural(self.to_answer, "reply to a rejection", "replies to rejections"))
        return said


def held_data(worker: Membership) -> HeldData:
    """Count what is stored of a worker."""
    own = worker.assignments.all()
    main = Answer.objects.filter(worker=worker, stage=Answer.Stage.MAIN)
    states = own.aggregate(
        in_work=Count("pk", filter=Q(state=AssignmentState.LEASED)),
        unsettled=Count("pk", filter=Q(state=AssignmentState.SUBMITTED, settled_at__isnull=True)),
    )
    replies = Rejection.objects.filter(assignment__worker=worker).exclude(reply="")
    return HeldData(
        texts=TextValue.objects.filter(answer__worker=worker).count(),
        forms=Answer.objects.filter(worker=worker).exclude(stage=Answer.Stage.MAIN).count(),
        drafts=drafts_of(own).count(),
        recordings=Recording.objects.filter(entry__assignment__worker=worker).count(),
        judged=Candidate.objects.filter(author=worker).exclude(text="").count(),
        replies=replies.count(),
        messages=Message.objects.filter(conversation__worker=worker).count(),
        logs=kept_of_workers([worker])[worker.pk],
        visits=Visit.objects.filter(worker=worker).count(),
        origins=WorkerOrigin.objects.filter(worker=worker).count(),
        payment_details=PaymentDetails.objects.filter(worker=worker).count(),
        choices=main.filter(choices__isnull=False).distinct().count(),
        to_answer=replies.filter(outcome="").count(),
        on_the_way=worker.payments.filter(Q(state__in=ON_THE_WAY) | TO_BE_PAID).count(),
        **states,
    )


def drafts_of(assignments: QuerySet[Assignment]) -> QuerySet[AssignmentItem]:
    """Return the items with drafts in these assignments."""
    return AssignmentItem.objects.filter(assignment__in=assignments).exclude(draft={})


def _time_after(time: Any, days: str) -> ExpressionWrapper:
    """The time so many days later; null where the project keeps texts for good."""
    kept = ExpressionWrapper(F(days) * ONE_DAY, output_field=DurationField())
    return ExpressionWrapper(time + kept, output_field=DateTimeField())


def old_messages(now: dt.datetime) -> QuerySet[Message]:
    """Return messages whose retention time is over."""
    until = _time_after(F("at"), "conversation__task__project__answer_days_kept")
    return Message.objects.annotate(kept_until=until).filter(kept_until__lte=now)


def due(now: dt.datetime) -> QuerySet[Assignment]:
    """Return the assignments whose texts have outlived the project's retention time.

    Only work that is over and waits for nothing: neither for a decision, nor for others who
    still judge a text made from it.
    """
    ended = Coalesce("submitted_at", "expires_at")
    until = _time_after(ended, "task__project__answer_days_kept")
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
    """Keep only the assignments that hold a text, speech or a draft."""
    texts = TextValue.objects.filter(answer__assignment=OuterRef("pk"))
    drafts = AssignmentItem.objects.filter(assignment=OuterRef("pk")).exclude(draft={})
    speech = Recording.objects.filter(entry__assignment=OuterRef("pk"))
    return assignments.filter(Exists(texts) | Exists(drafts) | Exists(speech))


@dataclass(frozen=True)
class KeptWords:
    """The answers' texts of a project: how many, and when the first go."""

    number: int
    days: int | None
    first_until: dt.datetime | None


def kept_words(project: Project) -> KeptWords:
    """Count the assignments of a project that hold texts, and say when the first are erased."""
    rows = with_words(Assignment.objects.filter(task__project=project))
    found = rows.aggregate(n=Count("pk"), first=Min(Coalesce("submitted_at", "expires_at")))
    days = project.answer_days_kept
    until = found["first"] + dt.timedelta(days=days) if days and found["first"] else None
    return KeptWords(found["n"], days, until)


def words_of(assignments: Sequence[int], author: Membership | None = None) -> Iterator[str]:
    """Yield every text of these assignments: answers, drafts and copies of them.

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
    for draft, versions in rows.values_list("draft", "draft_versions"):
        yield from strings([draft, [one["draft"] for one in (versions or {}).get("others", ())]])


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value."""
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
    """Return the texts of these assignments that nobody else wrote in the same words."""
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
    """Return ids of answers with texts, or with choices outside the main stage."""
    answers = Answer.objects.filter(assignment__in=assignments)
    told = answers.exclude(stage=Answer.Stage.MAIN).filter(choices__isnull=False)
    texts = answers.filter(texts__isnull=False)
    return {*texts.values_list("pk", flat=True), *told.values_list("pk", flat=True)}


def keeps_account(user: User) -> str:
    """Return why a person's account cannot be closed yet; "" if it can."""
    if Membership.objects.filter(user=user, removed_at__isnull=True).exists():
        return _("You still belong to a project. Work of yours is erased project by project first.")
    if owned := list_sole_ownerships(user):
        return _("You are the last owner of %(names)s. Make somebody else an owner first.") % {
            "names": ", ".join(owned)
        }
    if user.owned_projects.filter(deleted_at=None).exists():
        return _("You own a project; its owner stays with it.")
    if kept_work(user):
        return _("Work of yours is still kept, or is just being erased.")
    return ""


def kept_work(user: User) -> list[Membership]:
    """List the memberships as a worker of which data is stored, also ended ones."""
    rows = Membership.objects.filter(user=user, role=Role.WORKER, erased_at__isnull=True)
    return list(rows.select_related("project").order_by("pk"))


@dataclass(frozen=True)
class Person:
    """A worker whose names are to go, with their names in each recruitment of the project."""

    worker: Membership
    by_recruitment: dict[int, Names]


def person_of(worker: Membership) -> Person:
    """Return the ids by which platforms know a worker: from visits and from the project."""
    participants: dict[int, set[str]] = defaultdict(set)
    sessions: dict[int, set[str]] = defaultdict(set)
    for way, participant, session in Visit.objects.filter(worker=worker).values_list(
        "recruitment_id", "participant", "session"
    ):
        participants[way].add(participant)
        sessions[way] |= {session} - {""}
    # A platform may tell of the person in a study of the project that they never opened.
    for recruitment in Recruitment.objects.filter(task__project=worker.project_id):
        prefix = external_id(recruitment, "")
        name = worker.external_id.removeprefix(prefix)
        others = Visit.objects.filter(recruitment=recruitment, participant=name)
        if (
            worker.external_id.startswith(prefix)
            and name
            and not others.exclude(worker=worker).exists()
        ):
            participants[recruitment.pk].add(name)
    return Person(
        worker,
        {
            way: Names(frozenset(participants[way]), frozenset(sessions[way]))
            for way in {*participants, *sessions}
        },
    )


# Webhooks ---------------------------------------------------------------------------------------


def events_naming(person: Person) -> Iterator[tuple[int, Any]]:
    """Yield the platform events that name a person, each with its payload without the person.

    A webhook about their submission is theirs and goes whole; one about somebody else's that
    gives their id keeps everything else.
    """
    places = places_in("PlatformEvent", "payload")
    for way, names in person.by_recruitment.items():
        rows = PlatformEvent.objects.filter(recruitment=way).annotate(
            said_participant=KeyTextTransform("participant_id", "payload"),
            said_session=KeyTextTransform("resource_id", "payload"),
        )
        found = rows.filter(
            Q(said_participant__in=names.participants) | Q(said_session__in=names.sessions)
        )
        for row in found.order_by("pk"):
            own = any(
                named_in(row.payload, place.path, names.sessions)
                for place in places
                if place.holds is NameKind.SESSION
            )
            others = Visit.objects.filter(recruitment=way, session=row.said_session or "")
            if own or not others.exclude(session="").exclude(worker=person.worker).exists():
                yield row.pk, {}
                continue
            payload = row.payload
            for place in places:
                payload = erased_at(payload, place.path, names.of(place.holds))
            yield row.pk, payload


# Statements -------------------------------------------------------------------------------------


def statements_naming(person: Person) -> Iterator[tuple[int, list[Any]]]:
    """(statement, its rows with the person's names erased) for each that names them.

    A row that was matched with a payment is about whom that payment is to, whatever it says.
    """
    own = set(Payment.objects.filter(worker=person.worker).values_list("pk", flat=True))
    places = places_in("Statement", "rows")
    statements = Statement.objects.filter(task__project=person.worker.project_id)
    for statement in statements.order_by("pk").iterator(chunk_size=20):
        names = _names_in(statement, person)
        if not names:
            continue
        fresh = []
        for row in statement.rows:
            changed = row
            if row.get("payment") is None or row["payment"] in own:
                for place in places:
                    changed = erased_at(changed, place.path[1:], names.of(place.holds))
            fresh.append(changed)
        if fresh != statement.rows:
            yield statement.pk, fresh


def _names_in(statement: Statement, person: Person) -> Names:
    """The person's names in a statement: of its recruitment; of a task paid by hand, all of them.

    A name that another worker has as well, elsewhere in the project, says nobody there.
    """
    if statement.recruitment_id is not None:
        return person.by_recruitment.get(statement.recruitment_id, Names())
    ways = Recruitment.objects.filter(task=statement.task_id).values_list("pk", flat=True)
    found = [person.by_recruitment[way] for way in ways if way in person.by_recruitment]
    participants = {person.worker.external_id} - {""}
    participants |= {name for names in found for name in names.participants}
    sessions = {name for names in found for name in names.sessions}
    others = Membership.objects.filter(project=person.worker.project_id).exclude(
        pk=person.worker.pk
    )
    taken: set[str] = set()
    for column in ("external_id", "pseudonym"):
        rows = others.filter(**{f"{column}__in": participants})
        taken |= set(rows.values_list(column, flat=True))
    visits = Visit.objects.filter(recruitment__task=statement.task_id).exclude(worker=person.worker)
    taken |= set(visits.filter(participant__in=participants).values_list("participant", flat=True))
    # By hand a submission is called by the number of its assignment, which is no name.
    ambiguous = set(visits.filter(session__in=sessions).values_list("session", flat=True))
    sessions = {name for name in sessions - ambiguous if not name.isdecimal()}
    return Names(frozenset(participants - taken), frozenset(sessions))
