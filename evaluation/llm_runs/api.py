"""Models over the API: which there are, what asking them would cost, asking, and the calls."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, get_task_by_id
from annotation.api.frame.base import Body, Listing, read
from annotation.api.frame.endpoint import Endpoint
from crowdqc.web.fields import PlainMoneyField
from evaluation.llm.selectors import calls as llm_calls
from evaluation.llm_runs import start as ask_start
from evaluation.models import LanguageModel, LLMCall
from evaluation.runs.api import RunOut, run_for


class ModelOut(serializers.ModelSerializer[LanguageModel]):
    endpoint = serializers.CharField(source="endpoint.name")
    base_url = serializers.CharField(source="endpoint.base_url")

    class Meta:
        model = LanguageModel
        fields = (
            "id",
            "name",
            "endpoint",
            "base_url",
            "use",
            "price_in",
            "price_out",
            "can",
            "probed_at",
        )


class WayOut(serializers.Serializer[Any]):
    method = serializers.CharField()
    title = serializers.CharField()
    version = serializers.CharField()
    params = serializers.DictField(help_text="Every option with its default")


class PlanIn(Body):
    params = serializers.DictField(help_text="model: the id of a model; the others by default")


class AskIn(PlanIn):
    agreed = serializers.BooleanField(
        default=False, help_text="That the endpoint's soft budget may be passed"
    )


class PreviewOut(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    calls = serializers.IntegerField()
    cached = serializers.IntegerField(help_text="Asked already; they cost nothing")
    tokens_in = serializers.IntegerField()
    tokens_out = serializers.IntegerField()
    cost = PlainMoneyField(
        max_digits=16, decimal_places=8, allow_null=True, help_text="To be expected"
    )
    at_most = PlainMoneyField(max_digits=16, decimal_places=8, allow_null=True)
    minutes = serializers.FloatField(allow_null=True)
    problems = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    over_soft = serializers.BooleanField(help_text="Starting it needs agreed")


class CallOut(serializers.ModelSerializer[LLMCall]):
    class Meta:
        model = LLMCall
        fields = (
            "id",
            "model_name",
            "base_url",
            "prompt",
            "messages",
            "params",
            "schema",
            "replicate",
            "source",
            "state",
            "text",
            "value",
            "chances",
            "reason",
            "tokens_in",
            "tokens_out",
            "cost",
            "latency_ms",
            "attempts",
            "created_at",
            "finished_at",
        )


class ProjectModels(Listing):
    @extend_schema(responses=ModelOut(many=True), summary="Language models of a project")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return self.page(LanguageModel.objects.usable(access.project.pk), ModelOut)


class TaskAsking(Endpoint):
    @extend_schema(responses=WayOut(many=True), summary="What models can be asked about a task")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        found = [
            {
                "method": slug,
                "title": one.title,
                "version": one.version,
                "params": one.options.defaults,
            }
            for slug, one in ask_start.ways_of(task)
        ]
        return Response(WayOut(found, many=True).data)


class AskPreview(Endpoint):
    writes = "run"

    @extend_schema(
        request=PlanIn, responses=PreviewOut, summary="What a run would ask of a model, and cost"
    )
    def post(self, request: Request, task_id: int, method: str) -> Response:
        _, task = get_task_by_id(request, task_id)
        ready = ask_start.prepare(task=task, method=method, raw=read(PlanIn, request)["params"])
        told = {"sentence": ready.plan.sentence, "over_soft": ready.over_soft}
        return Response(PreviewOut(told | vars(ready.preview)).data)


class StartModelRun(Endpoint):
    writes = "run"

    @extend_schema(request=AskIn, responses={201: RunOut}, summary="Start a run that asks a model")
    def post(self, request: Request, task_id: int, method: str) -> Response:
        access, task = get_task_by_id(request, task_id)
        body = read(AskIn, request)
        run = ask_start.start(
            by=access.user,
            task=task,
            method=method,
            raw=body["params"],
            agreed=body["agreed"],
            trigger="api",
        )
        return Response(RunOut(run).data, status=status.HTTP_201_CREATED)


class RunCalls(Listing):
    @extend_schema(responses=CallOut(many=True), summary="What a run asked of models")
    def get(self, request: Request, run_id: int) -> Response:
        return self.page(llm_calls.of_run(run_for(request, run_id)), CallOut)
