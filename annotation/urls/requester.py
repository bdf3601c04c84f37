"""Addresses of a project's people, settings, tasks, builder and imports."""

from django.urls import path

from annotation.accounts.projects import member_views as members
from annotation.accounts.projects import project_views as projects
from annotation.authoring.views import tasks
from annotation.authoring.views.builder import checklist as build_checklist
from annotation.authoring.views.builder import frame as build
from annotation.authoring.views.builder import rating as build_rating
from annotation.authoring.views.builder import think_aloud as build_think
from annotation.authoring.views.builder import writing as build_writing
from annotation.formats.views import exports, imports
from annotation.pairs import views as build_pairs
from annotation.panels import views as qualification
from annotation.privacy import views as retention

TASK = "tasks/<int:task_id>/"
urlpatterns = [
    path("people/", members.people, name="people"),
    path("people/<int:membership_id>/remove/", members.people_remove, name="people_remove"),
    path("invitations/new/", members.invitation_new, name="invitation_new"),
    path(
        "invitations/<int:invitation_id>/revoke/",
        members.invitation_revoke,
        name="invitation_revoke",
    ),
    path("settings/", projects.project_settings, name="project_settings"),
    path("settings/kept/", retention.project_settings_kept, name="project_settings_kept"),
    path("settings/erase-logs/", retention.project_logs_erase, name="project_logs_erase"),
    path(
        "people/<int:membership_id>/erase-logs/",
        retention.worker_logs_erase,
        name="worker_logs_erase",
    ),
    path(
        "settings/second-factor/",
        projects.project_settings_factor,
        name="project_settings_factor",
    ),
    path("settings/consent/", projects.project_settings_consent, name="project_settings_consent"),
    path("tasks/", tasks.task_list, name="task_list"),
    path("tasks/new/", tasks.task_new, name="task_new"),
    path(TASK, tasks.task, name="task"),
    path(TASK + "move/", tasks.task_move, name="task_move"),
    path(TASK + "domain/", tasks.task_domain, name="task_domain"),
    path(TASK + "judge/", tasks.task_judge, name="task_judge"),
    path(TASK + "build/", build.task_build, name="task_build"),
    path(TASK + "build/question/", build.task_build_question, name="task_build_question"),
    path(TASK + "build/add/", build.task_build_add, name="task_build_add"),
    path(TASK + "build/remove/", build.task_build_remove, name="task_build_remove"),
    path(TASK + "build/move/", build.task_build_move, name="task_build_move"),
    path(TASK + "build/text/", build.task_build_text, name="task_build_text"),
    path(TASK + "build/text/step/", build.task_build_text_step, name="task_build_text_step"),
    path(TASK + "build/asked/", build_pairs.task_build_asked, name="task_build_asked"),
    path(
        TASK + "build/asked/step/", build_pairs.task_build_asked_step, name="task_build_asked_step"
    ),
    path(TASK + "build/texts/", build_pairs.task_build_texts, name="task_build_texts"),
    path(TASK + "build/pairs/", build_pairs.task_build_pairs, name="task_build_pairs"),
    path(TASK + "build/attention/", build_pairs.task_build_attention, name="task_build_attention"),
    path(TASK + "build/rows/", build_writing.task_build_rows, name="task_build_rows"),
    path(
        TASK + "build/rows/step/", build_writing.task_build_rows_step, name="task_build_rows_step"
    ),
    path(TASK + "build/topic/", build_writing.task_build_topic, name="task_build_topic"),
    path(
        TASK + "build/topic/step/",
        build_writing.task_build_topic_step,
        name="task_build_topic_step",
    ),
    path(TASK + "build/dimension/", build_think.task_build_dimension, name="task_build_dimension"),
    path(
        TASK + "build/dimension/step/",
        build_think.task_build_dimension_step,
        name="task_build_dimension_step",
    ),
    path(TASK + "build/line/", build_checklist.task_build_line, name="task_build_line"),
    path(
        TASK + "build/line/step/",
        build_checklist.task_build_line_step,
        name="task_build_line_step",
    ),
    path(TASK + "build/rating/", build_rating.task_build_rating, name="task_build_rating"),
    path(TASK + "build/document/", build_rating.task_build_document, name="task_build_document"),
    path(
        TASK + "build/document/step/",
        build_rating.task_build_document_step,
        name="task_build_document_step",
    ),
    path(TASK + "rounds/", qualification.task_rounds, name="task_rounds"),
    path(TASK + "rounds/<int:assignment_id>/", qualification.task_round, name="task_round"),
    path(TASK + "panels/", qualification.task_panels, name="task_panels"),
    path(TASK + "feedback/", qualification.task_feedback, name="task_feedback"),
    path(TASK + "preview/", build.task_preview, name="task_preview"),
    path(TASK + "publish/", build.task_publish, name="task_publish"),
    path(TASK + "import/<int:file_id>/", imports.task_import_file, name="task_import_file"),
    path(
        TASK + "import/<int:file_id>/bad-rows.csv",
        imports.task_import_bad_rows,
        name="task_import_bad_rows",
    ),
    path(TASK + "import/<slug:kind>/", imports.task_import, name="task_import"),
    path(TASK + "export/<slug:what>.<slug:form>", exports.task_export, name="task_export"),
]
