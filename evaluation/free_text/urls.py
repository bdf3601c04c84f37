"""Addresses of the results of tasks that are answered in words."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.free_text.joint import views as joint
    from evaluation.free_text.views import results

RESULTS = "tasks/<int:task_id>/results/"

urlpatterns = [
    path("results/", results.results, name="results"),
    path(RESULTS, results.workers, name="task_results"),
    path(f"{RESULTS}systems/", results.systems, name="task_results_systems"),
    path(f"{RESULTS}joint/", joint.results, name="aqer_joint"),
    path(f"{RESULTS}questions/", results.question_list, name="task_results_questions"),
    path(f"{RESULTS}questions/<int:item_id>/", results.question, name="task_results_question"),
    path(f"{RESULTS}convergence/", results.convergence, name="task_results_convergence"),
    path(f"{RESULTS}export/", results.export, name="task_results_export"),
]
