"""Addresses of tables to be scored: one person's own, until they are a task."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.score_table import api as endpoints
    from evaluation.score_table import views

urlpatterns = [
    path("", views.start, name="score_table"),
    path("example-<slug:name>.csv", views.example, name="score_table_example"),
    path("<int:file_id>/", views.table, name="score_table_file"),
    path("<int:file_id>/left-out.csv", views.rejected_rows, name="score_table_left_out"),
]
project = [path("score/", views.start_in, name="score_table_in")]
TABLES = "projects/<int:project_id>/tables/"
api = [
    path(TABLES, endpoints.Tables.as_view(), name="api_tables"),
    path(f"{TABLES}<int:table_id>/", endpoints.TableDetail.as_view(), name="api_table"),
    path(f"{TABLES}<int:table_id>/parts/", endpoints.TableParts.as_view(), name="api_table_parts"),
    path(f"{TABLES}<int:table_id>/score/", endpoints.TableScore.as_view(), name="api_table_score"),
]
