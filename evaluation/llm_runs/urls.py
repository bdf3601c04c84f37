"""Addresses of models that are asked on a task, and of runs of points."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.llm_runs import api as endpoints
    from evaluation.llm_runs.views import model_tasks, point_judges

TASK = "tasks/<int:task_id>/"
MODELS = f"{TASK}models/"
ASKING = f"{TASK}asking/"

urlpatterns = [
    path(f"{TASK}points/", point_judges.point_judges_page, name="point_judges"),
    path(MODELS, model_tasks.task_models, name="task_models"),
    path(f"{MODELS}live/", model_tasks.task_models_live, name="task_models_live"),
    path(f"{MODELS}<slug:method>/", model_tasks.task_ask, name="task_ask"),
    path(f"{MODELS}<slug:method>/preview/", model_tasks.task_ask_preview, name="task_ask_preview"),
]
api = [
    path("projects/<int:project_id>/models/", endpoints.ProjectModels.as_view(), name="api_models"),
    path(ASKING, endpoints.TaskAsking.as_view(), name="api_asking"),
    path(f"{ASKING}<slug:method>/", endpoints.StartModelRun.as_view(), name="api_ask"),
    path(f"{ASKING}<slug:method>/preview/", endpoints.AskPreview.as_view(), name="api_ask_preview"),
    path("runs/<int:run_id>/calls/", endpoints.RunCalls.as_view(), name="api_run_calls"),
]
