"""Addresses of a worker's own, outside any project's pages."""

from django.urls import path

from . import replay

urlpatterns = [
    path("work/answers/<int:answer_id>/replay/", replay.own_replay, name="work_replay"),
    path(
        "work/answers/<int:answer_id>/replay/data/",
        replay.own_replay_data,
        name="work_replay_data",
    ),
]
