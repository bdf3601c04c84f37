"""The shapes in which rows are given out; what may be seen is decided elsewhere."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.models import Answer, ApiToken, Assignment, Item, Project, Role, Task, TaskVersion
from annotation.models.decisions import Decision
from annotation.task_types.think_aloud.type import ATTRIBUTE
from crowdqc.web.fields import PlainMoneyField


class ProjectOut(serializers.ModelSerializer[Project]):
    """A project of one's own; its budget and floor are for its staff."""

    roles = serializers.SerializerMethodField()
    correction_limit = PlainMoneyField(
        max_digits=8,
        decimal_places=2,
        allow_null=True,
        help_text="What one manager books by hand within a day; null to workers",
    )

    class Meta:
        model = Project
        fields = (
            "id",
            "name",
            "currency",
            "budget",
            "hourly_floor",
            "single_approval",
            "correction_limit",
            "reply_days",
            "answer_days",
            "decide_days",
            "show_scores",
            "created_at",
            "roles",
        )

    def to_representation(self, project: Project) -> dict[str, Any]:
        shown = dict(super().to_representation(project))
        if set(shown["roles"]) <= {Role.WORKER, Role.VIEWER}:
            shown["budget"] = shown["hourly_floor"] = shown["correction_limit"] = None
        return shown

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(Role.choices)))
    def get_roles(self, project: Project) -> list[str]:
        own, more = project.roles_here, project.role_by_organisation  # type: ignore[attr-defined]
        return sorted({*own, more} - {""})


class VersionOut(serializers.ModelSerializer[TaskVersion]):
    class Meta:
        model = TaskVersion
        extra_kwargs = {"pay": {"allow_null": True, "help_text": "Null for viewers"}}
        fields = (
            "number",
            "title",
            "instructions",
            "order",
            "redundancy",
            "items_per_assignment",
            "lease_minutes",
            "min_seconds",
            "expected_minutes",
            "pay",
            "bonus_note",
            "settings",
            "published_at",
        )


class TaskOut(serializers.ModelSerializer[Task]):
    current = VersionOut(allow_null=True, help_text="The published version in force")
    draft = serializers.SerializerMethodField(help_text="What is being edited, if anything")

    class Meta:
        model = Task
        fields = (
            "id",
            "project",
            "type",
            "state",
            "domain",
            "current",
            "draft",
            "budget",
            "created_at",
        )

    @extend_schema_field(VersionOut(allow_null=True))
    def get_draft(self, task: Task) -> dict[str, Any] | None:
        drafts = [v for v in task.versions.all() if v.published_at is None]
        return dict(VersionOut(drafts[0]).data) if drafts else None


class ViewedTaskOut(TaskOut):
    """A task as viewers see it: without budget and pay."""

    def to_representation(self, instance: Task) -> dict[str, Any]:
        """Leave the money out."""
        found = dict(super().to_representation(instance))
        for name in ("current", "draft"):
            if found[name]:
                found[name] = {**found[name], "pay": None, "bonus_note": ""}
        return {**found, "budget": None}


class ItemOut(serializers.ModelSerializer[Item]):
    item_id = serializers.CharField(source="key")
    context = serializers.CharField(source="group.passage")
    topic = serializers.CharField(source="group.title")
    look_back = serializers.BooleanField(source="group.look_back")
    since = serializers.IntegerField(help_text="The first version that shows it")
    until = serializers.IntegerField(
        allow_null=True, help_text="The first version that no longer shows it"
    )
    redundancy = serializers.IntegerField(help_text="Answers wanted")
    held = serializers.IntegerField(help_text="Answers that count, and those in work")
    first = serializers.CharField(source="first.key", default=None, allow_null=True)
    second = serializers.CharField(source="second.key", default=None, allow_null=True)

    class Meta:
        model = Item
        fields = (
            "id",
            "item_id",
            "question",
            "context",
            "topic",
            "look_back",
            "settings",
            "since",
            "until",
            "redundancy",
            "held",
            "first",
            "second",
        )


class Imported(serializers.Serializer[Any]):
    rows = serializers.IntegerField(help_text="Rows that came")
    new = serializers.IntegerField(help_text="What was added; several rows may make one")
    used = serializers.IntegerField(help_text="Rows that were added")
    left_out = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="The other rows by reason: `there` already, given `twice` in these rows",
    )
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="How values were read, and cells left empty"
    )


class AnswerOut(serializers.ModelSerializer[Answer]):
    """An answer under its author's pseudonym or system; never a person's name."""

    item_id = serializers.CharField(source="item.key")
    version = serializers.IntegerField(source="version.number")
    worker = serializers.CharField(source="worker.pseudonym", default=None, allow_null=True)
    system = serializers.CharField(source="system.name", default=None, allow_null=True)
    prompt_strategy = serializers.CharField(
        source="system.prompt_strategy", default=None, allow_null=True
    )
    answer = serializers.SerializerMethodField()
    declined = serializers.SerializerMethodField(help_text="“I don’t know”")
    choices = serializers.SerializerMethodField(
        help_text="Judgments by dimension, for the pair as it is stored: first, neutral, second"
    )
    attributes = serializers.SerializerMethodField(help_text="Attributes thought aloud")
    flipped = serializers.BooleanField(
        source="flipped_if_known",
        allow_null=True,
        help_text="The second text was shown on the left; null where sides were not recorded",
    )

    class Meta:
        model = Answer
        fields = (
            "id",
            "item",
            "item_id",
            "version",
            "worker",
            "system",
            "prompt_strategy",
            "replicate",
            "answer",
            "declined",
            "choices",
            "attributes",
            "flipped",
            "order_shown",
            "counts",
            "uncounted_reason",
            "answered_at",
            "assignment",
        )

    def get_answer(self, answer: Answer) -> str:
        return next((v.text for v in answer.texts.all() if v.field == "answer"), "")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_attributes(self, answer: Answer) -> list[str]:
        rows = [value for value in answer.texts.all() if value.field == ATTRIBUTE]
        return [value.text for value in sorted(rows, key=lambda value: value.index)]

    def get_declined(self, answer: Answer) -> bool:
        return any(v.field == "declined" for v in answer.choices.all())

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_choices(self, answer: Answer) -> dict[str, str]:
        return {v.field: v.code for v in answer.choices.all() if v.field != "declined"}


DECISION = "What became of the submitted work; empty before it is submitted"


class AssignmentOut(serializers.ModelSerializer[Assignment]):
    worker = serializers.CharField(source="worker.pseudonym")
    version = serializers.IntegerField(source="version.number")
    decision = serializers.ChoiceField(Decision.choices, help_text=DECISION)

    class Meta:
        model = Assignment
        fields = (
            "id",
            "task",
            "version",
            "worker",
            "state",
            "source",
            "pay",
            "leased_at",
            "expires_at",
            "opened_at",
            "submitted_at",
            "settled_at",
            "decision",
        )


class OfferOut(serializers.Serializer[Any]):
    """An open task in which something is left for this worker."""

    task = serializers.IntegerField(source="task.pk")
    project = serializers.IntegerField(source="task.project_id")
    title = serializers.CharField(source="task.current.title")
    questions = serializers.IntegerField(help_text="In the next assignment")
    left = serializers.IntegerField(help_text="Assignments that this worker could still take")
    pay = PlainMoneyField(max_digits=8, decimal_places=2)
    currency = serializers.CharField()
    lease_minutes = serializers.IntegerField(source="task.current.lease_minutes")
    needs_consent = serializers.BooleanField()


class ConsentOut(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="The version of the text in force")
    text = serializers.CharField(help_text="Markdown")
    retention_days = serializers.IntegerField()
    agreed = serializers.BooleanField()


class JoinedOut(serializers.Serializer[Any]):
    project = serializers.IntegerField(source="project_id")
    role = serializers.ChoiceField(Role.choices)
    pseudonym = serializers.CharField(help_text="The name under which a worker is seen")
    waits = serializers.BooleanField(
        default=False, help_text="The role awaits the confirmation of a second manager"
    )


class OwnRowOut(serializers.ModelSerializer[Assignment]):
    """One of one's own assignments in a list."""

    version = serializers.IntegerField(source="version.number")
    title = serializers.CharField(source="version.title")
    project = serializers.IntegerField(source="task.project_id")
    decision = serializers.ChoiceField(
        Decision.choices, default=Decision.NONE.value, help_text=DECISION
    )

    class Meta:
        model = Assignment
        fields = (
            "id",
            "project",
            "task",
            "version",
            "title",
            "state",
            "pay",
            "leased_at",
            "expires_at",
            "submitted_at",
            "settled_at",
            "decision",
        )


class StyleOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()
    instructions = serializers.CharField()


class PassageOut(serializers.Serializer[Any]):
    """A ranked passage that a response may cite as [number]."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    text = serializers.CharField()


class SampleOut(serializers.Serializer[Any]):
    """A scored sample of a dimension that is thought aloud."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    text = serializers.CharField()
    source = serializers.CharField(help_text="Markdown; what the sample was written from")
    score = serializers.CharField()


class EntryOut(serializers.Serializer[Any]):
    """A question within one's own assignment.

    ``passage`` says whether its text may be read now: none, open, first (the questions appear
    once it is left, and it is not shown again) or closed.
    """

    item = serializers.IntegerField(help_text="Its number in this assignment, from 1")
    item_id = serializers.CharField(help_text="The same as text")
    position = serializers.IntegerField(help_text="From 0")
    question = serializers.CharField(allow_null=True)
    passage = serializers.ChoiceField(["none", "open", "first", "closed"])
    context = serializers.CharField(allow_null=True)
    texts = serializers.ListField(
        child=serializers.CharField(),
        help_text="What is to be judged, from left to right; empty where a question is asked",
    )
    conversation = serializers.ListField(
        child=serializers.DictField(),
        allow_null=True,
        help_text="The messages of the conversation to be labelled, with tool calls; fields about "
        "turns are named NAME@TURN, as settings.units lists them",
    )
    style = StyleOut(allow_null=True, help_text="How a response is to be written")
    passages = PassageOut(
        many=True,
        allow_null=True,
        help_text="What a response may cite, the best first; null until the required questions of "
        "settings.entry are answered in the draft, as entry.NAME",
    )
    samples = SampleOut(
        many=True, help_text="Scored samples of a dimension; empty where none is thought aloud"
    )
    settings = serializers.DictField()
    draft = serializers.DictField()
    draft_seq = serializers.IntegerField()


class OwnStateOut(serializers.Serializer[Any]):
    """How one's own assignment stands."""

    id = serializers.IntegerField()
    task = serializers.IntegerField()
    version = serializers.IntegerField()
    state = serializers.CharField()
    title = serializers.CharField()
    pay = PlainMoneyField(max_digits=8, decimal_places=2)
    currency = serializers.CharField()
    expires_at = serializers.DateTimeField()
    seconds_left = serializers.IntegerField()
    seconds_to_wait = serializers.IntegerField(help_text="Until the least time is over")
    quiz = serializers.IntegerField(
        allow_null=True, help_text="Which try of the quiz it is; null: it is no quiz"
    )
    quiz_right = serializers.IntegerField(
        allow_null=True, help_text="Right answers of a submitted try"
    )
    quiz_passed = serializers.BooleanField()


class OwnAssignmentOut(OwnStateOut):
    """The same, with what is worked on."""

    instructions = serializers.CharField(help_text="Markdown")
    entries = EntryOut(many=True)


class FeedbackOut(serializers.Serializer[Any]):
    told = serializers.BooleanField(help_text="Whether anything is told of this question.")
    right = serializers.BooleanField(allow_null=True)
    said = serializers.CharField(help_text="The answer, which stands from now on.")
    why = serializers.CharField(help_text="The explanation of the task’s author.")


class DraftOut(serializers.Serializer[Any]):
    draft = serializers.DictField()
    seq = serializers.IntegerField()


class Acknowledged(serializers.Serializer[Any]):
    next = serializers.IntegerField(help_text="All events below this number are stored")


class TokenOut(serializers.Serializer[Any]):
    token = serializers.CharField(help_text="Told once, and kept nowhere")
    scopes = serializers.ListField(child=serializers.ChoiceField(ApiToken.Scope.choices))
    expires_at = serializers.DateTimeField()


class TokenScopesOut(serializers.ModelSerializer[ApiToken]):
    """What a token may do; its project is null where it is good for all of its owner's."""

    scopes = serializers.ListField(child=serializers.ChoiceField(ApiToken.Scope.choices))

    class Meta:
        model = ApiToken
        fields = ("scopes", "project", "expires_at")
