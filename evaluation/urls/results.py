"""Addresses of results and runs."""

from django.urls import URLPattern, URLResolver, path

from evaluation.free_text.views import questions, results
from evaluation.llm_runs.views import point_judges
from evaluation.runs import views as runs
from evaluation.writing import views as writing

TASK = "tasks/<int:task_id>/"
RESULTS = f"{TASK}results/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("results/", results.results, name="results"),
    path(RESULTS, results.workers, name="task_results"),
    path(f"{RESULTS}systems/", results.systems, name="task_results_systems"),
    path(f"{RESULTS}questions/", questions.question_list, name="task_results_questions"),
    path(f"{RESULTS}questions/<int:item_id>/", questions.question, name="task_results_question"),
    path(f"{RESULTS}convergence/", results.convergence, name="task_results_convergence"),
    path(f"{RESULTS}export/", results.export, name="task_results_export"),
    path(f"{TASK}points/", point_judges.point_judges_page, name="point_judges"),
    path(f"{TASK}writing/", writing.results, name="writing_results"),
    path(f"{TASK}writing/export/", writing.export, name="writing_export"),
    path("runs/", runs.run_list, name="run_list"),
    path("runs/<int:number>/", runs.run, name="run"),
    path("runs/<int:number>/progress/", runs.run_progress, name="run_progress"),
    path("runs/<int:number>/cancel/", runs.run_cancel, name="run_cancel"),
    path("runs/<int:number>/official/", runs.run_official, name="run_official"),
    path(f"{TASK}runs/", runs.run_start, name="run_start"),
    path(f"{TASK}schedule/", runs.run_schedule, name="run_schedule"),
]
