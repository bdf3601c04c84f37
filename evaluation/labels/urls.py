"""Addresses of the results of tasks whose items are labelled."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.labels.views import decisions, estimates, pages

STUDY = "tasks/<int:task_id>/labels/"

urlpatterns = [
    path("runs/<int:number>/estimates/", estimates.run_estimates, name="run_estimates"),
    path(STUDY, pages.workers, name="label_results"),
    path(f"{STUDY}workers/<int:worker_id>/", pages.worker, name="label_worker"),
    path(f"{STUDY}items/", pages.items, name="label_items"),
    path(f"{STUDY}items/<int:item_id>/decide/", decisions.decide, name="label_decide"),
    path(f"{STUDY}items/<int:item_id>/revoke/", decisions.revoke, name="label_revoke"),
    path(f"{STUDY}agreement/", pages.agreement, name="label_agreement"),
    path(f"{STUDY}classes/", pages.classes, name="label_classes"),
    path(f"{STUDY}compare/", pages.compare, name="label_compare"),
    path(f"{STUDY}export/", pages.export, name="label_export"),
]
