"""Addresses of people who work: their home, an assignment, what is recorded of them."""

from django.urls import URLPattern, URLResolver, path

from annotation.privacy import views as retention
from annotation.work.views import page_api as worker_api
from annotation.work.views import pages as worker
from annotation.work.views import record as worker_record

urlpatterns: list[URLPattern | URLResolver] = [
    path("work/", worker.home, name="work_home"),
    path("work/projects/<int:project_id>/consent/", worker.consent, name="work_consent"),
    path("work/projects/<int:project_id>/withdraw/", worker.withdraw, name="work_withdraw"),
    path(
        "work/projects/<int:project_id>/erase-logs/",
        retention.own_logs_erase,
        name="own_logs_erase",
    ),
    path("work/tasks/<int:task_id>/claim/", worker.claim, name="work_claim"),
    path("work/assignments/<int:assignment_id>/", worker.assignment, name="work_assignment"),
    path(
        "work/assignments/<int:assignment_id>/items/<int:position>/",
        worker.item,
        name="work_item",
    ),
    path("work/assignments/<int:assignment_id>/submit/", worker_api.submit, name="work_submit"),
    path("work/assignments/<int:assignment_id>/done/", worker.done, name="work_done"),
    path("work/assignments/<int:assignment_id>/extend/", worker_api.extend, name="work_extend"),
    path("work/assignments/<int:assignment_id>/return/", worker.give_back, name="work_return"),
    path("work/assignments/<int:assignment_id>/draft/", worker_api.draft, name="work_draft"),
    path("work/assignments/<int:assignment_id>/stream/", worker_api.stream, name="work_stream"),
    path("work/assignments/<int:assignment_id>/events/", worker_api.events, name="work_events"),
    path("work/record/", worker_record.record, name="work_record"),
    path(
        "work/record/<int:assignment_id>/",
        worker_record.assignment_record,
        name="work_record_assignment",
    ),
    path(
        "work/rejections/<int:rejection_id>/reply/",
        worker_record.reply,
        name="work_rejection_reply",
    ),
]
