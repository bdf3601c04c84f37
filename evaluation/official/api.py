"""A task's scores as its official run says them, and which run that is, over the API."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_task_by_id, open_to_viewers
from annotation.api.frame.base import Body, ById, Listing, read
from annotation.api.frame.endpoint import Endpoint
from crowdqc.errors import Invalid, Missing
from crowdqc.numbers import parse_whole
from crowdqc.web.fields import PlainMoneyField
from evaluation.models import AnswerScore, ItemLabel, ItemScore, Run, SystemScore, WorkerScore
from evaluation.official import effect as official_effect
from evaluation.runs.api import (
    AnswerScoreOut,
    ItemLabelOut,
    ItemScoreOut,
    RunOut,
    SystemScoreOut,
    WorkerScoreOut,
    run_for,
)
from evaluation.runs.official import actions as official
from evaluation.runs.official.standing import run_standing
from evaluation.runs.selectors import api_rows as selectors

MONEY: dict[str, Any] = {"max_digits": 10, "decimal_places": 2}
KINDS: dict[str, tuple[Any, Any]] = {
    "workers": (WorkerScore, WorkerScoreOut),
    "systems": (SystemScore, SystemScoreOut),
    "answers": (AnswerScore, AnswerScoreOut),
    "items": (ItemScore, ItemScoreOut),
    "labels": (ItemLabel, ItemLabelOut),
}


class ScoredByOut(serializers.Serializer[Any]):
    """The run that a page of scores is of, with its recipe."""

    number = serializers.IntegerField()
    id = serializers.IntegerField(source="pk")
    standing = serializers.SerializerMethodField(help_text="official, earlier or trial")
    method = serializers.CharField()
    version = serializers.CharField()
    params = serializers.DictField()
    seed = serializers.IntegerField()
    snapshot = serializers.CharField(source="snapshot.content_hash", default=None, allow_null=True)

    def get_standing(self, run: Run) -> str:
        stands = run_standing(run)
        return stands.state if stands is not None else ""


class OfRun(ById):
    """Pages of rows that name the run they are of."""

    run: Run

    def get_paginated_response(self, data: Any) -> Response:
        found = super().get_paginated_response(data)
        found.data = {"run": ScoredByOut(self.run).data, **found.data}
        return found

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        found = super().get_paginated_response_schema(schema)
        row: dict[str, Any] = {
            "type": "object",
            "description": "The run, with its recipe",
            "properties": {
                "number": {"type": "integer"},
                "id": {"type": "integer"},
                "standing": {"type": "string", "enum": ["official", "earlier", "trial", ""]},
                "method": {"type": "string"},
                "version": {"type": "string"},
                "params": {"type": "object", "additionalProperties": {}},
                "seed": {"type": "integer"},
                "snapshot": {"type": "string", "nullable": True},
            },
        }
        found["properties"] = {"run": row, **found["properties"]}
        return found


RUN = OpenApiParameter(
    "run", int, description="The number of another finished run, for a trial; else the official one"
)


def task_scores(kind: str) -> type[Listing]:
    """The endpoint of one kind of a task's scores."""
    model, out = KINDS[kind]

    @open_to_viewers
    class TaskScores(Listing):
        pagination_class: ClassVar[type[ById]] = OfRun

        @extend_schema(
            responses=out(many=True),
            parameters=[RUN],
            operation_id=f"task_scores_{kind}_list",
            summary=f"Scores of {kind} by the official run of a task",
        )
        def get(self, request: Request, task_id: int) -> Response:
            _, task = get_task_by_id(request, task_id)
            raw = request.query_params.get("run", "")
            number = parse_whole(raw, high=10**9) if raw else None
            if raw and number is None:
                raise Invalid("This is no number of a run.", fields={"run": "A whole number."})
            run = selectors.scored_run(task, number)
            pages = OfRun()
            pages.run = run
            rows = pages.paginate_queryset(selectors.scores(run, model), request, view=self)
            return pages.get_paginated_response(out(rows or [], many=True).data)

    return TaskScores


WorkerScores, SystemScores, AnswerScores, ItemScores, ItemLabels = map(task_scores, KINDS)


class MoveOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    dimension = serializers.CharField()
    rank_now = serializers.IntegerField(source="before.rank", default=None, allow_null=True)
    rank_then = serializers.IntegerField(source="after.rank", default=None, allow_null=True)


class MovedOut(serializers.Serializer[Any]):
    title = serializers.CharField()
    moved = serializers.IntegerField()
    n = serializers.IntegerField()
    rows = MoveOut(many=True, help_text="The largest changes")


class PanelEffectOut(serializers.Serializer[Any]):
    panel = serializers.CharField()
    rule = serializers.CharField()
    more = serializers.ListField(child=serializers.CharField(), help_text="Come under the rule")
    fewer = serializers.ListField(child=serializers.CharField(), help_text="No longer do")


class BonusRowOut(serializers.Serializer[Any]):
    worker = serializers.CharField()
    before = PlainMoneyField(**MONEY)
    after = PlainMoneyField(**MONEY)


class BonusesOut(serializers.Serializer[Any]):
    people = serializers.IntegerField()
    before = PlainMoneyField(**MONEY)
    after = PlainMoneyField(**MONEY)
    rows = BonusRowOut(many=True)


class PendingOut(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    run = serializers.IntegerField(allow_null=True)
    bonus = PlainMoneyField(help_text="It stays so", **MONEY)
    gives = PlainMoneyField(
        allow_null=True, help_text="By the rule and this run, proposed anew", **MONEY
    )


class OfficialEffectOut(serializers.Serializer[Any]):
    now = serializers.IntegerField(source="now.number", default=None, allow_null=True)
    run = serializers.IntegerField(source="run.number")
    sentence = serializers.CharField()
    tables = MovedOut(many=True)
    panels = PanelEffectOut(many=True)
    bonuses = BonusesOut(allow_null=True)
    pending = PendingOut(many=True)


class OfficialIn(Body):
    instead_of = serializers.IntegerField(
        min_value=0, help_text="The number of the official run as you saw it; 0: none"
    )


class Official(Endpoint):
    writes = "pay"

    @extend_schema(
        responses=OfficialEffectOut,
        summary="What changes if the run becomes official",
    )
    def get(self, request: Request, run_id: int) -> Response:
        run = run_for(request, run_id)
        if run_standing(run) is None:
            raise Missing("Only a finished run of the task’s own method can be official.")
        return Response(OfficialEffectOut(official_effect.effect(run)).data)

    @extend_schema(
        request=OfficialIn,
        responses=RunOut,
        summary="Make a run the official one",
        description="Cards, boards, panels, payouts and scores read it from then on.",
    )
    def post(self, request: Request, run_id: int) -> Response:
        run = run_for(request, run_id)
        official.make_official(
            by=request.user, run=run, instead_of=read(OfficialIn, request)["instead_of"]
        )
        return Response(RunOut(run_for(request, run_id)).data)
