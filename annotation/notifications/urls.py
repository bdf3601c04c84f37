"""Addresses of what people are told, and of other systems that are told of a project's events."""

from django.urls import URLPattern, URLResolver, path

from annotation.notifications.views import notices
from annotation.notifications.views import webhooks as hooks

urlpatterns: list[URLPattern | URLResolver] = [
    path("notices/", notices.notice_list, name="notice_list"),
    path("notices/read/", notices.notice_read_all, name="notice_read_all"),
    path("notices/mail/", notices.notice_mail, name="notice_mail"),
    path("notices/kinds/", notices.notice_kinds, name="notice_kinds"),
    path("notices/stop/<str:token>/", notices.notice_stop, name="notice_stop"),
    path("notices/<int:notice_id>/", notices.notice, name="notice"),
]
HOOK = "settings/hooks/<int:hook_id>/"
project_patterns: list[URLPattern | URLResolver] = [
    path("settings/hooks/", hooks.hook_list, name="hook_list"),
    path("settings/hooks/new/", hooks.hook_new, name="hook_new"),
    path(HOOK, hooks.hook, name="hook"),
    path(f"{HOOK}step/", hooks.hook_step, name="hook_step"),
    path(f"{HOOK}remove/", hooks.hook_remove, name="hook_remove"),
    path(f"{HOOK}deliveries/<int:delivery_id>/again/", hooks.hook_redeliver, name="hook_redeliver"),
]
