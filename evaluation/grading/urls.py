"""Addresses of expert grading and of the study it is for."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.grading import views as grading
    from evaluation.grading.compare import views as compare

TASK = "tasks/<int:task_id>/"

urlpatterns = [
    path(f"{TASK}grading/", grading.grading, name="grading"),
    path(f"{TASK}grading/mark/", grading.grade_answer, name="grading_mark"),
    path(f"{TASK}grading/settle/<int:answer_id>/", grading.settle_mark, name="grading_settle"),
    path(f"{TASK}grading/keys/", grading.save_keys, name="grading_keys"),
    path(f"{TASK}grading/end/", grading.end, name="grading_end"),
    path(f"{TASK}results/compare/", compare.results, name="text_compare"),
    path(f"{TASK}results/study/", grading.results, name="study"),
    path(f"{TASK}results/study/start/", grading.start, name="study_start"),
]
