"""Proposals: write one, look at it, approve it or send it back, export it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    QueryDict,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext, pgettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access, get_task
from annotation.lists.pages import list_page
from annotation.models import LedgerEntry, PayoutBatch, PayoutLine, Task
from annotation.payouts import export as exports
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.bonus_rule import bases_of
from annotation.payouts.actions.rules import ProposedLine, roles_of, why_nobody_approves
from annotation.payouts.selectors import proposals as reads
from annotation.payouts.selectors.balance import by_hand, payments_of
from annotation.payouts.selectors.ledger import last_bookings
from annotation.payouts.selectors.next_steps import approval_context
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.money import parse_amount
from crowdqc.numbers import money, parse_whole, plural
from evaluation.payouts import form as payout_form
from evaluation.payouts.form import propose
from evaluation.payouts.selectors.card import card, paste_sources
from evaluation.payouts.selectors.evidence import Evidence, TaskEvidence
from evaluation.payouts.selectors.proposals import (
    Choices,
    PayoutPage,
    payout_page,
    rule_words,
    score_name,
)
from evaluation.payouts.selectors.review import BULK, MOST_AT_ONCE, evidence_of_waiting
from evaluation.payouts.views.lists import proposal_list
from evaluation.runs.adapters import adapter_of

PICKS = ("all", "quiet")
# What buttons set selected lines to. A rejection needs its reason.
SET = {"set-approve": PayoutLine.Decision.APPROVE, "set-hold": PayoutLine.Decision.HOLD}


def _ids(values: list[str]) -> list[int]:
    """Ids out of ``12``, ``12,13``...; anything else is not ours."""
    parts = [part for value in values for part in value.split(",") if part]
    found = [number for part in parts if (number := parse_whole(part)) is not None]
    if len(found) < len(parts):
        raise Invalid(
            gettext("A line is not a number."), fields={"line": gettext("Tick lines of this page.")}
        )
    return found


def get_batch(request: HttpRequest, project_id: int, number: int) -> tuple[Access, PayoutBatch]:
    """A proposal of the project, for its staff."""
    access = get_access(request, project_id)
    batch = (
        access.project.payout_batches.select_related(
            "task__current", "project", "proposed_by", "decided_by"
        )
        .filter(number=number)
        .first()
    )
    if batch is None:
        raise Missing(gettext("There is no proposal of this number in the project."))
    return access, batch


# Writing one -----------------------------------------------------------------------------------


def _chosen(request: HttpRequest, task: Task) -> tuple[list[Evidence], TaskEvidence]:
    """The waiting work that the form is about, and what all work of the task looks like."""
    everything, around = evidence_of_waiting(task)
    sent = request.POST if request.method == "POST" else request.GET
    pick = sent.get("pick", "")
    if pick in PICKS:
        return [e for e in everything if pick == "all" or not e.look_first], around
    wanted = set(_ids(sent.getlist("assignment")))
    return [e for e in everything if e.assignment.pk in wanted], around


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def payout_new(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The form of a proposal; its totals are counted by the server as one writes."""
    access, task = get_task(request, project_id, task_id)
    if request.method != "POST" or request.POST.get("pick") in PICKS:
        many = request.method == "POST"
        return _propose_many(request, access, task) if many else _new_form(request, task)
    key = _key(request)
    # htmx sends the button that has the focus along; only pressing it, without htmx, proposes.
    wanted = "" if request.htmx else request.POST.get("do", "")  # type: ignore[attr-defined]
    done = task.payout_batches.filter(key=key, proposed_by=access.user).first()
    if done and wanted == "propose":
        return redirect("payout", access.project.pk, done.number)
    rows, around = _chosen(request, task)
    terms = payout_form.terms_of(task, around, rows)
    lines, ticked = payout_form.read(rows, request.POST, terms), request.POST.getlist("line")
    for line in lines:
        line.ticked = str(line.evidence.assignment.pk) in ticked
    more: dict[str, Any] = {"key": str(key), "title": request.POST.get("title", "")}
    if wanted in ("rule", "share", *SET):
        return _filled(request, task, lines, terms, more)
    if wanted != "propose":
        context = {"task": task, "lines": lines, "totals": payout_form.totals(lines)}
        return render(request, "evaluation/payouts/_form_totals.html", context)
    try:
        batch = _propose(request, access, task, lines, around)
    except Invalid as error:
        return _form(request, task, lines, terms, {**more, "error": error}, status=422)
    return redirect("payout", access.project.pk, batch.number)


def _filled(
    request: HttpRequest,
    task: Task,
    lines: list[payout_form.DraftLine],
    terms: payout_form.Terms,
    more: dict[str, Any],
) -> HttpResponse:
    """The form with its lines filled by the task's rule, or with one decision and reason."""
    if decision := SET.get(request.POST["do"]):
        n = payout_form.set_ticked(lines, decision, terms)
        return _form(request, task, lines, terms, {**more, "no_ticks": not n})
    if request.POST.get("do") == "rule":
        filled = payout_form.fill_amounts(lines, terms)
        return _form(request, task, filled, terms, {**more, "filled": True})
    shared = payout_form.SharedDecision.read(request.POST)
    try:
        n = payout_form.share(lines, shared, terms)
    except Invalid as error:
        more = {**more, "shared": shared, "error": error}
        return _form(request, task, lines, terms, more, status=422)
    return _form(request, task, lines, terms, {**more, "shared": shared, "shared_n": n})


def _new_form(request: HttpRequest, task: Task) -> HttpResponse:
    rows, around = _chosen(request, task)
    key = {"key": str(uuid.uuid4())}
    if len(rows) > BULK and request.GET.get("pick") in PICKS:
        return _many_form(request, task, ManyLines.of(task, rows, around), key)
    terms, decision = payout_form.terms_of(task, around, rows), _decision(request)
    more: dict[str, Any] = dict(key)
    if decision:
        more["shared"] = payout_form.SharedDecision(decision=decision)
    return _form(request, task, payout_form.start(rows, terms, decision), terms, more)


def _propose(
    request: HttpRequest,
    access: Access,
    task: Task,
    lines: list[payout_form.DraftLine],
    around: TaskEvidence,
) -> PayoutBatch:
    """Propose what the form says, or Invalid."""
    gone = len(_ids(request.POST.getlist("assignment"))) - len(lines)
    ready = [line.line for line in lines if line.line]
    if gone:
        raise Invalid(
            ngettext(
                "%(n)s assignment was decided meanwhile; look again.",
                "%(n)s assignments were decided meanwhile; look again.",
                gone,
            )
            % {"n": gone}
        )
    if len(ready) < len(lines):
        raise Invalid(
            gettext("%(lines)s below must be mended first.")
            % {"lines": plural(len(lines) - len(ready), "line")}
        )
    batch = propose(
        by=access.user,
        task=task,
        key=_key(request),
        lines=ready,
        title=request.POST.get("title", ""),
        evidence_note=around.source,
        evidence_run=around.number,
    )
    told = gettext(
        "Proposal %(batch)s waits for approval: %(approve)s to approve, "
        "%(hold)s to look at first, %(reject)s to reject."
    )
    messages.success(request, told % {"batch": batch.number, **reads.count_outcomes([batch])})
    return batch


# More than one form shows ----------------------------------------------------------------------


@dataclass(frozen=True)
class ManyLines:
    """All waiting work, or all without a flag, as one press proposes it."""

    lines: list[payout_form.DraftLine]
    left: int  # that keep waiting
    around: TaskEvidence
    terms: payout_form.Terms

    @classmethod
    def of(cls, task: Task, rows: list[Evidence], around: TaskEvidence) -> ManyLines:
        """Make the lines for the first assignments of a bulk proposal."""
        taken = rows[:MOST_AT_ONCE]
        terms = payout_form.terms_of(task, around, taken)
        lines = [one for one in payout_form.start(taken, terms) if one.line is not None]
        return cls(lines, len(rows) - len(lines), around, terms)

    @property
    def ready(self) -> list[ProposedLine]:
        return [one.line for one in self.lines if one.line is not None]

    @property
    def totals(self) -> payout_form.Totals:
        return payout_form.totals(self.lines)

    @property
    def proposals(self) -> int:
        """Count the proposals that these lines are split into."""
        return -(-len(self.lines) // BULK)


def _propose_many(request: HttpRequest, access: Access, task: Task) -> HttpResponse:
    """Propose all that the page named, or ask again where that has changed since."""
    key = _key(request)
    first = task.payout_batches.filter(
        key=payout_form.part_key(key, 1), proposed_by=access.user
    ).first()
    if first is not None:  # sent before
        return redirect(reverse("payout_list", args=[access.project.pk]) + "?state=proposed")
    many = ManyLines.of(task, *_chosen(request, task))
    seen = (
        parse_whole(request.POST.get("lines", "")),
        parse_amount(request.POST.get("expected_total", ""), field="expected_total"),
    )
    more = {"key": str(key), "title": request.POST.get("title", "")}
    try:
        if seen != (len(many.lines), many.totals.pay):
            raise Invalid(gettext("What waits has changed since. Look again, then propose it."))
        batches = payout_form.propose_many(
            by=access.user,
            task=task,
            key=key,
            lines=many.ready,
            title=more["title"],
            evidence_note=many.around.source,
            evidence_run=many.around.number,
        )
    except Invalid as error:
        return _many_form(request, task, many, {**more, "error": error}, status=422)
    told = gettext(
        "Proposals %(first)s to %(last)s wait for a second person: %(approve)s to approve, "
        "%(hold)s to look at first."
    )
    messages.success(
        request,
        told
        % {
            "first": batches[0].number,
            "last": batches[-1].number,
            **reads.count_outcomes(batches),
        },
    )
    return redirect(reverse("payout_list", args=[access.project.pk]) + "?state=proposed")


def _many_form(
    request: HttpRequest,
    task: Task,
    many: ManyLines,
    more: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "task": task,
        "many": many,
        "rule": rule_words(many.terms.rule, task.project),
        "pick": request.POST.get("pick") or request.GET.get("pick"),
        "per_proposal": BULK,
        **approval_context(task.project, request.user, request.user),
        **more,
    }
    return render(request, "evaluation/payouts/payout_many.html", context, status=status)


def _decision(request: HttpRequest) -> str:
    wanted = request.GET.get("decision", "")
    return wanted if wanted in PayoutLine.Decision.values else ""


def _key(request: HttpRequest) -> uuid.UUID:
    try:
        return uuid.UUID(request.POST.get("key", ""))
    except ValueError as error:
        raise Invalid(gettext("The form’s key is missing. Load the page again.")) from error


def _form(
    request: HttpRequest,
    task: Task,
    lines: list[payout_form.DraftLine],
    terms: payout_form.Terms,
    more: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "task": task,
        "lines": lines,
        "terms": terms,
        "rule": rule_words(terms.rule, task.project),
        "totals": payout_form.totals(lines),
        "decisions": PayoutLine.Decision.choices,
        "reasons": payouts.REASONS.items(),
        "scored": bool(bases_of(task)),
        "score_name": score_name(task),
        "noun": reads.noun_of(task),
        "least": payouts.MIN_REASON,
        **approval_context(task.project, request.user, request.user),
        **more,
    }
    return render(request, "evaluation/payouts/payout_new.html", context, status=status)


# Looking at one --------------------------------------------------------------------------------


def _page(request: HttpRequest, access: Access, batch: PayoutBatch) -> PayoutPage:
    """The page as the query string says: what is ticked and what is looked at."""
    selected = _ids([request.GET.get("line", "")])
    return payout_page(
        batch,
        access.user,
        choices=_choices(request.GET),
        selected=selected[0] if selected else None,
    )


def _choices(query: QueryDict) -> Choices | None:
    """What is ticked, as the page's query string keeps it; None where nobody chose."""
    if "counting" not in query:
        return None
    return Choices(
        pay=frozenset(_ids(query.getlist("pay"))), reject=frozenset(_ids(query.getlist("reject")))
    )


def _payout_context(request: HttpRequest, access: Access, batch: PayoutBatch) -> dict[str, Any]:
    page = _page(request, access, batch)
    own = page.selected
    shown = None
    if own:
        shown = card(batch.task, own.worker, own.evidence, page.around)
    mine = batch.proposed_by_id == access.user.pk
    alone = ""
    if page.open and own and own.held and not mine and not page.why_not:
        alone = why_nobody_approves(batch.project, access.user)
    names = {}
    if page.open and page.why_not:
        names = approval_context(batch.project, batch.proposed_by, access.user)
    return {
        "batch": batch,
        **names,
        "task": batch.task,
        "known": adapter_of(batch.task),
        "page": page,
        "own": own,
        "card": shown,
        "sources": paste_sources(shown.log) if shown else "",
        "mine": mine,
        "nobody_else": alone,
        "proposer_roles": [
            pgettext("role", one) for one in roles_of(batch.project, batch.proposed_by)
        ],
        "reasons": payouts.REASONS.items(),
        "reason_of": payouts.REASONS,
        "scored": bool(bases_of(batch.task)),
        "score_name": score_name(batch.task),
        "least": payouts.MIN_REASON,
    }


@login_required
@require_safe
def payout(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """A proposal: its lines, the evidence of one person, checks, and the ledger's last lines."""
    access, batch = get_batch(request, project_id, number)
    context = _payout_context(request, access, batch)
    htmx = request.htmx  # type: ignore[attr-defined]
    if htmx:
        part = "_evidence" if htmx.target == "evidence" else "_decision"
        response = render(request, f"evaluation/payouts/{part}.html", context)
    else:
        context["bookings"] = last_bookings(batch.task)
        context["leaving"] = payments_of(batch)
        response = render(request, "evaluation/payouts/payout.html", context)
    response["Vary"] = "HX-Request, HX-Target"
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def payout_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Proposals of the project, and what else is to be done about money."""
    access = get_access(request, project_id)
    counts = reads.proposal_counts(access.project)
    context = {
        "to_approve": counts.get(PayoutBatch.State.PROPOSED, 0),
        "proposals": sum(counts.values()),
        "waiting": reads.waiting_by_task(access.project),
        "owed": reads.rejections_owed(access.project),
        "spent": LedgerEntry.objects.cost_of(access.project),
        "by_hand": by_hand(access.project),
    }
    template = "evaluation/payouts/payout_list.html"
    return list_page(request, access, proposal_list(access, counts), template, context)


# Deciding --------------------------------------------------------------------------------------


@login_required
@require_POST
def payout_approve(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Approve what is ticked, for the total that was seen."""
    access, batch = get_batch(request, project_id, number)
    expected = parse_amount(request.POST.get("expected_total") or 0, field="expected_total")
    pay, reject = (_ids(request.POST.getlist(name)) for name in ("pay", "reject"))
    try:
        batch = payouts.approve_payout(
            by=access.user,
            batch=batch,
            expected_total=expected,
            rejections=len(set(reject)),
            line_ids=[*pay, *reject],
        )
    except Conflict as error:
        back = reverse("payout", args=[access.project.pk, batch.number])
        ticks = Choices(pay=frozenset(pay), reject=frozenset(reject)).query
        error.link = gettext("Back to the proposal"), f"{back}?{ticks}"
        raise
    n = reads.count_outcomes([batch])[PayoutLine.Decision.REJECT]
    told = {
        "batch": batch.number,
        "expected": money(expected, batch.project.currency),
        "rejections": plural(n, "rejection"),
    }
    if not expected and not n:
        said = gettext("Proposal %(batch)s is approved: nothing is to be paid.")
    elif not expected:
        said = gettext("Proposal %(batch)s is approved: %(rejections)s.")
    elif n:
        said = gettext(
            "Proposal %(batch)s is approved: %(expected)s added to the ledger, %(rejections)s."
        )
    else:
        said = gettext("Proposal %(batch)s is approved: %(expected)s added to the ledger.")
    messages.success(request, said % told)
    return redirect("payout", access.project.pk, batch.number)


@login_required
@require_POST
def payout_send_back(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Send a proposal back with a note; its proposer takes it back."""
    access, batch = get_batch(request, project_id, number)
    payouts.send_back(by=access.user, batch=batch, note=request.POST.get("note", ""))
    said = (
        gettext("Proposal %(batch)s is withdrawn; its work may be proposed anew.")
        if batch.proposed_by_id == access.user.pk
        else gettext("Proposal %(batch)s is sent back; its work may be proposed anew.")
    )
    messages.success(request, said % {"batch": batch.number})
    return redirect("payout", access.project.pk, batch.number)


@login_required
@require_POST
def payout_line_reject(
    request: HttpRequest, project_id: int, number: int, line_id: int
) -> HttpResponse:
    """Propose to reject the held lines of one person, with the reason they will read."""
    access, batch = get_batch(request, project_id, number)
    named = PayoutLine.objects.filter(pk=line_id, batch__project=access.project)
    line = named.select_related("assignment", "batch").first()
    if line is None:
        raise Missing(gettext("There is no such line in this proposal."))
    if line.batch_id != batch.pk:  # a second click
        return redirect("payout", access.project.pk, line.batch.number)
    theirs = batch.lines.filter(
        assignment__worker=line.assignment.worker_id, decision=PayoutLine.Decision.HOLD
    )
    query = QueryDict(request.POST.get("choices", "").removeprefix("?"))
    choices = _choices(query)
    try:
        lines = payouts.reject_held_lines(
            by=access.user,
            lines=list(theirs.order_by("pk")),
            reason_code=request.POST.get("reason_code", ""),
            reason=request.POST.get("reason", ""),
            leave_out="leave_out" in request.POST,
            collect_again="collect_again" in request.POST,
        )
    except Invalid as error:
        messages.error(request, error.message)
    else:
        _tell_rejected(request, batch, lines[0])
    back = reverse("payout", args=[access.project.pk, batch.number])
    return redirect(f"{back}?{choices.query if choices else ''}&line={line.pk}")


def _tell_rejected(request: HttpRequest, batch: PayoutBatch, line: PayoutLine) -> None:
    """Name the proposal that asks another person for the rejection, if it is another one."""
    own = line.batch
    if own.pk != batch.pk:
        messages.success(
            request,
            format_html(
                gettext('<a href="{}">Proposal {}</a> to reject {} waits for another person.'),
                reverse("payout", args=[own.project_id, own.number]),
                own.number,
                line.assignment.worker.pseudonym,
            ),
        )


@login_required
@require_safe
def payout_export(request: HttpRequest, project_id: int, number: int) -> HttpResponseBase:
    """The proposal's lines as CSV."""
    _, batch = get_batch(request, project_id, number)
    rows = exports.payout_rows(batch)
    return exports.download_table(exports.PAYOUT, rows, name=f"payout-{batch.number}")
