"""Endpoints of conversations and announcements, for the people of a project and for workers."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_own_assignment, get_task_by_id, token_project_id
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.conversations import actions, selectors
from annotation.models import Announcement, Assignment, Conversation, Role
from annotation.notifications.actions.notices import mark_read_at
from crowdqc.errors import Invalid, Missing

KEY = "The client's key: sent again, it is the same message"
SHOWN: dict[str, Any] = {
    "source": "messages_shown",
    "many": True,
    "help_text": f"The newest {selectors.NEWEST}, in their order",
}


class TextIn(Body):
    text = serializers.CharField(help_text=f"{actions.MOST:,} characters at most")
    key = serializers.UUIDField(default=uuid.uuid4, help_text=KEY)


class AboutIn(TextIn):
    number = serializers.IntegerField(
        required=False, min_value=1, help_text="The item it is about: its place in the assignment"
    )


class WriteIn(AboutIn):
    assignment = serializers.IntegerField(help_text="Of the worker who is written to")


class UptoIn(Body):
    upto = serializers.IntegerField(min_value=0, help_text="The id of the newest message seen")


class MessageIn(Body):
    message = serializers.IntegerField(min_value=0)


class ModerateIn(Body):
    step = serializers.ChoiceField(actions.STEPS)
    message = serializers.IntegerField(
        default=0, min_value=0, help_text="Which one, to remove or keep it"
    )


class MessageOut(serializers.Serializer[Any]):
    """A message as a worker reads it: who of the project wrote it is not told."""

    id = serializers.IntegerField(source="message.pk")
    from_worker = serializers.BooleanField(source="message.from_worker")
    text = serializers.CharField(source="words", help_text="Empty: it was removed")
    announcement = serializers.IntegerField(source="message.announcement_id", allow_null=True)
    assignment = serializers.IntegerField(source="message.assignment_id", allow_null=True)
    number = serializers.IntegerField(
        source="about.number", default=None, allow_null=True, help_text="The item it is about"
    )
    at = serializers.DateTimeField(source="message.at")
    removed_at = serializers.DateTimeField(source="message.removed_at", allow_null=True)


class StaffMessageOut(MessageOut):
    """The same with who of the project wrote it, and whether it was reported."""

    by = serializers.SerializerMethodField(help_text="The worker's pseudonym, or who of you wrote")
    reported_at = serializers.DateTimeField(source="message.reported_at", allow_null=True)

    def get_by(self, line: selectors.MessageLine) -> str:
        if line.message.from_worker:
            return line.message.conversation.worker.pseudonym
        return str(line.message.by)


class ConversationOut(serializers.ModelSerializer[Conversation]):
    """A conversation as its worker sees it."""

    project = serializers.IntegerField(source="task.project_id")
    worker = serializers.CharField(source="worker.pseudonym")

    class Meta:
        model = Conversation
        fields = ("id", "project", "task", "worker", "last_at", "closed_at")


class OwnConversationOut(ConversationOut):
    new = serializers.IntegerField(help_text="Messages that were not marked as read")

    class Meta(ConversationOut.Meta):
        fields = (*ConversationOut.Meta.fields, "new")  # type: ignore[assignment]


class StaffConversationOut(ConversationOut):
    reported = serializers.IntegerField(help_text="Messages that were reported")

    class Meta(ConversationOut.Meta):
        fields = (*ConversationOut.Meta.fields, "waits", "reported")  # type: ignore[assignment]


class OwnThreadOut(OwnConversationOut):
    messages = MessageOut(**SHOWN)

    class Meta(OwnConversationOut.Meta):
        fields = (*OwnConversationOut.Meta.fields, "messages")  # type: ignore[assignment]


class StaffThreadOut(ConversationOut):
    messages = StaffMessageOut(**SHOWN)

    class Meta(ConversationOut.Meta):
        fields = (*ConversationOut.Meta.fields, "waits", "messages")  # type: ignore[assignment]


class AnnouncementOut(serializers.ModelSerializer[Announcement]):
    by = serializers.CharField()
    workers = serializers.IntegerField(help_text="How many were told")

    class Meta:
        model = Announcement
        fields = ("id", "task", "by", "text", "at", "workers", "removed_at")


def _subject_item(held: Assignment, number: int | None) -> int | None:
    """The item of this number in an assignment; None without one. Raises Invalid."""
    if number is None:
        return None
    about = selectors.entry_subject(held, number)
    if about is None:
        raise Invalid("The assignment has no such item.", fields={"number": "Its place, from 1."})
    return about.item_id


# -- the project's side ----------------------------------------------------------------------------


class StaffEndpoint(Endpoint):
    """What is about one conversation of a task."""

    mends_texts = True

    def get_conversation(self, task_id: int, conversation_id: int, *roles: str) -> Conversation:
        access, task = get_task_by_id(self.request, task_id, *roles)
        found = selectors.get_conversation(access.project, conversation_id)
        if found.task_id != task.pk:
            raise Missing("There is no such conversation about this task.")
        return found

    def respond(self, found: Conversation, code: int = status.HTTP_200_OK) -> Response:
        return Response(thread(found, StaffThreadOut), status=code)


def thread(found: Conversation, shape: type[serializers.ModelSerializer[Conversation]]) -> Any:
    """A conversation with its messages."""
    found.messages_shown = selectors.message_lines(found)  # type: ignore[attr-defined]
    return shape(found).data


class Conversations(Listing):
    pagination_class = Newest
    mends_texts = True

    @extend_schema(
        parameters=[OpenApiParameter("show", str, enum=list(selectors.STATES), default="all")],
        responses=StaffConversationOut(many=True),
        summary="Conversations with workers about a task",
        description="`show=waiting` lists those that await an answer, `show=reported` those with a "
        "message that was reported.",
    )
    def get(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        show = request.query_params.get("show", "all")
        if show not in selectors.STATES:
            raise Invalid("There is no such state.", fields={"show": "waiting, reported or all."})
        rows = selectors.list_conversations(access.project, show).filter(task=task)
        return self.page(rows, StaffConversationOut)

    @extend_schema(
        request=WriteIn,
        responses={201: StaffThreadOut},
        summary="Write to a worker",
        description="About an assignment of theirs, or one of its items. The worker gets a notice.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        body = read(WriteIn, request)
        held = selectors.get_addressable_assignment(task, body.pop("assignment"))
        made = actions.write_as_staff(
            by=access.user,
            worker=held.worker,
            task=task,
            assignment=held,
            item_id=_subject_item(held, body.pop("number", None)),
            **body,
        )
        found = selectors.get_conversation(access.project, made.pk)
        return Response(thread(found, StaffThreadOut), status=status.HTTP_201_CREATED)


class OneConversation(StaffEndpoint):
    @extend_schema(responses=StaffThreadOut, summary="One conversation with its messages")
    def get(self, request: Request, task_id: int, conversation_id: int) -> Response:
        return self.respond(self.get_conversation(task_id, conversation_id))


class ConversationMessages(StaffEndpoint):
    @extend_schema(
        request=TextIn, responses={201: StaffThreadOut}, summary="Answer in a conversation"
    )
    def post(self, request: Request, task_id: int, conversation_id: int) -> Response:
        found = self.get_conversation(task_id, conversation_id)
        body = read(TextIn, request)
        actions.write_as_staff(by=request.user, worker=found.worker, task=found.task, **body)
        return self.respond(
            selectors.get_conversation(found.task.project, found.pk), status.HTTP_201_CREATED
        )


class ConversationRead(StaffEndpoint):
    @extend_schema(
        request=None,
        responses={204: None},
        summary="Mark a conversation as read",
        description="Your notice of it is read. It still awaits an answer, which is the team’s.",
    )
    def post(self, request: Request, task_id: int, conversation_id: int) -> Response:
        found = self.get_conversation(task_id, conversation_id)
        url = reverse("conversation", args=[found.task.project_id, found.pk])
        mark_read_at(by=request.user, url=url)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ConversationReport(StaffEndpoint):
    @extend_schema(request=MessageIn, responses=StaffThreadOut, summary="Report a worker’s message")
    def post(self, request: Request, task_id: int, conversation_id: int) -> Response:
        found = self.get_conversation(task_id, conversation_id)
        number = read(MessageIn, request)["message"]
        actions.report_message(by=request.user, conversation=found, message_id=number)
        return self.respond(found)


class ConversationModerate(StaffEndpoint):
    @extend_schema(
        request=ModerateIn,
        responses=StaffThreadOut,
        summary="Moderate a conversation",
        description="By a manager: remove or keep a message, close or open the conversation, block "
        "or unblock the worker’s messages.",
    )
    def post(self, request: Request, task_id: int, conversation_id: int) -> Response:
        found = self.get_conversation(task_id, conversation_id, Role.MANAGER)
        body = read(ModerateIn, request)
        actions.apply_step(
            by=request.user, conversation=found, step=body["step"], message_id=body["message"]
        )
        return self.respond(selectors.get_conversation(found.task.project, found.pk))


class Announcements(Listing):
    pagination_class = Newest
    mends_texts = True

    @extend_schema(responses=AnnouncementOut(many=True), summary="Announcements about a task")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return self.page(selectors.list_announcements(task), AnnouncementOut)

    @extend_schema(
        request=TextIn,
        responses={201: AnnouncementOut},
        summary="Tell all workers who started a task",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        made = actions.announce(by=access.user, task=task, **read(TextIn, request))
        return Response(AnnouncementOut(made).data, status=status.HTTP_201_CREATED)


class OneAnnouncement(Endpoint):
    @extend_schema(
        responses={204: None},
        summary="Remove an announcement",
        description="By its author or a manager; its text is gone for everybody.",
    )
    def delete(self, request: Request, task_id: int, announcement_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        found = selectors.get_announcement(task, announcement_id)
        actions.remove_announcement(
            by=access.user, announcement=found, is_manager=access.is_manager
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


# -- a worker's side -------------------------------------------------------------------------------


class OwnEndpoint(Endpoint):
    """What is about one conversation of the worker's own."""

    reads = writes = "work"
    mends_texts = True

    def get_conversation(self, conversation_id: int) -> Conversation:
        user, only = self.request.user, token_project_id(self.request)
        return selectors.own_conversation(user, conversation_id, only)


class OwnConversations(Listing):
    reads = writes = "work"
    pagination_class = Newest

    @extend_schema(responses=OwnConversationOut(many=True), summary="My conversations")
    def get(self, request: Request) -> Response:
        rows = selectors.list_own_conversations(request.user, token_project_id(request))
        return self.page(rows, OwnConversationOut)


class OwnConversation(OwnEndpoint):
    @extend_schema(responses=OwnThreadOut, summary="One of my conversations with its messages")
    def get(self, request: Request, conversation_id: int) -> Response:
        return Response(thread(self.get_conversation(conversation_id), OwnThreadOut))


class OwnMessages(OwnEndpoint):
    @extend_schema(request=TextIn, responses={201: OwnThreadOut}, summary="Write in it")
    def post(self, request: Request, conversation_id: int) -> Response:
        found, body = self.get_conversation(conversation_id), read(TextIn, request)
        actions.write_as_worker(by=request.user, worker=found.worker, task=found.task, **body)
        told = thread(self.get_conversation(conversation_id), OwnThreadOut)
        return Response(told, status=status.HTTP_201_CREATED)


class OwnRead(OwnEndpoint):
    @extend_schema(
        request=UptoIn, responses={204: None}, summary="Mark my conversation as read up to here"
    )
    def post(self, request: Request, conversation_id: int) -> Response:
        found, upto = self.get_conversation(conversation_id), read(UptoIn, request)["upto"]
        newest = found.messages.filter(pk__lte=upto).order_by("-pk").first()
        if newest is not None:
            actions.mark_seen(by=request.user, conversation=found, upto=newest.pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class OwnReport(OwnEndpoint):
    @extend_schema(
        request=MessageIn, responses=OwnThreadOut, summary="Report a message of the project"
    )
    def post(self, request: Request, conversation_id: int) -> Response:
        found, number = self.get_conversation(conversation_id), read(MessageIn, request)["message"]
        actions.report_message(by=request.user, conversation=found, message_id=number)
        return Response(thread(found, OwnThreadOut))


class WorkMessage(Endpoint):
    reads = writes = "work"
    mends_texts = True

    @extend_schema(
        request=AboutIn,
        responses={201: OwnThreadOut},
        summary="Ask about an assignment of mine, or one of its items",
    )
    def post(self, request: Request, assignment_id: int) -> Response:
        held, body = get_own_assignment(request, assignment_id), read(AboutIn, request)
        made = actions.write_as_worker(
            by=request.user,
            worker=held.worker,
            task=held.task,
            assignment=held,
            item_id=_subject_item(held, body.pop("number", None)),
            **body,
        )
        found = selectors.own_conversation(request.user, made.pk, token_project_id(request))
        return Response(thread(found, OwnThreadOut), status=status.HTTP_201_CREATED)
