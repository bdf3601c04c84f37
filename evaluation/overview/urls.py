"""Addresses of a project's first page of a task's precision and of its plan."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.overview import views

urlpatterns = [
    path("", views.project, name="project"),
    path("search/", views.project_search, name="project_search"),
    path("start/hide/", views.project_start_hide, name="project_start_hide"),
    path("tasks/<int:task_id>/plan/", views.task_plan, name="task_plan"),
    path("tasks/<int:task_id>/precision/", views.task_precision, name="task_precision"),
]
