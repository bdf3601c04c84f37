"""Live evaluations over the API: open one, send outputs, read its state, end it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_task_by_id
from annotation.api.frame.base import Body, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Role, Task
from crowdqc.errors import Missing
from crowdqc.web.fields import PlainMoneyField
from evaluation.live import actions as live
from evaluation.live import selectors
from evaluation.live.outputs import MOST_ROWS

MONEY: dict[str, Any] = {"max_digits": 12, "decimal_places": 2}


class LiveIn(Body):
    systems = serializers.ListField(
        child=serializers.CharField(max_length=120),
        min_length=2,
        max_length=live.MOST_SYSTEMS,
        help_text="The names of the systems to compare",
    )
    half_width = serializers.FloatField(
        default=live.DEFAULT_HALF_WIDTH,
        min_value=live.LEAST_HALF_WIDTH,
        max_value=live.MOST_HALF_WIDTH,
        help_text="It ends when every share of votes won is known this precisely, as ± .05",
    )
    max_judgments = serializers.IntegerField(
        default=live.DEFAULT_JUDGMENTS, min_value=1, max_value=live.MOST_JUDGMENTS
    )
    budget = PlainMoneyField(
        **MONEY,
        required=False,
        allow_null=True,
        default=None,
        help_text="Pay of claimed and submitted assignments and the cost of models together; null: "
        "no limit",
    )
    judges = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        default=list,
        max_length=live.MOST_JUDGES,
        help_text="Ids of language models that judge every pair in both orders",
    )
    decided_by = serializers.ChoiceField(
        choices=live.DecidedBy.choices,
        default=live.DecidedBy.PEOPLE.value,
        help_text="Whose judgments end it: people’s, with models beside; or models’ alone",
    )
    dimension = serializers.CharField(
        default="", allow_blank=True, help_text="The dimension that decides; empty: the last one"
    )


class LimitsIn(Body):
    max_judgments = serializers.IntegerField(
        required=False, allow_null=True, default=None, max_value=live.MOST_JUDGMENTS
    )
    budget = PlainMoneyField(**MONEY, required=False, allow_null=True, default=None)


class OutputIn(Body):
    prompt = serializers.CharField(help_text="The prompt's key", allow_blank=True)
    question = serializers.CharField(help_text="What the systems were asked", allow_blank=True)
    system = serializers.CharField(allow_blank=True)
    text = serializers.CharField(help_text="What the system wrote", allow_blank=True)


class OutputsIn(Body):
    key = serializers.CharField(
        max_length=120, help_text="Any text used once: sent again with the same rows, adds nothing"
    )
    outputs = OutputIn(many=True, min_length=1, max_length=MOST_ROWS)


class OutputsOut(serializers.Serializer[Any]):
    prompts = serializers.IntegerField()
    pairs = serializers.IntegerField()
    again = serializers.BooleanField(help_text="They were added by an earlier request")


class ShareOut(serializers.Serializer[Any]):
    system = serializers.CharField()
    share = serializers.FloatField(allow_null=True, help_text="Of votes won; a tie is half")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    votes = serializers.IntegerField()


class JudgeOut(serializers.Serializer[Any]):
    model = serializers.CharField()
    pairs = serializers.IntegerField(help_text="Judged in both orders")
    same_both_orders = serializers.FloatField(
        allow_null=True, help_text="Share of pairs that got the same answer in both orders"
    )
    half_width = serializers.FloatField(allow_null=True)
    why_no_interval = serializers.CharField(allow_blank=True)
    systems = ShareOut(many=True, help_text="What this model says; no person’s vote is in it")


class BoardOut(serializers.Serializer[Any]):
    decided_by = serializers.CharField(default="people", help_text="people, or models alone")
    votes = serializers.IntegerField(
        default=0, help_text="People’s; pairs that all models judged where these decide alone"
    )
    workers = serializers.IntegerField(default=0)
    prompts = serializers.IntegerField(default=0)
    half_width = serializers.FloatField(allow_null=True, default=None)
    why_no_interval = serializers.CharField(default="", allow_blank=True)
    systems = ShareOut(many=True, default=list)
    judges = JudgeOut(many=True, default=list)


class LiveOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    task = serializers.IntegerField()
    state = serializers.CharField(help_text="open or ended")
    reason = serializers.CharField(
        allow_blank=True, help_text="precise, judgments, budget or by_hand; empty while open"
    )
    systems = serializers.ListField(child=serializers.CharField())
    dimension = serializers.CharField()
    half_width = serializers.FloatField()
    max_judgments = serializers.IntegerField()
    budget = PlainMoneyField(**MONEY, allow_null=True)
    prompts = serializers.IntegerField()
    prompts_left = serializers.IntegerField(help_text="How many more fit in max_judgments")
    judgments_asked = serializers.IntegerField()
    judgments_taken = serializers.IntegerField(help_text="Given or in work")
    in_work = serializers.IntegerField(help_text="Assignments in work")
    money = PlainMoneyField(**MONEY, help_text="Of people and models")
    decided_by = serializers.CharField(help_text="people or models")
    models_money = PlainMoneyField(
        **MONEY, help_text="Of it for models, with what is held for calls in work"
    )
    models_in_work = serializers.IntegerField(help_text="Runs of models in work")
    opened_at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    board = BoardOut(help_text="The last look; the result once it has ended")


def _reply(task: Task, code: int = status.HTTP_200_OK) -> Response:
    found = selectors.evaluation_of(task)
    if found is None:
        raise Missing("This task has no live evaluation.")
    return Response(LiveOut(selectors.live_payload(found, task)).data, status=code)


class Live(Endpoint):
    @extend_schema(responses=LiveOut, summary="A live evaluation and its board")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return _reply(task)

    @extend_schema(
        request=LiveIn,
        responses={201: LiveOut},
        summary="Open a live evaluation on a pairwise task",
        description="It ends by itself when it is precise enough or its limits are used.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        live.open_evaluation(by=access.user, task=task, **read(LiveIn, request))
        return _reply(task, status.HTTP_201_CREATED)

    @extend_schema(
        request=LimitsIn,
        responses=LiveOut,
        summary="Raise the limits of an open live evaluation",
        description="What is left out stays as it is. A limit is never lowered.",
    )
    def patch(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        live.raise_limits(by=access.user, task=task, **read(LimitsIn, request))
        return _reply(task)


class LiveOutputs(Endpoint):
    @extend_schema(
        request=OutputsIn,
        responses={201: OutputsOut, 200: OutputsOut},
        summary="Add outputs of the systems: all or none",
        description="Every prompt needs one text of each system; every pair is then judged.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        body = read(OutputsIn, request)
        found = live.add_outputs(by=access.user, task=task, key=body["key"], rows=body["outputs"])
        code = status.HTTP_200_OK if found.again else status.HTTP_201_CREATED
        return Response(OutputsOut(found).data, status=code)


class LiveEnd(Endpoint):
    @extend_schema(request=None, responses=LiveOut, summary="End a live evaluation now")
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        live.end(by=access.user, task=task)
        return _reply(task)
