"""Endpoints of roles that were given: who gave them, and who confirmed them."""

from __future__ import annotations

from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import Access, get_access
from annotation.accounts.roles import actions, selectors
from annotation.accounts.roles.views import get_grant
from annotation.api.frame.base import Listing, Newest
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Role, RoleGrant


class RoleGrantOut(serializers.ModelSerializer[RoleGrant]):
    """A role that somebody was given; while `waiting` nobody has it."""

    name = serializers.CharField(source="user")
    role = serializers.ChoiceField([Role.REQUESTER, Role.MANAGER])
    given_by = serializers.CharField()
    decided_by = serializers.CharField(
        allow_null=True,
        help_text=gettext_lazy("null on a confirmed one: the administrator of the installation"),
    )
    reason_cannot_confirm = serializers.CharField(
        help_text=gettext_lazy("Why you may not confirm it; empty where you may")
    )

    class Meta:
        model = RoleGrant
        fields = (
            "id",
            "name",
            "role",
            "state",
            "given_by",
            "created_at",
            "decided_by",
            "decided_at",
            "reason_cannot_confirm",
        )


class RoleGrants(Listing):
    pagination_class = Newest

    @extend_schema(
        responses=RoleGrantOut(many=True),
        summary="Roles that were given",
        description="Of requesters and managers who joined by invitation, the newest first. "
        "Nobody approves what somebody proposed whom they let in, or who let them in, unless an "
        "independent manager confirmed them.",
    )
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)

        def with_reasons(rows: list[RoleGrant]) -> list[RoleGrant]:
            return selectors.annotate_problems(rows, access.project, access.user)

        return self.page(selectors.list_grants(access.project), RoleGrantOut, of=with_reasons)


class _Decide(Endpoint):
    writes = "pay"

    def _respond(self, access: Access, grant_id: int) -> Response:
        rows = selectors.list_grants(access.project).filter(pk=grant_id)
        [grant] = selectors.annotate_problems(rows, access.project, access.user)
        return Response(RoleGrantOut(grant).data)


class RoleConfirm(_Decide):
    @extend_schema(
        request=None,
        responses=RoleGrantOut,
        summary="Confirm a role",
        description="By a manager who is independent of the person and of who gave the role.",
    )
    def post(self, request: Request, project_id: int, grant_id: int) -> Response:
        access = get_access(request, project_id)
        actions.confirm_role(by=access.user, grant=get_grant(access, grant_id))
        return self._respond(access, grant_id)


class RoleDecline(_Decide):
    @extend_schema(
        request=None, responses=RoleGrantOut, summary="Decline a role that awaits confirmation"
    )
    def post(self, request: Request, project_id: int, grant_id: int) -> Response:
        access = get_access(request, project_id)
        actions.decline_role(by=access.user, grant=get_grant(access, grant_id))
        return self._respond(access, grant_id)
