"""Endpoints of corrections of the books."""

from __future__ import annotations

from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Correction
from annotation.payouts.actions.rules import require_decider
from annotation.payouts.corrections.actions import decide
from annotation.payouts.corrections.selectors import corrections_of
from annotation.payouts.corrections.views import get_correction


class CorrectionOut(serializers.ModelSerializer[Correction]):
    """A booking by hand; while `proposed` nothing is booked."""

    proposed_by = serializers.CharField()
    decided_by = serializers.CharField(allow_null=True)

    class Meta:
        model = Correction
        fields = (
            "id",
            "task",
            "statement",
            "place",
            "debit",
            "credit",
            "amount",
            "currency",
            "memo",
            "state",
            "proposed_by",
            "proposed_at",
            "decided_by",
            "decided_at",
            "decision_note",
            "single_approval",
        )


class DeclineIn(Body):
    note = serializers.CharField(
        default="", allow_blank=True, help_text=gettext_lazy("The proposer reads it")
    )


class Corrections(Listing):
    pagination_class = Newest

    @extend_schema(responses=CorrectionOut(many=True), summary="Corrections of the books")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return self.page(corrections_of(access.project), CorrectionOut)


class CorrectionApprove(Endpoint):
    writes, needs_key = "pay", True

    @extend_schema(
        request=None,
        responses=CorrectionOut,
        summary="Approve a correction",
        description="Books it, once. Never by who proposed it, or by somebody they let in.",
    )
    def post(self, request: Request, project_id: int, correction_id: int) -> Response:
        access = get_access(request, project_id)
        found = get_correction(access, correction_id)
        decide.approve_correction(by=access.user, correction=found)
        return Response(CorrectionOut(corrections_of(access.project).get(pk=found.pk)).data)


class CorrectionDecline(Endpoint):
    writes = "pay"

    @extend_schema(
        request=DeclineIn,
        responses=CorrectionOut,
        summary="Decline a correction",
        description="Or withdraw your own.",
    )
    def post(self, request: Request, project_id: int, correction_id: int) -> Response:
        access = get_access(request, project_id)
        found = get_correction(access, correction_id)
        if found.proposed_by_id != access.user.pk:
            require_decider(access.project, access.user)
        decide.decline_correction(by=access.user, correction=found, **read(DeclineIn, request))
        return Response(CorrectionOut(corrections_of(access.project).get(pk=found.pk)).data)
