"""Endpoints of panels as collecting knows them: who is on one, what asks for it, rounds."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import Access, get_access, get_task_by_id
from annotation.api.frame.base import Body, Listing, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Assignment, Panel, PanelMember, Qualification, Role
from annotation.panels import selectors
from annotation.panels.actions import panels, qualification
from crowdqc.errors import Missing


class PanelIn(Body):
    name = serializers.CharField(max_length=80)


class PanelOut(serializers.ModelSerializer[Panel]):
    members = serializers.IntegerField(source="now", help_text="On it now")

    class Meta:
        model = Panel
        fields = ("id", "name", "members", "created_at")


class MemberOut(serializers.ModelSerializer[PanelMember]):
    """That a worker is or was on a panel; nothing of it is ever deleted."""

    worker = serializers.IntegerField(source="worker_id", help_text="The membership's id")
    pseudonym = serializers.CharField(source="worker.pseudonym")
    run = serializers.IntegerField(source="run_number", allow_null=True)

    class Meta:
        model = PanelMember
        fields = ("id", "worker", "pseudonym", "since", "until", "run", "why", "end_why")


class AdmitIn(Body):
    workers = serializers.ListField(
        child=serializers.IntegerField(), min_length=1, help_text="Ids of memberships"
    )
    why = serializers.CharField(default="", allow_blank=True, max_length=300)
    words = serializers.CharField(
        default="", allow_blank=True, max_length=400, help_text="What they read; left out: a line"
    )


class EndIn(Body):
    why = serializers.CharField(max_length=300, help_text="The worker may ask for it")


class AskingIn(Body):
    asks_for = serializers.CharField(
        allow_blank=True, help_text="The panel that alone may work; empty: everybody"
    )
    qualifies = serializers.CharField(
        required=False, allow_blank=True, help_text="The panel that passing leads to"
    )


class AskingOut(serializers.Serializer[Any]):
    asks_for = serializers.CharField(source="panel.name", default="")
    qualifies = serializers.CharField(source="qualifies.name", default="")


class RoundOut(serializers.ModelSerializer[Assignment]):
    """A submitted round of a qualification task; its answers are the assignment's."""

    worker = serializers.CharField(source="worker.pseudonym")
    verdict = serializers.CharField(source="qualification.verdict", default=None, allow_null=True)
    feedback = serializers.CharField(source="qualification.feedback", default=None, allow_null=True)

    class Meta:
        model = Assignment
        fields = ("id", "worker", "submitted_at", "verdict", "feedback")


class VerdictIn(Body):
    verdict = serializers.ChoiceField(Qualification.Verdict.choices)
    feedback = serializers.CharField(help_text="The worker reads it")


def get_panel(
    request: Request, project_id: int, panel_id: int, *roles: str
) -> tuple[Access, Panel]:
    """A panel of the project, for its staff."""
    access = get_access(request, project_id, *roles)
    found = selectors.panels_of(access.project).filter(pk=panel_id).first()
    if found is None:
        raise Missing("There is no such panel in this project.")
    found.project = access.project
    return access, found


class Panels(Listing):
    @extend_schema(responses=PanelOut(many=True), summary="Panels of a project")
    def get(self, request: Request, project_id: int) -> Response:
        return self.page(selectors.panels_of(get_access(request, project_id).project), PanelOut)

    @extend_schema(request=PanelIn, responses={201: PanelOut}, summary="Create a panel")
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        made = panels.create(by=access.user, project=access.project, **read(PanelIn, request))
        shown = selectors.panels_of(access.project).get(pk=made.pk)
        return Response(PanelOut(shown).data, status=201)


class OnePanel(Endpoint):
    @extend_schema(responses=PanelOut, summary="One panel")
    def get(self, request: Request, project_id: int, panel_id: int) -> Response:
        return Response(PanelOut(get_panel(request, project_id, panel_id)[1]).data)

    @extend_schema(request=PanelIn, responses=PanelOut, summary="Rename a panel")
    def patch(self, request: Request, project_id: int, panel_id: int) -> Response:
        access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
        panels.rename(by=access.user, panel=found, **read(PanelIn, request))
        return self.get(request, project_id, panel_id)


class Members(Listing):
    @extend_schema(responses=MemberOut(many=True), summary="Who is and was on a panel")
    def get(self, request: Request, project_id: int, panel_id: int) -> Response:
        _, found = get_panel(request, project_id, panel_id)
        return self.page(found.members.select_related("worker"), MemberOut)

    @extend_schema(
        request=AdmitIn,
        responses={201: MemberOut(many=True)},
        summary="Let workers onto a panel",
        description="Gives the new members; who is on it stays as they are.",
    )
    def post(self, request: Request, project_id: int, panel_id: int) -> Response:
        access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
        body = read(AdmitIn, request)
        workers = selectors.workers_of(access.project, body.pop("workers"))
        made = panels.admit(by=access.user, panel=found, workers=workers, **body)
        return Response(MemberOut(made, many=True).data, status=201)


class MemberEnd(Endpoint):
    @extend_schema(
        request=EndIn,
        responses=MemberOut,
        summary="Remove a worker from a panel",
        description="With a reason. Work in hand may be finished, and pay does not change.",
    )
    def post(self, request: Request, project_id: int, panel_id: int, member_id: int) -> Response:
        access, found = get_panel(request, project_id, panel_id, Role.REQUESTER)
        member = found.members.filter(pk=member_id).first()
        if member is None:
            raise Missing("There is no such member of this panel.")
        ended = panels.end(by=access.user, member=member, **read(EndIn, request))
        return Response(MemberOut(ended).data)


class Asking(Endpoint):
    @extend_schema(responses=AskingOut, summary="Which panels a task asks for and leads to")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return Response(AskingOut(task).data)

    @extend_schema(
        request=AskingIn,
        responses=AskingOut,
        summary="Name them",
        description="A panel of a new name is made. Not while the task is open.",
    )
    def put(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        panels.set_panels(by=access.user, task=task, **read(AskingIn, request))
        return self.get(request, task_id)


class Rounds(Listing):
    @extend_schema(responses=RoundOut(many=True), summary="Rounds of a qualification task")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return self.page(selectors.rounds_of(task), RoundOut)


class RoundDecide(Endpoint):
    @extend_schema(
        request=VerdictIn,
        responses=RoundOut,
        summary="Say what follows from a round",
        description="Once, with words that the worker reads; pay is decided apart.",
    )
    def post(self, request: Request, task_id: int, assignment_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        found = selectors.rounds_of(task).filter(pk=assignment_id).first()
        if found is None:
            raise Missing("There is no such round of this task.")
        qualification.decide(by=access.user, assignment=found, **read(VerdictIn, request))
        return Response(RoundOut(selectors.rounds_of(task).get(pk=assignment_id)).data)
