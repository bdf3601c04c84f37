"""Addresses of panels, of choosing for them and watching them, and of leaving workers out."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.panels import api as endpoints
    from evaluation.panels.views import panels

TASK = "tasks/<int:task_id>/"
ONE = "panels/<int:panel_id>/"
UNDO = f"{TASK}exclusions/<int:exclusion_id>/undo/"

urlpatterns = [
    path("panels/", panels.panel_list, name="panel_list"),
    path("panels/new/", panels.panel_new, name="panel_new"),
    path(ONE, panels.panel, name="panel"),
    path(f"{ONE}rename/", panels.panel_rename, name="panel_rename"),
    path(f"{ONE}admit/", panels.panel_admit, name="panel_admit"),
    path(f"{ONE}members/<int:member_id>/end/", panels.panel_end, name="panel_end"),
    path(f"{ONE}evaluate/", panels.panel_evaluate, name="panel_evaluate"),
    path(f"{ONE}watch/", panels.panel_watch_set, name="panel_watch"),
    path(f"{ONE}notes/<int:note_id>/", panels.panel_note, name="panel_note"),
    path("runs/<int:number>/choose/", panels.panel_choose, name="panel_choose"),
    path(f"{TASK}workers/<int:worker_id>/exclude/", panels.exclude, name="task_exclude"),
    path(UNDO, panels.undo, name="task_exclusion_undo"),
]
SELECT = "runs/<int:run_id>/select/"
PANEL = f"projects/<int:project_id>/{ONE}"
api = [
    path(f"{TASK}schedule/", endpoints.Schedule.as_view(), name="api_schedule"),
    path(f"{TASK}exclusions/", endpoints.Exclusions.as_view(), name="api_exclusions"),
    path(
        f"{TASK}exclusions/effect/",
        endpoints.ExclusionEffect.as_view(),
        name="api_exclusion_effect",
    ),
    path(UNDO, endpoints.ExclusionUndo.as_view(), name="api_exclusion_undo"),
    path(f"{PANEL}watches/", endpoints.Watches.as_view(), name="api_watches"),
    path(f"{PANEL}notes/", endpoints.Notes.as_view(), name="api_watch_notes"),
    path(
        f"{PANEL}notes/<int:note_id>/settle/",
        endpoints.NoteSettle.as_view(),
        name="api_watch_note_settle",
    ),
    path(SELECT, endpoints.Select.as_view(), name="api_select"),
    path(f"{SELECT}preview/", endpoints.SelectPreview.as_view(), name="api_select_preview"),
]
