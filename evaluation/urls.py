"""Addresses of the evaluation app: those of its packages, of runs, and the API's fallback."""

from django.urls import include

from crowdqc.web.addresses import lazy_views, path
from evaluation.deletion import urls as deletion
from evaluation.installation import urls as installation
from evaluation.live import urls as live
from evaluation.llm_runs import urls as llm_runs
from evaluation.moving import urls as moving
from evaluation.operations import urls as operations
from evaluation.organisations import urls as organisations
from evaluation.panels import urls as panels
from evaluation.payouts import urls as payouts
from evaluation.people import urls as people
from evaluation.replacement import urls as replacement
from evaluation.score_table import urls as score_table
from evaluation.writing import urls as writing

with lazy_views():
    from annotation.api.frame import base
    from evaluation.official import api as official
    from evaluation.runs import api, views
    from evaluation.runs.sharing import views as sharing

PACKAGES = (
    "free_text",
    "writing",
    "overview",
    "payouts",
    "people",
    "pairwise",
    "labels",
    "llm",
    "llm_runs",
    "checklists",
    "grading",
    "rescaling",
    "replacement",
    "live",
    "panels",
    "bundles",
    "items",
    "turns",
    "traces",
)
RUN, TASK = "runs/<int:run_id>/", "tasks/<int:task_id>/"
# Every package may link to runs, so their addresses belong to none.
runs = [
    path("runs/", views.run_list, name="run_list"),
    path("runs/<int:number>/", views.run, name="run"),
    path("runs/<int:number>/progress/", views.run_progress, name="run_progress"),
    path("runs/<int:number>/cancel/", views.run_cancel, name="run_cancel"),
    path("runs/<int:number>/official/", views.run_official, name="run_official"),
    path("runs/<int:number>/share/", sharing.run_share, name="run_share"),
    path(
        "runs/<int:number>/share/<int:share_id>/stop/",
        sharing.run_stop_sharing,
        name="run_stop_sharing",
    ),
    path(
        "runs/<int:number>/share/<int:share_id>/move/",
        sharing.run_move_board,
        name="run_move_board",
    ),
    path(f"{TASK}runs/", views.run_start, name="run_start"),
    path(f"{TASK}schedule/", views.run_schedule, name="run_schedule"),
]
runs_api = [
    path(f"{TASK}runs/", api.TaskRuns.as_view(), name="api_runs"),
    path(f"{TASK}methods/", api.TaskMethods.as_view(), name="api_methods"),
    path(RUN, api.RunDetail.as_view(), name="api_run"),
    path("projects/<int:project_id>/runs/", api.ProjectRuns.as_view(), name="api_project_runs"),
    path(
        "projects/<int:project_id>/runs/<int:number>/",
        api.ProjectRun.as_view(),
        name="api_project_run",
    ),
    path(f"{RUN}cancel/", api.RunCancel.as_view(), name="api_run_cancel"),
    path(f"{RUN}scores/workers/", api.WorkerScores.as_view(), name="api_scores_workers"),
    path(f"{RUN}scores/systems/", api.SystemScores.as_view(), name="api_scores_systems"),
    path(f"{RUN}scores/answers/", api.AnswerScores.as_view(), name="api_scores_answers"),
    path(f"{RUN}scores/items/", api.ItemScores.as_view(), name="api_scores_items"),
    path(f"{RUN}scores/labels/", api.ItemLabels.as_view(), name="api_scores_labels"),
    *(
        path(f"{TASK}scores/{kind}/", view.as_view(), name=f"api_task_scores_{kind}")
        for kind, view in (
            ("workers", official.WorkerScores),
            ("systems", official.SystemScores),
            ("answers", official.AnswerScores),
            ("items", official.ItemScores),
            ("labels", official.ItemLabels),
        )
    ),
    path(f"{RUN}official/", official.Official.as_view(), name="api_official"),
]
project = [path("", include(f"evaluation.{package}.urls")) for package in PACKAGES]
apis = (
    *(
        runs_api,
        score_table.api,
        live.api,
        replacement.api,
        llm_runs.api,
        payouts.api,
        panels.api,
        people.api,
        installation.api,
        deletion.api,
        organisations.api,
    ),
)
urlpatterns = [
    path("score/", include(score_table)),
    path("", include(operations)),
    path("", include(installation)),
    path("", include(deletion)),
    path("", include(moving)),
    path("", include(organisations)),
    path("shared/<str:secret>/", sharing.shared_results, name="shared_results"),
    path("boards/<slug:slug>/", sharing.public_board, name="public_board"),
    path("boards/<slug:slug>.<str:form>", sharing.public_board, name="public_board_file"),
    path("work/", include(people.work)),
    path("work/", include(writing.work)),
    path("projects/<int:project_id>/", include([*project, *runs, *score_table.project])),
    *(path("api/", include(one)) for one in apis),
    path("api/<path:rest>", base.Unknown.as_view(), name="api_unknown"),
]
