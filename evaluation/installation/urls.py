"""Addresses by which an owner runs the installation: pages, and the API under one prefix."""

from django.urls import include

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from evaluation.installation import api as endpoints
    from evaluation.installation import views

PROJECT, PERSON = "projects/<int:project_id>/", "people/<int:user_id>/"
urlpatterns = [
    path("installation/", views.projects, name="installation"),
    path(
        "installation/roles/<int:grant_id>/confirm/",
        views.role_confirm,
        name="installation_role_confirm",
    ),
    path("installation/people/", views.people, name="installation_people"),
    path("installation/settings/", views.settings, name="installation_settings"),
    path("installation/growth/", views.growth, name="installation_growth"),
    path("installation/audit.jsonl", views.audit, name="installation_audit"),
    path(f"installation/{PROJECT}limits/", views.limits, name="installation_limits"),
    path(f"installation/{PERSON}limits/", views.person_limits, name="installation_person_limits"),
]
below = [
    path(f"{address}/", view.as_view(), name=f"api_installation_{name}")
    for address, view, name in (
        ("state", endpoints.InstallationStateDetail, "state"),
        ("read-only", endpoints.ReadOnlyBegin, "read_only"),
        ("writable", endpoints.ReadOnlyEnd, "writable"),
        ("broadcast", endpoints.Broadcast, "broadcast"),
        ("quotas", endpoints.UsualQuotas, "quotas"),
        ("audit", endpoints.AuditEntries, "audit"),
        ("retention", endpoints.Retention, "retention"),
        ("growth", endpoints.GrowthFigures, "growth"),
        ("remove-demo", endpoints.DemoRemove, "remove_demo"),
        ("projects", endpoints.InstallationProjects, "projects"),
        (f"{PROJECT}transfer", endpoints.ProjectTransfer, "transfer"),
        (f"{PROJECT}archive", endpoints.ProjectArchive, "archive"),
        (f"{PROJECT}reopen", endpoints.ProjectReopen, "reopen"),
        (f"{PROJECT}quotas", endpoints.ProjectQuotas, "project_quotas"),
        ("people", endpoints.InstallationPeople, "people"),
        (f"{PERSON}close", endpoints.AccountClose, "close"),
        (f"{PERSON}reopen", endpoints.AccountReopen, "reopen_account"),
        (f"{PERSON}reset-factor", endpoints.FactorReset, "reset_factor"),
        (f"{PERSON}quotas", endpoints.PersonQuotas, "person_quotas"),
        (f"{PERSON}merge", endpoints.AccountMerge, "merge"),
    )
]
api = [path("installation/", include(below))]
