"""Addresses of what people are told, and of other systems that are told of a project's events."""

from django.urls import URLPattern, URLResolver

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.notifications import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("notices/", views.notice_list, name="notice_list"),
    path("notices/read/", views.notice_read_all, name="notice_read_all"),
    path("notices/mail/", views.notice_mail, name="notice_mail"),
    path("notices/kinds/", views.notice_kinds, name="notice_kinds"),
    path("notices/stop/<str:token>/", views.notice_stop, name="notice_stop"),
    path("notices/<int:notice_id>/", views.notice, name="notice"),
]
HOOK = "settings/hooks/<int:hook_id>/"
project_patterns: list[URLPattern | URLResolver] = [
    path("settings/hooks/", views.hook_list, name="hook_list"),
    path("settings/hooks/new/", views.hook_new, name="hook_new"),
    path(HOOK, views.hook, name="hook"),
    path(f"{HOOK}step/", views.hook_step, name="hook_step"),
    path(f"{HOOK}remove/", views.hook_remove, name="hook_remove"),
    path(f"{HOOK}deliveries/<int:delivery_id>/again/", views.hook_redeliver, name="hook_redeliver"),
]
