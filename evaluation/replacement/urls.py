"""Addresses of the test whether a model may replace a person, and of items drawn for people."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.replacement import api as draws
    from evaluation.replacement import views

urlpatterns = [
    path("tasks/<int:task_id>/replace/", views.results, name="replacement"),
    path("tasks/<int:task_id>/replace/ask/", views.ask_people, name="replacement_ask"),
    path("tasks/<int:task_id>/replace/judges/", views.judges, name="replacement_judges"),
    path("tasks/<int:task_id>/replace/export/", views.export, name="replacement_export"),
]
api = [path("tasks/<int:task_id>/draws/", draws.Draws.as_view(), name="api_draws")]
