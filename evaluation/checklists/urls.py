"""Addresses of attributes, checklists in the making, comparisons, and results of filled ones."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.checklists.views import checklist_stages, checklists, checks, comparisons

TASK = "tasks/<int:task_id>/"
LIST = "checklists/<int:checklist_id>/"
STAGE = f"{LIST}stages/<slug:kind>/"
VERSION = f"{LIST}versions/<int:number>/"

urlpatterns = [
    path(f"{TASK}attributes/", checklists.attributes, name="think_aloud_results"),
    path(f"{TASK}checklists/new/", checklists.new, name="checklist_new"),
    path(f"{TASK}comparisons/", comparisons.results, name="set_comparisons"),
    path(f"{TASK}comparisons/new/", comparisons.new, name="set_comparison_new"),
    path(f"{TASK}comparisons/<int:pk>/", comparisons.compare, name="set_comparison"),
    path(LIST, checklists.checklist, name="checklist"),
    path(f"{LIST}live/", checklists.stages_fragment, name="checklist_live"),
    path(f"{LIST}attributes/", checklists.take_attributes, name="checklist_take"),
    path(f"{LIST}freeze/", checklists.freeze, name="checklist_freeze"),
    path(STAGE, checklist_stages.edit, name="checklist_stage"),
    path(f"{STAGE}ask/", checklist_stages.ask_stage, name="checklist_ask"),
    path(VERSION, checklists.version, name="checklist_version"),
    path(f"{VERSION}task/", checklists.make_task, name="checklist_make_task"),
    path(f"{TASK}checks/", checks.results, name="checklist_results"),
    path(f"{TASK}checks/scores/", checks.scores, name="checklist_scores"),
]
