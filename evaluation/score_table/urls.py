"""Addresses of tables to be scored: one person's own, until they are a task."""

from django.urls import path

from evaluation.score_table import views

urlpatterns = [
    path("", views.start, name="score_table"),
    path("example-<slug:name>.csv", views.example, name="score_table_example"),
    path("<int:file_id>/", views.table, name="score_table_file"),
    path("<int:file_id>/left-out.csv", views.rejected_rows, name="score_table_left_out"),
]
project = [path("score/", views.start_in, name="score_table_in")]
