"""Endpoints by which an owner of the installation runs organisations."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.organisations import actions as organisations
from annotation.accounts.organisations.selectors import (
    get_organisation,
    list_members,
    list_organisations,
)
from annotation.api.frame.base import Body, read
from annotation.models import Organisation, OrganisationRole
from crowdqc.web.fields import PlainMoneyField
from evaluation.installation.api import OwnerEndpoint, OwnerListing, find_project
from evaluation.llm.organisation import use_of
from evaluation.organisations.actions import close_organisation, set_organisation


class OrganisationOut(serializers.ModelSerializer[Organisation]):
    """An organisation with its use."""

    people = serializers.IntegerField()
    projects = serializers.IntegerField(source="project_count")
    models_spent = serializers.SerializerMethodField(help_text="By calls of all its projects")

    class Meta:
        model = Organisation
        fields = (
            *("id", "name", "currency", "people", "projects", "models_spent", "model_budget"),
            *("hourly_floor", "decide_days", "answer_days_kept", "created_at"),
        )

    def get_models_spent(self, row: Organisation) -> str:
        return str(use_of(row).spent)


class OrganisationIn(Body):
    name = serializers.CharField(max_length=organisations.MAX_NAME)
    owner = serializers.CharField(help_text="The user name or e-mail address of its first owner")
    currency = serializers.CharField(default="EUR", help_text="Of all its projects")


class OrganisationChange(Body):
    """What is left out stays."""

    name = serializers.CharField(max_length=organisations.MAX_NAME, required=False)
    model_budget = PlainMoneyField(
        max_digits=12, decimal_places=2, min_value=0, required=False, allow_null=True,
        help_text="For calls to models by all its projects; null: no limit",
    )  # fmt: skip
    hourly_floor = PlainMoneyField(
        max_digits=8, decimal_places=2, min_value=0, required=False, allow_null=True
    )
    decide_days = serializers.IntegerField(required=False)
    answer_days_kept = serializers.IntegerField(required=False, allow_null=True)


class OrganisationMemberIn(Body):
    person = serializers.CharField(help_text="A user name or e-mail address")
    role = serializers.ChoiceField(
        OrganisationRole.choices, allow_null=True, help_text="null: ends it"
    )


class OrganisationMemberOut(serializers.Serializer[Any]):
    """Somebody who belongs to an organisation."""

    person = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(OrganisationRole.choices)
    by_group = serializers.BooleanField(help_text="Follows a group of single sign-on")
    since = serializers.DateTimeField(source="created_at")


class OrganisationProjectIn(Body):
    project = serializers.IntegerField()
    joins = serializers.BooleanField(default=True, help_text="false: it leaves")


class Organisations(OwnerListing):
    @extend_schema(responses=OrganisationOut(many=True), summary="All organisations")
    def get(self, request: Request) -> Response:
        return self.page(list_organisations(self.owner()), OrganisationOut)

    @extend_schema(
        request=OrganisationIn, responses={201: OrganisationOut}, summary="Found an organisation"
    )
    def post(self, request: Request) -> Response:
        owner, body = self.owner(), read(OrganisationIn, request)
        made = organisations.create_organisation(
            by=owner,
            name=body["name"],
            currency=body["currency"],
            owner=organisations.find_person(owner, body["owner"]),
        )
        return Response(OrganisationOut(get_organisation(owner, made.pk)).data, status=201)


class OneOrganisation(OwnerEndpoint):
    @extend_schema(responses=OrganisationOut, summary="One organisation")
    def get(self, request: Request, organisation_id: int) -> Response:
        return Response(OrganisationOut(get_organisation(self.owner(), organisation_id)).data)

    @extend_schema(
        request=OrganisationChange, responses=OrganisationOut, summary="Change its settings"
    )
    def patch(self, request: Request, organisation_id: int) -> Response:
        owner, body = self.owner(), read(OrganisationChange, request)
        found = get_organisation(owner, organisation_id)
        if "name" in body:
            organisations.rename_organisation(by=owner, organisation=found, name=body.pop("name"))
        if body:
            organisations.change_settings(by=owner, organisation=found, **body)
        return self.get(request, organisation_id)


class OrganisationMembers(OwnerEndpoint):
    @extend_schema(
        responses=OrganisationMemberOut(many=True), summary="Who belongs to an organisation"
    )
    def get(self, request: Request, organisation_id: int) -> Response:
        found = get_organisation(self.owner(), organisation_id)
        return Response(OrganisationMemberOut(list_members(found), many=True).data)

    @extend_schema(
        request=OrganisationMemberIn,
        responses=OrganisationMemberOut(many=True),
        summary="Give, change or end a role",
    )
    def post(self, request: Request, organisation_id: int) -> Response:
        owner, body = self.owner(), read(OrganisationMemberIn, request)
        found = get_organisation(owner, organisation_id)
        person = organisations.find_person(owner, body["person"])
        organisations.change_member(
            by=owner, organisation=found, user=person, role=body["role"] or ""
        )
        return self.get(request, organisation_id)


class OrganisationProjects(OwnerEndpoint):
    @extend_schema(
        request=OrganisationProjectIn,
        responses=OrganisationOut,
        summary="Let a project join or leave",
    )
    def post(self, request: Request, organisation_id: int) -> Response:
        owner, body = self.owner(), read(OrganisationProjectIn, request)
        found, project = get_organisation(owner, organisation_id), find_project(body["project"])
        if body["joins"] or project.organisation_id == found.pk:
            set_organisation(
                by=owner, project=project, organisation=found if body["joins"] else None
            )
        return Response(OrganisationOut(get_organisation(owner, organisation_id)).data)


class OrganisationClose(OwnerEndpoint):
    @extend_schema(request=None, responses={204: None}, summary="Close one without projects")
    def post(self, request: Request, organisation_id: int) -> Response:
        found = get_organisation(self.owner(), organisation_id)
        close_organisation(by=self.owner(), organisation=found)
        return Response(status=204)
