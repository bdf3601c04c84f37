"""Running counts of votes stay equal to the votes, whoever writes."""

from __future__ import annotations

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from annotation.models import Answer, ChoiceValue, Item, JudgmentCount, System, Task
from annotation.task_types import Values
from annotation.task_types.pairwise.sides import FIRST, ORDINALS, SECOND
from annotation.work.actions import exclusions
from annotation.work.actions.answers import set_counts, write_values
from annotation.work.snapshots.judgments import counted_votes, drifted_counts, vote_counts
from tests.evaluation.corpora import pairs as corpus

pytestmark = [pytest.mark.django_db, pytest.mark.db]


def total(task: Task, dimension: str = "") -> int:
    return sum(row.n for row in vote_counts(task, dimension))


def test_an_answer_is_in_the_counts_while_it_counts() -> None:
    task = corpus.make_judged()
    every = counted_votes(task).count()
    assert total(task) == every == 600
    answer = Answer.objects.filter(item__task=task, assignment__isnull=False)[3]
    for counts, expected in ((False, every - 2), (True, every)):
        set_counts(by=task.project.owner, answer=answer, counts=counts, reason="Asked to.")
        assert (total(task), drifted_counts(task)) == (expected, {})


def test_values_that_are_corrected_withdrawn_or_added_later_move_the_counts() -> None:
    task = corpus.make_judged()
    value = ChoiceValue.objects.filter(answer__item__task=task, code=FIRST)[0]
    pair = value.answer.item.first.system_id, value.answer.item.second.system_id
    code = {FIRST: 0, SECOND: 0}
    for row in vote_counts(task, value.field):
        if (row.first_id, row.second_id) == pair and row.code in code:
            code[row.code] += row.n
    ChoiceValue.objects.filter(pk=value.pk).update(code=SECOND, ordinal=ORDINALS[SECOND])
    moved = {FIRST: 0, SECOND: 0}
    for row in vote_counts(task, value.field):
        if (row.first_id, row.second_id) == pair and row.code in moved:
            moved[row.code] += row.n
    assert moved == {FIRST: code[FIRST] - 1, SECOND: code[SECOND] + 1}
    assert drifted_counts(task) == {}
    ChoiceValue.objects.filter(answer=value.answer).delete()
    Answer.objects.filter(item__task=task).exclude(pk=value.answer_id)[5].delete()
    assert (total(task), drifted_counts(task)) == (596, {})


def test_a_pair_whose_answer_becomes_known_leaves_the_counts_and_comes_back() -> None:
    task = corpus.make_judged()
    item = task.items.all()[0]
    for expected, left in (({"overall": FIRST}, 590), (None, 600)):
        Item.objects.filter(pk=item.pk).update(expected=expected)
        assert (total(task), drifted_counts(task)) == (left, {})


def test_excluded_workers_are_taken_off_and_put_back() -> None:
    task = corpus.make_judged()
    worker = Answer.objects.filter(item__task=task)[0].worker
    assert worker is not None
    own = counted_votes(task).filter(worker=worker).count()
    row = exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="Guessed.")
    assert (total(task), drifted_counts(task)) == (600 - own, {})
    fields = {row["name"] for row in task.current.settings["dimensions"]}
    assert sum(row.n for field in fields for row in vote_counts(task, field)) == 600 - own
    exclusions.undo(by=task.project.owner, exclusion=row)
    assert total(task) == 600


def test_models_are_counted_apart_from_people() -> None:
    task = corpus.make_judged()
    system = System.objects.create(project=task.project, name="judge")
    answers = Answer.objects.bulk_create(
        Answer(
            version=task.current,
            item=item,
            system=system,
            answered_at=Answer.objects.filter(item__task=task)[0].answered_at,
        )
        for item in task.items.all()[:7]
    )
    write_values((one, Values(choices=[("overall", FIRST, -1)])) for one in answers)
    assert (total(task), drifted_counts(task)) == (600, {})
    assert sum(JudgmentCount.objects.filter(people=False).values_list("n", flat=True)) == 7


@pytest.mark.django_db(transaction=True)
def test_two_who_vote_on_the_same_systems_at_once_do_not_wait_for_each_other() -> None:
    task = corpus.make_judged()
    one, two = ChoiceValue.objects.filter(answer__item__task=task, field="overall")[:2]
    params = connection.get_connection_params()
    wanted = {key: params.get(key) for key in ("dbname", "user", "password", "host", "port")}
    change = "UPDATE annotation_choicevalue SET code = %s WHERE id = %s"
    with (
        psycopg.connect(**{k: v for k, v in wanted.items() if v}) as other,
        connection.cursor() as cursor,
    ):
        other.execute("DELETE FROM annotation_choicevalue WHERE id = %s", [one.pk])
        cursor.execute("SET lock_timeout = '2s'")
        for code in (FIRST, SECOND, FIRST):
            cursor.execute(change, [code, two.pk])
        same = ChoiceValue.objects.filter(answer__item=one.answer.item, field=one.field)
        for value in same.exclude(pk=one.pk):
            cursor.execute(change, [SECOND, value.pk])
        cursor.execute("SET lock_timeout = 0")
        other.commit()
    assert (total(task), drifted_counts(task)) == (599, {})


def test_a_vote_looks_up_its_count_and_reads_no_others() -> None:
    """Plans of empty tables were kept: an import into a new site read all counts for each vote."""
    task = corpus.make_judged()
    system = System.objects.create(project=task.project, name="judge")

    def read() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables WHERE relname IN "
                "('annotation_judgmentcount', 'annotation_answercount', 'annotation_answer')"
            )
            return int(cursor.fetchone()[0])

    with connection.cursor() as cursor:  # as on a new site
        cursor.execute("TRUNCATE annotation_judgmentcount, annotation_answercount; DISCARD PLANS")
    before = read()
    for item in task.items.all()[:9]:
        answer = Answer.objects.create(
            version=task.current, item=item, system=system, answered_at=timezone.now()
        )
        write_values([(answer, Values(choices=[("overall", FIRST, -1)]))])
    assert read() == before
