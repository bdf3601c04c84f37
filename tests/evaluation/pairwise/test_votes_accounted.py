"""Every board says how many votes it uses and why it leaves the others out; the sums hold."""

from __future__ import annotations

import json
import random
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Candidate, ChoiceValue, Item, System, Task
from annotation.work.actions import exclusions
from annotation.work.actions.answers import set_counts
from crowdqc.tally import DoesNotAddUp, Tally
from evaluation.models import Run, RunFigure, RunState
from evaluation.runs import engine as runs
from evaluation.runs.freezing import snapshots
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as corpus
from tests.support import factories
from tests.support.kept import kept

pytestmark = [pytest.mark.django_db, pytest.mark.db]
MODELS = ("Crane", "Heron", "Owl", "Stork", "Swift", "Wren")


def finished(task: Task, **params: Any) -> Run:
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200, **params})
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    return Run.objects.get(pk=run.pk)


def votes_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = RunFigure.objects.get(run=run, name="votes").data
    return found


def page(task: Task, name: str, query: str = "") -> str:
    client = Client()
    client.force_login(task.project.owner)
    return client.get(reverse(name, args=[task.project_id, task.pk]) + query).content.decode()


def battles(n: int) -> list[dict[str, Any]]:
    """Battles as they are exported without texts: many of one judge on the same two models."""
    draw = random.Random(320)
    verdicts = ("model_a", "model_b", "tie", "both_bad")
    return [
        {"model_a": a, "model_b": b, "winner": draw.choice(verdicts), "judge": draw.choice("abc")}
        for a, b in (draw.sample(MODELS, 2) for _ in range(n))
    ]


def imported(path: Path, rows: list[dict[str, Any]], *where: str) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = StringIO()
    call_command("crowdqc_import", "arena", str(path), *where, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_every_battle_of_a_judge_on_two_models_is_a_vote_where_no_text_says_otherwise(
    tmp_path: Path,
) -> None:
    """A review found: 320 battles gave the headline 320 judgments and a matrix of 78."""
    project = factories.make_project()
    where = ("--project", str(project.pk), "--by", project.owner.username)
    assert "320 new, 0 there already" in imported(tmp_path / "b.jsonl", battles(320), *where)
    assert "0 new, 320 there already" in imported(tmp_path / "b.jsonl", battles(320), *where)
    task = Task.objects.get(project=project)
    run = finished(task, draws=0)
    won = [row for row in RunFigure.objects.get(run=run, name="win").data if not row["dimension"]]
    assert sum(row["wins"] + row["ties"] + row["losses"] for row in won) == 320
    told = votes_of(run)
    assert (told["came"], told["used"], told["left_out"]) == (320, 320, {})
    assert "<b>320 of 320 judgments</b> were used." in page(task, "pair_wins")


def test_a_study_of_one_dimension_has_one_board(tmp_path: Path) -> None:
    """Both would be the same board, by different draws: with ranks that contradict each other."""
    project = factories.make_project()
    where = ("--project", str(project.pk), "--by", project.owner.username)
    imported(tmp_path / "b.jsonl", battles(320), *where)
    task = Task.objects.get(project=project)
    run = finished(task, draws=0)
    rows = run.systemscore_rows.values_list("system", "low", "high", "rank_low", "rank_high")
    every, own = (
        sorted(rows.filter(**named)) for named in ({"dimension": ""}, {"dimension__gt": ""})
    )
    assert every == own and len(own) == len(MODELS)
    client = Client()
    client.force_login(task.project.owner)
    for name in ("pair_results", "pair_wins", "pair_workers"):
        url = reverse(name, args=[task.project_id, task.pk])
        for query in ("", "?dimension="):
            shown = client.get(url + query)
            assert shown.status_code == 200 and not shown.context["picks"]
            assert "All together" not in shown.content.decode()


def test_a_second_vote_on_the_same_two_texts_is_a_repeat_and_is_listed(tmp_path: Path) -> None:
    project = factories.make_project()
    said = {"question_id": "q", "model_a": "Owl", "model_b": "Wren", "winner": "model_a"}
    rows = [{**said, "judge": who, "question_id": q} for who in "abcd" for q in ("q", "r", "q")]
    imported(
        tmp_path / "b.jsonl", rows, "--project", str(project.pk), "--by", project.owner.username
    )
    told = votes_of(finished(Task.objects.get(project=project), draws=0))
    assert (told["came"], told["used"], told["left_out"]) == (12, 8, {"repeat": 4})


@pytest.fixture
@kept
def task() -> Task:
    """A judged study with one vote of each kind that no board uses."""
    task = pair_corpus.make_judged()
    by, items = task.project.owner, list(task.items.order_by("pk"))
    Item.objects.filter(pk=items[0].pk).update(expected={"overall": "first"})
    answer = items[1].answers.filter(worker__isnull=False).first()
    assert answer is not None
    set_counts(by=by, answer=answer, counts=False, reason="a slip")
    ChoiceValue.objects.filter(answer=items[2].answers.first(), field="clarity").delete()
    worker = task.project.memberships.filter(role="worker").latest("pk")
    exclusions.exclude(by=by, task=task, worker=worker, reason="always left")
    return task


def test_each_board_of_a_study_says_what_it_uses_and_the_numbers_add_up(task: Task) -> None:
    told = votes_of(finished(task, draws=0))
    came = Answer.objects.filter(item__task=task, worker__isnull=False).count()
    out = task.exclusions.get().worker
    reasons = Counter(
        "gold"
        if answer.item.expected
        else "uncounted"
        if not answer.counts
        else "excluded"
        if answer.worker_id == out.pk
        else ""
        for answer in Answer.objects.filter(item__task=task).select_related("item")
    )
    used = reasons.pop("")
    assert (told["came"], told["used"], told["left_out"]) == (came, used, dict(reasons))
    assert {reasons["gold"], reasons["uncounted"]} == {5, 1} and reasons["excluded"] > 0
    boards = {(one["board"], one["dimension"]): one for one in told["boards"]}
    assert boards["ranking", "clarity"]["left_out"] == {**reasons, "not_answered": 1}
    assert boards["labels", "clarity"]["used"] == used - 1
    assert boards["ranking", "overall"]["used"] == boards["ranking", ""]["used"] == used
    for one in boards.values():
        assert one["came"] == one["used"] + sum(one["left_out"].values()) == came


@pytest.mark.parametrize("name", ["pair_results", "pair_wins", "pair_list"])
def test_the_pages_of_a_study_list_why_votes_are_left_out(task: Task, name: str) -> None:
    finished(task, draws=0)
    text = page(task, name, "?dimension=clarity")
    for reason in (
        "by workers left out by hand",
        "on gold or attention items",
        "marked as not counting",
        "without an answer on this dimension",
    ):
        assert reason in text, reason
    assert "on attention pairs, which only test whether people read" in text


def test_votes_between_two_texts_of_one_system_are_labelled_and_in_no_ranking() -> None:
    task = pair_corpus.make_judged()
    item = task.items.select_related("first", "second").first()
    assert item is not None and item.first is not None and item.second is not None
    system = System.objects.create(project=task.project, name="both")
    with connection.cursor() as cursor:  # what is judged never changes otherwise
        cursor.execute("SET session_replication_role = replica")
        Candidate.objects.filter(pk__in=[item.first_id, item.second_id]).update(system=system)
        cursor.execute("SET session_replication_role = origin")
    told = votes_of(finished(task, draws=0))
    boards = {(one["board"], one["dimension"]): one for one in told["boards"]}
    assert boards["ranking", "overall"]["left_out"] == {"one_source": 5}
    assert boards["labels", "overall"]["left_out"] == {} == told["left_out"]


def test_ratings_and_free_text_say_what_they_use(word_vectors: None) -> None:
    rated = pair_corpus.make_rated()
    by = rated.project.owner
    worker = rated.project.memberships.filter(role="worker").latest("pk")
    exclusions.exclude(by=by, task=rated, worker=worker, reason="a test")
    told = votes_of(finished(rated))
    came = Answer.objects.filter(item__task=rated, worker__isnull=False).count()
    assert told["came"] == came == told["used"] + told["left_out"]["excluded"]
    assert "by workers left out by hand" in page(rated, "rating_results")

    task = corpus.make_answered()
    alone = task.items.first()
    assert alone is not None
    Answer.objects.filter(item=alone, worker__isnull=False).exclude(
        pk=Answer.objects.filter(item=alone, worker__isnull=False).earliest("pk").pk
    ).delete()
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 100})
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    told = votes_of(run)
    people = Answer.objects.filter(item__task=task, worker__isnull=False).count()
    assert (told["came"], told["used"], told["left_out"]) == (people, people - 1, {"alone": 1})
    assert "the only answer to their question" in page(task, "task_results")
    assert snapshots.freeze_answers(task).counts["came"] == people


def test_the_database_refuses_votes_that_do_not_add_up(task: Task) -> None:
    run = finished(task, draws=0)
    told = votes_of(run)
    first = told["boards"][0]
    for wrong in (
        {**told, "used": told["used"] - 1},
        {**told, "left_out": {}},
        {},
        {**told, "boards": [{**first, "used": first["used"] + 1}]},
        {**told, "boards": [{**first, "came": first["came"] + 1, "used": first["used"] + 1}]},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            RunFigure.objects.filter(run=run, name="votes").update(data=wrong)
    with pytest.raises(DoesNotAddUp):
        Tally(came=3, used=1, left_out={"repeat": 1})
