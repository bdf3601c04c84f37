"""Addresses of a first project, of templates and of copies."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.gallery import views

urlpatterns = [
    path("projects/first/", views.project_first, name="project_first"),
]
project_patterns = [
    path("copy/", views.project_copy, name="project_copy"),
    path("tasks/from-file/", views.task_from_file, name="task_from_file"),
    path("tasks/new/<slug:template>/", views.task_from_template, name="task_from_template"),
    path("tasks/<int:task_id>/examples/", views.task_examples, name="task_examples"),
    path("tasks/<int:task_id>/copy/", views.task_copy, name="task_copy"),
]
