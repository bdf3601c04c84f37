"""Items that people should label next, over the API: drawn beside a model, and what was drawn."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_task_by_id
from annotation.api.frame.base import Body, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Role
from crowdqc.web.fields import PlainMoneyField
from evaluation.replacement import actions, next_items
from evaluation.replacement.selectors import draws


class DrawIn(Body):
    model = serializers.CharField(
        max_length=200, help_text="The name of a system that answered the items"
    )
    items = serializers.IntegerField(
        default=next_items.USUAL, min_value=1, max_value=next_items.MOST, help_text="How many"
    )
    way = serializers.ChoiceField(
        choices=list(next_items.WAYS),
        default=next_items.UNSURE,
        help_text="Where the model is least sure, or at random",
    )
    field = serializers.CharField(
        default="", allow_blank=True, max_length=40, help_text="Empty: the task’s first field"
    )
    trusted = serializers.BooleanField(
        default=False, help_text="What people labelled so far is a random part of all items"
    )
    seed = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=2**31 - 1
    )


class DrawOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    field = serializers.CharField()
    model = serializers.CharField()
    way = serializers.CharField(help_text="unsure or random")
    seed = serializers.IntegerField()
    trusted = serializers.BooleanField()
    items = serializers.ListField(
        child=serializers.CharField(), help_text="Ids of the items, which are handed out first"
    )
    answers = serializers.IntegerField(help_text="How many answers these items ask for")
    pay = PlainMoneyField(
        max_digits=12, decimal_places=2, help_text="Of the assignments that they fill, at most"
    )
    created_at = serializers.DateTimeField()


class Draws(Endpoint):
    @extend_schema(
        responses=DrawOut(many=True), summary="Items that were drawn for people, the newest first"
    )
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return Response(DrawOut(draws.draws_of(task), many=True).data)

    @extend_schema(
        request=DrawIn,
        responses={201: DrawOut},
        summary="Draw items that people should label next, and hand them out first",
        description="The newest draw of a field is weighed when the models are tested again.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        body = read(DrawIn, request)
        made = actions.ask_about_items(
            by=access.user,
            task=task,
            field=body["field"],
            system_id=next_items.system_named(task, body["model"]),
            wanted=body["items"],
            way=body["way"],
            trusted=body["trusted"],
            seed=body["seed"],
        )
        return Response(
            DrawOut(draws.draw_payload(made, task)).data, status=status.HTTP_201_CREATED
        )
