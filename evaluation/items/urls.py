"""Addresses of the items and answers of a task."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.items import views

TASK = "tasks/<int:task_id>/"

urlpatterns = [
    path(f"{TASK}items/", views.task_items, name="task_items"),
    path(f"{TASK}items/<int:item_id>/", views.task_item, name="task_item"),
    path(f"{TASK}items/table.<slug:form>", views.task_table, name="task_table"),
    path(f"{TASK}items/columns.csv", views.task_columns, name="task_columns"),
    path(f"{TASK}answers/", views.task_answers, name="task_answers"),
]
