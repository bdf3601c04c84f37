"""Addresses of what is kept of a person, and of erasing it."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.privacy import views

ERASE = "work/projects/<int:project_id>/erase-logs/"
urlpatterns = [
    path("account/log/", views.account_log, name="account_log"),
    path("account/close/", views.account_close, name="account_close"),
    path(ERASE, views.own_logs_erase, name="own_logs_erase"),
]
OF_PERSON = "people/<int:membership_id>/erase-logs/"
project_patterns = [
    path("settings/kept/", views.project_settings_kept, name="project_settings_kept"),
    path("settings/erase-logs/", views.project_logs_erase, name="project_logs_erase"),
    path(OF_PERSON, views.worker_logs_erase, name="worker_logs_erase"),
]
