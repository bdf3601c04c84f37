"""Kinds of rows that grow with use: which of them go after a time, and which stay.

One entry a kind. What people answered, what they are paid and who may do what is kept until
somebody deletes it; other kinds go after days that the owner sets, or by a rule of their own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Exists, Max, Model, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KT
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.signing import outbox
from annotation.models import (
    AccountMail,
    Announcement,
    Answer,
    AnswerCount,
    Assignment,
    AssignmentItem,
    AuditEntry,
    Candidate,
    ChatContent,
    ChoiceValue,
    Conversation,
    Correction,
    EventBatch,
    EventStream,
    HookDelivery,
    ImportFile,
    ImportPart,
    Item,
    ItemGroup,
    JudgmentCount,
    KeptReply,
    LedgerEntry,
    Message,
    Notice,
    PanelMember,
    Payment,
    PaymentAttempt,
    PayoutBatch,
    PayoutLine,
    Rejection,
    SecurityEvent,
    SpanValue,
    Statement,
    StoredFile,
    System,
    TextValue,
    Trace,
    TraceScore,
    TraceSpan,
    TraceView,
)
from annotation.notifications.actions.webhook_delivery import KEPT_DAYS
from annotation.records.actions import replies
from annotation.records.actions.audit import EVERYDAY, PERMANENT
from annotation.records.installation_state import retention_of
from crowdqc.numbers import plural
from crowdqc.web.terms import Words
from evaluation.models import (
    AnswerScore,
    BoardBundle,
    CallState,
    CallUse,
    CandidateScore,
    ChecklistStage,
    Embedding,
    EncodingShard,
    ItemLabel,
    ItemScore,
    LiveEvaluation,
    LiveJudging,
    LLMAttempt,
    LLMCall,
    OfficialRun,
    Run,
    RunFigure,
    RunShare,
    RunState,
    Sample,
    Selection,
    Snapshot,
    SystemScore,
    WatchNote,
    WorkerScore,
)
from evaluation.models.runs import PUBLISHED

DAYS, YEARS = "days", "years"
DAYS_OF = {DAYS: 1, YEARS: 366}  # a year that is never too short
MOST = {DAYS: 36_500, YEARS: 100}
NOUNS = {DAYS: ("day", "days"), YEARS: ("year", "years")}
SAMPLE_DAYS = 60  # of the figures of the operations page


def _nothing() -> Q:
    return Q()


def _keeps_nothing() -> Q:
    return Q(pk__in=())


def _until_deleted() -> str:
    return _("until deleted")


@dataclass(frozen=True)
class Kind:
    """Rows of one table that grow, with those that belong to them.

    Parameters
    ----------
    born
        The field with the time at which a row came; empty where none has it.
    beside
        Tables whose bytes count as this kind's: a row there belongs to one of its rows.
    only
        Which rows of the table are of this kind; without it all.
    rule
        For how long it is kept, where no owner sets that.
    usual, least, unit, when
        For how long, where an owner sets it, and which of them; ``usual`` None: until deleted.
    age
        The field that says how old a row is; one without a value stays.
    kept
        Rows that stay whatever their age.
    at_once
        Rows a transaction.
    failures
        The name under which a failure of such a row is taken off the operations page.
    """

    name: str
    label: Words
    model: type[Model]
    born: str
    beside: tuple[type[Model], ...] = ()
    only: Callable[[], Q] = _nothing
    rule: Callable[[], str] = _until_deleted
    usual: int | None = None
    least: int = 0
    unit: str = DAYS
    when: Words = ""
    age: str = ""
    kept: Callable[[], Q] = _keeps_nothing
    at_once: int = 5_000
    failures: str = ""

    @property
    def is_settable(self) -> bool:
        """Whether owners set for how long it is kept, and the job deletes what is older."""
        return bool(self.age)

    @property
    def models(self) -> tuple[type[Model], ...]:
        return (self.model, *self.beside)

    @property
    def keeps(self) -> int | None:
        """For how long rows are kept, in ``unit``; None: until deleted, or as the rule says."""
        return retention_of(self.name, self.usual) if self.is_settable else None

    @property
    def keeps_words(self) -> str:
        """For how long rows are kept, in words."""
        if not self.is_settable:
            return self.rule()
        keeps = self.keeps
        if keeps is None:
            return _until_deleted()
        time = plural(keeps, *NOUNS[self.unit])
        return _("%(time)s if %(when)s") % {"time": time, "when": self.when} if self.when else time

    @property
    def setting(self) -> str:
        """What an owner sets."""
        unit = _(NOUNS[self.unit][1])
        if self.when:
            values = {"label": self.label, "when": self.when, "unit": unit}
            return _("%(label)s if %(when)s (%(unit)s)") % values
        return f"{self.label} ({unit})"

    def rows(self) -> QuerySet[Any]:
        """All rows of the kind."""
        return self.model._default_manager.filter(self.only())

    def expired(self, now: dt.datetime) -> QuerySet[Any]:
        """Rows that may go: older than their time, and none of those that stay."""
        keeps = self.keeps
        if not self.is_settable or keeps is None:
            return self.model._default_manager.none()
        # Another process may have read a shorter time before it was forbidden.
        days = max(keeps, self.least) * DAYS_OF[self.unit]
        old = Q(**{f"{self.age}__lt": now - dt.timedelta(days=days)})
        return self.rows().filter(old).exclude(self.kept())


def _exists(model: type[Model], **on: Any) -> Q:
    return Q(Exists(model._default_manager.filter(**on)))


# Runs that figures of other runs name: what a checklist's scores were held against.
NAMED = """
SELECT DISTINCT named.id::bigint FROM evaluation_runfigure f, LATERAL (
    SELECT jsonb_path_query(f.data, '$.series[*].run ? (@.type() == "number")')
    UNION ALL SELECT jsonb_path_query(f.data, '$.human_run ? (@.type() == "number")')
) AS named(id) WHERE f.name IN ('compare', 'about') AND f.run_id <> named.id::bigint
"""


def _kept_runs() -> Q:
    """Runs that something rests on, the newest of their kind, and what follows or precedes such."""
    sources = Run.objects.filter(_runs_by_themselves(), pk=OuterRef("source"))
    return _runs_by_themselves() | Q(Exists(sources)) | _exists(Run, source=OuterRef("pk"))


def _newest(runs: QuerySet[Run], *of: str) -> QuerySet[Any]:
    """Return the greatest number of each group: computed once, however many runs there are."""
    return runs.order_by().values(*of).annotate(newest=Max("pk")).values("newest")


def _runs_by_themselves() -> Q:
    here: dict[str, Any] = {"run": OuterRef("pk")}
    kind, runs = ("task", "method", "lane"), Run.objects.all()
    return (
        Q(state__in=(RunState.QUEUED, RunState.RUNNING))
        | Q(follow_up_due=True)
        | Q(method=PUBLISHED)
        | Q(pk__in=_newest(runs, *kind))
        | Q(pk__in=_newest(runs.filter(state=RunState.DONE), *kind))
        # The newest of a project gives the next one its number.
        | Q(pk__in=_newest(runs, "project"))
        | _exists(OfficialRun, **here)
        | Q(Exists(RunShare.objects.filter(~Q(slug="") | _open_link(), **here)))
        | _exists(BoardBundle, **here)
        | _exists(Selection, **here)
        | _exists(WatchNote, **here)
        | _exists(LiveJudging, **here)
        | _exists(ChecklistStage, **here)
        | _exists(PayoutBatch, project=OuterRef("project"), evidence_run=OuterRef("number"))
        | _exists(PanelMember, panel__project=OuterRef("project"), run_number=OuterRef("number"))
        | Q(pk__in=RawSQL(NAMED, []))  # noqa: S611 - a constant
    )


def _open_link() -> Q:
    return Q(stopped_at=None, expires_at__gt=timezone.now())


def _kept_snapshots() -> Q:
    """Snapshots of a run, or of the result of a live evaluation."""
    live = LiveEvaluation.objects.annotate(frozen=KT("result__snapshot")).filter(
        task=OuterRef("task"), frozen=OuterRef("content_hash")
    )
    return _exists(Run, snapshot=OuterRef("pk")) | Q(Exists(live))


def _kept_calls() -> Q:
    """Calls that a run used or that were imported, and those under way."""
    ended = Q(state__in=(CallState.DONE, CallState.FAILED))
    return ~ended | Q(source="import") | _exists(CallUse, call=OuterRef("pk"))


SCORES: tuple[type[Model], ...] = (
    WorkerScore,
    SystemScore,
    CandidateScore,
    ItemLabel,
    AnswerScore,
    ItemScore,
    RunFigure,
)
# Kinds of notices that name a state and not an event: without its row it would be told anew.
OF_STATES = ("budget.nearly", "budget.used", "run.official", "task.complete")

SETTABLE = (
    Kind(
        "audit",
        gettext_lazy("Audit log: everyday entries"),
        AuditEntry,
        "at",
        only=lambda: Q(action__in=EVERYDAY),
        usual=1_095,
        least=90,
        age="at",
    ),
    Kind(
        "audit_books",
        gettext_lazy("Audit log: money, access and settings"),
        AuditEntry,
        "at",
        only=lambda: ~Q(action__in=EVERYDAY),
        usual=10,
        least=6,
        unit=YEARS,
        age="at",
        kept=lambda: Q(action__in=PERMANENT),
    ),
    Kind(
        "notices",
        gettext_lazy("Notices"),
        Notice,
        "created_at",
        usual=365,
        least=30,
        age="created_at",
        kept=lambda: Q(mail_at__isnull=False) | Q(kind__in=OF_STATES),
    ),
    Kind(
        "runs",
        gettext_lazy("Runs and scores"),
        Run,
        "created_at",
        beside=(*SCORES, CallUse, EncodingShard),
        usual=730,
        least=30,
        when=gettext_lazy("superseded"),
        age="created_at",
        kept=_kept_runs,
        at_once=50,
        failures="run",
    ),
    Kind(
        "snapshots",
        gettext_lazy("Snapshots"),
        Snapshot,
        "created_at",
        usual=30,
        least=1,
        when=gettext_lazy("unused"),
        age="created_at",
        kept=_kept_snapshots,
        at_once=100,
    ),
    Kind(
        "model_calls",
        gettext_lazy("Calls to models"),
        LLMCall,
        "created_at",
        beside=(LLMAttempt,),
        usual=730,
        least=30,
        when=gettext_lazy("unused"),
        age="created_at",
        kept=_kept_calls,
        at_once=1_000,
    ),
    Kind(
        "deliveries",
        gettext_lazy("Webhook deliveries"),
        HookDelivery,
        "created_at",
        usual=KEPT_DAYS,
        least=1,
        age="done_at",
        kept=lambda: Q(state=HookDelivery.State.WAITING),
        failures="webhook",
    ),
)


def _days(days: Callable[[], int]) -> Callable[[], str]:
    return lambda: plural(days(), *NOUNS[DAYS])


# What a rule elsewhere deletes, or nothing but a person does.
OTHERS = (
    Kind(
        "logs",
        gettext_lazy("Interaction logs"),
        EventBatch,
        "received_at",
        (EventStream,),
        rule=lambda: _("as its consent says"),
    ),
    Kind(
        "security",
        gettext_lazy("Security log"),
        SecurityEvent,
        "at",
        rule=_days(lambda: int(settings.CROWDQC_SECURITY_LOG_DAYS)),
    ),
    Kind(
        "replies",
        gettext_lazy("Replies to repeated requests"),
        KeptReply,
        "created_at",
        rule=_days(lambda: replies.KEPT.days),
    ),
    Kind(
        "mail",
        gettext_lazy("Mail about accounts"),
        AccountMail,
        "created_at",
        rule=_days(lambda: outbox.COUNTED.days),
    ),
    Kind(
        "samples",
        gettext_lazy("Samples of operations"),
        Sample,
        "at",
        rule=_days(lambda: SAMPLE_DAYS),
    ),
    Kind(
        "vectors",
        gettext_lazy("Vectors of texts"),
        Embedding,
        "",
        rule=_days(lambda: int(settings.CROWDQC_VECTOR_DAYS)),
    ),
    Kind(
        "traces",
        gettext_lazy("Traces"),
        Trace,
        "first_seen_at",
        (TraceSpan, TraceView, TraceScore),
        rule=lambda: _("as its source says"),
    ),
    Kind(
        "messages",
        gettext_lazy("Messages"),
        Message,
        "at",
        (Conversation, Announcement),
        rule=lambda: _("as its project says"),
    ),
    Kind("uploads", gettext_lazy("Uploads"), ImportFile, "uploaded_at", (ImportPart,)),
    Kind(
        "answers",
        gettext_lazy("Answers"),
        Answer,
        "answered_at",
        (
            *(Assignment, AssignmentItem, TextValue, ChoiceValue, SpanValue),
            *(JudgmentCount, AnswerCount),
        ),
    ),
    Kind("items", gettext_lazy("Items"), Item, "", (ItemGroup, Candidate, ChatContent, System)),
    Kind(
        "books",
        gettext_lazy("Ledger and payouts"),
        LedgerEntry,
        "at",
        (
            *(PayoutBatch, PayoutLine, Rejection, Correction),
            *(Payment, PaymentAttempt, Statement),
        ),
    ),
    Kind("files", gettext_lazy("Files"), StoredFile, "created_at"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (*SETTABLE, *OTHERS)}
