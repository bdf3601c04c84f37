"""Endpoints of payouts: what waits with its evidence, proposing, approving, sending back."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import Access, get_access, get_task_by_id
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import PayoutBatch, PayoutLine, PayoutRule, Task
from annotation.models.decisions import OVERTURNED
from annotation.payouts.actions import bonus_rule as payout_bonus
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.rules import approvers, require_decider
from annotation.payouts.selectors import proposals as reads
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.web.fields import PlainMoneyField
from evaluation.payouts import form as payout_form
from evaluation.payouts.form import propose
from evaluation.payouts.selectors.evidence import (
    Evidence,
    TaskEvidence,
    gather_evidence,
    task_evidence,
)
from evaluation.payouts.selectors.review import evidence_of_waiting

MONEY: dict[str, Any] = {"max_digits": 10, "decimal_places": 2}
# Programs say so themselves: work that they rejected before went on counting.
LEAVE_OUT = "Of a rejection: leave its answers out of results"
COLLECT_AGAIN = "And ask other workers for them; only with leave_out"
# Fields of the form -> those of the API.
NAMES = {
    "decision": "decision",
    "base": "base",
    "bonus": "bonus",
    "code": "reason_code",
    "reason": "reason",
    "less": "reason",
    "collect_again": "collect_again",
}


class WaitingOut(serializers.Serializer[Any]):
    """Work that waits for a decision, with what is known of it: evidence, never a verdict."""

    assignment = serializers.IntegerField(source="assignment.pk")
    worker = serializers.CharField(source="assignment.worker.pseudonym")
    submitted_at = serializers.DateTimeField(source="assignment.submitted_at")
    pay = PlainMoneyField(source="assignment.pay", **MONEY)
    answers = serializers.IntegerField(source="facts.answers")
    declined = serializers.IntegerField(source="facts.declined", help_text="“I don’t know”")
    seconds = serializers.FloatField(allow_null=True, help_text="From opening to submitting")
    pasted = serializers.FloatField(allow_null=True, help_text="Share of what was put in")
    score = serializers.FloatField(source="score.estimate", default=None, allow_null=True)
    low = serializers.FloatField(source="score.low", default=None, allow_null=True)
    high = serializers.FloatField(source="score.high", default=None, allow_null=True)
    look_first = serializers.BooleanField()
    notes = serializers.SerializerMethodField(help_text="What stands out, in words")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_notes(self, row: Evidence) -> list[str]:
        return [str(note.text) for note in row.notes]


class LineIn(Body):
    assignment = serializers.IntegerField()
    decision = serializers.ChoiceField(PayoutLine.Decision.choices, default="approve")
    base = PlainMoneyField(
        required=False, **MONEY, help_text="Left out: the agreed pay; less needs a reason"
    )
    bonus = PlainMoneyField(
        required=False, **MONEY, help_text="Left out: what the task's rule gives"
    )
    reason_code = serializers.ChoiceField(list(payouts.REASONS), required=False)
    reason = serializers.CharField(
        required=False, allow_blank=True, help_text="The worker reads it, at least 100 characters"
    )
    leave_out = serializers.BooleanField(default=False, help_text=LEAVE_OUT)
    collect_again = serializers.BooleanField(default=False, help_text=COLLECT_AGAIN)


class ProposeIn(Body):
    title = serializers.CharField(default="", allow_blank=True, max_length=160)
    lines = LineIn(many=True, allow_empty=False)


class ApproveIn(Body):
    total = PlainMoneyField(
        max_digits=12, decimal_places=2, help_text="The amount you saw; another is refused"
    )
    rejections = serializers.IntegerField(
        default=0, min_value=0, help_text="How many rejections you saw; another number is refused"
    )
    lines = serializers.ListField(
        child=serializers.IntegerField(),
        required=False,
        help_text="Ids of the lines that go through; left out: all that are not held",
    )


class NoteIn(Body):
    note = serializers.CharField(default="", allow_blank=True, help_text="The proposer reads it")


class RejectIn(Body):
    reason_code = serializers.ChoiceField(list(payouts.REASONS))
    reason = serializers.CharField(help_text="The worker reads it, at least 100 characters")
    leave_out = serializers.BooleanField(default=False, help_text=LEAVE_OUT)
    collect_again = serializers.BooleanField(default=False, help_text=COLLECT_AGAIN)


class LineOut(serializers.ModelSerializer[PayoutLine]):
    worker = serializers.CharField(source="assignment.worker.pseudonym")
    outcome = serializers.ChoiceField(
        [*PayoutLine.Decision.values, OVERTURNED],
        help_text="The decision, as proposed; in an approved proposal, what became of the line",
    )

    class Meta:
        model = PayoutLine
        fields = (
            "id",
            "assignment",
            "worker",
            "decision",
            "outcome",
            "base",
            "bonus",
            "bonus_note",
            "reason_code",
            "reason",
            "leaves_out",
            "collects_again",
            "live",
        )


class PayoutRowOut(serializers.ModelSerializer[PayoutBatch]):
    proposed_by = serializers.CharField()
    decided_by = serializers.CharField(allow_null=True)

    class Meta:
        model = PayoutBatch
        fields = (
            "id",
            "number",
            "task",
            "title",
            "state",
            "evidence_note",
            "evidence_run",
            "proposed_by",
            "proposed_at",
            "decided_by",
            "decided_at",
            "decision_note",
            "single_approval",
        )


class PayoutOut(PayoutRowOut):
    total = serializers.SerializerMethodField(help_text="What approving its lines would pay")
    currency = serializers.CharField(source="project.currency")
    may_approve = serializers.SerializerMethodField(help_text="Whether you may approve it")
    reason_cannot_approve = serializers.SerializerMethodField(
        help_text="Why you may not; empty where you may"
    )
    approvers = serializers.SerializerMethodField(
        help_text="How many people may approve it, apart from work of their own; 0: nobody yet"
    )
    lines = serializers.SerializerMethodField()

    class Meta(PayoutRowOut.Meta):
        fields = (  # type: ignore[assignment]
            *PayoutRowOut.Meta.fields,
            "currency",
            "total",
            "may_approve",
            "reason_cannot_approve",
            "approvers",
            "lines",
        )

    @extend_schema_field(PlainMoneyField(**MONEY))
    def get_total(self, batch: PayoutBatch) -> str:
        return str(payouts.total(batch))

    def get_may_approve(self, batch: PayoutBatch) -> bool:
        return not self._reason(batch)

    def get_reason_cannot_approve(self, batch: PayoutBatch) -> str:
        return self._reason(batch)

    def _reason(self, batch: PayoutBatch) -> str:
        """Asked once for both fields."""
        if not hasattr(self, "_asked"):
            self._asked = payouts.reason_cannot_decide(batch, self.context["user"])
        return self._asked

    def get_approvers(self, batch: PayoutBatch) -> int:
        return len(approvers(batch.project, batch.proposed_by))

    @extend_schema_field(LineOut(many=True))
    def get_lines(self, batch: PayoutBatch) -> Any:
        return LineOut(reads.lines_of(batch), many=True).data


class PreviewLineOut(serializers.Serializer[Any]):
    assignment = serializers.IntegerField(source="evidence.assignment.pk")
    worker = serializers.CharField(source="evidence.assignment.worker.pseudonym")
    decision = serializers.CharField()
    base = serializers.CharField()
    bonus = serializers.CharField()
    rule_gives = PlainMoneyField(source="given.amount", **MONEY)
    rule_says = serializers.CharField(source="given.note")
    hourly_under = PlainMoneyField(
        source="under",
        allow_null=True,
        **MONEY,
        help_text="Its pay by the hour, where that is under the project's floor",
    )
    errors = serializers.DictField(child=serializers.CharField())


class PreviewPayOut(serializers.Serializer[Any]):
    people = serializers.IntegerField()
    approve = serializers.IntegerField()
    hold = serializers.IntegerField()
    reject = serializers.IntegerField()
    base = PlainMoneyField(**MONEY)
    bonus = PlainMoneyField(**MONEY)
    total = PlainMoneyField(source="pay", **MONEY)
    lines = PreviewLineOut(many=True)


class RuleStepIn(Body):
    at = serializers.FloatField(help_text="Threshold, or rank")
    bonus = PlainMoneyField(**MONEY)


class RuleIn(Body):
    bonus_by = serializers.ChoiceField(PayoutRule.BonusBy.choices)
    steps = RuleStepIn(many=True, required=False, help_text="The best first")
    cap_each = PlainMoneyField(required=False, allow_null=True, **MONEY)
    cap_total = PlainMoneyField(required=False, allow_null=True, **MONEY)
    top_up = serializers.BooleanField(default=False, help_text="To the project's hourly floor")
    flat_percent = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=100,
        help_text="Of the base, for everybody who is paid",
    )


class RuleOut(serializers.ModelSerializer[PayoutRule]):
    steps = serializers.ListField(child=serializers.DictField())
    flat_percent = serializers.FloatField(allow_null=True)
    changed_at = serializers.DateTimeField(allow_null=True, help_text="null: never set")

    class Meta:
        model = PayoutRule
        fields = (
            *("bonus_by", "steps", "flat_percent", "cap_each", "cap_total", "top_up"),
            "changed_at",
        )


def checked_lines(
    task: Task, lines: list[dict[str, Any]]
) -> tuple[list[payout_form.DraftLine], TaskEvidence]:
    """The lines as the form of the browser checks them, and what they were scored by."""
    everything, around = evidence_of_waiting(task)
    waiting = {row.assignment.pk: row for row in everything}
    gone = [line["assignment"] for line in lines if line["assignment"] not in waiting]
    if gone:
        raise Conflict(
            f"Assignment {gone[0]} does not wait for a decision in this task.",
            fields={f"assignment {pk}": "It does not wait." for pk in gone},
        )
    form: dict[str, str] = {}
    for line in lines:
        pk, code = line["assignment"], line.get("reason_code", "")
        form |= {
            f"decision_{pk}": line["decision"],
            f"base_{pk}": str(line.get("base", "")),
            f"bonus_{pk}": str(line.get("bonus", "")),
            f"code_{pk}": code,
            f"reason_{pk}": line.get("reason", ""),
            f"less_{pk}": line.get("reason", ""),
            **{f"{name}_{pk}": "on" for name in ("leave_out", "collect_again") if line[name]},
        }
    rows = [waiting[line["assignment"]] for line in lines]
    terms = payout_form.terms_of(task, around, rows)
    found = payout_form.read(rows, form, terms)
    for draft, line in zip(found, lines, strict=True):
        if "bonus" not in line and draft.decision != PayoutLine.Decision.REJECT:
            draft.bonus = str(draft.given.amount)
    return payout_form.check(found, terms), around


def get_batch(request: Request, project_id: int, number: int) -> tuple[Access, PayoutBatch]:
    """A proposal of the project, for its staff."""
    access = get_access(request, project_id)
    rows = access.project.payout_batches.select_related("task", "proposed_by", "decided_by")
    batch = rows.filter(number=number).first()
    if batch is None:
        raise Missing("There is no proposal of this number in the project.")
    batch.project = access.project
    return access, batch


def proposal_payload(request: Request, project_id: int, number: int, status: int = 200) -> Response:
    """Return the API response for a proposal."""
    access, batch = get_batch(request, project_id, number)
    return Response(PayoutOut(batch, context={"user": access.user}).data, status=status)


class Waiting(Listing):
    @extend_schema(responses=WaitingOut(many=True), summary="Work that waits for a decision")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)

        def with_evidence(rows: list[Any]) -> list[Any]:
            found = gather_evidence(rows, task_evidence(task))
            return [found[row.pk] for row in rows]

        return self.page(reads.unsettled_assignments(task), WaitingOut, of=with_evidence)


class Rule(Endpoint):
    writes = "pay"

    @extend_schema(responses=RuleOut, summary="By which rule bonuses are proposed")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        rule = PayoutRule.objects.filter(task=task).first() or PayoutRule(task=task)
        return Response(RuleOut(rule).data)

    @extend_schema(
        request=RuleIn,
        responses=RuleOut,
        summary="Set the rule",
        description="Proposals begin with what it gives; a person may write another bonus.",
    )
    def put(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        payout_bonus.set_rule(by=access.user, task=task, **read(RuleIn, request))
        return self.get(request, task_id)


class Propose(Endpoint):
    writes = "pay"
    needs_key = True

    @extend_schema(
        request=ProposeIn,
        responses={201: PayoutOut},
        summary="Propose to pay",
        description="It waits for a second person. Each line is work that waits.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        body = read(ProposeIn, request)
        lines, around = checked_lines(task, body["lines"])
        wrong = {
            f"lines.{n}.{NAMES[name]}": text
            for n, draft in enumerate(lines)
            for name, text in draft.errors.items()
        }
        if wrong:
            raise Invalid("Some lines must be mended first.", fields=wrong)
        key = uuid.uuid5(
            uuid.NAMESPACE_URL, f"{access.user.pk} {request.headers['Idempotency-Key']}"
        )
        batch = propose(
            by=access.user,
            task=task,
            key=key,
            lines=[one.line for one in lines if one.line],
            title=body["title"],
            evidence_note=around.source,
            evidence_run=around.number,
        )
        return proposal_payload(request, task.project_id, batch.number, 201)


class ProposePreview(Endpoint):
    reads = writes = "pay"

    @extend_schema(
        request=ProposeIn,
        responses=PreviewPayOut,
        summary="What such a proposal would say, and what is wrong with it",
    )
    def post(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        lines, _note = checked_lines(task, read(ProposeIn, request)["lines"])
        sums = payout_form.totals(lines)
        rows = PreviewLineOut(lines, many=True).data
        shown = {
            name: getattr(sums, name)
            for name in ("people", "approve", "hold", "reject", "base", "bonus", "pay")
        }
        return Response({**PreviewPayOut({**shown, "lines": []}).data, "lines": rows})


class Payouts(Listing):
    pagination_class = Newest

    @extend_schema(responses=PayoutRowOut(many=True), summary="Proposals of a project")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return self.page(reads.proposals(access.project), PayoutRowOut)


class OnePayout(Endpoint):
    @extend_schema(responses=PayoutOut, summary="One proposal with its lines")
    def get(self, request: Request, project_id: int, number: int) -> Response:
        return proposal_payload(request, project_id, number)


class Approve(Endpoint):
    writes = "pay"
    needs_key = True

    @extend_schema(
        request=ApproveIn,
        responses=PayoutOut,
        summary="Approve a proposal",
        description="Writes the ledger, once. Never by who proposed it or is paid by it.",
    )
    def post(self, request: Request, project_id: int, number: int) -> Response:
        access, batch = get_batch(request, project_id, number)
        require_decider(access.project, access.user)
        body = read(ApproveIn, request)
        payouts.approve_payout(
            by=access.user,
            batch=batch,
            expected_total=body["total"],
            rejections=body["rejections"],
            line_ids=body.get("lines"),
        )
        return proposal_payload(request, project_id, number)


class SendBack(Endpoint):
    writes = "pay"

    @extend_schema(request=NoteIn, responses=PayoutOut, summary="Send a proposal back")
    def post(self, request: Request, project_id: int, number: int) -> Response:
        access, batch = get_batch(request, project_id, number)
        payouts.send_back(by=access.user, batch=batch, **read(NoteIn, request))
        return proposal_payload(request, project_id, number)


class RejectLine(Endpoint):
    writes = "pay"

    @extend_schema(
        request=RejectIn,
        responses=PayoutOut,
        summary="Propose to reject a held line",
        description="By the proposer, the line stays in the proposal. By its approver, it moves "
        "to a proposal of its own for another person, which is returned.",
    )
    def post(self, request: Request, project_id: int, number: int, line_id: int) -> Response:
        access, batch = get_batch(request, project_id, number)
        line = batch.lines.filter(pk=line_id).select_related("batch").first()
        if line is None:
            raise Missing("There is no such line in this proposal.")
        [line] = payouts.reject_held_lines(by=access.user, lines=[line], **read(RejectIn, request))
        return proposal_payload(request, project_id, line.batch.number)
