"""Endpoints of what is told: notices to people, events to other systems."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, token_project_id
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Hook, HookDelivery, Notice, Role
from annotation.notifications import selectors
from annotation.notifications.actions import notices as notice_actions
from annotation.notifications.actions import webhooks as hook_actions

EVENTS = list(hook_actions.EVENTS)


class NoticeOut(serializers.ModelSerializer[Notice]):
    url = serializers.SerializerMethodField(
        help_text="Where it leads; empty for an invitation, whose link is for the person alone"
    )

    class Meta:
        model = Notice
        fields = ("id", "project", "kind", "text", "url", "created_at", "read_at")

    def get_url(self, notice: Notice) -> str:
        return "" if notice.kind == "invitation" else notice.url


class ReadIn(Body):
    upto = serializers.IntegerField(min_value=0, help_text="The id of the newest notice seen")


class MarkedOut(serializers.Serializer[Any]):
    read = serializers.IntegerField(help_text="Notices that were unread before")


class HookIn(Body):
    url = serializers.CharField(max_length=300, help_text="It gets a signed POST with JSON")
    events = serializers.ListField(
        child=serializers.ChoiceField(EVENTS), required=False, help_text="Left out: all of them"
    )


class EventsIn(Body):
    events = serializers.ListField(
        child=serializers.ChoiceField(EVENTS), help_text="Empty: all of them"
    )


class StepIn(Body):
    step = serializers.ChoiceField(["pause", "resume", "ping"])


class HookOut(serializers.ModelSerializer[Hook]):
    events = serializers.ListField(child=serializers.CharField(), help_text="Empty: all of them")
    waiting = serializers.IntegerField(help_text="Deliveries that wait to be sent")
    failed = serializers.IntegerField(help_text="Deliveries that were given up")
    taken_at = serializers.DateTimeField(allow_null=True, help_text="The last that was taken")

    class Meta:
        model = Hook
        fields = ("id", "url", "events", "active", "waiting", "failed", "taken_at", "created_at")


class NewHookOut(HookOut):
    secret = serializers.SerializerMethodField(help_text="Signs what is sent; told once")

    class Meta(HookOut.Meta):
        fields = (*HookOut.Meta.fields, "secret")  # type: ignore[assignment]

    def get_secret(self, hook: Hook) -> str:
        return str(self.context["secret"])


class DeliveryOut(serializers.ModelSerializer[HookDelivery]):
    payload = serializers.SerializerMethodField(help_text="What is sent")

    class Meta:
        model = HookDelivery
        fields = (
            "id",
            "event_id",
            "event",
            "payload",
            "state",
            "attempts",
            "next_at",
            "status",
            "error",
            "created_at",
            "done_at",
        )

    @extend_schema_field(serializers.DictField())
    def get_payload(self, delivery: HookDelivery) -> Any:
        return delivery.payload


class Notices(Listing):
    pagination_class = Newest

    @extend_schema(responses=NoticeOut(many=True), summary="What I was told")
    def get(self, request: Request) -> Response:
        return self.page(selectors.notices_of(request.user, token_project_id(request)), NoticeOut)


class NoticesRead(Endpoint):
    writes = "read"

    @extend_schema(request=ReadIn, responses=MarkedOut, summary="Mark notices as read")
    def post(self, request: Request) -> Response:
        body = read(ReadIn, request)
        only = token_project_id(request)
        read_now = notice_actions.mark_all_read(by=request.user, only=only, **body)
        return Response({"read": read_now})


class Hooks(Endpoint):
    @extend_schema(responses=HookOut(many=True), summary="Addresses that are told of events")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return Response(HookOut(selectors.hooks_of(access.project), many=True).data)

    @extend_schema(
        request=HookIn,
        responses={201: NewHookOut},
        summary="Have an address told of events",
        description="Signed as Standard Webhooks has it, with the secret that is told here once.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        made, secret = hook_actions.add_hook(
            by=access.user, project=access.project, **read(HookIn, request)
        )
        row = selectors.hook_of(access.project, made.pk)
        return Response(NewHookOut(row, context={"secret": secret}).data, status=201)


class OneHook(Endpoint):
    @extend_schema(responses=HookOut, summary="One address")
    def get(self, request: Request, project_id: int, hook_id: int) -> Response:
        access = get_access(request, project_id)
        return Response(HookOut(selectors.hook_of(access.project, hook_id)).data)

    @extend_schema(request=EventsIn, responses=HookOut, summary="Choose its events")
    def patch(self, request: Request, project_id: int, hook_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        hook = selectors.hook_of(access.project, hook_id)
        hook_actions.change_events(by=access.user, hook=hook, **read(EventsIn, request))
        return self.get(request, project_id, hook_id)

    @extend_schema(responses={204: None}, summary="Take an address out, with its log")
    def delete(self, request: Request, project_id: int, hook_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        hook_actions.remove(by=access.user, hook=selectors.hook_of(access.project, hook_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class HookStep(Endpoint):
    @extend_schema(request=StepIn, responses=HookOut, summary="Pause, resume or test an address")
    def post(self, request: Request, project_id: int, hook_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        hook = selectors.hook_of(access.project, hook_id)
        steps = {
            "pause": hook_actions.pause,
            "resume": hook_actions.resume,
            "ping": hook_actions.ping,
        }
        steps[read(StepIn, request)["step"]](by=access.user, hook=hook)
        return Response(HookOut(selectors.hook_of(access.project, hook_id)).data)


class Deliveries(Listing):
    pagination_class = Newest

    @extend_schema(responses=DeliveryOut(many=True), summary="What an address was told")
    def get(self, request: Request, project_id: int, hook_id: int) -> Response:
        access = get_access(request, project_id)
        hook = selectors.hook_of(access.project, hook_id)
        return self.page(selectors.deliveries_of(hook), DeliveryOut)


class DeliverAgain(Endpoint):
    @extend_schema(
        request=None,
        responses=DeliveryOut,
        summary="Send a delivery again",
        description="Under the same id, so that its taker can tell.",
    )
    def post(self, request: Request, project_id: int, hook_id: int, delivery_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        hook = selectors.hook_of(access.project, hook_id)
        found = selectors.delivery_of(hook, delivery_id)
        return Response(DeliveryOut(hook_actions.redeliver(by=access.user, delivery=found)).data)
