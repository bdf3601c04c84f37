"""Addresses of traces under review."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.traces import views

urlpatterns = [
    path("traces/", views.trace_list, name="trace_list"),
    path("traces/<int:trace_id>/", views.trace, name="trace"),
]
