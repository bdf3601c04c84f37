"""Endpoints of a project itself: its settings, its people, invitations and consent texts."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, token_project_id
from annotation.accounts.actions.invitation_mail import MOST_AT_ONCE, invite_by_mail
from annotation.accounts.organisations.selectors import get_organisation
from annotation.accounts.projects import actions as people
from annotation.accounts.projects import selectors as members
from annotation.api.frame.auth import require_scope, require_unbound_token
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.bodies import ProjectIn
from annotation.api.frame.endpoint import Endpoint
from annotation.api.frame.serializers import ProjectOut
from annotation.models import ConsentText, Membership, Role
from annotation.records.actions import locks
from annotation.records.selectors import audit
from annotation.records.selectors.audit_words import FAMILIES
from annotation.work.selectors import api_rows as selectors
from crowdqc.errors import Missing
from crowdqc.web.fields import PlainMoneyField

SETTINGS = (
    "name",
    "budget",
    "hourly_floor",
    "single_approval",
    "reply_days",
    "answer_days",
    "decide_days",
    "show_scores",
    "correction_limit",
)
# What is paid and who approves it: changed with the scope that pays only.
MONEY = {"budget", "hourly_floor", "single_approval", "correction_limit"}


class SettingsIn(Body):
    """Any of a project's settings; those left out stay. Those of money need the scope `pay`."""

    name = serializers.CharField(max_length=120, required=False)
    budget = PlainMoneyField(
        max_digits=12, decimal_places=2, min_value=0, required=False, allow_null=True
    )
    hourly_floor = PlainMoneyField(
        max_digits=8, decimal_places=2, min_value=0, required=False, allow_null=True
    )
    single_approval = serializers.BooleanField(required=False, help_text="For the owner to set")
    correction_limit = PlainMoneyField(
        max_digits=8,
        decimal_places=2,
        min_value=0,
        required=False,
        help_text="What managers book by hand alone within a day; for the owner to set",
    )
    reply_days = serializers.IntegerField(required=False)
    answer_days = serializers.IntegerField(required=False)
    decide_days = serializers.IntegerField(required=False)
    show_scores = serializers.BooleanField(required=False, help_text="Workers see their own")


class ConsentTextIn(Body):
    text = serializers.CharField(help_text="Markdown")
    retention_days = serializers.IntegerField(default=365)
    transcription = serializers.BooleanField(
        default=False, help_text="Recordings may be transcribed by a model"
    )
    devices = serializers.BooleanField(
        default=False, help_text="Devices and networks are compared by keyed hashes"
    )


class ConsentTextOut(serializers.ModelSerializer[ConsentText]):
    agreed = serializers.IntegerField(help_text="Workers who agree to it now")

    class Meta:
        model = ConsentText
        fields = (
            "number",
            "text",
            "retention_days",
            "transcription",
            "devices",
            "created_at",
            "agreed",
        )


class StaffOut(serializers.Serializer[Any]):
    """Somebody who runs the project."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField(source="user")
    role = serializers.ChoiceField([Role.REQUESTER, Role.MANAGER, Role.VIEWER])
    since = serializers.DateTimeField(source="created_at")


class WorkerOut(serializers.ModelSerializer[Membership]):
    """Somebody who works in the project, under their pseudonym."""

    worker = serializers.CharField(source="pseudonym")
    agreed = serializers.BooleanField(help_text="To the consent text in force")
    submitted = serializers.IntegerField(help_text="Assignments")
    last_submit = serializers.DateTimeField(allow_null=True)
    imported = serializers.SerializerMethodField(help_text="Known from a file only")

    class Meta:
        model = Membership
        fields = ("id", "worker", "agreed", "submitted", "last_submit", "imported", "created_at")

    def get_imported(self, member: Membership) -> bool:
        return bool(member.external_id)


class InviteIn(Body):
    role = serializers.ChoiceField(Role.choices, default=Role.WORKER)
    days = serializers.IntegerField(default=14, help_text="1 to 365")
    max_uses = serializers.IntegerField(default=1, help_text="Above 1 for workers only")
    note = serializers.CharField(default="", allow_blank=True, max_length=120)


class MailIn(InviteIn):
    max_uses = None  # a link is for one person
    emails = serializers.ListField(
        child=serializers.EmailField(), min_length=1, max_length=MOST_AT_ONCE
    )


class InvitationOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="invitation.pk")
    role = serializers.ChoiceField(Role.choices, source="invitation.role")
    note = serializers.CharField(source="invitation.note")
    state = serializers.CharField(source="word")
    uses = serializers.IntegerField(source="invitation.uses")
    max_uses = serializers.IntegerField(source="invitation.max_uses")
    expires_at = serializers.DateTimeField(source="invitation.expires_at")
    token = serializers.SerializerMethodField(
        help_text="For `work/join/`; empty for other roles than worker: that leaves by mail only"
    )
    link = serializers.SerializerMethodField(help_text="The same for a browser")

    def get_token(self, row: members.InvitationRow) -> str:
        return row.token if row.makes_workers else ""

    def get_link(self, row: members.InvitationRow) -> str:
        if not row.makes_workers:
            return ""
        address: str = self.context["request"].build_absolute_uri(reverse("join", args=[row.token]))
        return address


def with_own_roles(request: Request, project_id: int) -> Any:
    """Return a project of the caller with ``roles_here``."""
    return selectors.list_projects(request.user, token_project_id(request)).get(pk=project_id)


def _scope_of(request: Request, role: str) -> None:
    """Changes of roles that move money need the scope that pays."""
    if role != Role.WORKER:
        require_scope(request, "pay")


class Projects(Listing):
    @extend_schema(responses=ProjectOut(many=True), summary="My projects")
    def get(self, request: Request) -> Response:
        return self.page(
            selectors.list_projects(request.user, token_project_id(request)), ProjectOut
        )

    @extend_schema(request=ProjectIn, responses={201: ProjectOut}, summary="Create a project")
    def post(self, request: Request) -> Response:
        require_unbound_token(request)
        body = read(ProjectIn, request)
        if (chosen := body.pop("organisation", None)) is not None:
            body["organisation"] = get_organisation(request.user, chosen)
        project = people.create_project(by=request.user, **body)
        return Response(ProjectOut(with_own_roles(request, project.pk)).data, status=201)


class ProjectDetail(Endpoint):
    @extend_schema(responses=ProjectOut, summary="One project")
    def get(self, request: Request, project_id: int) -> Response:
        get_access(request, project_id, *Role.values)
        return Response(ProjectOut(with_own_roles(request, project_id)).data)

    def current(self, request: Request, **kwargs: Any) -> Response:
        locks.lock_settings(get_access(request, kwargs["project_id"], Role.REQUESTER).project)
        return self.get(request, kwargs["project_id"])

    @extend_schema(request=SettingsIn, responses=ProjectOut, summary="Change the settings")
    def patch(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        body = read(SettingsIn, request)
        if MONEY & set(body):
            require_scope(request, "pay")
        # What is left out stays as it is now, whatever it was when the request began.
        with locks.lock_row(access.project):
            now = {name: getattr(access.project, name) for name in SETTINGS}
            people.change_project(by=access.user, project=access.project, **{**now, **body})
        return self.get(request, project_id)


class ConsentTexts(Endpoint):
    @extend_schema(responses=ConsentTextOut(many=True), summary="Versions of the consent text")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return Response(ConsentTextOut(members.consent_versions(access.project), many=True).data)

    @extend_schema(
        request=ConsentTextIn,
        responses={201: ConsentTextOut},
        summary="Change the consent text",
        description="Workers are asked again; nothing is recorded of them before they agree.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        people.change_consent_text(
            by=access.user, project=access.project, **read(ConsentTextIn, request)
        )
        newest = members.consent_versions(access.project)[0]
        return Response(ConsentTextOut(newest).data, status=201)


class Staff(Endpoint):
    @extend_schema(responses=StaffOut(many=True), summary="Requesters and managers")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return Response(StaffOut(members.list_staff(access.project), many=True).data)


class Workers(Listing):
    @extend_schema(responses=WorkerOut(many=True), summary="Workers of a project")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return self.page(members.list_workers(access.project), WorkerOut)


class Person(Endpoint):
    @extend_schema(
        responses={204: None},
        summary="Remove somebody from a role",
        description="A worker can claim nothing more; answers, log and money stay. Other roles "
        "need the scope `pay`; what the person had proposed is sent back.",
    )
    def delete(self, request: Request, project_id: int, membership_id: int) -> Response:
        access = get_access(request, project_id)
        member = access.project.memberships.filter(pk=membership_id, removed_at=None).first()
        if member is None:
            raise Missing("Nobody like this belongs to the project.")
        _scope_of(request, member.role)
        member.project = access.project
        people.remove_member(by=access.user, member=member)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Invitations(Endpoint):
    @extend_schema(
        responses=InvitationOut(many=True),
        summary="Invitations",
        description="The newest hundred, open ones first. A worker's link is for whoever has it; "
        "another role is for the address it was mailed to.",
    )
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        rows = members.list_invitations(access.project)
        return Response(InvitationOut(rows, many=True, context={"request": request}).data)

    @extend_schema(
        request=InviteIn,
        responses={201: InvitationOut},
        summary="Open an invitation",
        description="For workers. Other roles are invited by mail.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        body = read(InviteIn, request)
        _scope_of(request, body["role"])
        made = people.invite(by=access.user, project=access.project, **body)
        [row] = members.invitation_rows([made])
        shown = InvitationOut(row, context={"request": request})
        return Response(shown.data, status=201)


class InvitationsByMail(Endpoint):
    @extend_schema(
        request=MailIn,
        responses={201: InvitationOut(many=True)},
        summary="Invite people by mail",
        description="Each address gets a link for one person. Requesters and managers are "
        "invited by the owner or a manager, with the scope `pay`, and join with the account that "
        "has this address, verified.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        body = read(MailIn, request)
        _scope_of(request, body["role"])
        emails = "\n".join(body.pop("emails"))
        made = invite_by_mail(by=access.user, project=access.project, emails=emails, **body)
        rows = members.invitation_rows(made)
        shown = InvitationOut(rows, many=True, context={"request": request})
        return Response(shown.data, status=201)


class OneInvitation(Endpoint):
    @extend_schema(responses={204: None}, summary="Revoke an invitation")
    def delete(self, request: Request, project_id: int, invitation_id: int) -> Response:
        access = get_access(request, project_id)
        invitation = access.project.invitations.filter(pk=invitation_id).first()
        if invitation is None:
            raise Missing("There is no such invitation in this project.")
        _scope_of(request, invitation.role)
        invitation.project = access.project
        people.revoke_invitation(by=access.user, invitation=invitation)
        return Response(status=status.HTTP_204_NO_CONTENT)


FILTERS = [
    OpenApiParameter("person", str, description="Staff by name, workers by pseudonym"),
    OpenApiParameter("family", str, enum=sorted(FAMILIES), description="What it is about"),
    OpenApiParameter("object", str, description="The kind of thing, as `task`"),
    OpenApiParameter("id", int, description="The thing's id"),
    OpenApiParameter("since", OpenApiTypes.DATE),
    OpenApiParameter("until", OpenApiTypes.DATE),
]


class AuditOut(serializers.Serializer[Any]):
    """One entry; none is ever changed or taken away."""

    id = serializers.IntegerField(source="entry.pk")
    at = serializers.DateTimeField(source="entry.at")
    who = serializers.CharField()
    action = serializers.CharField(source="entry.action")
    said = serializers.CharField(help_text="The same in words")
    object = serializers.CharField(source="entry.object_type")
    object_id = serializers.IntegerField(source="entry.object_id", allow_null=True)
    rest = serializers.CharField(help_text="What else was kept of it")


class Audit(Listing):
    pagination_class = Newest

    @extend_schema(
        responses=AuditOut(many=True), parameters=FILTERS, summary="Audit log, newest first"
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = get_access(request, project_id).project
        rows = audit.list_entries(project, audit.Filters.from_query(request.query_params))
        return self.page(rows, AuditOut, of=lambda found: audit.describe_entries(project, found))
