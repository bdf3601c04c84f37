"""Addresses of live evaluations."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.live import api as live
    from evaluation.live import views

LIVE = "tasks/<int:task_id>/live/"

urlpatterns = [path(LIVE, views.live_evaluation, name="live_evaluation")]
api = [
    path(LIVE, live.Live.as_view(), name="api_live"),
    path(f"{LIVE}outputs/", live.LiveOutputs.as_view(), name="api_live_outputs"),
    path(f"{LIVE}end/", live.LiveEnd.as_view(), name="api_live_end"),
]
