"""Running counts of answers stay equal to the answers, whoever writes."""

from __future__ import annotations

import psycopg
import pytest
from django.db import connection

from annotation.models import Answer, AnswerCount, Item, System, Task
from annotation.task_types.pairwise.sides import FIRST
from annotation.work.actions import exclusions
from annotation.work.actions.answers import set_counts
from annotation.work.snapshots.answers import (
    answers_by_worker,
    drifted_tallies,
    tally_from_counts,
    tally_of,
)
from annotation.work.snapshots.judgments import counting_rows, counts_of
from tests.evaluation.corpora import pairs as corpus

pytestmark = [pytest.mark.django_db, pytest.mark.db]


def agree(task: Task) -> int:
    """How many answers count, where running counts say the same as the answers at any mark."""
    assert drifted_tallies(task) == {}
    rows = counting_rows(task)
    ids = sorted(rows.values_list("pk", flat=True))
    for mark in (0, ids[0] - 1, ids[0], ids[len(ids) // 2], ids[-1], ids[-1] + 1):
        assert tally_from_counts(counts_of(task), rows, mark) == tally_of(rows, mark)
    return len(ids)


def test_counts_follow_answers_that_stop_counting_become_known_go_or_come() -> None:
    task = corpus.make_judged()
    every = agree(task)
    answer = Answer.objects.filter(item__task=task)[3]
    for counts in (False, True):
        set_counts(by=task.project.owner, answer=answer, counts=counts, reason="Asked to.")
        assert agree(task) == every - (not counts)
    item = Item.objects.filter(task=task)[0]
    own = item.answers.count()
    for expected, left in (({"overall": FIRST}, every - own), (None, every)):
        Item.objects.filter(pk=item.pk).update(expected=expected)
        assert agree(task) == left
    answer.texts.all().delete()
    answer.spans.all().delete()
    answer.choices.all().delete()
    Answer.objects.filter(pk=answer.pk).delete()
    assert agree(task) == every - 1
    Answer.objects.create(
        version=task.current,
        item=item,
        system=System.objects.create(project=task.project, name="judge"),
        answered_at=answer.answered_at,
    )
    assert agree(task) == every
    assert sum(answers_by_worker(task)) == every - 1  # none of the model's


def test_a_worker_who_is_excluded_is_not_in_the_counts_of_what_runs_would_see() -> None:
    task = corpus.make_judged()
    every = agree(task)
    worker = Answer.objects.filter(item__task=task)[0].worker
    assert worker is not None
    own = Answer.objects.filter(worker=worker).count()
    row = exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="Guessed.")
    assert agree(task) == every - own
    exclusions.undo(by=task.project.owner, exclusion=row)
    assert agree(task) == every


@pytest.mark.django_db(transaction=True)
def test_who_counts_an_answer_waits_for_nobody_else_who_does() -> None:
    task = corpus.make_judged()
    answer = Answer.objects.filter(item__task=task)[0]
    other_one = Answer.objects.filter(worker=answer.worker).exclude(pk=answer.pk)[0]
    params = connection.get_connection_params()
    wanted = {key: params.get(key) for key in ("dbname", "user", "password", "host", "port")}
    change = "UPDATE annotation_answer SET counts = false, uncounted_reason = 'late' WHERE id = %s"
    before = AnswerCount.objects.count()
    with (
        psycopg.connect(**{k: v for k, v in wanted.items() if v}) as other,
        connection.cursor() as cursor,
    ):
        other.execute(change, [other_one.pk])
        cursor.execute("SET lock_timeout = '2s'")
        cursor.execute(change, [answer.pk])
        cursor.execute("SET lock_timeout = 0")
        other.commit()
    assert AnswerCount.objects.count() == before + 1
    agree(task)
