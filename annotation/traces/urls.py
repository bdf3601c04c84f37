"""Addresses of traces: where applications send them, and pages of a project."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.traces.views import receiving, sources

urlpatterns = [
    path("otel/v1/traces", receiving.receive_traces, name="traces_receive"),
    path("api/public/otel/v1/traces", receiving.receive_traces, name="traces_receive_langfuse"),
    path("api/public/scores", receiving.receive_scores, name="traces_receive_scores"),
]
project_patterns = [
    path("traces/sources/", sources.source_list, name="trace_sources"),
    path("traces/sources/new/", sources.source_new, name="trace_source_new"),
    path("traces/sources/<int:source_id>/", sources.source_page, name="trace_source"),
]
