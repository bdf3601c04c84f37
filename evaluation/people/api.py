"""Endpoints of what is known of people: one card a worker, one board a domain, a person's data."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import Access, get_access, get_worker, token_project_id
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Membership, Role
from annotation.work.selectors import api_rows as selectors
from crowdqc.errors import Missing, NotAllowed
from crowdqc.web.fields import PlainMoneyField
from evaluation.people import person_data
from evaluation.people.selectors import domains
from evaluation.people.selectors.card import worker_card
from evaluation.people.selectors.own_card import own_card

ZIPPED = {(200, "application/zip"): OpenApiTypes.BINARY}


class CardFigureOut(serializers.Serializer[Any]):
    """A figure with its interval and what it rests on; without an interval, why."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    why = serializers.CharField()


class CardScoreOut(serializers.Serializer[Any]):
    """A worker's score in one run."""

    task = serializers.IntegerField(source="task.pk")
    run = serializers.IntegerField(source="run.pk")
    component = serializers.IntegerField(source="score.component")
    estimate = serializers.FloatField(source="score.estimate", allow_null=True)
    low = serializers.FloatField(source="score.low", allow_null=True)
    high = serializers.FloatField(source="score.high", allow_null=True)
    rank_low = serializers.IntegerField(source="score.rank_low", allow_null=True)
    rank_high = serializers.IntegerField(source="score.rank_high", allow_null=True)
    n = serializers.IntegerField(source="score.n", help_text="Answers it rests on")


class CardDimensionOut(serializers.Serializer[Any]):
    label = serializers.CharField(help_text="The dimension")
    part = serializers.IntegerField(help_text="0: the study hangs together")
    estimate = serializers.FloatField(source="score.estimate", allow_null=True)
    low = serializers.FloatField(source="score.low", allow_null=True)
    high = serializers.FloatField(source="score.high", allow_null=True)
    n = serializers.IntegerField(source="score.n", help_text="Votes it rests on")
    others = CardFigureOut(help_text="Share of decided votes that go with the others")


class CardCompetenceOut(serializers.Serializer[Any]):
    task = serializers.IntegerField(source="task.pk")
    run = serializers.IntegerField(source="run.pk")
    lines = CardDimensionOut(many=True)


class CardAgreementOut(serializers.Serializer[Any]):
    task = serializers.IntegerField(source="task.pk")
    label = serializers.CharField()
    what = serializers.CharField(help_text="With whom, and how it is measured")
    figure = CardFigureOut()


class CardScoresOut(serializers.Serializer[Any]):
    answers = CardScoreOut(many=True, source="texts", help_text="AQER, a run a task")
    competence = CardCompetenceOut(many=True, source="pairs")
    agreement = CardAgreementOut(many=True, source="agreements")


class CardAttentionOut(serializers.Serializer[Any]):
    task = serializers.IntegerField(source="task.pk")
    right = serializers.IntegerField()
    seen = serializers.IntegerField()
    passed = CardFigureOut()


class CardTimesOut(serializers.Serializer[Any]):
    """Seconds from opening to submitting."""

    task = serializers.IntegerField(source="task.pk")
    middle = serializers.FloatField()
    fastest = serializers.FloatField()
    slowest = serializers.FloatField()
    n = serializers.IntegerField(help_text="Assignments of the worker")
    usual = serializers.ListField(
        child=serializers.FloatField(),
        allow_null=True,
        help_text="Quartiles of everybody's; null where they are too few",
    )


class CardPastingOut(serializers.Serializer[Any]):
    task = serializers.IntegerField(source="task.pk")
    share = serializers.FloatField(help_text="Of what was put in")
    n = serializers.IntegerField(help_text="Assignments with a log")
    everyone = serializers.IntegerField(help_text="Workers with a log in the task's run")
    much = serializers.IntegerField(help_text="Of these, who paste more than half")
    middle = serializers.FloatField(allow_null=True, help_text="Their median")


class CardPaymentsOut(serializers.Serializer[Any]):
    what = serializers.CharField()
    state = serializers.CharField()
    n = serializers.IntegerField()
    amount = PlainMoneyField(max_digits=12, decimal_places=2)


class CardMoneyOut(serializers.Serializer[Any]):
    approved = PlainMoneyField(max_digits=12, decimal_places=2)
    owed = PlainMoneyField(max_digits=12, decimal_places=2)
    left = PlainMoneyField(max_digits=12, decimal_places=2, help_text="Went out")
    waiting = PlainMoneyField(max_digits=12, decimal_places=2, help_text="Undecided")
    waiting_n = serializers.IntegerField()
    payments = CardPaymentsOut(many=True)


class OwnCardOut(serializers.Serializer[Any]):
    """One's own card; nothing in it is about anybody else."""

    worker = serializers.SerializerMethodField(help_text="The pseudonym")
    shown = serializers.BooleanField(help_text="Whether the project shows scores")
    submitted = serializers.IntegerField(help_text="Assignments")
    tasks = serializers.IntegerField()
    scores = CardScoresOut()
    times = CardTimesOut(many=True)
    money = CardMoneyOut()
    panels = serializers.SerializerMethodField(help_text="Those one belongs to now")
    cannot = serializers.ListField(
        child=serializers.CharField(), help_text="What cannot be concluded"
    )

    def get_worker(self, card: Any) -> str:
        pseudonym: str = self.context["worker"].pseudonym
        return pseudonym

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_panels(self, card: Any) -> list[str]:
        return [row.panel.name for row in card.standing.panels if row.until is None]


class CardOut(OwnCardOut):
    """What is known of one worker across a project's tasks. Evidence, never a verdict."""

    shown = None  # staff see scores in any case
    attention = CardAttentionOut(many=True)
    pasting = CardPastingOut(many=True)
    disputes = serializers.SerializerMethodField(help_text="Rejections that owe an answer: ids")
    left_out_of = serializers.SerializerMethodField(help_text="Tasks: ids")

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField()))
    def get_disputes(self, card: Any) -> list[int]:
        return [row.pk for row in card.disputes]

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField()))
    def get_left_out_of(self, card: Any) -> list[int]:
        return [row.task_id for row in card.standing.exclusions if row.undone_at is None]


class DomainOut(serializers.Serializer[Any]):
    name = serializers.CharField(source="domain")
    tasks = serializers.IntegerField()
    scored = serializers.IntegerField(help_text="Of these, with a finished run")


class DomainTaskOut(serializers.Serializer[Any]):
    """A task of the domain: with how much it enters, or why it does not."""

    task = serializers.IntegerField(source="task.pk")
    run = serializers.IntegerField(source="run.pk", default=None, allow_null=True)
    board = serializers.IntegerField(help_text="0: it does not enter")
    authors = serializers.IntegerField()
    answers = serializers.IntegerField()
    why = serializers.CharField()


class DomainRowOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="The worker's membership, or the system")
    name = serializers.CharField()
    board = serializers.IntegerField(source="component")
    estimate = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    rank = serializers.CharField(help_text="As 2 to 5; none where it is not known")
    group = serializers.IntegerField(allow_null=True, help_text="Cannot be separated within it")
    tasks = serializers.IntegerField()
    n = serializers.IntegerField(help_text="Answers")
    why = serializers.CharField(help_text="Why there is no interval")


class DomainBoardOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    of = serializers.CharField(source="measure.slug")
    unit = serializers.CharField(source="measure.unit")
    entries = DomainTaskOut(many=True)
    rows = DomainRowOut(many=True)


def _worker(request: Request, project_id: int, membership_id: int) -> tuple[Access, Membership]:
    access = get_access(request, project_id)
    return access, get_worker(access, membership_id)


class Card(Endpoint):
    @extend_schema(
        responses=CardOut,
        summary="What is known of a worker",
        description="Across the project's tasks, with what cannot be concluded from it.",
    )
    def get(self, request: Request, project_id: int, membership_id: int) -> Response:
        _, worker = _worker(request, project_id, membership_id)
        card = worker_card(worker, page=1, work_page=1)
        return Response(CardOut(card, context={"worker": worker}).data)


class WorkerData(Endpoint):
    @extend_schema(
        responses=ZIPPED,
        summary="All that is kept of a worker, to be handed to them",
        description="The audit log says who fetched it.",
    )
    def get(self, request: Request, project_id: int, membership_id: int) -> StreamingHttpResponse:
        access, worker = _worker(request, project_id, membership_id)
        return _zipped(person_data.of_worker(by=access.user, worker=worker))


class OwnCard(Endpoint):
    reads = "work"

    @extend_schema(responses=OwnCardOut, summary="What my work looks like")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.WORKER)
        worker = selectors.get_worker_membership(access.project, request.user)
        worker.project = access.project
        return Response(OwnCardOut(own_card(worker), context={"worker": worker}).data)


class OwnData(Endpoint):
    reads = "work"

    @extend_schema(responses=ZIPPED, summary="All that is kept of me, as a ZIP")
    def get(self, request: Request) -> StreamingHttpResponse:
        if token_project_id(request) is not None:
            raise NotAllowed("This token is good for one project only.", code="bound-token")
        return _zipped(person_data.own_data(request.user))


def _zipped(pieces: Any) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type="application/zip")
    response["Content-Disposition"] = 'attachment; filename="kept.zip"'
    return response


class Domains(Endpoint):
    @extend_schema(responses=DomainOut(many=True), summary="What a project's tasks are about")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        return Response(DomainOut(domains.domain_list(access.project), many=True).data)


class DomainBoard(Endpoint):
    @extend_schema(
        responses=DomainBoardOut,
        summary="A leaderboard over the tasks of one domain",
        parameters=[OpenApiParameter("of", str, enum=list(domains.MEASURES))],
        description="Differences within tasks are pooled; scores of tasks are never averaged.",
    )
    def get(self, request: Request, project_id: int, name: str) -> Response:
        access = get_access(request, project_id)
        tasks = domains.tasks_of(access.project, name)
        if not tasks:
            raise Missing("No task of this project is about that.")
        offered = domains.measures_of(tasks)
        wanted = request.query_params.get("of", offered[0].slug)
        measure = next((one for one in offered if one.slug == wanted), None)
        if measure is None:
            raise Missing("No task of this domain is measured so.")
        shown = domains.domain_page(access.project, name, measure)
        rows = [row for one in shown.boards for group in one.groups for row in group.rows]
        told = {"name": name, "measure": measure, "entries": shown.entries, "rows": rows}
        return Response(DomainBoardOut(told).data)
