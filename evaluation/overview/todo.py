"""What waits for this person: facts, each with the way to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from annotation.access import Access
from annotation.accounts.roles.selectors import Ties, load_ties
from annotation.authoring.selectors.progress import HourlyPay, TaskProgress
from annotation.conversations.selectors import count_waiting
from annotation.models import Membership, PayoutBatch, Project, Task
from annotation.models.tasks import TaskState
from annotation.payouts.actions.rules import why_not_decide_in
from annotation.payouts.details.selectors import hand_refusals_open
from annotation.payouts.selectors.balance import hand_sums
from annotation.payouts.selectors.next_steps import may_approve, open_proposals
from annotation.payouts.selectors.proposals import OwedReplies, rejections_owed, waiting_by_task
from annotation.work.selectors.speed import Pace
from crowdqc.money import as_decimal, round_money
from crowdqc.numbers import ago, money, plural
from evaluation.free_text.run import AQER
from evaluation.free_text.selectors.findings import item_numbers, warnings_of_run
from evaluation.models import Run
from evaluation.overview.selectors import Facts, below_floor, items_noun, noun_of
from evaluation.pairwise.run import CORE
from evaluation.pairwise.selectors import facts as pair_facts
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.panels import selectors as panels
from evaluation.results.findings import Finding, Severity
from evaluation.runs.selectors.lists import figures_of

CENT = Decimal("0.01")
MOST_WARNINGS = 2


@dataclass(frozen=True)
class Todo:
    """One line: mark, bold head, the rest, and the way."""

    mark: str
    head: str
    text: str
    url: str
    link: str


def todos(found: Facts) -> list[Todo]:
    """List all that waits for somebody, longest waiting for people first."""
    return [
        *_rejections(found.access, rejections_owed(found.access.project)),
        *_reviews(found.access.project, found.waiting),
        *_proposals(found.access, found.proposals, found.chain),
        *_payments(found.access),
        *_too_fast(found),
        *_notes(found),
        *_warnings(found),
        *_floor(found),
        *_drafts(found),
    ]


def task_todos(access: Access, task: Task) -> list[Todo]:
    """List what waits for this person in one task, longest waiting for people first."""
    waiting = waiting_by_task(access.project).get(task.pk)
    proposals = list(open_proposals(access).filter(task=task))
    chain = load_ties(access.project) if proposals else Ties(())
    return [
        *_rejections(access, rejections_owed(access.project, task)),
        *_reviews(access.project, {task.pk: waiting} if waiting else {}),
        *_messages(access.project, task),
        *_proposals(access, proposals, chain),
        *_unpublished(access, task),
    ]


def _unpublished(access: Access, task: Task) -> Iterator[Todo]:
    """The draft over the published version, which nobody is shown yet."""
    draft = task.versions.filter(published_at=None).first() if task.current_id else None
    if draft is None or not access.is_requester:
        return
    new = task.items.filter(since=draft.number).count()
    text = _("is not published yet, so nobody sees it.")
    if new:
        text = _("with %(items)s is not published yet, so nobody sees it.") % {
            "items": plural(new, "new or changed item")
        }
    url = reverse("task_build", args=[access.project.pk, task.pk])
    head = _("Version %(number)s") % {"number": draft.number}
    yield Todo("draft", head, text, url, _("Preview and publish"))


def _messages(project: Project, task: Task) -> Iterator[Todo]:
    number = count_waiting(project, task)
    if number:
        url, head = reverse("message_list", args=[project.pk]), plural(number, "message")
        text = ngettext("waits for a reply.", "wait for a reply.", number)
        yield Todo("waiting", head, text, url, _("Answer"))


def _reviews(project: Project, waiting: Mapping[int, dict[str, Any]]) -> Iterator[Todo]:
    for task_id, row in waiting.items():
        oldest = ago(timezone.localtime(row["oldest"]), now=timezone.localtime())
        text = _("of %(title)s to approve or reject, the oldest from %(oldest)s.") % {
            "title": row["title"],
            "oldest": oldest,
        }
        if row["late"]:
            late = ngettext(
                "%(late)s waits longer than the %(days)s promised to workers.",
                "%(late)s wait longer than the %(days)s promised to workers.",
                row["late"],
            ) % {"late": row["late"], "days": plural(project.decide_days, "day")}
            text = f"{text} {late}"
        yield Todo(
            "warn" if row["late"] else "waiting",
            plural(row["n"], "assignment"),
            text,
            reverse("review", args=[project.pk, task_id]),
            _("Review"),
        )


def _proposals(access: Access, proposals: Iterable[PayoutBatch], chain: Ties) -> Iterator[Todo]:
    for batch in proposals:
        url = reverse("payout", args=[access.project.pk, batch.number])
        name = _("Proposal %(number)s") % {"number": batch.number}
        if may_approve(access, batch, chain):
            yield Todo(
                "waiting",
                name,
                _("of %(name)s waits for you.") % {"name": batch.proposed_by},
                url,
                _("Look at it"),
            )
        elif batch.proposed_by_id == access.user.pk:
            text = _("of yours waits for approval.")
            yield Todo("waiting", name, text, url, _("See it"))


def _payments(access: Access) -> Iterator[Todo]:
    """By currency, approved pay that this person may pay by hand; and what they may reject so."""
    if why_not_decide_in(access.project, access.user):
        return
    url = reverse("payment_by_hand", args=[access.project.pk])
    for row in hand_sums(access.project):
        text = _("to make by hand: %(amount)s to %(people)s.") % {
            "amount": money(row.amount, row.currency),
            "people": plural(row.people, "person", "people"),
        }
        yield Todo("waiting", plural(row.payments, "payment"), text, url, _("Pay"))
    refusals = hand_refusals_open().filter(assignment__task__project=access.project).count()
    if refusals:
        text = _("to reject on Prolific’s pages.")
        yield Todo("waiting", plural(refusals, "submission"), text, url, _("Reject"))


def _too_fast(found: Facts) -> Iterator[Todo]:
    """By task, work awaiting review that was done faster than it can be read: for a look."""
    project = found.access.project
    by_task: dict[int, list[Pace]] = {}
    for pace in found.too_fast:
        if pace.waits and pace.task_id in found.waiting:
            by_task.setdefault(pace.task_id, []).append(pace)
    for task_id, rows in by_task.items():
        people = plural(len({row.worker_id for row in rows}), "person", "people")
        rates = [rate for row in rows if (rate := row.hourly) is not None]
        said = (
            _(
                "of %(title)s took less time than reading needs or you estimated: %(people)s, up "
                "to %(rate)s an hour."
            )
            if rates
            else _("of %(title)s took less time than reading needs or you estimated: %(people)s.")
        )
        yield Todo(
            "warn",
            plural(len(rows), "assignment"),
            said
            % {
                "title": found.waiting[task_id]["title"],
                "people": people,
                "rate": money(max(rates), project.currency) if rates else "",
            },
            reverse("review", args=[project.pk, task_id]) + "?sort=time",
            _("Fastest first"),
        )


def _rejections(access: Access, owed: OwedReplies) -> Iterator[Todo]:
    """Replies that are owed an answer; those past their day are said first, and stay so."""
    if not owed or why_not_decide_in(access.project, access.user):
        return
    url = reverse("rejection_list", args=[access.project.pk]) + "?show=owed"
    if owed.late:
        text = ngettext(
            "to a rejection is past the day on which an answer was owed.",
            "to a rejection are past the day on which an answer was owed.",
            owed.late,
        )
        yield Todo("bad", plural(owed.late, "reply", "replies"), text, url, _("Answer"))
    if owed.n > owed.late:
        waiting = owed.n - owed.late
        text = ngettext(
            "has a reply that nobody has answered.",
            "have a reply that nobody has answered.",
            waiting,
        )
        yield Todo("waiting", plural(waiting, "rejection"), text, url, _("Answer"))


def _notes(found: Facts) -> Iterator[Todo]:
    """Yield the notes of runs on members of watched panels that nobody has looked at."""
    for panel, name, n in panels.open_notes(found.access.project):
        url = reverse("panel", args=[found.access.project.pk, panel]) + "#watch"
        text = ngettext(
            "about members of the panel “%(name)s” waits for a look.",
            "about members of the panel “%(name)s” wait for a look.",
            n,
        ) % {"name": name}
        yield Todo("waiting", plural(n, "note"), text, url, _("Look"))


def _warnings(found: Facts) -> Iterator[Todo]:
    """The gravest notes of the project's last run."""
    if not found.runs:
        return
    run = max(found.runs.values(), key=lambda one: one.pk)
    told = _run_warnings(found, run)
    url = reverse("task_results", args=[found.access.project.pk, run.task_id])
    title = next((row.progress.title for row in found.rows if row.task.pk == run.task_id), "")
    for one in [note for note in told if note.severity == Severity.WARNING][:MOST_WARNINGS]:
        yield Todo(
            "warn",
            one.text,
            _("%(text)s (%(title)s, run %(number)s)")
            % {"text": one.detail, "title": title, "number": run.number},
            url,
            _("See results"),
        )


def _run_warnings(found: Facts, run: Run) -> list[Finding]:
    """Return the run's own warnings."""
    if run.method == CORE:
        task = next((row.task for row in found.rows if row.task.pk == run.task_id), None)
        asked = dimensions(task) if task is not None else []
        return pair_facts.of_run(figures_of(run, "diagnostics"), asked)
    if run.method != AQER:
        return []
    names = dict(Membership.objects.filter(scores__run=run).values_list("pk", "pseudonym"))
    return warnings_of_run(run, figures_of(run), names, item_numbers(run))


def _floor(found: Facts) -> Iterator[Todo]:
    project = found.access.project
    if project.hourly_floor is None:
        return
    by_task: dict[int, list[HourlyPay]] = {}
    for row in below_floor(found):
        by_task.setdefault(row.task_id, []).append(row)
    tasks = {row.task.pk: row.progress for row in found.rows}
    for task_id, rows in by_task.items():
        one = tasks[task_id]
        text = ngettext(
            "earns under %(floor)s an hour on %(title)s.",
            "earn under %(floor)s an hour on %(title)s.",
            len(rows),
        ) % {"floor": money(project.hourly_floor, project.currency), "title": one.title}
        yield Todo(
            "warn",
            plural(len(rows), "person", "people"),
            " ".join(part for part in (text, _lift(found, one, rows)) if part),
            reverse("task", args=[project.pk, task_id]),
            _("See the task"),
        )


def _lift(found: Facts, one: TaskProgress, rows: list[HourlyPay]) -> str:
    """Say how much more an assignment would bring all of them to the floor, for the open work."""
    floor = found.access.project.hourly_floor
    if floor is None or not one.collecting or not one.open_assignments:
        return ""
    gaps = [(floor * as_decimal(r.hours) - r.pay) / r.assignments for r in rows]
    more = round_money(max(gaps), up=True)
    if more <= 0 or more > 5 * max(one.pay, CENT):
        return ""  # somebody left the page open; a raise is not the answer
    cost = money(more * one.open_assignments, found.currency)
    return _("%(more)s more an assignment would lift all of them: %(cost)s at most.") % {
        "more": money(more, found.currency),
        "cost": cost,
    }


def _drafts(found: Facts) -> Iterator[Todo]:
    if not found.access.is_requester:
        return  # only a requester opens the builder
    for row in found.rows:
        if row.task.state != TaskState.DRAFT:
            continue
        items = row.progress.items
        noun = noun_of(row.task)
        text = (
            _("is a draft with %(items)s.") % {"items": plural(items, noun)}
            if items
            else _("has no %(noun)s yet.") % {"noun": pgettext("noun", noun)}
        )
        yield Todo(
            "draft",
            row.progress.title,
            text,
            reverse("task_build", args=[found.access.project.pk, row.task.pk]),
            _("Preview and publish")
            if items
            else _("Add %(items)s") % {"items": items_noun(row.task)},
        )
