"""Compiled queries give the rows of ordinary ones, which take over where Django has changed."""

from __future__ import annotations

from typing import Any

import pytest

from annotation import access
from annotation.accounts.projects import shell
from annotation.models import Assignment, Membership, User
from annotation.models.assignments import AssignmentState
from crowdqc.database import compiled
from crowdqc.database.compiled import CompiledQuery, Placeholder
from tests.support import factories

pytestmark = pytest.mark.django_db


def test_compiled_rows_equal_ordinary_ones_with_their_related_rows_and_annotations(
    django_assert_num_queries: Any,
) -> None:
    worker = factories.make_worker(factories.make_project())
    values = {"project": worker.project_id, "user": worker.user_id}
    [fast], [plain] = (
        access.MEMBERSHIPS.all(**values),
        access.MEMBERSHIPS.all_uncompiled(**values),
    )
    assert vars(fast).keys() == vars(plain).keys() and fast == plain == worker
    with django_assert_num_queries(0):
        assert fast.project == plain.project == worker.project
    [fast_user] = shell.OWN.all(user=worker.user_id)
    [plain_user] = shell.OWN.all_uncompiled(user=worker.user_id)
    assert fast_user.unread_there == plain_user.unread_there
    assert fast_user.get_deferred_fields() == plain_user.get_deferred_fields()


def test_a_version_of_django_with_other_internals_is_warned_of_and_served(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def changed(queryset: Any) -> Any:
        raise ImportError("get_related_populators is gone")

    monkeypatch.setattr(compiled, "_Plan", changed)
    worker = factories.make_worker(factories.make_project())
    query = CompiledQuery(lambda: User.objects.filter(pk=Placeholder("pk")))
    assert query.first(pk=worker.user_id) == worker.user
    assert query.first(pk=0) is None
    assert caplog.text.count("runs without being compiled: get_related_populators is gone") == 1


def test_people_work_and_submit_without_compiled_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompiledQuery, "_plan", property(lambda query: None))
    task = factories.make_task()
    worker: Membership = factories.make_worker(task.project)
    submitted: Assignment = factories.claim_and_submit(task, worker)
    submitted.refresh_from_db()
    assert submitted.state == AssignmentState.SUBMITTED
