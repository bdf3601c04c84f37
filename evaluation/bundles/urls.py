"""Addresses of a run's files."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.bundles import views as bundles

urlpatterns = [
    path("runs/<int:number>/export", bundles.run_export, name="run_export"),
    path("runs/<int:number>/bundle/", bundles.run_bundle, name="run_bundle"),
    path("runs/<int:number>/report/", bundles.run_report, name="run_report"),
]
