"""Addresses of other systems that are told of events, under a project."""

from django.urls import URLPattern, URLResolver, path

from annotation.notifications.views import webhooks as hooks

HOOK = "settings/hooks/<int:hook_id>/"
urlpatterns: list[URLPattern | URLResolver] = [
    path("settings/hooks/", hooks.hook_list, name="hook_list"),
    path("settings/hooks/new/", hooks.hook_new, name="hook_new"),
    path(HOOK, hooks.hook, name="hook"),
    path(f"{HOOK}step/", hooks.hook_step, name="hook_step"),
    path(f"{HOOK}remove/", hooks.hook_remove, name="hook_remove"),
    path(f"{HOOK}deliveries/<int:delivery_id>/again/", hooks.hook_redeliver, name="hook_redeliver"),
]
