"""Addresses of what a person is told."""

from django.urls import URLPattern, URLResolver, path

from annotation.notifications.views import notices

urlpatterns: list[URLPattern | URLResolver] = [
    path("notices/", notices.notice_list, name="notice_list"),
    path("notices/read/", notices.notice_read_all, name="notice_read_all"),
    path("notices/mail/", notices.notice_mail, name="notice_mail"),
    path("notices/kinds/", notices.notice_kinds, name="notice_kinds"),
    path("notices/stop/<str:token>/", notices.notice_stop, name="notice_stop"),
    path("notices/<int:notice_id>/", notices.notice, name="notice"),
]
