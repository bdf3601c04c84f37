"""Endpoints of money after the decision: the ledger, and rejections with their answers."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, task_of
from annotation.api.frame.base import Body, Listing, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Correction, LedgerEntry, Rejection
from annotation.payouts.actions.ledger import book_correction
from annotation.payouts.actions.proposals import decide_reply
from annotation.payouts.actions.rules import require_decider
from annotation.payouts.corrections.api import CorrectionOut
from annotation.payouts.selectors import ledger as books
from annotation.payouts.selectors import proposals as reads
from annotation.payouts.selectors.balance import trial_balances
from crowdqc.errors import Missing


class LedgerOut(serializers.ModelSerializer[LedgerEntry]):
    """One amount that moved from the account `credit` to the account `debit`."""

    worker = serializers.CharField(source="worker.pseudonym", default=None, allow_null=True)
    payout = serializers.IntegerField(
        source="line.batch.number", default=None, allow_null=True, help_text="The proposal's number"
    )

    class Meta:
        model = LedgerEntry
        fields = (
            "id",
            "task",
            "worker",
            "assignment",
            "payout",
            "kind",
            "debit",
            "credit",
            "amount",
            "currency",
            "memo",
            "at",
        )


class RejectionOut(serializers.ModelSerializer[Rejection]):
    worker = serializers.CharField(source="assignment.worker.pseudonym")
    task = serializers.IntegerField(source="assignment.task_id")
    payout = serializers.IntegerField(source="line.batch.number", help_text="The proposal's number")

    class Meta:
        model = Rejection
        fields = (
            "id",
            "task",
            "assignment",
            "worker",
            "payout",
            "reason_code",
            "reason",
            "rejected_at",
            "reply_until",
            "reply",
            "replied_at",
            "answer_by",
            "outcome",
            "outcome_note",
            "outcome_at",
        )


class DecideIn(Body):
    outcome = serializers.ChoiceField(Rejection.Outcome.choices)
    note = serializers.CharField(help_text="The worker reads it")


class CorrectIn(Body):
    """Moves an amount between two accounts of the books; it pays nobody."""

    task = serializers.IntegerField()
    debit = serializers.CharField(max_length=60, help_text="A worker debited is owed less")
    credit = serializers.CharField(max_length=60, help_text="A worker credited is owed more")
    amount = serializers.DecimalField(max_digits=8, decimal_places=2, min_value=0)
    memo = serializers.CharField(max_length=300, help_text="Why")


class AccountOut(serializers.Serializer[Any]):
    code = serializers.CharField()
    name = serializers.CharField()
    debit = serializers.DecimalField(max_digits=14, decimal_places=2)
    credit = serializers.DecimalField(max_digits=14, decimal_places=2)
    balance = serializers.DecimalField(max_digits=14, decimal_places=2)


class TrialOut(serializers.Serializer[Any]):
    """The books of one currency; both sides are the same."""

    currency = serializers.CharField()
    debit = serializers.DecimalField(max_digits=14, decimal_places=2)
    credit = serializers.DecimalField(max_digits=14, decimal_places=2)
    owed = serializers.DecimalField(max_digits=14, decimal_places=2, help_text="To workers, still")
    accounts = AccountOut(many=True, help_text="Workers as one")
    workers = AccountOut(many=True, help_text="Each by itself")


LEDGER_FILTERS = [
    OpenApiParameter("task", int, description="Of one task"),
    OpenApiParameter("worker", int, description="Of one worker, by the membership's id"),
    OpenApiParameter("month", str, description="As 2026-11"),
]


class Ledger(Listing):
    writes, needs_key = "pay", True

    @extend_schema(
        responses=LedgerOut(many=True),
        parameters=LEDGER_FILTERS,
        summary="The ledger",
        description="Rows are only ever added. Each names both its accounts: `work:` (what work "
        "cost), `worker:` (what somebody is owed), `paid:` and `fees:` (what left).",
    )
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        rows = books.entries(access.project, books.wanted(request.query_params))
        return self.page(rows, LedgerOut)

    @extend_schema(
        request=CorrectIn,
        responses={201: LedgerOut, 202: CorrectionOut},
        summary="Correct the books by hand",
        description="Moves an amount between two accounts and pays nobody. Nobody corrects an "
        "account of their own. Above the project's limit a day it awaits a second person: 202.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        require_decider(access.project, access.user)
        body: dict[str, Any] = read(CorrectIn, request)
        task = task_of(access, body.pop("task"))
        sent = f"{access.user.pk}:{request.headers['Idempotency-Key']}"
        row = book_correction(by=access.user, task=task, key=uuid5(NAMESPACE_URL, sent), **body)
        if isinstance(row, Correction):
            return Response(CorrectionOut(row).data, status=202)
        return Response(LedgerOut(row).data, status=201)


class Accounts(Endpoint):
    @extend_schema(responses=TrialOut(many=True), summary="The books as accounts, by currency")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return Response(TrialOut(trial_balances(access.project), many=True).data)


class Rejections(Listing):
    @extend_schema(
        responses=RejectionOut(many=True),
        parameters=[OpenApiParameter("owed", bool, description="Only replies owed an answer")],
        summary="Rejections of a project",
    )
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        owed = request.query_params.get("owed") == "true"
        return self.page(reads.rejections(access.project, only_owed=owed), RejectionOut)


class RejectionDecide(Endpoint):
    writes = "pay"

    @extend_schema(
        request=DecideIn, responses=RejectionOut, summary="Answer a reply, or take a rejection back"
    )
    def post(self, request: Request, project_id: int, rejection_id: int) -> Response:
        access = get_access(request, project_id)
        rows = reads.rejections(access.project)
        found = rows.filter(pk=rejection_id).first()
        if found is None:
            raise Missing("There is no such rejection in this project.")
        require_decider(access.project, access.user)
        body: dict[str, Any] = read(DecideIn, request)
        overturn = body["outcome"] == Rejection.Outcome.OVERTURNED
        decide_reply(by=access.user, rejection=found, overturn=overturn, note=body["note"])
        return Response(RejectionOut(rows.get(pk=rejection_id)).data)
