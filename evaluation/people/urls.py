"""Addresses of workers' cards, boards of domains, erasure and a person's own data."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.people import api as endpoints
    from evaluation.people.views import data, workers

urlpatterns = [
    path("workers/<int:membership_id>/", workers.worker_card, name="worker_card"),
    path("domains/", workers.domain_list, name="domain_list"),
    path("domains/<path:name>/", workers.domain_board, name="domain_board"),
    path("people/<int:membership_id>/erase/", data.worker_data_erase, name="worker_data_erase"),
    path("people/<int:membership_id>/data.zip", data.worker_data, name="worker_data"),
]
work = [
    path("record/data.zip", data.own_data, name="own_data"),
    path("projects/<int:project_id>/erase/", data.own_data_erase, name="own_data_erase"),
    path("projects/<int:project_id>/mine/", workers.own_card, name="work_card"),
]
PROJECT = "projects/<int:project_id>/"
WORKER = f"{PROJECT}workers/<int:membership_id>/"
api = [
    path(f"{WORKER}card/", endpoints.Card.as_view(), name="api_card"),
    path(f"{WORKER}data/", endpoints.WorkerData.as_view(), name="api_worker_data"),
    path(f"{PROJECT}domains/", endpoints.Domains.as_view(), name="api_domains"),
    path(f"{PROJECT}domains/<path:name>/", endpoints.DomainBoard.as_view(), name="api_domain"),
    path(f"work/{PROJECT}card/", endpoints.OwnCard.as_view(), name="api_own_card"),
    path("work/data/", endpoints.OwnData.as_view(), name="api_own_data"),
]
