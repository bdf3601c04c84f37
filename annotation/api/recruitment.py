"""Endpoints of a task's ways in: where people come from, with which codes they go back."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_task_by_id
from annotation.api.frame.auth import require_scope
from annotation.api.frame.base import Body, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Recruitment, Role, Visit
from annotation.recruitment import selectors
from annotation.recruitment.actions import ways_in as actions
from annotation.work.actions import visits
from crowdqc.errors import Conflict
from crowdqc.outbound.addresses import site_of
from crowdqc.web.fields import PlainMoneyField


def _word(help_text: str, length: int) -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_blank=True, max_length=length, help_text=help_text
    )


class CodesIn(Body):
    """The platform's completion code by outcome."""

    completed = _word("Handed in", 60)
    failed_attention = _word("Handed in with known answers missed; rejects nobody here", 60)
    no_consent = _word("Did not agree to what is recorded", 60)
    incompatible_device = _word("Cannot do it on this device", 60)
    other = _word("Left for another reason", 60)


class ParametersIn(Body):
    """Which parameter of the address holds what, on a panel of your own."""

    participant = _word("The person", 40)
    session = _word("Their session there", 40)
    study = _word("The study there", 40)
    submit_to = _word("Where a marketplace wants its form back", 40)


class RecruitmentChange(Body):
    """Any of it; what is left out stays, a secret that is left out too."""

    name = serializers.CharField(max_length=80, required=False)
    active = serializers.BooleanField(required=False, help_text="Takes people now")
    entry = serializers.ChoiceField(Recruitment.Entry.choices, required=False)
    study_id = _word("The study's id on Prolific", 80)
    codes = CodesIn(required=False, help_text="All of them anew")
    parameters = ParametersIn(required=False, help_text="All of them anew; of a panel of your own")
    return_url = _word("Where people go when they are through", 400)
    jwks_url = _word("Keys of signed entries; empty: Prolific's", 300)
    audience = _word("Whom their signature is for", 200)
    issuer = _word("Whose it is", 200)
    api_url = _word("The platform's API; empty: Prolific's", 200)
    study_currency = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=3,
        help_text="Of the study; it must be the project's. Empty: as the platform says",
    )
    fee_percent = PlainMoneyField(
        max_digits=5, decimal_places=2, min_value=0, max_value=100, required=False
    )
    token = _word("Of the platform's API; kept sealed, given out nowhere", 600)
    webhook = _word("The secret of the platform's calls; kept sealed", 600)


class RecruitmentIn(RecruitmentChange):
    """A new way into a task."""

    kind = serializers.ChoiceField(Recruitment.Kind.choices)
    name = serializers.CharField(max_length=80)
    entry = serializers.ChoiceField(Recruitment.Entry.choices, default=Recruitment.Entry.BOUND)


class RecruitmentOut(serializers.ModelSerializer[Recruitment]):
    """A way into a task; its secrets are given out nowhere."""

    codes = serializers.DictField(child=serializers.CharField())
    parameters = serializers.DictField(child=serializers.CharField())
    came = serializers.IntegerField()
    handed_in = serializers.IntegerField()
    has_token = serializers.SerializerMethodField(help_text="Decisions leave by the platform's API")
    has_webhook = serializers.SerializerMethodField()
    address = serializers.SerializerMethodField(help_text="Where people start, to be pasted there")
    hook = serializers.SerializerMethodField(help_text="Where the platform's calls go")

    class Meta:
        model = Recruitment
        fields = (
            "id",
            "task",
            "kind",
            "name",
            "study_id",
            "entry",
            "active",
            "codes",
            "parameters",
            "return_url",
            "jwks_url",
            "audience",
            "issuer",
            "api_url",
            "fee_percent",
            "currency",
            "study_currency",
            "has_token",
            "has_webhook",
            "address",
            "hook",
            "came",
            "handed_in",
            "created_at",
        )

    def get_has_token(self, row: Recruitment) -> bool:
        return bool(row.token_sealed)

    def get_has_webhook(self, row: Recruitment) -> bool:
        return bool(row.webhook_sealed)

    def get_address(self, row: Recruitment) -> str:
        return site_of(self.context["request"]) + selectors.entry_path(row)

    @extend_schema_field(OpenApiTypes.URI)
    def get_hook(self, row: Recruitment) -> str:
        return site_of(self.context["request"]) + reverse("platform_hook", args=[row.pk])


class LinksIn(Body):
    people = serializers.ListField(
        child=serializers.CharField(max_length=80),
        required=False,
        max_length=actions.MOST_LINKS,
        help_text="Ids; the same one gets the same link again",
    )
    count = serializers.IntegerField(
        default=0, min_value=0, max_value=actions.MOST_LINKS, help_text="And so many new ones"
    )


class LinkOut(serializers.Serializer[Any]):
    participant = serializers.CharField()
    link = serializers.CharField()


class LetInIn(Body):
    participant = serializers.CharField(max_length=80)


class VisitOut(serializers.ModelSerializer[Visit]):
    """Somebody who came."""

    worker = serializers.CharField(source="worker.pseudonym")

    class Meta:
        model = Visit
        fields = ("id", "participant", "worker", "assignment", "outcome", "status", "entered_at")


def _flat(body: dict[str, Any], row: Recruitment | None = None) -> dict[str, Any]:
    """The action's fields; codes and parameters that were left out stay as they are."""
    codes = body.pop("codes", row.codes if row else {})
    parameters = body.pop("parameters", row.parameters if row else {})
    body |= {f"code_{name}": value for name, value in codes.items()}
    return body | {f"parameter_{word}": value for word, value in parameters.items()}


class WayEndpoint(Endpoint):
    """What is about one task's ways in."""

    def read(self, body: type[Body]) -> dict[str, Any]:
        """Validate the body; fields about payments need the scope "pay"."""
        found: dict[str, Any] = read(body, self.request)
        if found.get("token") or "api_url" in found:
            require_scope(self.request, "pay")
        return found

    def respond(self, row: Recruitment, code: int = status.HTTP_200_OK) -> Response:
        """Return the response for one way in, with its visits counted again."""
        counted = selectors.of_task(row.task).get(pk=row.pk)
        return Response(
            RecruitmentOut(counted, context={"request": self.request}).data, status=code
        )


class Ways(WayEndpoint):
    @extend_schema(responses=RecruitmentOut(many=True), summary="Ways into a task")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        rows = selectors.of_task(task)
        return Response(RecruitmentOut(rows, many=True, context={"request": request}).data)

    @extend_schema(
        request=RecruitmentIn,
        responses={201: RecruitmentOut},
        summary="Add a way into a task",
        description="`token` and `api_url` say how payments leave: for the owner and managers, "
        "with the scope `pay`.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        body = self.read(RecruitmentIn)
        if task.current is None:
            raise Conflict("Publish the task first: people would find nothing here.")
        kind = body.pop("kind")
        made = actions.add(by=access.user, task=task, kind=kind, fields=_flat(body))
        return self.respond(made, status.HTTP_201_CREATED)


class RecruitmentDetail(WayEndpoint):
    @extend_schema(responses=RecruitmentOut, summary="One way into a task")
    def get(self, request: Request, task_id: int, recruitment_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return self.respond(selectors.get_recruitment(task, recruitment_id))

    @extend_schema(
        request=RecruitmentChange,
        responses=RecruitmentOut,
        summary="Change a way into a task",
        description="`token` and `api_url` say how payments leave: for the owner and managers, "
        "with the scope `pay`.",
    )
    def patch(self, request: Request, task_id: int, recruitment_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        row = selectors.get_recruitment(task, recruitment_id)
        fields = _flat(self.read(RecruitmentChange), row)
        return self.respond(actions.change(by=access.user, recruitment=row, fields=fields))


class WayLinks(Endpoint):
    @extend_schema(
        request=LinksIn, responses={201: LinkOut(many=True)}, summary="Signed links, one a person"
    )
    def post(self, request: Request, task_id: int, recruitment_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        row = selectors.get_recruitment(task, recruitment_id)
        body = read(LinksIn, request)
        people = "\n".join(body.get("people", []))
        made = actions.links(by=access.user, recruitment=row, people=people, count=body["count"])
        site = site_of(request)
        rows = [
            {"participant": name, "link": site + selectors.signed_path(row, link)}
            for name, link in made
        ]
        return Response(LinkOut(rows, many=True).data, status=status.HTTP_201_CREATED)


class RecruitmentVisit(Endpoint):
    @extend_schema(
        request=LetInIn,
        responses=VisitOut,
        summary="Let somebody in from another browser",
        description="The next browser that comes with this id is let in.",
    )
    def post(self, request: Request, task_id: int, recruitment_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        row = selectors.get_recruitment(task, recruitment_id)
        visit = visits.release_visit(by=access.user, recruitment=row, **read(LetInIn, request))
        return Response(VisitOut(visit).data)
