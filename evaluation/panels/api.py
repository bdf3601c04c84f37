"""Endpoints of panels by score: choosing for one by a run, watching it, leaving workers out."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, get_panel, get_task_by_id, get_worker
from annotation.api.frame.base import Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.models import Exclusion, Role
from annotation.work.actions import exclusions
from crowdqc.errors import Invalid, Missing
from crowdqc.web.fields import PlainMoneyField
from evaluation.models import PanelWatch, RunSchedule, Selection, WatchNote
from evaluation.panels import choosing as panels
from evaluation.panels import rules as panel_choice
from evaluation.panels import watch as panel_watch
from evaluation.runs import exclusion_preview, schedules
from evaluation.runs.api import run_for

STEPS = ["kept", "ended", "proposed"]


class SelectIn(Body):
    """A rule; which of its fields count, the rule says."""

    panel = serializers.CharField(max_length=80, help_text="Its name; a new one is made")
    rule = serializers.ChoiceField(Selection.Rule.choices)
    k = serializers.IntegerField(required=False, allow_null=True, help_text="Of top")
    threshold = serializers.FloatField(required=False, allow_null=True)
    workers = serializers.ListField(
        child=serializers.IntegerField(), required=False, help_text="By hand: ids of memberships"
    )
    dimension = serializers.CharField(default="", allow_blank=True)
    part = serializers.IntegerField(default=1, help_text="Which board of the run")
    words = serializers.CharField(
        default="", allow_blank=True, max_length=400, help_text="What new members read"
    )


class ChoiceRowOut(serializers.Serializer[Any]):
    worker = serializers.IntegerField(help_text="The membership's id")
    name = serializers.CharField(help_text="The pseudonym")
    component = serializers.IntegerField()
    estimate = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    place = serializers.CharField(help_text="chosen, not chosen, no interval ...")
    border = serializers.BooleanField(help_text="Cannot be told from the other side of the rule")
    why = serializers.CharField()


class ChoiceOut(serializers.Serializer[Any]):
    sentences = serializers.ListField(child=serializers.CharField(), help_text="What it cannot say")
    rows = ChoiceRowOut(many=True)


class SelectionOut(serializers.ModelSerializer[Selection]):
    panel = serializers.IntegerField(source="panel_id")
    params = serializers.DictField()
    rows = ChoiceRowOut(many=True)

    class Meta:
        model = Selection
        fields = ("id", "panel", "task", "run", "rule", "params", "rows", "at")


class WatchIn(Body):
    task = serializers.IntegerField()
    threshold = serializers.FloatField(required=False, allow_null=True)
    incentive_ranks = serializers.IntegerField(required=False, allow_null=True)
    incentive = PlainMoneyField(max_digits=8, decimal_places=2, required=False, allow_null=True)
    active = serializers.BooleanField(default=True)


class WatchOut(serializers.ModelSerializer[PanelWatch]):
    class Meta:
        model = PanelWatch
        fields = ("id", "task", "threshold", "incentive_ranks", "incentive", "active")


class NoteOut(serializers.ModelSerializer[WatchNote]):
    """What a run said of a watched member; it decides nothing."""

    task = serializers.IntegerField(source="watch.task_id")
    worker = serializers.CharField(source="worker.pseudonym")
    detail = serializers.SerializerMethodField()

    class Meta:
        model = WatchNote
        fields = ("id", "task", "run", "worker", "kind", "detail", "done", "seen_at")

    @extend_schema_field(serializers.DictField())
    def get_detail(self, note: WatchNote) -> Any:
        return note.detail


class SettleIn(Body):
    what = serializers.ChoiceField(STEPS)
    why = serializers.CharField(default="", allow_blank=True, max_length=300)


class ExcludeIn(Body):
    worker = serializers.IntegerField(help_text="The membership's id")
    reason = serializers.CharField(max_length=300, help_text="The worker may ask for it")
    collect_again = serializers.BooleanField(
        default=False, help_text="Their answers stop counting, so that others are asked"
    )
    stop_work = serializers.BooleanField(
        default=False, help_text="The worker gets no more work in this task"
    )


class EffectIn(Body):
    worker = serializers.IntegerField(help_text="The membership's id")


class ExclusionOut(serializers.ModelSerializer[Exclusion]):
    worker = serializers.IntegerField(source="worker_id", help_text="The membership's id")
    pseudonym = serializers.CharField(source="worker.pseudonym")

    class Meta:
        model = Exclusion
        fields = (
            *("id", "worker", "pseudonym", "reason", "collects_again", "stops_work"),
            *("created_at", "undone_at"),
        )


class EffectOut(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    recipe = serializers.CharField(help_text="By which both were computed")
    answers = serializers.IntegerField(help_text="Of the worker")


class ScheduleIn(Body):
    enabled = serializers.BooleanField()
    after_answers = serializers.IntegerField(allow_null=True, required=False)
    every_minutes = serializers.IntegerField(allow_null=True, required=False)
    params = serializers.DictField(required=False)


class ScheduleOut(serializers.ModelSerializer[RunSchedule]):
    params = serializers.DictField()

    class Meta:
        model = RunSchedule
        fields = ("enabled", "after_answers", "every_minutes", "params")


def _wanted(body: dict[str, Any]) -> panel_choice.RuleRequest:
    return panel_choice.RuleRequest(
        rule=body["rule"],
        k=body.get("k"),
        threshold=body.get("threshold"),
        dimension=body["dimension"],
        part=body["part"],
        workers=tuple(body.get("workers", [])),
    )


class SelectPreview(Endpoint):
    @extend_schema(
        request=SelectIn, responses=ChoiceOut, summary="Whom a rule would choose for a panel"
    )
    def post(self, request: Request, run_id: int) -> Response:
        run = run_for(request, run_id)
        found = panel_choice.choose(run, _wanted(read(SelectIn, request)))
        told = {"sentences": found.sentences, "rows": [row.as_dict() for row in found.rows]}
        return Response(ChoiceOut(told).data)


class Select(Endpoint):
    @extend_schema(
        request=SelectIn,
        responses={201: SelectionOut},
        summary="Let onto a panel whom a rule chooses",
        description="The same rule on the same run is the same selection.",
    )
    def post(self, request: Request, run_id: int) -> Response:
        run = run_for(request, run_id)
        get_access(request, run.project_id, Role.REQUESTER)
        body = read(SelectIn, request)
        made, _new = panels.select(
            by=request.user,
            run=run,
            wanted=_wanted(body),
            panel_name=body["panel"],
            words=body["words"],
        )
        return Response(SelectionOut(made).data, status=201)


class Watches(Listing):
    @extend_schema(responses=WatchOut(many=True), summary="What is watched of a panel")
    def get(self, request: Request, project_id: int, panel_id: int) -> Response:
        _, panel = get_panel(request, project_id, panel_id)
        return self.page(PanelWatch.objects.filter(panel=panel), WatchOut)

    @extend_schema(
        request=WatchIn,
        responses=WatchOut,
        summary="Watch a panel in a task",
        description="After each run of the task; what is found waits for somebody to look.",
    )
    def put(self, request: Request, project_id: int, panel_id: int) -> Response:
        access, panel = get_panel(request, project_id, panel_id, Role.REQUESTER)
        body = read(WatchIn, request)
        task = access.project.tasks.filter(pk=body["task"]).first()
        if task is None:
            raise Invalid("There is no such task.", fields={"task": "One of this project."})
        made = panel_watch.watch(
            by=access.user,
            panel=panel,
            task=task,
            threshold=body.get("threshold"),
            ranks=body.get("incentive_ranks"),
            incentive=body.get("incentive"),
            active=body["active"],
        )
        return Response(WatchOut(made).data)


class Notes(Listing):
    pagination_class = Newest

    @extend_schema(responses=NoteOut(many=True), summary="What runs said of watched members")
    def get(self, request: Request, project_id: int, panel_id: int) -> Response:
        _, panel = get_panel(request, project_id, panel_id)
        rows = WatchNote.objects.filter(watch__panel=panel).select_related("watch", "worker")
        return self.page(rows, NoteOut)


class NoteSettle(Endpoint):
    @extend_schema(request=SettleIn, responses=NoteOut, summary="Decide what follows from a note")
    def post(self, request: Request, project_id: int, panel_id: int, note_id: int) -> Response:
        access, panel = get_panel(request, project_id, panel_id, Role.REQUESTER)
        note = WatchNote.objects.filter(watch__panel=panel, pk=note_id).first()
        if note is None:
            raise Missing("There is no such note of this panel.")
        settled = panel_watch.settle_note(by=access.user, note=note, **read(SettleIn, request))
        return Response(NoteOut(settled).data)


class Exclusions(Listing):
    @extend_schema(responses=ExclusionOut(many=True), summary="Who is or was left out of results")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return self.page(task.exclusions.select_related("worker"), ExclusionOut)

    @extend_schema(
        request=ExcludeIn,
        responses={201: ExclusionOut},
        summary="Leave a worker out of results",
        description="From the next run on. No answer and no pay changes, and it can be undone.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        body = read(ExcludeIn, request)
        worker = get_worker(access, body["worker"])
        told = {name: body[name] for name in ("reason", "collect_again", "stop_work")}
        made = exclusions.exclude(by=access.user, task=task, worker=worker, **told)
        return Response(ExclusionOut(made).data, status=201)


class ExclusionUndo(Endpoint):
    @extend_schema(request=None, responses=ExclusionOut, summary="Let a worker in again")
    def post(self, request: Request, task_id: int, exclusion_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        found = task.exclusions.filter(pk=exclusion_id).select_related("worker").first()
        if found is None:
            raise Missing("There is no such exclusion in this task.")
        exclusions.undo(by=access.user, exclusion=found)
        return Response(
            ExclusionOut(task.exclusions.select_related("worker").get(pk=found.pk)).data
        )


class ExclusionEffect(Endpoint):
    writes = "run"

    @extend_schema(
        request=EffectIn,
        responses=EffectOut,
        summary="What leaving a worker out would change",
        description="The task's method runs twice, with and without the worker; nothing is kept. "
        "That takes a while.",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.REQUESTER)
        worker = get_worker(access, read(EffectIn, request)["worker"])
        return Response(EffectOut(exclusion_preview.effect(task, worker)).data)


class Schedule(Endpoint):
    writes = "run"

    @extend_schema(responses=ScheduleOut, summary="When runs of a task start automatically")
    def get(self, request: Request, task_id: int) -> Response:
        _, task = get_task_by_id(request, task_id)
        return Response(ScheduleOut(schedules.schedule_of(task)).data)

    @extend_schema(request=ScheduleIn, responses=ScheduleOut, summary="Change it")
    def put(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id)
        body = {"after_answers": None, "every_minutes": None, **read(ScheduleIn, request)}
        schedules.change_schedule(by=access.user, task=task, **body)
        return self.get(request, task_id)
