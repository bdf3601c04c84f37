"""Addresses of people who work: their home, an assignment, what is recorded of them."""

from django.urls import URLPattern, URLResolver, include

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.work.views import page_api, pages, record, recordings

PROJECT, ONE = "work/projects/<int:project_id>/", "work/assignments/<int:assignment_id>/"
REPLY = "work/rejections/<int:rejection_id>/reply/"
RECORD = "work/record/<int:assignment_id>/"
urlpatterns: list[URLPattern | URLResolver] = [
    path("work/tasks/<int:task_id>/", pages.offer, name="work_offer"),
    path("work/tasks/<int:task_id>/claim/", pages.claim, name="work_claim"),
    path(
        ONE,
        include(
            [
                path("", pages.assignment, name="work_assignment"),
                path("items/<int:position>/", pages.item, name="work_item"),
                path("events/", page_api.events, name="work_events"),
                path("draft/", page_api.draft, name="work_draft"),
                path("submit/", page_api.submit, name="work_submit"),
                path("stream/", page_api.stream, name="work_stream"),
                path("done/", pages.submitted_page, name="work_done"),
                path("extend/", page_api.extend, name="work_extend"),
                path("return/", pages.assignment_return, name="work_return"),
                path(
                    "items/<int:position>/recording/", recordings.recording, name="work_recording"
                ),
                path(
                    "items/<int:position>/transcript/",
                    recordings.transcript,
                    name="work_transcript",
                ),
            ]
        ),
    ),
    path("work/", pages.home, name="work_home"),
    path("work/earnings/", pages.earnings_page, name="work_earnings"),
    path(f"{PROJECT}consent/", pages.consent, name="work_consent"),
    path(f"{PROJECT}withdraw/", pages.withdraw, name="work_withdraw"),
    path(
        "projects/<int:project_id>/recordings/<int:recording_id>/",
        recordings.recording_file,
        name="recording_file",
    ),
    path("work/record/", record.record, name="work_record"),
    path(RECORD, record.assignment_record, name="work_record_assignment"),
    path(REPLY, record.reply, name="work_rejection_reply"),
]
