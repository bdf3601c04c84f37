"""Addresses of panels, of choosing for them and watching them, and of leaving workers out."""

from django.urls import path

from evaluation.panels.views import exclusions, panels

ONE = "panels/<int:panel_id>/"

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
    path(
        "tasks/<int:task_id>/workers/<int:worker_id>/exclude/",
        exclusions.exclude,
        name="task_exclude",
    ),
    path(
        "tasks/<int:task_id>/exclusions/<int:exclusion_id>/undo/",
        exclusions.undo,
        name="task_exclusion_undo",
    ),
]
