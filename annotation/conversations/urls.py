"""Addresses of conversations: a worker's own, and those of a project."""

from django.urls import URLPattern, URLResolver

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.conversations import views, worker_views

urlpatterns: list[URLPattern | URLResolver] = [
    path("work/messages/", worker_views.message_list, name="work_messages"),
    path(
        "work/messages/<int:conversation_id>/",
        worker_views.conversation,
        name="work_conversation",
    ),
    path(
        "work/messages/<int:conversation_id>/report/",
        worker_views.report,
        name="work_message_report",
    ),
    path(
        "work/assignments/<int:assignment_id>/ask/", worker_views.write_about_item, name="work_ask"
    ),
]
ONE = "messages/<int:conversation_id>/"
project_patterns: list[URLPattern | URLResolver] = [
    path("messages/", views.message_list, name="message_list"),
    path(ONE, views.conversation, name="conversation"),
    path(f"{ONE}report/", views.report, name="conversation_report"),
    path(f"{ONE}moderate/", views.moderate, name="conversation_moderate"),
    path("assignments/<int:assignment_id>/message/", views.message_new, name="message_new"),
    path("tasks/<int:task_id>/announcements/", views.announcements, name="announcements"),
    path(
        "tasks/<int:task_id>/announcements/<int:announcement_id>/remove/",
        views.announcement_remove,
        name="announcement_remove",
    ),
]
