"""Endpoints for a worker's own things: what was recorded, decided and paid, and their one reply."""

from __future__ import annotations

from typing import Any, NoReturn

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, get_own_assignment, token_project_id
from annotation.accounts.security.log import Kind, attempted_account, log_event
from annotation.accounts.tokens import actions as tokens
from annotation.api.frame.base import Body, Listing, read
from annotation.api.frame.bodies import SignIn
from annotation.api.frame.endpoint import Endpoint
from annotation.api.frame.serializers import TokenOut, TokenScopesOut
from annotation.models import ApiToken, Consent, LedgerEntry, Qualification, Rejection, Role
from annotation.payouts.actions import rejections
from annotation.privacy.actions import retention
from annotation.work.selectors import api_rows as selectors
from annotation.work.selectors import log
from annotation.work.selectors.agreements import list_agreements
from crowdqc.errors import Conflict, Missing
from crowdqc.limits import PerAddress, PerName


class OwnLogOut(serializers.Serializer[Any]):
    assignment = serializers.IntegerField()
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="Events by their method"
    )
    events = serializers.ListField(
        child=serializers.DictField(), help_text="Every event that is kept, in order"
    )


class OwnEntryOut(serializers.ModelSerializer[LedgerEntry]):
    """An amount booked for one's own work: owed (base, bonus), paid or corrected."""

    class Meta:
        model = LedgerEntry
        fields = ("id", "project", "task", "assignment", "kind", "amount", "currency", "at")


class OwnRejectionOut(serializers.ModelSerializer[Rejection]):
    project = serializers.IntegerField(source="assignment.task.project_id")
    task = serializers.IntegerField(source="assignment.task_id")

    class Meta:
        model = Rejection
        fields = (
            "id",
            "project",
            "task",
            "assignment",
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


class AgreedTextOut(serializers.Serializer[Any]):
    """A text that a consent was given to; a version reads differently by type of task."""

    task_types = serializers.ListField(child=serializers.CharField(), help_text="None: all types")
    text = serializers.CharField(help_text="Markdown, as it was read")
    given_at = serializers.DateTimeField()
    is_exact = serializers.BooleanField(
        help_text="False: several texts that were not stored one by one"
    )


class OwnConsentOut(serializers.ModelSerializer[Consent]):
    project = serializers.IntegerField(source="membership.project_id")
    pseudonym = serializers.CharField(source="membership.pseudonym")
    number = serializers.IntegerField(source="text.number")
    texts = serializers.SerializerMethodField()

    class Meta:
        model = Consent
        fields = (
            *("id", "project", "pseudonym", "number", "task_types", "given_at", "withdrawn_at"),
            "texts",
        )

    @extend_schema_field(AgreedTextOut(many=True))
    def get_texts(self, consent: Consent) -> list[dict[str, Any]]:
        return AgreedTextOut(list_agreements(consent), many=True).data


class OwnRoundOut(serializers.ModelSerializer[Qualification]):
    """What somebody said of a qualification round."""

    task = serializers.IntegerField(source="assignment.task_id")

    class Meta:
        model = Qualification
        fields = ("id", "task", "assignment", "round", "verdict", "feedback", "at")


class ReplyIn(Body):
    text = serializers.CharField(help_text="One reply, once; a manager owes an answer")


class ErasedOut(serializers.Serializer[Any]):
    assignments = serializers.IntegerField(help_text="Whose logs were erased")


class OwnListing(Listing):
    reads = writes = "work"


class OwnLog(Endpoint):
    reads = "work"

    @extend_schema(responses=OwnLogOut, summary="What was recorded while I worked")
    def get(self, request: Request, assignment_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        return Response(
            {
                "assignment": found.pk,
                "counts": log.counts_by_method([found.pk])[found.pk],
                "events": log.own_events(found.pk),
            }
        )


class OwnLedger(OwnListing):
    @extend_schema(responses=OwnEntryOut(many=True), summary="What I am owed and was paid")
    def get(self, request: Request) -> Response:
        return self.page(
            selectors.list_own_bookings(request.user, token_project_id(request)), OwnEntryOut
        )


class OwnRejections(OwnListing):
    @extend_schema(responses=OwnRejectionOut(many=True), summary="Rejections of my work")
    def get(self, request: Request) -> Response:
        return self.page(
            selectors.list_own_rejections(request.user, token_project_id(request)), OwnRejectionOut
        )


class OwnReply(Endpoint):
    reads = writes = "work"

    @extend_schema(
        request=ReplyIn,
        responses=OwnRejectionOut,
        summary="Reply to a rejection",
        description="Once, and until `reply_until`. An answer is owed by `answer_by`.",
    )
    def post(self, request: Request, rejection_id: int) -> Response:
        mine = selectors.list_own_rejections(request.user, token_project_id(request))
        rejection = mine.filter(pk=rejection_id).first()
        if rejection is None:
            raise Missing("There is no such rejection of your work.")
        rejections.reply_to_rejection(
            by=request.user, rejection=rejection, **read(ReplyIn, request)
        )
        return Response(OwnRejectionOut(mine.get(pk=rejection_id)).data)


class OwnConsents(OwnListing):
    @extend_schema(responses=OwnConsentOut(many=True), summary="What I agreed to, and when")
    def get(self, request: Request) -> Response:
        return self.page(
            selectors.list_own_consents(request.user, token_project_id(request)), OwnConsentOut
        )


class OwnRounds(OwnListing):
    @extend_schema(responses=OwnRoundOut(many=True), summary="What was said of my rounds")
    def get(self, request: Request) -> Response:
        return self.page(
            selectors.list_own_rounds(request.user, token_project_id(request)), OwnRoundOut
        )


class OwnLogsErase(Endpoint):
    reads = writes = "work"

    @extend_schema(
        request=None,
        responses=ErasedOut,
        summary="Erase the logs of my decided work",
        description="Answers, decisions and money stay. It cannot be undone.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.WORKER)
        member = selectors.get_worker_membership(access.project, request.user)
        return Response({"assignments": retention.erase_own_logs(by=access.user, worker=member)})


def _own_token(request: Request) -> ApiToken:
    """The token that a request came with; Conflict for a session."""
    if not isinstance(request.auth, ApiToken):
        raise Conflict("A session sent this, no token. Tokens are on your account page.")
    return request.auth


class Token(Endpoint):
    reads = writes = ""

    def get_authenticators(self) -> list[Any]:
        # Whoever signs in is nobody yet: neither a stale token nor a session counts here.
        signs_in = self.request is not None and self.request.method == "POST"
        return [] if signs_in else super().get_authenticators()

    def get_permissions(self) -> list[Any]:
        return [AllowAny()] if self.request.method == "POST" else [IsAuthenticated()]

    def get_throttles(self) -> list[Any]:
        return [PerAddress(), PerName()] if self.request.method == "POST" else []

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        name = request.data.get("username") if isinstance(request.data, dict) else None
        log_event(Kind.LOCKED, user=attempted_account(name), request=request._request)
        super().throttled(request, wait)
        raise AssertionError("unreachable")

    @extend_schema(
        request=SignIn,
        responses=TokenOut,
        auth=[],
        summary="Get a token for name and password",
        description="It may read and work for 30 days, or what `scopes` asks for. Send it as "
        "`Authorization: Token …`. An account with a second factor needs its `code`, and the "
        "scope `pay` needs a second factor. Name and password are taken 10 times a minute for "
        "one name and 30 times from one address.",
    )
    def post(self, request: Request) -> Response:
        row, text = tokens.sign_in_for_token(**read(SignIn, request), request=request._request)
        return Response({"token": text, "scopes": row.scopes, "expires_at": row.expires_at})

    @extend_schema(responses=TokenScopesOut, summary="What the token that is sent may do")
    def get(self, request: Request) -> Response:
        return Response(TokenScopesOut(_own_token(request)).data)

    @extend_schema(responses={204: None}, summary="End the token that is sent")
    def delete(self, request: Request) -> Response:
        tokens.revoke_token(by=request.user, token_id=_own_token(request).pk)
        return Response(status=status.HTTP_204_NO_CONTENT)
