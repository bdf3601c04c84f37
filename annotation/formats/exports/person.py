"""All that is kept of one person, as files for that person: JSON lines, nothing of others.

``whole``: the person asks for themself, so the account and every project come along. Staff who
hand the file to a worker get one project, without the account behind the pseudonym.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Model, OuterRef, Q, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.accounts.security.log import name_browser
from annotation.files.reading.recordings import EXTENSIONS
from annotation.files.writing.tables import lines
from annotation.models import (
    Answer,
    ApiToken,
    Assignment,
    AssignmentItem,
    AuditEntry,
    Candidate,
    Consent,
    EventBatch,
    Exclusion,
    LedgerEntry,
    Membership,
    Message,
    Notice,
    PanelMember,
    PaymentDetails,
    Qualification,
    Recording,
    Rejection,
    Role,
    SavedView,
    SecurityEvent,
    Transcript,
    User,
    Visit,
    WorkerOrigin,
)
from annotation.payouts.details.actions import open_details
from annotation.records.selectors.audit_words import action_sentence, describe_subject
from annotation.work.actions.drafts import other_versions
from annotation.work.selectors import log
from annotation.work.selectors.agreements import list_agreements
from annotation.work.selectors.recordings import read_recording_bytes

CHUNK = 500
Row = dict[str, Any]
Members = Sequence[Membership]
File = tuple[str, Iterable[str | bytes]]
Rows = Callable[[Members], Iterable[Row]]


def members_of(user: User) -> list[Membership]:
    """Return the person's memberships as a worker, past ones included."""
    rows = Membership.objects.filter(user=user, role=Role.WORKER).select_related("project")
    return list(rows.order_by("pk"))


def files(
    members: Members, *, user: User | None = None, extra: Iterable[tuple[str, str, Rows]] = ()
) -> Iterator[File]:
    """Yield the files of a ZIP of a person's data; ``user`` adds the account's own."""
    told: list[tuple[str, str, Rows]] = [
        *TABLES,
        *extra,
        *((name, words, of(user)) for name, words, of in OWN if user is not None),
    ]
    # At once, in the reader's language: what follows is made while it is sent.
    first = readme(members, told, whole=user is not None)
    return itertools.chain([("README.txt", [first])], _tables(members, told))


def _tables(members: Members, told: Sequence[tuple[str, str, Rows]]) -> Iterator[File]:
    for name, _words, rows in told:
        yield f"{name}.jsonl", lines((), map(_plain, rows(members)), "jsonl")
    for kept in Recording.objects.filter(entry__assignment__worker__in=members).order_by("pk"):
        yield f"recordings/{kept.pk}.{EXTENSIONS[kept.type]}", [read_recording_bytes(kept)]


def _plain(row: Row) -> Row:
    """The row with its times and amounts as text."""
    return {
        name: value.isoformat()
        if isinstance(value, dt.date)  # and datetime
        else str(value)
        if isinstance(value, Decimal)
        else value
        for name, value in row.items()
    }


def readme(members: Members, told: Sequence[tuple[str, str, Rows]], *, whole: bool) -> str:
    """Describe each file of the ZIP in a sentence."""
    names = ", ".join(one.pseudonym for one in members)
    head = _("Your data.") if whole else _("Data of %(names)s.") % {"names": names}
    said = [head, _("Every file holds one JSON object per line."), ""]
    said += [f"{name}.jsonl: {_(words)}" for name, words, _rows in told]
    hidden = [one.project.name for one in members if not one.project.show_scores]
    if hidden:
        words = _("Scores are not shown to workers in: %(projects)s. Ask the project’s people.")
        said += ["", words % {"projects": ", ".join(hidden)}]
    said += ["", _("What others wrote, except messages to you, is not in these files."), ""]
    return "\n".join(said)


def _memberships(members: Members) -> Iterator[Row]:
    for one in members:
        yield {
            "project": one.project.name,
            "pseudonym": one.pseudonym,
            "joined": one.created_at,
            "left": one.removed_at,
            "name_in_files": one.external_id,
        }


def _query(model: type[Model], whose: str, columns: str) -> Rows:
    """Make one query of what a model stores about people; ``whose`` is the field that names them.

    ``columns`` are parted by spaces: what a column is called, and after "=" where it is stored, if
    that is another name.
    """
    paths = {
        name: path or name for name, _mark, path in (one.partition("=") for one in columns.split())
    }

    def rows(people: Sequence[Any]) -> Iterator[Row]:
        found = model._default_manager.filter(**{f"{whose}__in": people}).order_by("pk")
        for values in found.values_list(*paths.values()).iterator(CHUNK):
            yield dict(zip(paths, values, strict=True))

    return rows


# The item's place in its assignment, as its worker's pages call it. Its key or its row may tell
# whether it is a test or asked again, and whose texts they are.
PLACE = Subquery(
    AssignmentItem.objects.filter(assignment=OuterRef("assignment"), item=OuterRef("item")).values(
        "position"
    )[:1]
)


def _answers(members: Members) -> Iterator[Row]:
    # Whether each counts would tell which were tests: ``assignments`` says how many do not.
    rows = Answer.objects.filter(worker__in=members).select_related("item").annotate(place=PLACE)
    rows = rows.prefetch_related("texts", "choices", "spans").order_by("pk")
    for one in rows.iterator(chunk_size=CHUNK):
        yield {
            "assignment": one.assignment_id,
            "item": _number(one.place),
            "question": one.item.question,
            "stage": one.stage,
            "answered": one.answered_at,
            "shown_turned": one.flipped_if_known,
            "imported": one.meta or {},
            "texts": [
                {"field": x.field, "index": x.index, "text": x.text} for x in one.texts.all()
            ],
            "choices": [{"field": x.field, "code": x.code} for x in one.choices.all()],
            "spans": [
                {
                    "field": x.field,
                    "index": x.index,
                    "target": x.target,
                    "start": x.start,
                    "end": x.end,
                }
                for x in one.spans.all()
            ],
        }


def _number(place: int | None) -> int | None:
    return None if place is None else place + 1


def _assignments(members: Members) -> Iterator[Row]:
    """Work and what came of its answers, without those to tests, of which nothing is said."""
    tests = Q(answers__item__expected__isnull=False)
    rows = Assignment.objects.filter(worker__in=members).select_related("version", "task__project")
    rows = rows.annotate(
        given=Count("answers"),
        left_out=Count("answers", filter=Q(answers__counts=False) & ~tests),
        reasons=ArrayAgg(
            "answers__uncounted_reason",
            filter=Q(answers__counts=False) & ~tests,
            distinct=True,
            default=[],
        ),
    )
    for one in rows.order_by("pk").iterator(chunk_size=CHUNK):
        yield {
            "assignment": one.pk,
            "project": one.task.project.name,
            "task": one.version.title,
            "version": one.version.number,
            "state": one.state,
            "source": one.source,
            "pay": one.pay,
            "currency": one.task.project.currency,
            "claimed": one.leased_at,
            "opened": one.opened_at,
            "submitted": one.submitted_at,
            "settled": one.settled_at,
            "log_erased": one.log_erased_at,
            "answers": one.given,
            "not_counted": one.left_out,
            "why_not": one.reasons,
        }


def _events(members: Members) -> Iterator[Row]:
    rows = EventBatch.objects.filter(stream__assignment__worker__in=members).order_by("pk")
    columns = ("stream__assignment_id", "stream_id", "first_seq", "received_at", "events")
    numbers: dict[int, dict[int, int]] = {}
    for assignment, page, first, at, events in rows.values_list(*columns).iterator(50):
        if assignment not in numbers:
            numbers = log.item_numbers([assignment])
        yield {
            "assignment": assignment,
            "page": page,
            "first": first,
            "received": at,
            "events": log.rename_targets(events, numbers[assignment]),
        }


def _drafts(members: Members) -> Iterator[Row]:
    rows = AssignmentItem.objects.filter(assignment__worker__in=members).exclude(draft={})
    for one in rows.order_by("pk").iterator(chunk_size=CHUNK):
        yield {
            "assignment": one.assignment_id,
            "item": one.position + 1,
            "draft": one.draft,
            "other_versions": [other["draft"] for other in other_versions(one)],
            "saved": one.draft_saved_at,
            "shown": one.shown_at,
        }


def _standing(members: Members) -> Iterator[Row]:
    rows = Exclusion.objects.filter(worker__in=members).select_related("task__current")
    for one in rows.order_by("pk"):
        title = one.task.published_title
        yield {
            "what": "left out of results",
            "of": title,
            "why": one.reason,
            "since": one.created_at,
            "until": one.undone_at,
        }
    for seat in PanelMember.objects.filter(worker__in=members).select_related("panel"):
        yield {
            "what": "on a panel",
            "of": seat.panel.name,
            "why": seat.why,
            "since": seat.since,
            "until": seat.until,
        }


def _messages(members: Members) -> Iterator[Row]:
    """Yield both sides of the person's conversations, without who of the project wrote."""
    rows = Message.objects.filter(conversation__worker__in=members).order_by("pk")
    rows = rows.select_related("announcement", "conversation__task__current")
    rows = rows.annotate(place=PLACE)
    for one in rows.iterator(chunk_size=CHUNK):
        task = one.conversation.task
        yield {
            "at": one.at,
            "task": task.published_title,
            "from": "you" if one.from_worker else "the project",
            "assignment": one.assignment_id,
            "item": _number(one.place),
            "announcement": one.announcement_id is not None,
            "text": one.announcement.text if one.announcement else one.text,
            "reported": one.reported_at,
            "removed": one.removed_at,
        }


def _audit_rows(members: Members) -> Iterator[Row]:
    """Yield what the person did by the projects' audit logs."""
    rows = Q(pk__in=())
    for one in members:
        if one.user_id is not None:
            rows |= Q(project=one.project_id, actor=one.user_id)
    yield from _entries(rows)


def _entries(rows: Q) -> Iterator[Row]:
    for one in AuditEntry.objects.filter(rows).order_by("pk").iterator(chunk_size=CHUNK):
        yield {
            "at": one.at,
            "what": action_sentence(one.action, one.detail),
            "about": describe_subject(one.object_type, one.object_id),
        }


def _consents(members: Members) -> Iterator[Row]:
    """Each text that was agreed to, as its worker read it."""
    rows = Consent.objects.filter(membership__in=members).select_related("text__project")
    for one in rows.prefetch_related("agreed_texts").order_by("pk").iterator(chunk_size=CHUNK):
        for agreement in list_agreements(one):
            yield {
                "project": one.text.project.name,
                "version": one.text.number,
                "text": agreement.text,
                "text_is_exact": agreement.is_exact,
                "task_types": agreement.task_types,
                "log_kept_days": one.text.retention_days,
                "transcription": one.text.transcription,
                "devices": one.text.devices,
                "given": agreement.given_at,
                "taken_back": one.withdrawn_at,
            }


TABLES: tuple[tuple[str, str, Rows], ...] = (
    (
        "memberships",
        gettext_noop("The projects, and the name under which each sees you."),
        _memberships,
    ),
    (
        "consents",
        gettext_noop("What you agreed to, in full, and when you took it back."),
        _consents,
    ),
    (
        "origins",
        gettext_noop(
            "Devices and networks that you took work from. Only hashes are kept, compared "
            "with those of other workers."
        ),
        _query(
            WorkerOrigin,
            "worker",
            "project=worker__project__name kind first_day=first_on last_day=last_on",
        ),
    ),
    (
        "assignments",
        gettext_noop(
            "Work you claimed, with its times, its pay, and how many answers of it do not count."
        ),
        _assignments,
    ),
    (
        "answers",
        gettext_noop("What you submitted: texts, choices and the stretches you marked."),
        _answers,
    ),
    (
        "recordings",
        gettext_noop("What you said, as the file recordings/<recording> beside this one."),
        _query(
            Recording,
            "entry__assignment__worker",
            "recording=pk assignment=entry__assignment_id type seconds sha256 kept=kept_at",
        ),
    ),
    (
        "transcripts",
        gettext_noop(
            "What a model wrote down of your recordings; as you corrected it once you confirmed it."
        ),
        _query(
            Transcript,
            "recording__entry__assignment__worker",
            "recording=recording_id text model made=made_at confirmed=confirmed_at",
        ),
    ),
    ("drafts", gettext_noop("What was saved while you wrote and is still kept."), _drafts),
    (
        "events",
        gettext_noop("The log of your typing, choosing and leaving, as it was recorded."),
        _events,
    ),
    (
        "payouts",
        gettext_noop("Every amount booked for you."),
        _query(
            LedgerEntry,
            "worker",
            "at what=kind amount currency assignment=assignment_id note=memo",
        ),
    ),
    (
        "rejections",
        gettext_noop("Work that was rejected, why, your reply and the answer to it."),
        _query(
            Rejection,
            "assignment__worker",
            "assignment=assignment_id at=rejected_at reason your_reply=reply replied=replied_at "
            "outcome answer=outcome_note",
        ),
    ),
    (
        "qualifications",
        gettext_noop("What was said of your qualification rounds."),
        _query(
            Qualification,
            "assignment__worker",
            "assignment=assignment_id round verdict feedback at",
        ),
    ),
    (
        "standing",
        gettext_noop("Panels you are on, and results that you are left out of, with the reason."),
        _standing,
    ),
    (
        "texts_judged",
        gettext_noop("Texts of yours that others judge."),
        _query(Candidate, "author", "question=query text since=created_at"),
    ),
    (
        "entries",
        gettext_noop("How you came in from elsewhere, and what that platform calls you."),
        _query(
            Visit,
            "worker",
            "from=recruitment__name their_name_for_you=participant study session "
            "entered=entered_at outcome state=status",
        ),
    ),
    (
        "messages",
        gettext_noop("What you and the people of a project wrote to one another."),
        _messages,
    ),
    ("log", gettext_noop("What the projects’ audit logs say that you did."), _audit_rows),
)


def _profile(user: User) -> Rows:
    return lambda _: [
        {
            "username": user.username,
            "name": user.display_name,
            "email": user.email,
            "joined": user.date_joined,
            "last_sign_in": user.last_login,
            "theme": user.theme,
            "language": user.language,
            "mail": user.wants_mail,
            "mail_daily": user.mail_daily,
            "notices_off": user.muted,
        }
    ]


def _own(model: type[Model], columns: str, whose: str = "user") -> Callable[[User], Rows]:
    """Return a query of what a model stores about an account."""
    rows: Callable[[Any], Iterable[Row]] = _query(model, whose, columns)
    return lambda user: lambda _: rows([user])


def _security(user: User) -> Rows:
    rows = SecurityEvent.objects.filter(user=user).select_related("project").order_by("pk")
    return lambda _: (
        {
            "at": one.at,
            "event": one.get_kind_display(),
            "times": one.count,
            "project": one.project.name if one.project else "",
            "address": one.address,
            "browser": name_browser(one.agent),
            **one.detail,
        }
        for one in rows.iterator(chunk_size=CHUNK)
    )


def _payment_details(user: User) -> Rows:
    """Payment details, for the person alone: staff who hand out a file see none."""
    rows = PaymentDetails.objects.filter(worker__user=user).select_related("worker__project")

    def opened(_members: Members) -> Iterator[Row]:
        for one in rows.order_by("pk"):
            found = open_details(one)
            yield {
                "project": one.worker.project.name,
                "way": found.way,
                "name": found.name,
                "reference": found.reference,
                "changed": one.changed_at,
            }

    return opened


def _own_log(user: User) -> Rows:
    return lambda _: _entries(Q(actor=user, project=None))


OWN: tuple[tuple[str, str, Callable[[User], Rows]], ...] = (
    ("account", gettext_noop("Your account."), _profile),
    (
        "payment_details",
        gettext_noop("How you are paid where no platform pays you."),
        _payment_details,
    ),
    (
        "notices",
        gettext_noop("What you were told."),
        _own(Notice, "at=created_at text read=read_at mailed=mailed_at"),
    ),
    (
        "messages_sent",
        gettext_noop("What you wrote to workers as a requester or manager."),
        _own(Message, "at project=conversation__task__project__name text", "by"),
    ),
    (
        "saved_views",
        gettext_noop("Views of lists that you saved."),
        _own(SavedView, "project=project__name list name shows=query saved=created_at"),
    ),
    (
        "tokens",
        gettext_noop("Keys of your programs; only a digest of each is kept."),
        _own(
            ApiToken,
            "name may=scopes made=created_at expires=expires_at last_used=last_used_at "
            "ended=revoked_at",
        ),
    ),
    (
        "security",
        gettext_noop("Sign-ins, second factors, tokens and roles of your account."),
        _security,
    ),
    ("account_log", gettext_noop("What your account did outside any project."), _own_log),
)
