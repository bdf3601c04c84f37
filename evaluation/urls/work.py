"""Addresses of a worker's own, outside any project's pages."""

from django.urls import path

from evaluation.people.views import data, workers
from evaluation.writing.replay import views as replay

urlpatterns = [
    path("work/record/data.zip", data.own_data, name="own_data"),
    path("work/projects/<int:project_id>/erase/", data.own_data_erase, name="own_data_erase"),
    path("work/projects/<int:project_id>/mine/", workers.own_card, name="work_card"),
    path("work/answers/<int:answer_id>/replay/", replay.own_replay, name="work_replay"),
    path(
        "work/answers/<int:answer_id>/replay/data/",
        replay.own_replay_data,
        name="work_replay_data",
    ),
]
