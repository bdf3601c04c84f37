"""Addresses of qualification rounds and of the panels that a task asks, under a project."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.panels import views

TASK = "tasks/<int:task_id>/"
project_patterns = [
    path(f"{TASK}rounds/", views.task_rounds, name="task_rounds"),
    path(f"{TASK}rounds/<int:assignment_id>/", views.task_round, name="task_round"),
    path(f"{TASK}quiz/", views.task_quiz, name="task_quiz"),
    path(f"{TASK}panels/", views.task_panels, name="task_panels"),
    path(f"{TASK}feedback/", views.task_feedback, name="task_feedback"),
]
