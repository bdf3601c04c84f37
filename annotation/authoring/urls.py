"""Addresses of tasks and of their builder, under a project."""

from crowdqc.web.addresses import lazy_views, path

with lazy_views():
    from annotation.authoring.views import media, tasks
    from annotation.authoring.views.builder import (
        checklist,
        frame,
        known,
        labels,
        publish,
        rating,
        think_aloud,
        writing,
    )

TASK = "tasks/<int:task_id>/"
BUILD = f"{TASK}build/"
project_patterns = [
    path("tasks/", tasks.task_list, name="task_list"),
    path("tasks/new/", tasks.task_new, name="task_new"),
    path(TASK, tasks.task, name="task"),
    path(f"{TASK}move/", tasks.task_move, name="task_move"),
    path(f"{TASK}pace/", tasks.task_pace, name="task_pace"),
    path(f"{TASK}domain/", tasks.task_domain, name="task_domain"),
    path(f"{TASK}judge/", tasks.task_judge, name="task_judge"),
    path(f"{TASK}preview/", frame.task_preview, name="task_preview"),
    path(f"{TASK}publish/", publish.task_publish, name="task_publish"),
    path(BUILD, frame.task_build, name="task_build"),
    path(f"{BUILD}question/", frame.task_build_question, name="task_build_question"),
    path(f"{BUILD}add/", frame.task_build_add, name="task_build_add"),
    path(f"{BUILD}remove/", frame.task_build_remove, name="task_build_remove"),
    path(f"{BUILD}move/", frame.task_build_move, name="task_build_move"),
    path(f"{BUILD}text/", frame.task_build_text, name="task_build_text"),
    path(f"{BUILD}text/step/", frame.task_build_text_step, name="task_build_text_step"),
    path(f"{BUILD}rows/", writing.task_build_rows, name="task_build_rows"),
    path(f"{BUILD}rows/step/", writing.task_build_rows_step, name="task_build_rows_step"),
    path(f"{BUILD}topic/", writing.task_build_topic, name="task_build_topic"),
    path(f"{BUILD}topic/step/", writing.task_build_topic_step, name="task_build_topic_step"),
    path(f"{BUILD}dimension/", think_aloud.task_build_dimension, name="task_build_dimension"),
    path(
        f"{BUILD}dimension/step/",
        think_aloud.task_build_dimension_step,
        name="task_build_dimension_step",
    ),
    path(f"{BUILD}line/", checklist.task_build_line, name="task_build_line"),
    path(f"{BUILD}line/step/", checklist.task_build_line_step, name="task_build_line_step"),
    path(f"{BUILD}field/", labels.task_build_field, name="task_build_field"),
    path(f"{BUILD}field/step/", labels.task_build_field_step, name="task_build_field_step"),
    path(f"{BUILD}media/", media.task_build_media, name="task_build_media"),
    path("media/<slug:sha256>/", media.media_file, name="media_file"),
    path(f"{BUILD}known/", known.task_build_known, name="task_build_known"),
    path(f"{BUILD}rating/", rating.task_build_rating, name="task_build_rating"),
    path(f"{BUILD}document/", rating.task_build_document, name="task_build_document"),
    path(
        f"{BUILD}document/step/",
        rating.task_build_document_step,
        name="task_build_document_step",
    ),
]
