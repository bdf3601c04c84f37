"""Addresses of runs and scores in the API, and the end of all its addresses."""

from django.urls import path

from annotation.api.frame.base import Unknown
from evaluation.llm_runs import api as api_models
from evaluation.official import api as api_official
from evaluation.panels import api as api_panels
from evaluation.payouts import api as api_pay
from evaluation.people import api as api_people
from evaluation.runs import api

urlpatterns = [
    path("tasks/<int:task_id>/runs/", api.TaskRuns.as_view(), name="api_runs"),
    path("tasks/<int:task_id>/methods/", api.TaskMethods.as_view(), name="api_methods"),
    path("runs/<int:run_id>/", api.RunDetail.as_view(), name="api_run"),
    path("runs/<int:run_id>/cancel/", api.RunCancel.as_view(), name="api_run_cancel"),
    *(
        path(f"runs/<int:run_id>/scores/{kind}/", view.as_view(), name=f"api_scores_{kind}")
        for kind, view in api.SCORES.items()
    ),
    *(
        path(f"tasks/<int:task_id>/scores/{kind}/", view.as_view(), name=f"api_task_scores_{kind}")
        for kind, view in api_official.SCORES.items()
    ),
    path("runs/<int:run_id>/official/", api_official.Official.as_view(), name="api_official"),
    path(
        "projects/<int:project_id>/models/", api_models.ProjectModels.as_view(), name="api_models"
    ),
    path("tasks/<int:task_id>/asking/", api_models.TaskAsking.as_view(), name="api_asking"),
    path("tasks/<int:task_id>/asking/<slug:method>/", api_models.Ask.as_view(), name="api_ask"),
    path(
        "tasks/<int:task_id>/asking/<slug:method>/preview/",
        api_models.AskPreview.as_view(),
        name="api_ask_preview",
    ),
    path("runs/<int:run_id>/calls/", api_models.RunCalls.as_view(), name="api_run_calls"),
    *(
        path(f"tasks/<int:task_id>/{part}/", view.as_view(), name=f"api_{name}")
        for part, view, name in (
            ("waiting", api_pay.Waiting, "waiting"),
            ("payout-rule", api_pay.Rule, "payout_rule"),
            ("payouts", api_pay.Propose, "propose"),
            ("payouts/preview", api_pay.ProposePreview, "propose_preview"),
            ("schedule", api_panels.Schedule, "schedule"),
            ("exclusions", api_panels.Exclusions, "exclusions"),
            ("exclusions/effect", api_panels.ExclusionEffect, "exclusion_effect"),
            ("exclusions/<int:exclusion_id>/undo", api_panels.ExclusionUndo, "exclusion_undo"),
        )
    ),
    *(
        path(f"projects/<int:project_id>/{part}/", view.as_view(), name=f"api_{name}")
        for part, view, name in (
            ("payouts", api_pay.Payouts, "payouts"),
            ("payouts/<int:number>", api_pay.OnePayout, "payout"),
            ("payouts/<int:number>/approve", api_pay.Approve, "payout_approve"),
            ("payouts/<int:number>/send-back", api_pay.SendBack, "payout_send_back"),
            (
                "payouts/<int:number>/lines/<int:line_id>/reject",
                api_pay.RejectLine,
                "payout_line_reject",
            ),
            ("workers/<int:membership_id>/card", api_people.Card, "card"),
            ("workers/<int:membership_id>/data", api_people.WorkerData, "worker_data"),
            ("domains", api_people.Domains, "domains"),
            ("domains/<path:name>", api_people.DomainBoard, "domain"),
            ("panels/<int:panel_id>/watches", api_panels.Watches, "watches"),
            ("panels/<int:panel_id>/notes", api_panels.Notes, "watch_notes"),
            (
                "panels/<int:panel_id>/notes/<int:note_id>/settle",
                api_panels.NoteSettle,
                "watch_note_settle",
            ),
        )
    ),
    path("work/projects/<int:project_id>/card/", api_people.OwnCard.as_view(), name="api_own_card"),
    path("work/data/", api_people.OwnData.as_view(), name="api_own_data"),
    path("runs/<int:run_id>/select/", api_panels.Select.as_view(), name="api_select"),
    path(
        "runs/<int:run_id>/select/preview/",
        api_panels.SelectPreview.as_view(),
        name="api_select_preview",
    ),
    path("<path:rest>", Unknown.as_view(), name="api_unknown"),
]
