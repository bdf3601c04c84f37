"""The audit log: who did what, filtered, in pages that stay in place while it grows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date

from annotation.models import AuditEntry, Membership, Project, Role, User
from crowdqc.numbers import parse_whole

# What somebody did, after their name. {places} are filled from the entry's detail.
SENTENCES = {
    "account.create": "made the account",
    "account.email": "verified another e-mail address",
    "account.erase": "took every name off the account and closed it",
    "account.name": "changed their name",
    "account.password": "set a new password",
    "adaptive.change": "changed how votes are spent as they come in",
    "adaptive.off": "switched adaptive collection off",
    "adaptive.on": "switched adaptive collection on",
    "adaptive.simulate": "simulated adaptive collection",
    "answer.count": "decided that an answer counts",
    "answer.uncount": "decided that an answer does not count",
    "answers.erase": "erased texts of an assignment ({texts})",
    "answers.import": "imported answers of workers",
    "assignment.claim": "claimed an assignment of {items}",
    "assignment.extend": "asked for more time",
    "assignment.return": "returned an assignment",
    "assignment.submit": "submitted an assignment",
    "assignment.take_back": "returned an assignment in its worker’s place",
    "attributes.import": "imported attributes",
    "audit.close": "closed an audit of explanations",
    "audit.open": "opened an audit of explanations",
    "audit.verdict": "judged an explanation",
    "candidates.add": "added {new} texts to be judged",
    "checklist.create": "began a checklist",
    "checklist.freeze": "froze version {number} of a checklist",
    "checklist.stage": "saved the stage “{stage}” of a checklist",
    "checklist.task": "made a task of a checklist",
    "checks.import": "imported filled checklists",
    "consent.change": "wrote version {number} of the consent text",
    "consent.give": "agreed to be recorded",
    "consent.withdraw": "took the agreement back",
    "documents.import": "imported documents with answers",
    "endpoint.add": "added an address of models",
    "endpoint.archive": "put an address of models away",
    "endpoint.change": "changed an address of models",
    "endpoint.set_key": "set the key of an address of models",
    "crowdrag.import": "imported a study with its judgments",
    "demo.load": "loaded the demo",
    "correction.approve": "approved a correction of {amount}",
    "correction.decline": "declined a correction",
    "correction.propose": "proposed a correction of {amount}",
    "entry.bind": "came in again after being let in",
    "entry.leave": "was sent back to the platform they came from",
    "entry.open": "came in from elsewhere",
    "entry.refused": "refused an entry",
    "entry.release": "let a person come in with another browser",
    "export.remove": "removed a file",
    "export.request": "asked for a file",
    "grading.close": "closed a grading",
    "grading.mark": "graded an answer",
    "grading.open": "opened a grading of {answers} answers",
    "grading.reconcile": "settled a grade between two graders",
    "hook.add": "added an address that is told of events",
    "hook.change": "changed an address that is told of events",
    "hook.pause": "paused an address that is told of events",
    "hook.ping": "sent a trial to an address that is told of events",
    "hook.redeliver": "sent an event again",
    "hook.remove": "removed an address that is told of events",
    "hook.resume": "resumed an address that is told of events",
    "invitation.accept": "joined by an invitation",
    "invitation.create": "invited a {role}, {cap} at most",
    "invitation.revoke": "revoked an invitation",
    "item.known": "changed the known answer of item {key}",
    "item.priority": "changed which question comes first",
    "items.import": "imported questions",
    "items.wanted": "changed how many answers {items} questions get",
    "judgments.import": "imported judgments",
    "label_studio.import": "imported tasks of Label Studio",
    "ledger.correct": "booked a correction",
    "log.erase": "erased the interaction log of an assignment, {events} events",
    "mail.off": "switched mail off",
    "mail.on": "switched mail on",
    "notices.mute": "chose which notices to get",
    "member.remove": "ended the membership of a {role}",
    "model.add": "added the model {name}",
    "model.archive": "put a model away",
    "model.change": "changed a model",
    "model.probe": "tried what a model can do",
    "pairs.make": "made pairs",
    "panel.admit": "let workers onto a panel",
    "panel.create": "made a panel",
    "panel.end": "ended a seat on a panel",
    "panel.note": "looked at what a run said of a panel",
    "panel.rename": "renamed a panel",
    "panel.select": "chose workers for a panel",
    "panel.task": "set the panel of a task",
    "panel.watch": "changed what is watched of a panel",
    "payment.done": "confirmed a payment",
    "payment.resend": "sent a payment again",
    "payment.resolve": "settled a payment that nobody could tell of",
    "payment.retry": "asked for another try of a payment",
    "payment.unclear": "could not tell whether a payment went out",
    "payout.approve": "approved a proposal",
    "payout.propose": "proposed payouts",
    "payout.reject_line": "rejected an assignment",
    "payout.rule": "changed the rule of payouts",
    "payout.send_back": "sent a proposal back",
    "payout.stop": "sent a proposal back, as its proposer was removed",
    "project.change": "changed the settings",
    "project.create": "made the project",
    "project.second_factor": "switched the second factor for payments {required}",
    "qualification.decide": "decided on a qualification round",
    "ratings.import": "imported ratings",
    "recruitment.add": "added a way in",
    "recruitment.change": "changed a way in",
    "recruitment.links": "made signed links",
    "rejection.decide": "answered a reply to a rejection: {outcome}",
    "rejection.reply": "replied to a rejection",
    "responses.import": "imported responses",
    "responses.judge": "put {new} responses to judgment",
    "retention.change": "changed how long texts are kept",
    "role.accept": "accepted the role of a {role}",
    "role.confirm": "confirmed a {role}",
    "role.decline": "declined a {role}",
    "run.cancel": "cancelled run {number}",
    "run.official": "made run {number} the official run",
    "run.official_first": "let run {number} be the official run, as the first",
    "run.official_followed": "let run {number} follow as the official run, by the same recipe",
    "run.schedule": "changed when runs start automatically",
    "run.start": "started run {number}",
    "samples.add": "added samples",
    "scores.import": "imported scores",
    "sets.compare": "began a comparison of two sets",
    "sets.compared": "finished a comparison of two sets",
    "statement.book": "booked what a platform paid",
    "statement.import": "took in a statement of a platform",
    "statement.settle": "settled a line of a statement",
    "summeval.import": "imported rated summaries",
    "systems.answer": "stored answers of a model",
    "systems.import": "imported answers of systems",
    "systems.think_aloud": "stored attributes of a model",
    "task.close": "closed a task",
    "task.create": "began a task",
    "task.domain": "named the domain of a task",
    "task.panels": "set the panels of a task",
    "task.pause": "paused a task",
    "task.reopen": "opened a task again",
    "task.resume": "let a task go on",
    "token.make": "made a token of the API",
    "token.revoke": "ended a token of the API",
    "topics.add": "added topics",
    "upload.keep": "uploaded a file",
    "upload.map": "said what the columns of a file are",
    "upload.import": "imported an uploaded file",
    "upload.remove": "deleted an uploaded file",
    "version.begin": "began a version of a task",
    "version.discard": "discarded a draft",
    "version.publish": "published version {number} of a task",
    "visit.status": "heard from a platform: {status}",
    "worker.data": "downloaded what is kept of a worker",
    "worker.erase": "erased a worker: texts, logs and names",
    "worker.erase_ask": "decided that a worker is erased",
    "worker.exclude": "left a worker out of results",
    "worker.include": "let a worker enter results again",
}
# The first part of an action, in words: what one looks for.
FAMILIES = {
    "account": "Accounts",
    "attributes": "Attributes",
    "checks": "Filled checklists",
    "adaptive": "Adaptive collection",
    "answer": "What counts",
    "answers": "Answers",
    "assignment": "Work",
    "audit": "Audits of explanations",
    "candidates": "Texts under judgment",
    "checklist": "Checklists",
    "consent": "Consent",
    "correction": "Corrections",
    "role": "Roles",
    "crowdrag": "Imported studies",
    "demo": "Demo",
    "documents": "Documents",
    "endpoint": "Addresses of models",
    "entry": "Ways in",
    "export": "Files",
    "grading": "Gradings",
    "hook": "Outgoing events",
    "invitation": "Invitations",
    "item": "Priorities",
    "items": "Questions",
    "judgments": "Judgments",
    "ledger": "Books",
    "label_studio": "Label Studio",
    "notices": "Notices",
    "log": "Interaction logs",
    "mail": "Mail",
    "member": "Members",
    "model": "Models",
    "pairs": "Pairs",
    "panel": "Panels",
    "payment": "Payments",
    "payout": "Payouts",
    "project": "Project",
    "qualification": "Qualification",
    "ratings": "Ratings",
    "recruitment": "Recruitment",
    "rejection": "Rejections",
    "responses": "Responses",
    "retention": "Retention",
    "run": "Runs",
    "samples": "Samples",
    "scores": "Scores",
    "sets": "Comparisons of sets",
    "statement": "Statements",
    "systems": "Systems",
    "task": "Tasks",
    "token": "Tokens",
    "summeval": "Imported summaries",
    "topics": "Topics",
    "upload": "Uploads",
    "version": "Versions",
    "visit": "Reports of platforms",
    "worker": "Workers",
}
# What an entry is about, by the name of its table.
OBJECTS = {
    "apitoken": "token",
    "llmcall": "call",
    "languagemodel": "model",
    "taskversion": "version",
    "payoutbatch": "proposal",
    "payoutline": "line",
    "consenttext": "consent text",
    "membership": "member",
    "itemgroup": "text",
    "importfile": "upload",
    "exportfile": "file",
    "eventstream": "log",
    "checklistversion": "version",
    "checkliststage": "stage",
    "setcomparison": "comparison",
    "explanationaudit": "audit",
    "auditverdict": "verdict",
    "user": "account",
    "rolegrant": "role",
    "panelmember": "seat",
    "panelwatch": "watch",
    "watchnote": "note",
    "ledgerentry": "booking",
}


class _Gaps(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return "?"


def sentence(action: str, detail: Mapping[str, Any]) -> str:
    """What was done, in words; an action without a sentence as it is written."""
    told = SENTENCES.get(action)
    if told is None:
        return action
    plain = {name: value for name, value in detail.items() if isinstance(value, str | int)}
    return told.format_map(_Gaps(plain))


def subject_of(kind: str, pk: int | None) -> str:
    """What an entry is about, as "task 12"."""
    return f"{OBJECTS.get(kind, kind)} {pk}" if kind and pk is not None else ""


def detail_line(detail: Mapping[str, Any]) -> str:
    """The detail as one line of a recipe."""
    return ", ".join(f"{name} {_short(value)}" for name, value in sorted(detail.items()))


def _short(value: Any) -> str:
    told = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return told if len(told) <= 80 else f"{told[:79]}…"


PAGE = 50
SYSTEM = "the system"
CHUNK = 2000


@dataclass(frozen=True)
class Filters:
    """What of the log is shown; empty: everything."""

    person: str = ""
    family: str = ""
    object_type: str = ""
    object_id: int = 0
    since: dt.date | None = None
    until: dt.date | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filters:
        """From an address; what cannot be read filters nothing."""
        number = query.get("id", "")
        family = query.get("family", "")
        return cls(
            query.get("person", "").strip()[:80],
            family if family in FAMILIES else "",
            query.get("object", "")[:40],
            parse_whole(number) or 0,
            _date(query.get("since", "")),
            _date(query.get("until", "")),
        )

    @property
    def any(self) -> bool:
        return self != Filters()

    @property
    def query(self) -> str:
        """The same as the end of an address."""
        told = {
            "person": self.person,
            "family": self.family,
            "object": self.object_type,
            "id": self.object_id,
            "since": self.since,
            "until": self.until,
        }
        return urlencode({name: value for name, value in told.items() if value})


def _date(text: str) -> dt.date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class Line:
    """One entry in words."""

    entry: AuditEntry
    who: str
    said: str
    about: str
    rest: str


@dataclass(frozen=True)
class Page:
    """Entries, the newest first, and where the older ones begin."""

    lines: list[Line]
    older: int | None


class _Names:
    """Names of actors as this project knows them: staff by name, workers by pseudonym alone."""

    def __init__(self, project: Project) -> None:
        self.known: dict[int, str] = {}
        for member in project.memberships.filter(user__isnull=False).select_related("user"):
            worker = member.role == Role.WORKER
            if member.user_id is not None and not (worker and member.user_id in self.known):
                self.known[member.user_id] = member.pseudonym if worker else str(member.user)

    def of(self, entry: AuditEntry) -> str:
        if entry.actor_id is None:
            return SYSTEM
        return self.known.get(entry.actor_id, "somebody who left")


def _midnight(day: dt.date) -> dt.datetime:
    return timezone.make_aware(dt.datetime.combine(day, dt.time()))


def entries(project: Project, filters: Filters) -> QuerySet[AuditEntry]:
    """The project's entries that the filters let through, the newest first."""
    rows = AuditEntry.objects.filter(project=project).order_by("-pk")
    if filters.person:
        rows = rows.filter(_by(project, filters.person))
    if filters.family:
        rows = rows.filter(action__startswith=f"{filters.family}.")
    if filters.object_type:
        rows = rows.filter(object_type=filters.object_type)
    if filters.object_id:
        rows = rows.filter(object_id=filters.object_id)
    if filters.since:
        rows = rows.filter(at__gte=_midnight(filters.since))
    if filters.until:
        rows = rows.filter(at__lt=_midnight(filters.until) + dt.timedelta(days=1))
    return rows


def _by(project: Project, name: str) -> Q:
    """Entries of the people of the project who are called so; a worker only by pseudonym."""
    if name == SYSTEM:
        return Q(actor=None)
    called = Q(role=Role.WORKER, pseudonym__iexact=name) | (
        ~Q(role=Role.WORKER) & (Q(user__display_name__iexact=name) | Q(user__username__iexact=name))
    )
    found = Membership.objects.filter(called, project=project, user__isnull=False)
    return Q(actor__in=list(found.values_list("user_id", flat=True)))


def page(project: Project, filters: Filters, before: int = 0) -> Page:
    """One page of entries, those before the entry ``before`` if it is given."""
    rows = entries(project, filters)
    if before:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: PAGE + 1])
    older = found[PAGE - 1].pk if len(found) > PAGE else None
    return Page(lines(project, found[:PAGE]), older)


def lines(project: Project, found: Iterable[AuditEntry]) -> list[Line]:
    """These entries of the project in words."""
    names = _Names(project)
    return [_line(one, names.of(one)) for one in found]


def _line(entry: AuditEntry, who: str) -> Line:
    return Line(
        entry,
        who,
        sentence(entry.action, entry.detail),
        subject_of(entry.object_type, entry.object_id),
        detail_line(entry.detail),
    )


COLUMNS = ("id", "at", "who", "action", "said", "object", "object_id", "detail")


def rows(project: Project, filters: Filters) -> Iterator[dict[str, Any]]:
    """The same entries as rows of a file, the oldest first."""
    names = _Names(project)
    for one in entries(project, filters).order_by("pk").iterator(chunk_size=CHUNK):
        line = _line(one, names.of(one))
        told = (
            one.pk,
            one.at.isoformat(),
            line.who,
            one.action,
            line.said,
            one.object_type,
            one.object_id,
            line.rest,
        )
        yield dict(zip(COLUMNS, told, strict=True))


def staff_names(project: Project) -> list[str]:
    """Who can be looked for by name."""
    found = project.memberships.exclude(role=Role.WORKER).select_related("user")
    return sorted({str(one.user) for one in found})


def object_types(project: Project) -> list[tuple[str, str]]:
    """What entries are about, with the words for it."""
    kinds = AuditEntry.objects.filter(project=project).values_list("object_type", flat=True)
    return sorted((kind, subject_of(kind, 0)[:-2]) for kind in set(kinds.distinct()) if kind)


def own_account_entries(user: User, limit: int = PAGE) -> list[Line]:
    """What the person's account did outside any project: tokens, passwords, mail."""
    found = AuditEntry.objects.filter(actor=user, project=None).order_by("-pk")[:limit]
    return [_line(one, "You") for one in found]
