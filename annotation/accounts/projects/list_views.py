"""The list of a project's workers and its bulk actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.db.models import (
    Count,
    Expression,
    F,
    FloatField,
    Func,
    JSONField,
    OuterRef,
    Q,
    Subquery,
    Sum,
    TextField,
    Value,
)
from django.db.models.functions import Cast, Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.access import Access
from annotation.accounts.projects import actions
from annotation.accounts.projects.selectors import list_workers, worker_places
from annotation.authoring.selectors.progress import ENOUGH_TIMES, median_seconds
from annotation.hooks import worker_evidence
from annotation.lists.definition import (
    Bulk,
    Choice,
    Column,
    Filter,
    Listing,
    Reasons,
    apply_to_each,
)
from annotation.models import (
    Assignment,
    LedgerEntry,
    Membership,
    PanelMember,
    Project,
    Rejection,
)
from annotation.models.assignments import AssignmentState
from annotation.models.payouts import DUE, PAID_OUT
from annotation.panels.actions import panels
from annotation.payouts.actions.many import ProposedPay, amounts_seen, approve_pay_of
from annotation.payouts.actions.rules import why_not_decide_in
from annotation.payouts.selectors.proposals import proposed_lines, waiting_work
from crowdqc.database.quantiles import Quantile, seconds_between
from crowdqc.numbers import money, plural

ZERO = Decimal("0.00")
MEMBERS, REMOVED = "members", "removed"


COLUMNS = (
    Column("worker", gettext_lazy("Worker"), sort=("pseudonym",), fixed=True),
    Column("consent", gettext_lazy("Consent"), sort=("agreed",)),
    Column("submitted", gettext_lazy("Submitted"), sort=("submitted",), number=True, down=True),
    Column("pace", gettext_lazy("Time"), sort=("pace",), number=True, term="relative-time"),
    Column("quality", gettext_lazy("Quality"), term="median-quality"),
    Column("flags", gettext_lazy("Open flags"), term="flags"),
    Column("alike", gettext_lazy("Looks like"), term="look-alikes"),
    Column("rejected", gettext_lazy("Rejected"), sort=("rejected",), number=True, down=True),
    Column("approved", gettext_lazy("Approved pay"), sort=("approved",), number=True, down=True),
    Column("proposed", gettext_lazy("Proposed pay"), sort=("proposed",), number=True, down=True),
    Column(
        *("waiting", gettext_lazy("Waiting for review")),
        sort=("waiting_n", "waiting"),
        number=True,
        down=True,
    ),
    Column("unpaid", gettext_lazy("Approved, not paid"), sort=("unpaid",), number=True, down=True),
    Column("paid", gettext_lazy("Paid"), sort=("paid",), number=True, down=True),
    Column("last", gettext_lazy("Last"), sort=("last_submit",), down=True),
    Column("joined", gettext_lazy("Joined"), sort=("created_at",), down=True, shown=False),
)
CONSENT = (
    Choice("yes", gettext_lazy("Agreed"), Q(agreed=True)),
    Choice("no", gettext_lazy("Not yet"), Q(agreed=False) & ~Q(user=None)),
    Choice("file", gettext_lazy("None recorded"), Q(user=None)),
)
WORK = (
    Choice("waiting", gettext_lazy("Waiting for review"), Q(waiting_n__gt=0)),
    Choice("proposed", gettext_lazy("Pay awaits approval"), Q(proposed__gt=0)),
    Choice("unpaid", gettext_lazy("Approved, not paid"), Q(unpaid__gt=0)),
    Choice("rejected", gettext_lazy("Rejected work"), Q(rejected__gt=0)),
    Choice("some", gettext_lazy("Submitted work"), Q(submitted__gt=0)),
    Choice("none", gettext_lazy("Nothing submitted"), Q(submitted=0)),
)


# What is looked for most, as switches above the table.
QUICK = (
    ("evidence", "look"),
    ("evidence", "flagged"),
    ("evidence", "alike"),
    ("work", "waiting"),
    ("work", "rejected"),
    ("work", "unpaid"),
)


class PanelForm(forms.Form):
    """A panel and the reason."""

    panel = forms.CharField(
        label=gettext_lazy("Panel"),
        max_length=80,
        help_text=gettext_lazy("A panel of this name is made where there is none."),
    )
    why = forms.CharField(max_length=300, required=False, label=gettext_lazy("Reason"))


def worker_list(access: Access, query: Mapping[str, str] = MappingProxyType({})) -> Listing:
    """List the workers of a project, or those who were removed where ``query`` asks for them."""
    removed = query.get(MEMBERS) == REMOVED
    project = access.project
    proposed = proposed_lines(project).filter(assignment__worker=OuterRef("pk")).order_by()
    amount = proposed.values("assignment__worker").annotate(s=Sum(F("base") + F("bonus")))
    rejected = Rejection.objects.filter(assignment__worker=OuterRef("pk")).order_by()
    standing = rejected.exclude(outcome=Rejection.Outcome.OVERTURNED)
    refused = standing.values("assignment__worker").annotate(n=Count("pk"))
    booked = LedgerEntry.objects.owed().filter(worker=OuterRef("pk")).order_by()
    earned = booked.values("worker").annotate(s=Sum("amount"))
    work = Assignment.objects.filter(
        worker=OuterRef("pk"), state=AssignmentState.SUBMITTED, opened_at__isnull=False
    )
    account = LedgerEntry.objects.filter(worker=OuterRef("pk")).order_by().values("worker")
    took = work.filter(quiz=None).exclude(source="import").order_by().values("worker")
    spent = seconds_between("opened_at", "submitted_at")
    own = Assignment.objects.filter(worker=OuterRef("pk"))
    open_work = waiting_work(own).order_by().values("worker")
    rows = list_workers(project, removed=removed).annotate(
        proposed=Coalesce(Subquery(amount.values("s")), ZERO),
        rejected=Coalesce(Subquery(refused.values("n")), 0),
        approved=Coalesce(Subquery(earned.values("s")), ZERO),
        paid=Coalesce(Subquery(account.annotate(s=PAID_OUT).values("s")), ZERO),
        unpaid=Coalesce(Subquery(account.annotate(s=DUE).values("s")), ZERO),
        waiting=Coalesce(Subquery(open_work.annotate(s=Sum("pay")).values("s")), ZERO),
        waiting_n=Coalesce(Subquery(open_work.annotate(n=Count("pk")).values("n")), 0),
        pace=Subquery(
            took.annotate(m=Quantile(spent / _usual_seconds(project), share=0.5)).values("m")
        ),
    )
    evidence = worker_evidence(project)
    on = [
        Choice(str(one.pk), one.name, Q(pk__in=_members(one.pk)))
        for one in project.panels.order_by("name")[:50]
    ]
    return Listing(
        slug="people",
        nouns="worker,workers",
        caption=_("Workers of the project"),
        rows=rows,
        columns=COLUMNS,
        template="annotation/accounts/projects/_worker.html",
        order="worker",
        search=worker_places(access),
        search_label=_("Search by pseudonym or ID"),
        filters=(
            Filter(
                MEMBERS,
                _("Members"),
                (Choice(REMOVED, _("Removed"), Q(removed_at__isnull=False)),),
                every=_("Current"),
            ),
            Filter("consent", _("Consent"), CONSENT),
            Filter("evidence", _("Evidence"), _evidence_choices(evidence)),
            Filter("work", _("Work"), WORK),
            Filter("panel", _("Panel"), on),
        ),
        quick=QUICK,
        bulk=_bulk(access, removed=removed),
        name_of=lambda worker: worker.pseudonym,
        read=lambda found: _with_evidence(found, evidence),
    )


def _usual_seconds(project: Project) -> Expression:
    """The middle time of an assignment's task; NULL where too few were submitted for one."""
    medians = {
        str(task): middle
        for task, (middle, n) in median_seconds(project).items()
        if n >= ENOUGH_TIMES and middle > 0
    }
    of_task = Func(
        Value(medians, output_field=JSONField()),
        Cast("task_id", TextField()),
        arg_joiner=" ->> ",
        template="(%(expressions)s)",
        output_field=TextField(),
    )
    return Cast(of_task, FloatField())


def _money_left(rows: Sequence[Any], currency: str) -> list[str]:
    """What workers who are removed are still owed, and what of their work waits for review."""
    owed = [row.unpaid for row in rows if row.unpaid > 0]
    waiting = [row for row in rows if row.waiting_n]
    told = []
    if owed:
        told.append(
            _("Approved and not paid: %(amount)s to %(workers)s. It stays owed.")
            % {
                "amount": money(sum(owed, ZERO), currency),
                "workers": plural(len(owed), "worker"),
            }
        )
    if waiting:
        told.append(
            _("Waiting for review: %(assignments)s of %(workers)s, %(amount)s. Review stays open.")
            % {
                "assignments": plural(sum(row.waiting_n for row in waiting), "assignment"),
                "workers": plural(len(waiting), "worker"),
                "amount": money(sum((row.waiting for row in waiting), ZERO), currency),
            }
        )
    return told


class _LateIds:
    """Ids that are read where a filter asks for them."""

    def __init__(self, read: Callable[[], Iterable[int]]) -> None:
        self.read = read

    def __iter__(self) -> Iterator[int]:
        return iter(self.read())


def _evidence_choices(evidence: Any) -> tuple[Choice, ...]:
    """Filters by what is known of workers (``hooks.worker_evidence``)."""
    return (
        Choice("look", _("Needs a look"), Q(pk__in=_LateIds(lambda: evidence.needs_look))),
        Choice("flagged", _("Open flags"), Q(pk__in=_LateIds(lambda: evidence.flagged))),
        Choice("below", _("Below the median"), Q(pk__in=_LateIds(lambda: evidence.below_median))),
        Choice("alike", _("Look-alikes"), Q(pk__in=_LateIds(lambda: evidence.alike))),
    )


def _with_evidence(rows: list[Membership], evidence: Any) -> list[Membership]:
    """The rows of a page, each with ``summary``."""
    found = evidence.summaries([row.pk for row in rows])
    for row in rows:
        row.summary = found[row.pk]  # type: ignore[attr-defined]
    return rows


def _members(panel: int) -> Any:
    return PanelMember.objects.filter(panel=panel, until=None).values("worker")


def _bulk(access: Access, *, removed: bool) -> list[Bulk]:
    if removed:
        return [
            Bulk(
                "take_back",
                _("Take back"),
                _("Took back"),
                apply_to_each(lambda row: actions.take_back_worker(by=access.user, worker=row)),
                sentence=_("They can claim work here again."),
            )
        ]
    found = []
    if access.is_manager or not why_not_decide_in(access.project, access.user):
        found.append(_approve(access))
    if access.is_requester:
        found.append(
            Bulk(
                "panel",
                _("Add to panel"),
                _("Added"),
                lambda rows, values: _admit(access, rows, values),
                sentence=_("They are told, and the panel’s tasks are open to them."),
                form=PanelForm,
            )
        )
        found.append(
            Bulk(
                "remove_from_task",
                _("Remove from task"),
                sentence=_("What changes in its results is shown before anything is done."),
                form=lambda data: TaskForm(data, project=access.project),
                leads_to=lambda rows, values: _removal_url(rows, values["task"]),
            )
        )
    remove = apply_to_each(lambda row: actions.remove_member(by=access.user, member=row))
    found.append(
        Bulk(
            "remove",
            _("Remove from project"),
            _("Removed"),
            remove,
            sentence=_("They cannot claim more work here. Answers, logs and payments stay."),
            effect=lambda rows: _money_left(rows, access.project.currency),
            danger=True,
        )
    )
    return found


class TaskForm(forms.Form):
    """The task from which workers are removed."""

    task = forms.TypedChoiceField(label=gettext_lazy("Task"), coerce=int)

    def __init__(self, data: Mapping[str, Any] | None, *, project: Project) -> None:
        super().__init__(data)
        tasks = project.tasks.filter(current__isnull=False).order_by("-pk")
        field = cast(forms.TypedChoiceField, self.fields["task"])
        field.choices = list(tasks.values_list("pk", "current__title"))


def _removal_url(rows: Sequence[Membership], task: int) -> str:
    """The address of the dialog that removes workers from a task."""
    first, *others = rows
    url = reverse("task_exclude", args=[first.project_id, task, first.pk])
    return f"{url}?{urlencode([('also', one.pk) for one in others])}"


def _admit(access: Access, rows: Sequence[Membership], values: Mapping[str, Any]) -> Reasons:
    panel = panels.get_or_create_panel(by=access.user, project=access.project, name=values["panel"])
    made = panels.admit(by=access.user, panel=panel, workers=rows, why=values["why"])
    new = {one.worker_id for one in made}
    return {row.pk: _("They are on the panel already.") for row in rows if row.pk not in new}


def _approve(access: Access) -> Bulk:
    def pay(rows: Sequence[Membership]) -> ProposedPay:
        return ProposedPay(by=access.user, project=access.project, workers=rows)

    def carry(rows: Sequence[Membership]) -> dict[str, str]:
        shown = pay(rows)
        return {f"seen_{pk}": str(shown.amount(pk)) for pk in shown.open}

    def act(rows: Sequence[Membership], values: Mapping[str, Any]) -> Reasons:
        return approve_pay_of(
            by=access.user,
            project=access.project,
            workers=rows,
            seen=amounts_seen(values.get("sent", {})),
        )

    return Bulk(
        "approve",
        _("Approve pay"),
        _("Approved the pay of"),
        act,
        sentence=_("What open proposals pay them will be written to the ledger."),
        why_not=lambda rows: pay(rows).reasons(rows),
        effect=lambda rows: pay(rows).effects(),
        carry=carry,
    )
