"""Endpoints of payments: what a platform or a person has to pay, and what files say was paid."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import Access, find_task, get_access, get_task_by_id
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Correction, LedgerEntry, Payment, Project, Rejection, Statement
from annotation.payouts.actions import payments, statements
from annotation.payouts.actions.proposals import decide_reply
from annotation.payouts.actions.rules import require_decider
from annotation.payouts.corrections.api import CorrectionOut
from annotation.payouts.selectors import ledger as books
from annotation.payouts.selectors import payments as paying
from annotation.payouts.selectors import proposals as reads
from annotation.payouts.selectors.accounts import ZERO
from annotation.payouts.selectors.balance import trial_balances
from annotation.payouts.selectors.payable import payable
from annotation.payouts.statement_file import LIMITS
from crowdqc.errors import Missing
from crowdqc.web.fields import PlainMoneyField


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
    amount = PlainMoneyField(max_digits=8, decimal_places=2, min_value=0)
    memo = serializers.CharField(max_length=300, help_text="Why")


class AccountOut(serializers.Serializer[Any]):
    code = serializers.CharField()
    name = serializers.CharField()
    debit = PlainMoneyField(max_digits=14, decimal_places=2)
    credit = PlainMoneyField(max_digits=14, decimal_places=2)
    balance = PlainMoneyField(max_digits=14, decimal_places=2)


class TrialOut(serializers.Serializer[Any]):
    """The books of one currency; both sides are the same."""

    currency = serializers.CharField()
    debit = PlainMoneyField(max_digits=14, decimal_places=2)
    credit = PlainMoneyField(max_digits=14, decimal_places=2)
    owed = PlainMoneyField(max_digits=14, decimal_places=2, help_text="To workers, still")
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
        rows = books.entries(access.project, books.parse_filter(request.query_params))
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
        task = find_task(access, body.pop("task"))
        sent = f"{access.user.pk}:{request.headers['Idempotency-Key']}"
        key = uuid5(NAMESPACE_URL, sent)
        row = payments.correct_accounts(by=access.user, task=task, key=key, **body)
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


class PaymentOut(serializers.ModelSerializer[Payment]):
    worker = serializers.CharField(source="worker.pseudonym")
    payout = serializers.IntegerField(source="line.batch.number", help_text="The proposal's number")
    by_api = serializers.SerializerMethodField(help_text="A platform is told by its API")
    due = serializers.SerializerMethodField(
        help_text="Still to be paid by hand: less what the worker was paid too much, and 0 where a "
        "statement says that it was paid"
    )

    class Meta:
        model = Payment
        fields = (
            "id",
            "payout",
            "line",
            "assignment",
            "worker",
            "what",
            "amount",
            "due",
            "currency",
            "state",
            "by_api",
            "attempts",
            "error",
            "created_at",
            "sent_at",
            "done_at",
        )

    def get_by_api(self, payment: Payment) -> bool:
        return payments.has_api(payment.recruitment)

    @extend_schema_field(PlainMoneyField(max_digits=10, decimal_places=2))
    def get_due(self, payment: Payment) -> str:
        return f"{payment.due:.2f}"  # type: ignore[attr-defined]


def _with_due(project: Project, rows: list[Any]) -> list[Any]:
    """Payments with what is still to be paid of each."""
    due = payable(project, {row.worker_id for row in rows})
    for row in rows:
        settled = row.state == Payment.State.DONE or row.pk in due.held
        row.due = ZERO if settled else due.amount_due(row)
    return rows


class ResolveIn(Body):
    outcome = serializers.ChoiceField(["paid", "not_paid", "by_hand"])
    note = serializers.CharField(help_text="Where you looked")


class SentIn(Body):
    payments = serializers.ListField(child=serializers.IntegerField(), min_length=1)


class SentOut(serializers.Serializer[Any]):
    done = serializers.IntegerField(help_text="How many were not noted before")


class StatementIn(Body):
    name = serializers.CharField(max_length=200)
    content = serializers.CharField(
        trim_whitespace=False, max_length=LIMITS.size, help_text="The platform's CSV file"
    )
    recruitment = serializers.IntegerField(
        required=False, help_text="The way into the task; left out: payments by hand"
    )


class StatementOut(serializers.ModelSerializer[Statement]):
    rows = serializers.SerializerMethodField(help_text="Each with its outcome and what it books")

    class Meta:
        model = Statement
        fields = ("id", "task", "recruitment", "digest", "name", "at", "rows")

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_rows(self, statement: Statement) -> Any:
        return statement.rows


class BookedOut(serializers.Serializer[Any]):
    booked = serializers.BooleanField(help_text="Now; false: it was before, or it waits")
    waits = serializers.IntegerField(
        default=None, allow_null=True, help_text="The correction that awaits a second person"
    )


class PayEndpoint(Endpoint):
    writes = "pay"


def _payment(request: Request, project_id: int, payment_id: int) -> tuple[Access, Payment]:
    """A payment, for who may decide about money."""
    access = get_access(request, project_id)
    require_decider(access.project, access.user)
    found = paying.payments_of(access.project).filter(pk=payment_id).first()
    if found is None:
        raise Missing("There is no such payment in this project.")
    _with_due(access.project, [found])
    return access, found


class Payments(Listing):
    @extend_schema(
        responses=PaymentOut(many=True),
        parameters=[OpenApiParameter("state", str, enum=Payment.State.values)],
        summary="Payments of a project",
    )
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        state = request.query_params.get("state", "")
        rows = paying.payments_of(access.project, state)
        return self.page(rows, PaymentOut, lambda page: _with_due(access.project, page))


class PaymentAgain(PayEndpoint):
    @extend_schema(
        request=None, responses=PaymentOut, summary="Send a payment again that was refused"
    )
    def post(self, request: Request, project_id: int, payment_id: int) -> Response:
        access, payment = _payment(request, project_id, payment_id)
        payments.try_again(by=access.user, payment=payment)
        return Response(PaymentOut(_payment(request, project_id, payment_id)[1]).data)


class PaymentResolve(PayEndpoint):
    @extend_schema(
        request=ResolveIn, responses=PaymentOut, summary="Say what a look at the platform showed"
    )
    def post(self, request: Request, project_id: int, payment_id: int) -> Response:
        access, payment = _payment(request, project_id, payment_id)
        payments.resolve(by=access.user, payment=payment, **read(ResolveIn, request))
        return Response(PaymentOut(_payment(request, project_id, payment_id)[1]).data)


class PaymentsSent(PayEndpoint):
    @extend_schema(
        request=SentIn,
        responses=SentOut,
        summary="Note payments that were made by hand",
        description="All of them or none; each counts once.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        require_decider(access.project, access.user)
        wanted = set(read(SentIn, request)["payments"])
        found = list(paying.payments_of(access.project).filter(pk__in=wanted))
        if len(found) < len(wanted):
            raise Missing("There is no such payment in this project.")
        return Response({"done": payments.mark_sent(by=access.user, payments=found)})


class Statements(Listing):
    pagination_class = Newest
    writes = "pay"

    @extend_schema(responses=StatementOut(many=True), summary="What platforms say they paid")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return self.page(paying.statements_of(task), StatementOut)

    @extend_schema(
        request=StatementIn,
        responses={201: StatementOut},
        summary="Hold a platform's file against the books",
        description="The same file again is the statement that is there. It books nothing.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        require_decider(access.project, access.user)
        body = read(StatementIn, request)
        way = None
        if "recruitment" in body:
            way = paying.get_recruitment_of_task(task, body["recruitment"])
        made, _new = statements.import_statement(
            by=access.user,
            task=task,
            recruitment=way,
            name=body["name"],
            content=body["content"].encode(),
        )
        return Response(StatementOut(made).data, status=201)


class StatementBook(PayEndpoint):
    @extend_schema(
        request=None, responses=BookedOut, summary="Book what a row says that the books do not"
    )
    def post(self, request: Request, task_id: int, statement_id: int, place: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        statement = paying.statements_of(task).filter(pk=statement_id).first()
        if statement is None:
            raise Missing("There is no such statement of this task.")
        booked = statements.book_difference(by=access.user, statement=statement, place=place)
        waits = booked.pk if isinstance(booked, Correction) else None
        return Response({"booked": booked is True, "waits": waits})
