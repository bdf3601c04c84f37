"""Addresses of rescaled ratings and of explanation audits."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.rescaling.views import audits, rescaling

RESCALING = "tasks/<int:task_id>/rescaling/"
AUDITS = "tasks/<int:task_id>/audits/"
AUDIT = f"{AUDITS}<int:audit_id>/"

urlpatterns = [
    path(RESCALING, rescaling.results, name="rescaling"),
    path(f"{RESCALING}scores/", rescaling.scores, name="rescaling_scores"),
    path(f"{RESCALING}run/", rescaling.run_imported, name="rescaling_run"),
    path(f"{RESCALING}tuning.jsonl", rescaling.tuning_file, name="rescaling_tuning"),
    path(AUDITS, audits.audit_list, name="audit_list"),
    path(AUDIT, audits.audit, name="audit"),
    path(f"{AUDIT}judge/", audits.judge, name="audit_judge"),
    path(f"{AUDIT}close/", audits.close, name="audit_close"),
]
