"""Addresses of the results of turns."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.turns import views

urlpatterns = [
    path("tasks/<int:task_id>/turns/", views.results, name="turn_results"),
    path("tasks/<int:task_id>/turns/export/", views.export, name="turn_export"),
]
