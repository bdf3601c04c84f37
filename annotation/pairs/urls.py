"""Addresses of the builder's parts on pairs, under a project."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.pairs import views

BUILD = "tasks/<int:task_id>/build/"
project_patterns = [
    path(f"{BUILD}asked/", views.task_build_asked, name="task_build_asked"),
    path(f"{BUILD}asked/step/", views.task_build_asked_step, name="task_build_asked_step"),
    path(f"{BUILD}texts/", views.task_build_texts, name="task_build_texts"),
    path(f"{BUILD}pairs/", views.task_build_pairs, name="task_build_pairs"),
    path(f"{BUILD}attention/", views.task_build_attention, name="task_build_attention"),
]
