"""Expert grading and the study: blind marks, gaps reconciled, methods held against the grades."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Membership, Role, User
from crowdqc.errors import Conflict, Invalid, NotAllowed
from evaluation.grading import actions as grading
from evaluation.grading import selectors as reads
from evaluation.grading.keys import topic_mark
from evaluation.models import Run, RunFigure, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import texts as corpus
from tests.support import factories
from tests.support.kept import kept

pytestmark = [pytest.mark.django_db]
# What the experts think of each system's answers, by the planted kind of the answer.
PLANTED = {("Tern-2", "plain"): 92, ("Tern-2", "short"): 55, ("Auk-1", "plain"): 15}


@pytest.fixture
@kept
def graded() -> Any:
    """A task whose systems' answers two people are to grade."""
    task = corpus.make_answered()
    owner = task.project.owner
    other = factories.make_member(task.project, Role.MANAGER).user
    found = grading.open_grading(by=owner, task=task, first=owner, second=other)
    return task, found, owner, other


def _mark_all(found: Any, owner: User, other: User, *, gap: bool = False) -> None:
    for number, pk in enumerate(found.answer_ids):
        answer = Answer.objects.select_related("system").get(pk=pk)
        mark = PLANTED[answer.system.name, answer.system.prompt_strategy] + number % 5
        grading.grade(by=owner, grading=found, answer_id=pk, value=mark)
        second, gap = (mark - 60, False) if gap and mark > 60 else (max(0, mark - 4), gap)
        grading.grade(by=other, grading=found, answer_id=pk, value=second)


def test_a_grader_sees_neither_author_nor_score_nor_the_other_mark(graded: Any) -> None:
    task, found, owner, other = graded
    runs.execute(runs.start(by=owner, task=task, params={"resamples": 0}).pk)
    grading.grade(by=other, grading=found, answer_id=found.answer_ids[0], value=77, note="mine")
    client = Client()
    client.force_login(owner)
    page = reverse("grading_mark", args=[task.project_id, task.pk])
    shown = client.get(f"{page}?answer={found.answer_ids[0]}").content.decode()
    answer = Answer.objects.get(pk=found.answer_ids[0])
    assert answer.texts.get().text in shown
    for hidden in ("Tern", "Auk", "plain", "mine"):
        assert hidden not in re.sub(r"csrf\S+ value=\S+|CSRFToken\S+ \S+", "", shown)
    assert "77" not in re.sub(r"<[^>]*>", "", shown).replace(owner.username, "")
    assert reads.place_of(found, owner, found.answer_ids[3]) != reads.place_of(
        found, other, found.answer_ids[3]
    )  # each in an order of their own
    over = client.get(reverse("grading", args=[task.project_id, task.pk])).content.decode()
    assert "Neither sees the other" in over and "mine" not in over


@pytest.mark.parametrize(
    ("named", "topics", "wrong", "mark"),
    [(3, 3, 0, 100), (2, 3, 1, 50), (0, 2, 0, 0), (1, 2, 1, 33), (2, 3, 0, 67)],
)
def test_a_mark_by_topics_is_the_share_of_the_union_that_is_named_and_right(
    named: int, topics: int, wrong: int, mark: int
) -> None:
    right = {f"topic {k}" for k in range(topics)}
    said = {f"topic {k}" for k in range(named)} | {f"wrong {k}" for k in range(wrong)}
    assert (
        topic_mark(named, topics, wrong)
        == mark
        == round(100 * len(right & said) / len(right | said))
    )


def test_topics_of_a_right_answer_are_ticked_and_counted_unless_a_mark_is_written(
    graded: Any,
) -> None:
    task, found, owner, _ = graded
    answer = Answer.objects.get(pk=found.answer_ids[0])
    right = "Jupiter\nSaturn\n\n Titan "
    grading.save_right_answers(by=owner, grading=found, texts={answer.item_id: right})
    client = Client()
    client.force_login(owner)
    page = reverse("grading_mark", args=[task.project_id, task.pk])
    shown = client.get(f"{page}?answer={answer.pk}").content.decode()
    assert shown.count('name="topic"') == 3
    client.post(page, {"answer": answer.pk, "topic": ["0", "2", "9"], "wrong": "1", "value": ""})
    assert reads.own_mark(found, owner, answer.pk) == (50, "2 of 3 topics, 1 wrong")
    client.post(page, {"answer": answer.pk, "topic": ["0"], "value": "40", "note": "vague"})
    assert reads.own_mark(found, owner, answer.pk) == (40, "vague")
    bad = client.post(page, {"answer": answer.pk, "topic": ["0"], "value": "400"})
    assert bad.status_code == 422 and reads.own_mark(found, owner, answer.pk) == (40, "vague")
    # An answer in one line has no topics to tick.
    grading.save_right_answers(by=owner, grading=found, texts={answer.item_id: "Jupiter"})
    assert 'name="topic"' not in client.get(f"{page}?answer={answer.pk}").content.decode()
    assert client.post(page, {"answer": answer.pk, "value": ""}).status_code == 422


def test_marks_far_apart_must_be_settled_before_the_grading_closes(graded: Any) -> None:
    _, found, owner, other = graded
    _mark_all(found, owner, other, gap=True)
    wide = next(pk for pk, both in grading.marks_of(found).items() if both.apart(found.gap))
    with pytest.raises(Conflict, match="more than 33 apart"):
        grading.close(by=owner, grading=found)
    assert grading.marks_of(found)[wide].final(found.gap) is None
    fine = next(pk for pk in found.answer_ids if pk != wide)
    with pytest.raises(Conflict, match="not more than 33 apart"):
        grading.reconcile(by=owner, grading=found, answer_id=fine, value=50)
    grading.reconcile(by=other, grading=found, answer_id=wide, value=70)
    assert grading.marks_of(found)[wide].final(found.gap) == 70
    assert grading.close(by=owner, grading=found).closed_at is not None
    with pytest.raises(Conflict, match="closed"):
        grading.grade(by=owner, grading=found, answer_id=fine, value=50)
    told = reads.grading_progress(found)
    assert told["final"] == told["total"] == len(found.answer_ids)
    assert told["low"] < told["r"] < told["high"]


def test_a_second_grading_is_the_one_that_is_marked_once_the_first_is_closed(graded: Any) -> None:
    task, found, owner, other = graded
    _mark_all(found, owner, other)
    grading.close(by=owner, grading=found)
    assert reads.newest(task) == found
    item = Answer.objects.get(pk=found.answer_ids[0]).item_id
    grading.save_right_answers(by=owner, grading=found, texts={item: "Carbon dioxide"})
    second = grading.open_grading(by=owner, task=task, first=owner, second=other, of="workers")
    assert reads.newest(task) == second
    assert second.keys == {str(item): "Carbon dioxide"}  # written once for both
    assert reads.newest_of_systems(task) == found


def test_only_two_different_people_of_the_staff_grade(graded: Any) -> None:
    task, found, owner, other = graded
    stranger = factories.make_member(task.project, Role.MANAGER).user
    with pytest.raises(NotAllowed):
        grading.grade(by=stranger, grading=found, answer_id=found.answer_ids[0], value=5)
    with pytest.raises(Invalid, match="0 and 100"):
        grading.grade(by=owner, grading=found, answer_id=found.answer_ids[0], value=101)
    for second in (owner, factories.make_user()):
        with pytest.raises(Invalid):
            grading.open_grading(by=owner, task=task, first=owner, second=second)
    assert Membership.objects.filter(user=other, project=task.project).exists()


def _study(task: Any, found: Any, owner: User, **params: Any) -> Run:
    options = {
        "sizes": [3, 6, 40],
        "repetitions": 3,
        "methods": ["aqer", "f1", "majority"],
        "encoder": "char-svd",
        "grading": found.pk,
    }
    run = runs.start(by=owner, task=task, method="aqer_study", params={**options, **params})
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    return run


def test_the_study_holds_every_method_against_the_grades(graded: Any) -> None:
    task, found, owner, other = graded
    _mark_all(found, owner, other)
    run = _study(task, found, owner)
    rows = RunFigure.objects.get(run=run, name="study").data
    pooled = {(r["method"], r["size"]): r for r in rows if r["system"] == -1}
    assert pooled["aqer", 6]["r"] > 0.25
    assert pooled["aqer", 6]["low"] < pooled["aqer", 6]["r"] < pooled["aqer", 6]["high"]
    assert RunFigure.objects.get(run=run, name="frame").data["left_out"] == [40]
    assert _study(task, found, owner).result_hash == run.result_hash  # the same inputs again
    client = Client()
    client.force_login(owner)
    shown = client.get(reverse("study", args=[task.project_id, task.pk])).content.decode()
    both = {
        (r["measure"], r["method"]): r for r in RunFigure.objects.get(run=run, name="measures").data
    }
    assert both["pearson", "aqer"]["r"] == pytest.approx(pooled["aqer", 6]["r"])
    assert both["spearman", "f1"]["n"] == pooled["f1", 6]["questions"]
    for words in ("Spearman", "Token F1", "Tern-2", "Auk-1", "Beside AQER", "could not be drawn"):
        assert words in shown
    assert reads.shown_run(task, run.number) == run


def test_a_requester_grades_and_computes_in_the_browser(graded: Any) -> None:
    task, found, owner, other = graded
    _mark_all(found, owner, other, gap=True)
    client = Client()
    client.force_login(owner)
    args = [task.project_id, task.pk]
    wide = next(pk for pk, both in grading.marks_of(found).items() if both.apart(found.gap))
    assert "Marks far apart" in client.get(reverse("grading", args=args)).content.decode()
    client.post(reverse("grading_settle", args=[*args, wide]), {"value": "66"})
    client.post(reverse("grading_end", args=args))
    found.refresh_from_db()
    assert found.closed_at is not None
    told = client.post(
        reverse("study_start", args=args),
        {"sizes": "4", "repetitions": "2", "draw": "workers", "judge": "0"},
    )
    assert told.status_code == 302
    assert Run.objects.filter(task=task, method="aqer_study").exists()
    assert client.post(reverse("study_start", args=args), {"sizes": "four"}).status_code == 302
