"""Addresses that people and platforms come to, and of the ways in to a task."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.recruitment.views import entry
    from annotation.recruitment.views import recruitment as ways

urlpatterns = [
    path("enter/<str:token>/", entry.entry, name="entry"),
    path("leave/", entry.leave, name="entry_leave"),
    path("hooks/prolific/<int:recruitment_id>/", entry.platform_hook, name="platform_hook"),
]
TASK = "tasks/<int:task_id>/recruitment/"
ONE = f"{TASK}<int:recruitment_id>/"
project_patterns = [
    path(TASK, ways.recruitment_list, name="recruitment_list"),
    path(f"{TASK}new/<slug:kind>/", ways.recruitment_new, name="recruitment_new"),
    path(ONE, ways.recruitment, name="recruitment"),
    path(f"{ONE}edit/", ways.recruitment_edit, name="recruitment_edit"),
    path(f"{ONE}links/", ways.recruitment_links, name="recruitment_links"),
    path(f"{ONE}let-in/", ways.recruitment_let_in, name="recruitment_let_in"),
]
