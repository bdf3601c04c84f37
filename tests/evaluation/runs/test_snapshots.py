"""Snapshots: what enters, that the same content is the same row, that changes are noticed."""

from __future__ import annotations

import numpy as np
import pytest
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.models import Answer, TextValue
from annotation.work.actions import answers as answer_actions
from crowdqc.errors import Conflict
from evaluation.models import Snapshot
from evaluation.runs.freezing import snapshots
from tests.evaluation.corpora import texts as corpus
from tests.support import factories

pytestmark = pytest.mark.django_db


def test_the_same_answers_give_the_same_snapshot() -> None:
    task = corpus.make_answered()
    first, second = snapshots.freeze_answers(task), snapshots.freeze_answers(task)
    assert first == second
    assert Snapshot.objects.count() == 1
    assert first.counts["answers"] == 11 * 8 + 2
    assert first.counts["system_answers"] == 24


def test_a_new_answer_and_an_uncounted_one_each_give_another_snapshot() -> None:
    task = corpus.make_answered(systems=False)
    first = snapshots.freeze_answers(task)
    factories.make_answers(task, {"late": corpus.answers([corpus.GOOD])})
    second = snapshots.freeze_answers(task)
    assert second.content_hash != first.content_hash
    answer = task.items.first().answers.first()
    answer_actions.set_counts(
        by=task.project.owner, answer=answer, counts=False, reason="off the point"
    )
    third = snapshots.freeze_answers(task)
    assert answer.pk not in third.answer_ids
    assert third.counts["left_out"] == {"uncounted": 1, "repeated": 0}
    answer_actions.set_counts(by=task.project.owner, answer=answer, counts=True)
    assert snapshots.freeze_answers(task) == second


def test_an_item_that_no_version_changed_is_one_question() -> None:
    task = corpus.make_answered(systems=False)
    by = task.project.owner
    tasks.edit_draft(by=by, task=task, fields={"pay": "2.00"})
    changed = task.items.first()
    tasks.save_item(by=by, task=task, item=changed, question="When was it built, and of what?")
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    factories.make_answers(task, {"later": corpus.answers([corpus.GOOD])})
    frozen = snapshots.load(snapshots.freeze_answers(task))
    # Eight questions and the reworded one, which does not pool with its first wording.
    assert len(frozen.items) == 9
    asked = np.bincount(frozen.question)
    assert sorted(asked)[:2] == [1, 12]


def test_i_do_not_know_is_an_answer_like_any_other() -> None:
    world = factories.make_world(2, redundancy=3)
    factories.claim_and_submit(world.task, world.worker, "")
    frozen = snapshots.load(snapshots.freeze_answers(world.task))
    assert frozen.texts == ("I don't know",)
    assert len(frozen.answer_ids) == 2


def test_a_worker_has_one_vote_a_question() -> None:
    task = corpus.make_answered(systems=False)
    answer = task.items.first().answers.filter(worker__isnull=False).first()
    others = factories.make_answers(task, {"other": corpus.answers([corpus.GOOD])})
    elsewhere = others[-1].assignment
    Answer.objects.filter(assignment=elsewhere, item=answer.item).delete()
    again = Answer.objects.create(
        version=answer.version,
        item=answer.item,
        worker=answer.worker,
        assignment=elsewhere,
        answered_at=timezone.now(),
    )
    TextValue.objects.create(answer=again, field="answer", index=0, text="Once more.")
    snapshot = snapshots.freeze_answers(task)
    assert snapshot.counts["left_out"]["repeated"] == 1
    assert answer.pk in snapshot.answer_ids
    assert again.pk not in snapshot.answer_ids


def test_answers_that_changed_under_a_snapshot_are_noticed() -> None:
    task = corpus.make_answered(systems=False)
    snapshot = snapshots.freeze_answers(task)
    TextValue.objects.filter(answer_id=snapshot.answer_ids[0]).update(text="erased")
    with pytest.raises(Conflict, match="no longer what they were"):
        snapshots.load(snapshot)


def test_a_task_without_answers_says_so() -> None:
    with pytest.raises(Conflict, match="No answer counts yet"):
        snapshots.freeze_answers(corpus.make_task())
