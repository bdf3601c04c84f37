"""A file that names a removed worker: which row, which worker, and nothing half-written."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.accounts.named.actions import workers_named
from annotation.formats.actions.imports import import_candidates, import_content
from annotation.models import Answer, Candidate, Membership, System, Task
from crowdqc.errors import Invalid, NotAllowed
from tests.annotation.formats.imports.test_ratings import as_csv, rated
from tests.support import factories
from tests.support.studies import ratings

pytestmark = pytest.mark.django_db


def removed_worker(task: Task, external_id: str) -> Membership:
    worker = factories.make_worker(task.project)
    worker.external_id, worker.removed_at = external_id, timezone.now()
    worker.save()
    return worker


@pytest.mark.parametrize("by_pseudonym", [False, True])
def test_ratings_of_a_removed_worker_are_named_row_by_row(by_pseudonym: bool) -> None:
    task = ratings.make_documents(factories.make_project())
    worker = removed_worker(task, "w-gone")
    name = worker.pseudonym if by_pseudonym else "w-gone"
    content = as_csv([rated(), rated(worker_id=name), rated(worker_id="w2")])
    given = {"by": task.project.owner, "task": task, "kind": "ratings", "name": "ratings.csv"}
    with pytest.raises(Invalid) as caught:
        import_content(content=content, **given)
    (row,) = caught.value.rows
    assert (row["line"], row["column"], row["value"]) == (3, "worker_id", name)
    assert (
        not Answer.objects.exists() and task.project.memberships.filter(role="worker").count() == 1
    )
    report = import_content(content=content, leave_out_bad=True, **given)
    assert (report.new, report.left_out) == (2, 1)


def test_texts_of_a_removed_author_are_named_row_by_row() -> None:
    task = ratings.make_documents(factories.make_project())
    removed_worker(task, "w-gone")
    before = [Candidate.objects.count(), System.objects.count()]
    content = b"topic,text,system,author\nt1,One,new,w1\nt1,Two,new,w-gone\n"
    with pytest.raises(Invalid) as caught:
        import_candidates(
            by=task.project.owner, project=task.project, content=content, name="texts.csv"
        )
    assert [(row["line"], row["column"]) for row in caught.value.rows] == [(3, "author")]
    assert [Candidate.objects.count(), System.objects.count()] == before


def test_files_taken_whole_name_every_removed_worker() -> None:
    project = factories.make_project()
    task = factories.make_task(project)
    gone = [removed_worker(task, name) for name in ("w-1", "w-2")]
    with pytest.raises(NotAllowed) as caught:
        workers_named(project, {"w-1", gone[1].pseudonym, "new"})
    assert "w-1" in caught.value.message or gone[1].pseudonym in caught.value.message
    assert not project.memberships.filter(external_id="new").exists()
