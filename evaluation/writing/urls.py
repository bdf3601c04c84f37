"""Addresses of writing results, and of the replay of how an answer was written."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.writing import views
    from evaluation.writing.replay import views as replay

TASK = "tasks/<int:task_id>/"
REPLAY = f"{TASK}replay/<int:answer_id>/"
OWN = "answers/<int:answer_id>/replay/"

urlpatterns = [
    path(f"{TASK}writing/", views.results, name="writing_results"),
    path(f"{TASK}writing/export/", views.export, name="writing_export"),
    path(REPLAY, replay.replay, name="replay"),
    path(f"{REPLAY}data/", replay.replay_data, name="replay_data"),
]
work = [
    path(OWN, replay.own_replay, name="work_replay"),
    path(f"{OWN}data/", replay.own_replay_data, name="work_replay_data"),
]
