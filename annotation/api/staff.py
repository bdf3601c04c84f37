"""Endpoints for people who run a project: projects, tasks, items, answers, assignments."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, get_task_by_id, open_to_viewers, require_trace_reader
from annotation.api.frame.base import Body, Listing, read
from annotation.api.frame.bodies import CountsIn, DraftIn, MoveIn, PublishIn, RowsIn, TaskIn
from annotation.api.frame.endpoint import Endpoint
from annotation.api.frame.serializers import (
    AnswerOut,
    AssignmentOut,
    Imported,
    ItemOut,
    TaskOut,
    ViewedTaskOut,
)
from annotation.authoring.actions import tasks
from annotation.authoring.selectors.builder.writing import topics_of
from annotation.formats.actions.imports import import_objects
from annotation.formats.registry import chat_format, format_for, kinds_of
from annotation.models import Answer, ItemGroup, Role
from annotation.pairs.actions import derived_tasks as chain
from annotation.records.actions import locks
from annotation.task_types import get_type
from annotation.work.actions import answers
from annotation.work.selectors import api_rows as selectors
from crowdqc.errors import Invalid, Missing

CREATED = status.HTTP_201_CREATED
ALL_OR_NONE = "All rows are taken or none; a refusal lists every bad row in `rows`."


@open_to_viewers
class ProjectTasks(Listing):
    @extend_schema(responses=TaskOut(many=True), summary="Tasks of a project")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id)
        shown = ViewedTaskOut if access.is_viewer else TaskOut
        return self.page(selectors.list_tasks(access.project), shown)

    @extend_schema(request=TaskIn, responses={201: TaskOut}, summary="Create a task")
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        task = tasks.create_task(by=access.user, project=access.project, **read(TaskIn, request))
        return Response(TaskOut(task).data, status=CREATED)


def _task(request: Request, task_id: int) -> Response:
    access, task = get_task_by_id(request, task_id)
    return Response((ViewedTaskOut if access.is_viewer else TaskOut)(task).data)


class TaskEndpoint(Endpoint):
    """Endpoint that changes a task; If-Match is compared with the task as the client read it."""

    def current(self, request: Request, **kwargs: Any) -> Response:
        _, task = get_task_by_id(request, kwargs["task_id"], Role.REQUESTER)
        locks.lock_task(task)
        return _task(request, task.pk)


@open_to_viewers
class TaskDetail(TaskEndpoint):
    @extend_schema(responses=TaskOut, summary="One task")
    def get(self, request: Request, task_id: int) -> Response:
        return _task(request, task_id)

    @extend_schema(request=DraftIn, responses=TaskOut, summary="Change the draft")
    def patch(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        tasks.edit_draft(by=access.user, task=task, fields=read(DraftIn, request))
        return _task(request, task_id)


class TaskPublish(TaskEndpoint):
    @extend_schema(request=PublishIn, responses=TaskOut, summary="Publish the draft")
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        tasks.publish(by=access.user, task=task, **read(PublishIn, request))
        return _task(request, task_id)


class TaskMove(TaskEndpoint):
    @extend_schema(request=MoveIn, responses=TaskOut, summary="Pause, resume, close or reopen")
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        tasks.move(by=access.user, task=task, **read(MoveIn, request))
        return _task(request, task_id)


def import_into(request: Request, task_id: int, kind: str) -> Response:
    """Check all rows, then write all or none of them."""
    access, task = get_task_by_id(request, task_id, Role.REQUESTER)
    rows: list[dict[str, Any]] = read(RowsIn, request)["rows"]
    report = import_objects(by=access.user, task=task, kind=kind, rows=rows, name="API")
    told: dict[str, Any] = {
        "rows": report.rows,
        "new": report.new,
        "used": report.tally.used,
    }
    told |= {"left_out": dict(report.tally.left_out), "notes": list(report.notes)}
    return Response(told, status=CREATED)


class ImportColumnOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()
    required = serializers.BooleanField()


class ImportOut(serializers.Serializer[Any]):
    """A kind of rows that a task takes."""

    kind = serializers.CharField(source="slug")
    title = serializers.CharField()
    items = serializers.BooleanField(
        source="replaces_examples", help_text="Its rows are items; else they belong to items"
    )
    columns = ImportColumnOut(many=True, source="fields")


@open_to_viewers
class TaskImports(Endpoint):
    @extend_schema(responses=ImportOut(many=True), summary="Kinds of rows that a task takes")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        kinds = [format_for(task, kind) for kind in kinds_of(task)]
        return Response(ImportOut(kinds, many=True).data)


class TaskImport(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Import rows of one kind",
        description=f"`tasks/{{id}}/imports/` lists the kinds with their columns. {ALL_OR_NONE}",
    )
    def post(self, request: Request, task_id: int, kind: str) -> Response:
        return import_into(request, task_id, kind)


@open_to_viewers
class TaskItems(Listing):
    @extend_schema(
        responses=ItemOut(many=True),
        summary="Questions of a task",
        description="Those of every version; `since` and `until` say which show them.",
    )
    def get(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        require_trace_reader(access, task)
        return self.page(selectors.list_items(task), ItemOut)

    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add questions to the draft",
        description=f"Rows of `item_id`, `question`, `context`, `topic`. {ALL_OR_NONE}",
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "items")


@open_to_viewers
class TaskAnswers(Listing):
    @extend_schema(
        responses=AnswerOut(many=True),
        parameters=[OpenApiParameter("author", str, enum=["worker", "system"])],
        summary="Answers of a task",
    )
    def get(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        require_trace_reader(access, task)
        author = request.query_params.get("author", "")
        if author not in ("", "worker", "system"):
            raise Invalid("There is no such author.", fields={"author": "worker or system"})
        return self.page(selectors.list_answers(task, author=author), AnswerOut)

    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add answers collected elsewhere",
        description=f"Rows of `item_id`, `worker_id`, `answer`, `submitted_at`. {ALL_OR_NONE}",
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "answers")


class TaskSystemAnswers(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add answers of language models",
        description=(
            "Rows of `item_id`, `system`, `prompt_strategy`, `answer`, and `replicate` where a "
            f"system answered more than once. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "system_answers")


class TaskJudgments(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add judgments of pairs, or ratings, from elsewhere",
        description=(
            "Rows as the export `judgments` writes them. What was judged: `item_id`, or the ids of "
            "the texts as `first` and `second` or as `left` and `right`; `flipped` where the "
            "second stood left. Who: `worker`, or `system` with `prompt_strategy` and "
            "`replicate`. Then a value for each dimension: `first`, `neutral`, `second`; or "
            "`left`, `neutral`, `right` where the row says what stood left; or a point of the "
            f"scale. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "judgments")


def _answer(request: Request, answer_id: int) -> Answer:
    """An answer, under the rules of its project; an outsider cannot tell it from none."""
    missing = Missing("There is no such answer.")
    found = selectors.get_answer(answer_id)
    if found is None:
        raise missing
    try:
        get_access(request, found.item.task.project_id)
    except Missing:
        raise missing from None
    return found


@open_to_viewers
class AnswerDetail(Endpoint):
    def current(self, request: Request, **kwargs: Any) -> Response:
        locks.lock_answer(_answer(request, kwargs["answer_id"]))
        return self.get(request, kwargs["answer_id"])

    @extend_schema(responses=AnswerOut, summary="One answer")
    def get(self, request: Request, answer_id: int) -> Response:
        return Response(AnswerOut(_answer(request, answer_id)).data)

    @extend_schema(
        request=CountsIn,
        responses=AnswerOut,
        summary="Let an answer count or not",
        description="One that does not count reopens its slot. Its pay is another decision.",
    )
    def patch(self, request: Request, answer_id: int) -> Response:
        found = _answer(request, answer_id)
        answers.set_counts(by=request.user, answer=found, **read(CountsIn, request))
        return self.get(request, answer_id)


class TaskAssignments(Listing):
    @extend_schema(responses=AssignmentOut(many=True), summary="Assignments of a task")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return self.page(selectors.list_assignments(task), AssignmentOut)


class TaskSamples(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add scored samples to the draft",
        description=(
            "Rows of `dimension`, `rubric`, `sample_id`, `title`, `source`, `text` and `score`. A "
            f"dimension that is new comes with its first sample. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "samples")


class TaskAttributes(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add attributes of people or language models",
        description=(
            "Rows of `dimension` and `attribute`, with `worker`, or `system` with "
            "`prompt_strategy` and `replicate`; `index` gives their order. Rows of one author on "
            "one dimension make one answer. `transcript` on one of them, `start` and `end` where "
            f"an attribute was marked in it. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "attributes")


class TaskChecks(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add checklists that people or language models filled in",
        description=(
            "Rows of `item_id` (or `text`, its id), `name` of a question and `answer` (yes or "
            "no), with `worker`, or `system` with `prompt_strategy` and `replicate`. An author "
            f"answers every question about a text. {ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        return import_into(request, task_id, "checks")


class TaskChats(Endpoint):
    @extend_schema(
        request=RowsIn,
        responses={201: Imported},
        summary="Add conversations to the draft",
        description=(
            "Records in the formats of model providers and tracing tools, such as `messages` with "
            "`role` and `content`, or `conversation_a` and `conversation_b`. A labels task gets "
            "an item for each conversation, a task that compares or rates texts gets texts. "
            f"{ALL_OR_NONE}"
        ),
    )
    def post(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id, Role.REQUESTER)
        return import_into(request, task_id, chat_format(task))


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
