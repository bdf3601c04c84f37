"""SummEval into a project: its summaries as texts under judgment, beside their articles."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from annotation.authoring.actions.drafts import edit_draft
from annotation.authoring.actions.tasks import create_task
from annotation.formats.actions.judgments import Added, task_called
from annotation.formats.imports.published.summeval import SummEval
from annotation.models import Project, Task, User
from annotation.pairs.actions.candidates import add_candidates
from annotation.pairs.actions.pair_items import make_texts
from annotation.pairs.actions.topics import TopicContent, add_topics
from annotation.records.actions.audit import record

TITLE = "SummEval, summaries of news"
INSTRUCTIONS = "Read the article, then the summary beside it, and answer every question."
Progress = Callable[[str, int, int], None]  # what, done, of how many


@transaction.atomic
def import_texts(
    *, by: User, project: Project, study: SummEval, progress: Progress
) -> tuple[Task, Added]:
    """Import the texts, and create a checklist task that shows them; its questions come later.

    Everything is there once. Raises Invalid where the project has other texts under their keys.
    """
    total = len(study.summaries)
    progress("summaries", 0, total)
    rows = [
        {
            "key": one.key,
            "topic": one.article,
            "query": "",
            "text": one.text,
            "system": f"SummEval {one.system}",
            "origin": "llm",
        }
        for one in study.summaries
    ]
    added = Added(*add_candidates(by=by, project=project, rows=rows, name="SummEval"))
    task = task_called(project, "checklist", TITLE)
    if task is None:
        task = create_task(by=by, project=project, type="checklist", title=TITLE)
        edit_draft(by=by, task=task, fields={"instructions": INSTRUCTIONS})
        add_topics(
            by=by,
            task=task,
            topics={
                name: TopicContent(f"Article {name}", text) for name, text in study.articles.items()
            },
        )
        make_texts(by=by, task=task)
        record(by=by, project=project, action="summeval.import", on=task, texts=total)
    progress("summaries", total, total)
    return task, added
