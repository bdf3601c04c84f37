"""Runs and scores over the API, for people who run a project."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, get_task_by_id, open_to_viewers
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from crowdqc.errors import Invalid, Missing
from evaluation.models import AnswerScore, ItemLabel, ItemScore, Run, SystemScore, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs import run_types
from evaluation.runs.selectors import api_rows as selectors
from evaluation.runs.selectors.shown_findings import Shown, shown_findings


class RunIn(Body):
    method = serializers.CharField(default="aqer")
    params = serializers.DictField(
        required=False,
        help_text="Options of the method: tasks/{id}/methods/ says what it takes",
    )
    seed = serializers.IntegerField(default=runs.DEFAULT_SEED, min_value=0)


class OptionOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    default = serializers.JSONField(allow_null=True)
    must = serializers.CharField(
        source="wanted", allow_blank=True, help_text="What a value must be, in words"
    )
    label = serializers.CharField(allow_blank=True)
    help = serializers.CharField(allow_blank=True)


class MethodOut(serializers.Serializer[Any]):
    method = serializers.CharField(source="slug")
    title = serializers.CharField()
    version = serializers.CharField()
    options = OptionOut(many=True)


class StepOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True)
    count = serializers.CharField(allow_null=True, help_text="How far it is, in words")
    sub = serializers.CharField(
        allow_null=True, help_text="More in words: texts from the cache, workers, texts/s"
    )


class RunOut(serializers.ModelSerializer[Run]):
    snapshot = serializers.CharField(source="snapshot.content_hash", default=None, allow_null=True)
    progress = serializers.SerializerMethodField()
    official = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (
            "id",
            "number",
            "task",
            "method",
            "version",
            "params",
            "seed",
            "state",
            "trigger",
            "snapshot",
            "progress",
            "error",
            "result_hash",
            "created_at",
            "started_at",
            "finished_at",
            "official",
        )

    @extend_schema_field(StepOut(many=True))
    def get_progress(self, run: Run) -> list[dict[str, Any]]:
        return [{name: step.get(name) for name in StepOut().fields} for step in run.progress]

    @extend_schema_field(serializers.BooleanField(help_text="What else reads: the task’s one run"))
    def get_official(self, run: Run) -> bool:
        return any(row.until is None for row in run.official.all())


class VerdictOut(serializers.Serializer[Any]):
    """What a run says first, as its pages do."""

    code = serializers.CharField(help_text="Of the message; it stays when its words change")
    text = serializers.CharField()
    basis = serializers.CharField(help_text="What it rests on")
    values = serializers.DictField(help_text="In the sentence, by name")


class FindingOut(serializers.Serializer[Any]):
    """What to read before a result is used, as its public page shows it."""

    code = serializers.CharField(help_text="Of the message; it stays when its words change")
    severity = serializers.CharField(help_text="warning or note")
    text = serializers.CharField()
    detail = serializers.CharField()
    values = serializers.DictField(help_text="In the sentence, by name")


class RunWithFindings(RunOut):
    """One run, its verdict, and its warnings and notes."""

    verdict = serializers.SerializerMethodField()
    findings = serializers.SerializerMethodField()

    class Meta(RunOut.Meta):
        fields = (*RunOut.Meta.fields, "verdict", "findings")  # type: ignore[assignment]

    @cached_property
    def shown(self) -> Shown | None:
        """What the run says first, read once for both fields."""
        return shown_findings(self.instance)

    @extend_schema_field(VerdictOut(allow_null=True))
    def get_verdict(self, run: Run) -> dict[str, Any] | None:
        shown = self.shown
        if shown is None or shown.verdict is None:
            return None
        verdict = shown.verdict
        return {
            "code": verdict.code,
            "text": verdict.text,
            "basis": shown.basis,
            "values": verdict.values,
        }

    @extend_schema_field(FindingOut(many=True))
    def get_findings(self, run: Run) -> list[dict[str, Any]]:
        shown = self.shown
        others = [one for one in shown.findings if one is not shown.verdict] if shown else []
        return [dict(one) for one in FindingOut(others, many=True).data]


class Score(serializers.Serializer[Any]):
    """Where the score is comparable, its estimate, its interval (or null) and its answers."""

    dimension = serializers.CharField()
    component = serializers.IntegerField()
    estimate = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    extra = serializers.DictField(help_text="Other figures of the method, by name")


class Ranked(Score):
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    group = serializers.IntegerField(
        allow_null=True, help_text="Rows of one group cannot be separated"
    )


class WorkerScoreOut(Ranked):
    worker = serializers.CharField(source="worker.pseudonym")


class SystemScoreOut(Ranked):
    system = serializers.CharField(source="system.name")
    prompt_strategy = serializers.CharField(source="system.prompt_strategy")


class AnswerScoreOut(Score):
    answer = serializers.IntegerField(source="answer_id")


class ItemScoreOut(Score):
    item_id = serializers.CharField(source="item.key")
    best_answer = serializers.IntegerField(source="best_answer_id", allow_null=True)


class ItemLabelOut(serializers.Serializer[Any]):
    """The estimated label of an item, how probable each label is, and from how many votes."""

    item_id = serializers.CharField(source="item.key")
    dimension = serializers.CharField(help_text="The field or dimension that is labelled")
    component = serializers.IntegerField()
    label = serializers.CharField()
    posterior = serializers.DictField(help_text="Label -> probability")
    entropy = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    extra = serializers.DictField(help_text="What other methods say of the item, by name")
    decided_label = serializers.CharField(
        allow_null=True, help_text="What somebody of the project decided by hand; no method uses it"
    )
    decided_by = serializers.CharField(
        allow_null=True, help_text="Who: people of a task are numbered, as decider-1"
    )


def run_for(request: Request, run_id: int) -> Run:
    """Return a run that the caller may see; Missing for others, as if it did not exist."""
    missing = Missing("There is no such run.")
    run = selectors.run(run_id)
    if run is None:
        raise missing
    try:
        get_access(request, run.project_id)
    except Missing:
        raise missing from None
    return run


@open_to_viewers
class TaskMethods(Endpoint):
    @extend_schema(
        responses=MethodOut(many=True), summary="Methods that fit a task, and what they take"
    )
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        found = [
            {"slug": one.slug, "title": one.title, "version": one.version, "options": takes.options}
            for one, takes in run_types.methods_of(task)
        ]
        return Response(MethodOut(found, many=True).data)


@open_to_viewers
class TaskRuns(Listing):
    writes = "run"

    @extend_schema(responses=RunOut(many=True), summary="Runs of a task")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return self.page(selectors.runs_of(task), RunOut)

    @extend_schema(request=RunIn, responses={201: RunOut}, summary="Start a run")
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        body = read(RunIn, request)
        if run_types.asking_of(body["method"]) is not None:
            hint = f"Use tasks/{task.pk}/asking/{body['method']}/, which tells the cost first."
            raise Invalid("Models are asked by an address of their own.", fields={"method": hint})
        run = runs.start(by=access.user, task=task, trigger="api", **body)
        return Response(RunOut(run).data, status=status.HTTP_201_CREATED)


@open_to_viewers
class RunDetail(Endpoint):
    @extend_schema(responses=RunWithFindings, summary="One run, with its progress and findings")
    def get(self, request: Request, run_id: int) -> Response:
        return Response(RunWithFindings(run_for(request, run_id)).data)


@open_to_viewers
class ProjectRuns(Listing):
    pagination_class = Newest

    @extend_schema(responses=RunOut(many=True), summary="Runs of a project, newest first")
    def get(self, request: Request, project_id: int) -> Response:
        project = get_access(request, project_id).project
        return self.page(selectors.runs_of(project), RunOut)


@open_to_viewers
class ProjectRun(Endpoint):
    @extend_schema(
        responses=RunWithFindings,
        summary="One run by the number that pages show",
        description="The same as `runs/{id}/`, whose id other addresses of runs take.",
    )
    def get(self, request: Request, project_id: int, number: int) -> Response:
        project = get_access(request, project_id).project
        run = selectors.runs_of(project).filter(number=number).first()
        if run is None:
            raise Missing("There is no run of this number in the project.")
        return Response(RunWithFindings(run).data)


class RunCancel(Endpoint):
    writes = "run"

    @extend_schema(request=None, responses=RunOut, summary="Cancel a run")
    def post(self, request: Request, run_id: int) -> Response:
        run = run_for(request, run_id)
        runs.cancel(by=request.user, run=run)
        return Response(RunOut(run_for(request, run_id)).data)


@open_to_viewers
class WorkerScores(Listing):
    @extend_schema(responses=WorkerScoreOut(many=True), summary="Scores of workers")
    def get(self, request: Request, run_id: int) -> Response:
        return self.page(selectors.scores(run_for(request, run_id), WorkerScore), WorkerScoreOut)


@open_to_viewers
class SystemScores(Listing):
    @extend_schema(responses=SystemScoreOut(many=True), summary="Scores of systems")
    def get(self, request: Request, run_id: int) -> Response:
        return self.page(selectors.scores(run_for(request, run_id), SystemScore), SystemScoreOut)


@open_to_viewers
class AnswerScores(Listing):
    @extend_schema(responses=AnswerScoreOut(many=True), summary="Scores of answers")
    def get(self, request: Request, run_id: int) -> Response:
        return self.page(selectors.scores(run_for(request, run_id), AnswerScore), AnswerScoreOut)


@open_to_viewers
class ItemScores(Listing):
    @extend_schema(responses=ItemScoreOut(many=True), summary="Scores of questions")
    def get(self, request: Request, run_id: int) -> Response:
        return self.page(selectors.scores(run_for(request, run_id), ItemScore), ItemScoreOut)


@open_to_viewers
class ItemLabels(Listing):
    @extend_schema(responses=ItemLabelOut(many=True), summary="Estimated labels of items")
    def get(self, request: Request, run_id: int) -> Response:
        return self.page(selectors.scores(run_for(request, run_id), ItemLabel), ItemLabelOut)
