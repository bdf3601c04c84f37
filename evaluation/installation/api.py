"""Endpoints by which an owner runs the installation."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_installation_owner
from annotation.accounts import quotas
from annotation.accounts.signing.selectors import find_proven_user
from annotation.api.frame.auth import require_unbound_token
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.installation import actions, merging
from annotation.installation.selectors import accounts_with_use
from annotation.models import ApiToken, AuditEntry, Project, User
from annotation.records.installation_state import FEATURES, read_state
from crowdqc.errors import Invalid, Missing
from evaluation.installation.demo import remove_demo
from evaluation.installation.listing import project_rows
from evaluation.retention.actions import NAMES, set_retention
from evaluation.retention.growth import growth
from evaluation.retention.kinds import DAYS, SETTABLE, YEARS


class StateOut(serializers.Serializer[Any]):
    """What holds for the whole installation."""

    read_only_since = serializers.DateTimeField(allow_null=True)
    read_only_reason = serializers.CharField()
    banner = serializers.CharField()
    switched_off = serializers.ListField(child=serializers.ChoiceField(sorted(FEATURES)))


class RetentionOut(serializers.Serializer[Any]):
    """For how long a kind of rows is kept."""

    name = serializers.CharField()
    keeps = serializers.IntegerField(allow_null=True, help_text="null: until deleted")
    unit = serializers.ChoiceField([DAYS, YEARS])
    usual = serializers.IntegerField(allow_null=True)
    least = serializers.IntegerField()


class RetentionIn(Body):
    name = serializers.ChoiceField(sorted(NAMES))
    keeps = serializers.IntegerField(allow_null=True, help_text="null: until deleted")


class GrowthOut(serializers.Serializer[Any]):
    """What a kind of rows takes now, and what it adds; null where that is not known."""

    kind = serializers.CharField()
    rows = serializers.IntegerField(allow_null=True)
    bytes = serializers.IntegerField()
    recent_rows = serializers.IntegerField(allow_null=True, help_text="Of the last 30 days")
    recent_bytes = serializers.IntegerField(allow_null=True)
    year_bytes = serializers.IntegerField(allow_null=True, help_text="At the pace of these days")
    kept = serializers.CharField(help_text="For how long, in words")
    oldest = serializers.DateTimeField(allow_null=True)
    deleted = serializers.IntegerField(
        allow_null=True, help_text="Rows that retention deleted in the last 30 days"
    )


class StateIn(Body):
    """What is left out stays."""

    banner = serializers.CharField(required=False, allow_blank=True, help_text='"": none')
    switched_off = serializers.ListField(
        child=serializers.ChoiceField(sorted(FEATURES)), required=False
    )


class ReasonIn(Body):
    why = serializers.CharField(help_text="The audit log keeps it")


class ProofIn(Body):
    proof = serializers.CharField(help_text="How the person proved who they are; audited")


class TransferIn(ReasonIn):
    to = serializers.CharField(help_text="The user name or e-mail address of the new owner")


class MergeIn(ReasonIn):
    into = serializers.CharField(help_text="The account that stays")


class BroadcastIn(Body):
    text = serializers.CharField()


class QuotaIn(Body):
    name = serializers.ChoiceField(sorted(quotas.QUOTAS))
    most = serializers.IntegerField(allow_null=True, help_text="null: the usual number")


class QuotaOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    used = serializers.IntegerField(allow_null=True)
    most = serializers.IntegerField()


class ReadOnlyEnded(serializers.Serializer[Any]):
    assignments = serializers.IntegerField(help_text="That got the time back which they lost")


class PeopleNotified(serializers.Serializer[Any]):
    people = serializers.IntegerField(help_text="Who were notified now")


class TasksClosed(serializers.Serializer[Any]):
    tasks = serializers.IntegerField(help_text="That were closed")


class FactorsRemoved(serializers.Serializer[Any]):
    factors = serializers.IntegerField(help_text="That were removed")


class AccountsClosed(serializers.Serializer[Any]):
    accounts = serializers.IntegerField(help_text="That were closed")


class ProjectUseOut(serializers.Serializer[Any]):
    """A project with its use."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    owner = serializers.CharField(source="owner.username")
    owner_active = serializers.BooleanField(source="owner.is_active")
    members = serializers.IntegerField(help_text="People with a role now")
    tasks = serializers.IntegerField(source="task_count")
    answers = serializers.IntegerField()
    bytes = serializers.IntegerField(help_text="Of files")
    currency = serializers.CharField()
    models = serializers.CharField(source="spent", help_text="What models cost")
    paid = serializers.CharField(help_text="What left to workers")
    last_activity = serializers.DateTimeField(source="active", allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)
    deleted_at = serializers.DateTimeField(
        allow_null=True, help_text="Since when only its books are left"
    )


class AccountUseOut(serializers.Serializer[Any]):
    """An account with its use."""

    id = serializers.IntegerField()
    username = serializers.CharField()
    name = serializers.CharField(source="display_name")
    email = serializers.CharField()
    active = serializers.BooleanField(source="is_active")
    owner = serializers.BooleanField(source="is_superuser", help_text="Of the installation")
    owned = serializers.IntegerField(help_text="Projects")
    projects = serializers.IntegerField(source="belongs", help_text="Where they have a role")
    submitted = serializers.IntegerField(help_text="Assignments")
    second_factor = serializers.BooleanField(source="has_factor")
    last_sign_in = serializers.DateTimeField(source="last_login", allow_null=True)


class InstallationEntry(serializers.Serializer[Any]):
    """A line of the audit log."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(source="actor.username", default=None, allow_null=True)
    project = serializers.IntegerField(source="project_id", allow_null=True)
    action = serializers.CharField()
    object = serializers.CharField(source="object_type")
    object_id = serializers.IntegerField(allow_null=True)
    detail = serializers.JSONField()


class OwnerEndpoint(Endpoint):
    """An address for owners alone, with the scope of the installation."""

    reads: ClassVar[str] = ApiToken.Scope.INSTALLATION
    writes: ClassVar[str] = ApiToken.Scope.INSTALLATION

    def owner(self) -> User:
        """Return the owner who asks; nobody else learns of the address."""
        owner = get_installation_owner(self.request)
        require_unbound_token(self.request)
        return owner

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Turn everybody else away before anything is read."""
        super().initial(request, *args, **kwargs)
        self.owner()


def find_project(project_id: int) -> Project:
    """Return a project of the installation, or raise Missing."""
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise Missing("There is no such project.")
    return project


def find_account(user_id: int) -> User:
    """Return an account of the installation, or raise Missing."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise Missing("There is no such account.")
    return user


def _named(name: str, field: str) -> User:
    user = find_proven_user(name)
    if user is None:
        raise Invalid("There is no such account.", fields={field: "There is no such account."})
    return user


def list_quotas(owner: Project | User) -> list[dict[str, Any]]:
    """Return the quotas of a project or a person, with what is used of each."""
    table = quotas.quota_table(owner)
    return [{"name": name, "used": used, "most": most} for name, used, most in table]


class InstallationStateDetail(OwnerEndpoint):
    @extend_schema(responses=StateOut, summary="What holds for the whole installation")
    def get(self, request: Request) -> Response:
        return Response(StateOut(read_state()).data)

    @extend_schema(request=StateIn, responses=StateOut, summary="Change banner and features")
    def patch(self, request: Request) -> Response:
        body = read(StateIn, request)
        if "banner" in body:
            actions.set_banner(by=self.owner(), text=body["banner"])
        if "switched_off" in body:
            actions.switch_features(by=self.owner(), switched_off=body["switched_off"])
        return Response(StateOut(read_state()).data)


class ReadOnlyBegin(OwnerEndpoint):
    @extend_schema(request=ReasonIn, responses=StateOut, summary="Make the installation read-only")
    def post(self, request: Request) -> Response:
        actions.set_read_only(by=self.owner(), **read(ReasonIn, request))
        return Response(StateOut(read_state()).data)


class ReadOnlyEnd(OwnerEndpoint):
    @extend_schema(request=None, responses=ReadOnlyEnded, summary="Take changes again")
    def post(self, request: Request) -> Response:
        return Response({"assignments": actions.end_read_only(by=self.owner())})


class Broadcast(OwnerEndpoint):
    @extend_schema(request=BroadcastIn, responses=PeopleNotified, summary="Notify everybody once")
    def post(self, request: Request) -> Response:
        return Response(
            {"people": actions.broadcast(by=self.owner(), **read(BroadcastIn, request))}
        )


class DemoRemove(OwnerEndpoint):
    @extend_schema(request=None, responses=AccountsClosed, summary="Remove the demo")
    def post(self, request: Request) -> Response:
        return Response({"accounts": remove_demo(by=self.owner())})


class UsualQuotas(OwnerEndpoint):
    @extend_schema(responses=QuotaOut(many=True), summary="Quotas without a number of one's own")
    def get(self, request: Request) -> Response:
        return Response(self._rows())

    @extend_schema(request=QuotaIn, responses=QuotaOut(many=True), summary="Change a usual quota")
    def patch(self, request: Request) -> Response:
        body = read(QuotaIn, request)
        actions.set_limit(by=self.owner(), name=body["name"], owner=None, limit=body["most"])
        return Response(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        used = {name: used for name, used, _most in quotas.quota_table()}
        return [
            {"name": name, "used": used.get(name), "most": quotas.usual_limit(name)}
            for name in quotas.QUOTAS
        ]


class Retention(OwnerEndpoint):
    @extend_schema(
        responses=RetentionOut(many=True), summary="For how long each kind of rows is kept"
    )
    def get(self, request: Request) -> Response:
        return Response(RetentionOut(SETTABLE, many=True).data)

    @extend_schema(
        request=RetentionIn, responses=RetentionOut(many=True), summary="Change one of them"
    )
    def patch(self, request: Request) -> Response:
        set_retention(by=self.owner(), **read(RetentionIn, request))
        return Response(RetentionOut(SETTABLE, many=True).data)


class GrowthFigures(OwnerEndpoint):
    @extend_schema(
        responses=GrowthOut(many=True), summary="What each kind of rows takes, and a year adds"
    )
    def get(self, request: Request) -> Response:
        return Response(GrowthOut(growth(), many=True).data)


class ProjectQuotas(OwnerEndpoint):
    @extend_schema(responses=QuotaOut(many=True), summary="Quotas of a project")
    def get(self, request: Request, project_id: int) -> Response:
        return Response(list_quotas(find_project(project_id)))

    @extend_schema(request=QuotaIn, responses=QuotaOut(many=True), summary="Change one of them")
    def patch(self, request: Request, project_id: int) -> Response:
        project, body = find_project(project_id), read(QuotaIn, request)
        actions.set_limit(by=self.owner(), name=body["name"], owner=project, limit=body["most"])
        return Response(list_quotas(project))


class PersonQuotas(OwnerEndpoint):
    @extend_schema(responses=QuotaOut(many=True), summary="Quotas of a person")
    def get(self, request: Request, user_id: int) -> Response:
        return Response(list_quotas(find_account(user_id)))

    @extend_schema(request=QuotaIn, responses=QuotaOut(many=True), summary="Change one of them")
    def patch(self, request: Request, user_id: int) -> Response:
        person, body = find_account(user_id), read(QuotaIn, request)
        actions.set_limit(by=self.owner(), name=body["name"], owner=person, limit=body["most"])
        return Response(list_quotas(person))


class OwnerListing(Listing, OwnerEndpoint):
    """Rows of the installation, page by page."""


class AuditEntries(OwnerListing):
    pagination_class: ClassVar[type[CursorPagination]] = Newest

    @extend_schema(responses=InstallationEntry(many=True), summary="The whole audit log")
    def get(self, request: Request) -> Response:
        return self.page(AuditEntry.objects.select_related("actor"), InstallationEntry)


class InstallationProjects(OwnerListing):
    @extend_schema(responses=ProjectUseOut(many=True), summary="All projects with their use")
    def get(self, request: Request) -> Response:
        return self.page(project_rows(), ProjectUseOut)


class ProjectTransfer(OwnerEndpoint):
    @extend_schema(request=TransferIn, responses=ProjectUseOut, summary="Give another owner")
    def post(self, request: Request, project_id: int) -> Response:
        project, body = find_project(project_id), read(TransferIn, request)
        actions.transfer_project(
            by=self.owner(), project=project, to=_named(body["to"], "to"), why=body["why"]
        )
        return Response(ProjectUseOut(project_rows().get(pk=project.pk)).data)


class ProjectArchive(OwnerEndpoint):
    @extend_schema(
        request=ReasonIn, responses=TasksClosed, summary="Close its tasks, and let nobody change it"
    )
    def post(self, request: Request, project_id: int) -> Response:
        project = find_project(project_id)
        count = actions.archive_project(by=self.owner(), project=project, **read(ReasonIn, request))
        return Response({"tasks": count})


class ProjectReopen(OwnerEndpoint):
    @extend_schema(
        request=ReasonIn, responses={204: None}, summary="Let an archived project be changed again"
    )
    def post(self, request: Request, project_id: int) -> Response:
        project = find_project(project_id)
        actions.reopen_project(by=self.owner(), project=project, **read(ReasonIn, request))
        return Response(status=204)


class InstallationPeople(OwnerListing):
    @extend_schema(responses=AccountUseOut(many=True), summary="All accounts with their use")
    def get(self, request: Request) -> Response:
        return self.page(accounts_with_use(), AccountUseOut)


class AccountClose(OwnerEndpoint):
    @extend_schema(
        request=ReasonIn, responses={204: None}, summary="Keep an account from signing in"
    )
    def post(self, request: Request, user_id: int) -> Response:
        user = find_account(user_id)
        actions.close_account(by=self.owner(), user=user, **read(ReasonIn, request))
        return Response(status=204)


class AccountReopen(OwnerEndpoint):
    @extend_schema(
        request=ReasonIn, responses={204: None}, summary="Let a closed account sign in again"
    )
    def post(self, request: Request, user_id: int) -> Response:
        user = find_account(user_id)
        actions.reopen_account(by=self.owner(), user=user, **read(ReasonIn, request))
        return Response(status=204)


class FactorReset(OwnerEndpoint):
    @extend_schema(
        request=ProofIn,
        responses=FactorsRemoved,
        summary="Remove the second factors of an account and end its sessions",
    )
    def post(self, request: Request, user_id: int) -> Response:
        user, body = find_account(user_id), read(ProofIn, request)
        count = actions.reset_second_factor(by=self.owner(), user=user, proof=body["proof"])
        return Response({"factors": count})


class AccountMerge(OwnerEndpoint):
    @extend_schema(
        request=MergeIn,
        responses={204: None},
        summary="Move roles, work and addresses to another account, and close this one",
    )
    def post(self, request: Request, user_id: int) -> Response:
        user, body = find_account(user_id), read(MergeIn, request)
        into = _named(body["into"], "into")
        merging.merge_accounts(by=self.owner(), user=user, into=into, why=body["why"])
        return Response(status=204)
