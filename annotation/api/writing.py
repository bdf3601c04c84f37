"""Endpoints of writing tasks: topics with their passages, responses, and the step to judging."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_task_by_id
from annotation.api.frame.base import Body, Listing, read
from annotation.api.frame.bodies import RowsIn
from annotation.api.frame.endpoint import Endpoint
from annotation.api.frame.serializers import Imported, TaskOut
from annotation.api.staff import ALL_OR_NONE, CREATED, import_into
from annotation.authoring.selectors.builder.writing import topics_of
from annotation.models import ItemGroup, Role
from annotation.pairs.actions import derived_tasks as chain
from annotation.task_types import get_type
from crowdqc.errors import Invalid


class DocumentOut(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="The document's id")
    title = serializers.CharField()
    text = serializers.CharField()


class TopicOut(serializers.ModelSerializer[ItemGroup]):
    """A topic; its passages are ranked, the first is cited by ``settings.first_number``."""

    topic = serializers.CharField(source="key")
    query = serializers.CharField()
    passages = DocumentOut(many=True)
    since = serializers.IntegerField(help_text="The first version that shows it")
    until = serializers.IntegerField(
        allow_null=True, help_text="The first version that no longer shows it"
    )

    class Meta:
        model = ItemGroup
        fields = ("id", "topic", "query", "passages", "since", "until")


class JudgeIn(Body):
    type = serializers.ChoiceField(["pairwise", "rating"], default="pairwise")


class JudgedOut(serializers.Serializer[Any]):
    task = TaskOut(help_text="The task that judges the responses")
    begun = serializers.BooleanField(help_text="It was begun by this request")
    new = serializers.IntegerField(help_text="Texts that came to it now")
    topics = serializers.IntegerField(help_text="Topics that came to it now")


class TaskTopics(Listing):
    @extend_schema(
        responses=TopicOut(many=True),
        summary="Topics of a writing task",
        description="Those of every version; `since` and `until` say which show them.",
    )
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        if not get_type(task.type).has_styles:
            raise Invalid("This type of task has no passages to cite.")
        return self.page(topics_of(task), TopicOut)

    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add topics to the draft",
        description=(
            "Rows of `topic`, `query` and `passages` (objects of `key`, `title`, `text`, the best "
            "first), or of `references_ids` and `references_texts`. Each topic asks for one "
            f"response in each style. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "topics")


class TaskResponses(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add responses of people or language models",
        description=(
            "Rows of `topic`, `style` and `text`, with `worker`, or `system` with "
            "`prompt_strategy` and `replicate`. What is cited stands in the text, as [3] or "
            f"[1, 2]. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "responses")


class TaskJudge(Endpoint):
    @extend_schema(
        request=JudgeIn,
        responses={201: JudgedOut},
        summary="Put responses to judgment",
        description=(
            "Begins a draft over the responses that count; asked again, adds what is new since to "
            "it. No response comes twice, and who wrote one never judges it."
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        judged = chain.judge_responses(by=access.user, task=task, **read(JudgeIn, request))
        return Response(JudgedOut(judged).data, status=CREATED)
