"""Texts to be judged, and judgments in the formats of other tools."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.authoring.actions import tasks
from annotation.formats.actions.votes import Target, import_battles
from annotation.formats.imports.tools.arena import read_battles
from annotation.models import Answer, Candidate, ChoiceValue, Item, Task
from annotation.pairs.actions.candidates import candidates_from_answers
from annotation.work.actions import exclusions
from annotation.work.actions.answers import set_counts
from crowdqc.errors import Conflict, Invalid
from tests.support import factories as make
from tests.support.studies.judging import make_pairs, make_ratings

pytestmark = pytest.mark.django_db


def run(*args: object) -> tuple[str, str]:
    """What the command printed: its output, and its progress."""
    out, err = StringIO(), StringIO()
    call_command("crowdqc_import", *map(str, args), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


# -- texts -------------------------------------------------------------------------------------


def test_texts_of_a_file_are_added_once_and_bad_rows_are_named(tmp_path: Path) -> None:
    project = make.make_project()
    worker = make.make_worker(project)
    path = tmp_path / "texts.csv"
    path.write_text(
        "id,topic,query,text,origin,style,author\n"
        f"a,t1,Why?,Because of it.,human,essay,{worker.pseudonym}\n"
        "b,t1,,For no reason.,llm,essay,\n"
        ",t1,,No id is needed.,llm,news,\n"
    )
    where = ("--project", project.pk, "--by", project.owner.username)
    assert "3 rows, 3 new, 0 there already" in run("candidates", path, *where)[0]
    assert "3 rows, 0 new, 3 there already" in run("candidates", path, *where)[0]
    first = Candidate.objects.get(key="a")
    assert (first.author, first.words, str(first.system)) == (worker, 3, "human, essay")
    assert set(Candidate.objects.values_list("query", flat=True)) == {"Why?"}
    path.write_text(
        "key,topic,query,text,system\n"
        "a,t1,Why?,Another text.,human\n"
        "c,t1,Another question?,Text.,human\n"
        "d,t1,,,human\n"
        "e,t1,,Text.,\n"
        "f,,,Text.,human\n"
        "g,t1,,Text.,Human\n"
    )
    with pytest.raises(CommandError) as refused:
        run("candidates", path, *where)
    told = str(refused.value)
    assert told.startswith("6 of 6 rows cannot be read. Nothing was imported.")
    for line, column, why in (
        (2, "key, topic, text", "with another text or topic"),
        (3, "topic, query", "another query"),
        (4, "text", "no text"),
        (5, "system, origin", "where the text comes from"),
        (6, "topic", "needs a topic"),
        (7, "system", "only by case"),
    ):
        row = next(one for one in told.splitlines() if one.startswith(f"line {line}, {column}: "))
        assert why in row
    assert Candidate.objects.count() == 3


def test_an_earlier_tasks_answers_become_texts_once_and_only_those_that_count() -> None:
    task = make.make_task(n=2)
    project = task.project
    given = {
        "ann": {"q-001": "On chimneys.", "q-002": "Frogs."},
        "bo": {"q-001": "On poles."},
        "cy": {"q-001": "Nowhere."},
    }
    make.make_answers(task, given)
    make.make_system_answers(task, {("Owl", "short"): {"q-001": "On roofs."}})
    idle = make.make_worker(project)
    make.claim_and_submit(make.make_task(project, n=1), idle)
    answer = Answer.objects.get(worker__external_id="bo")
    set_counts(by=project.owner, answer=answer, counts=False, reason="copied")
    out = project.memberships.get(external_id="cy")
    exclusions.exclude(by=project.owner, task=task, worker=out, reason="spam")
    take = {"by": project.owner, "project": project, "source_task": task}
    assert candidates_from_answers(**take) == (3, 0)
    assert candidates_from_answers(**take) == (0, 3)
    texts = {text.text: text for text in Candidate.objects.select_related("system", "author")}
    assert set(texts) == {"On chimneys.", "Frogs.", "On roofs."}
    people, machine = texts["On chimneys."], texts["On roofs."]
    assert people.author is not None and people.author.external_id == "ann"
    assert (people.topic, people.query) == ("q-001", "What is question 1 about?")
    assert (str(people.system), people.origin) == ("human", "human")
    assert (str(machine.system), machine.origin, machine.author) == ("Owl, short", "llm", None)
    assert people.source_answer_id and people.key == f"answer-{people.source_answer_id}"
    with pytest.raises(Invalid, match="another project"):
        candidates_from_answers(**{**take, "project": make.make_project()})


def test_answers_that_say_i_do_not_know_are_no_texts() -> None:
    task = make.make_task(n=2)
    make.claim_and_submit(task, texts={"q-001": "On chimneys.", "q-002": ""})
    made = candidates_from_answers(
        by=task.project.owner, project=task.project, source_task=task, topic="group"
    )
    assert made == (1, 0)
    text = Candidate.objects.get()
    assert text.topic == task.groups.get().key and text.query == "Text 1"


# -- formats of other tools --------------------------------------------------------------------


def battle(**fields: object) -> str:
    row = {
        "question_id": "q",
        "model_a": "Owl",
        "model_b": "Wren",
        "winner": "model_a",
        "judge": "ann",
        "conversation_a": talk("Hoot."),
        "conversation_b": talk("Trill."),
        "turn": 1,
        "anony": True,
        "language": "English",
        "tstamp": 1700000000.5,
    }
    return json.dumps({**row, **fields}) + "\n"


def talk(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "Sing?"}, {"role": "assistant", "content": text}]


def test_bad_battles_are_named_and_a_second_vote_on_a_pair_is_kept(tmp_path: Path) -> None:
    path, project = tmp_path / "battles.jsonl", make.make_project()
    where = ("--project", project.pk, "--by", project.owner.username)
    path.write_text(
        battle()
        + battle(winner="nobody")
        + battle(model_a="")
        + "{no\n"
        + battle(judge=None)
        + battle(conversation_a="Hoot")
        + battle(tstamp="noon")
    )
    with pytest.raises(CommandError) as refused:
        run("arena", path, *where)
    told = str(refused.value).splitlines()
    assert told[0] == "battles.jsonl: 6 of 7 battles cannot be read. Nothing was imported."
    assert [line.split(":")[0] for line in told[1:]] == [
        "line 2, winner",
        "line 3, model_a",
        "line 4",
        "line 5, judge",
        "line 6, conversation_a",
        "line 7, tstamp",
    ]
    path.write_text(
        battle()
        + battle(winner="tie (bothbad)", judge=None)
        + battle(
            model_a="Wren",
            model_b="Owl",
            winner="model_b",
            conversation_a=talk("Trill."),
            conversation_b=talk("Hoot."),
        )
    )
    for new in (3, 0):
        out, _ = run("arena", path, *where, "--judge", "bo")
        assert f"3 judgments, {new} new" in out
    votes = Answer.objects.order_by("pk")
    item = Item.objects.get()
    owl, wren = ("first", "second") if item.first.text == "Hoot." else ("second", "first")
    assert [vote.choices.get().code for vote in votes] == [owl, "neutral", owl]
    assert [vote.flipped for vote in votes] == [owl == "second"] * 2 + [wren == "second"]
    assert votes[0].assignment_id != votes[2].assignment_id
    assert votes[0].worker == votes[2].worker != votes[1].worker
    assert (item.held, item.question) == (3, "Sing?")


def test_battles_added_to_a_running_task_neither_close_it_nor_publish_a_draft() -> None:
    project = make.make_project()
    task = make_pairs(project, n=1)
    target = Target(project, task)
    found = read_battles(battle().encode(), "battles.jsonl")
    import_battles(by=project.owner, target=target, battles=found)
    task.refresh_from_db()
    assert task.state == "open" and task.current is not None and task.current.number == 2
    assert task.items.in_version(2).count() == 2
    tasks.edit_draft(by=project.owner, task=task, fields={"title": "Not yet"})
    other = read_battles(battle(question_id="other").encode(), "battles.jsonl")
    with pytest.raises(Conflict, match="draft of changes"):
        import_battles(by=project.owner, target=target, battles=other)
    with pytest.raises(Invalid, match="does not ask for mood"):
        import_battles(
            by=project.owner, target=Target(project, task, dimension="mood"), battles=found
        )


def test_frames_and_matrices_say_which_row_is_wrong(tmp_path: Path) -> None:
    project = make.make_project()
    task, by = make_pairs(project, n=2), project.owner.username
    path = tmp_path / "frame.csv"
    path.write_text("worker,left,right,label\nann,x,y,x\nann,x,x,x\nann,x,y,tie\n,x,y,x\n")
    with pytest.raises(CommandError) as refused:
        run("crowdkit", path, "--project", project.pk, "--by", by)
    assert [line.split(":")[0] for line in str(refused.value).splitlines()[1:]] == [
        "line 3, right",
        "line 4, label",
        "line 5, worker",
    ]
    path.write_text("task,worker,label\nitem-001,ann,first\nitem-009,ann,first\nitem-002,ann,4\n")
    with pytest.raises(CommandError, match=r"2 of 3(.|\n)*line 3, task(.|\n)*line 4, label"):
        run("crowdkit", path, "--task", task.pk, "--kind", "labels", "--by", by)
    with pytest.raises(CommandError, match="--task"):
        run("crowdkit", path, "--project", project.pk, "--kind", "labels", "--by", by)
    path.write_text("coder,item-001,item-002\nann,-1,\nann,1,1\n")
    with pytest.raises(CommandError, match=r"line 3: the coder stands on line 2"):
        run("reliability", path, "--task", task.pk, "--by", by)
    assert not Answer.objects.exists()
    path.write_text("coder,item-001,item-002\nann,-1,\nbo,0,1\n")
    assert "3 new" in run("reliability", path, "--task", task.pk, "--by", by)[0]
    assert "0 new" in run("reliability", path, "--task", task.pk, "--by", by)[0]
    assert Counter(ChoiceValue.objects.values_list("code", flat=True)) == {
        "first": 1,
        "neutral": 1,
        "second": 1,
    }
    path.write_text("coder,item-001\nann,1\n")
    with pytest.raises(CommandError, match="another label of this worker"):
        run("reliability", path, "--task", task.pk, "--by", by)


def test_ratings_come_in_by_matrix_on_points_of_their_scale(tmp_path: Path) -> None:
    project = make.make_project()
    task, path = make_ratings(project), tmp_path / "matrix.csv"
    path.write_text("coder,item-001,item-002\nann,5,1\nbo,4,\n")
    run("reliability", path, "--task", task.pk, "--by", project.owner.username)
    assert sorted(ChoiceValue.objects.values_list("ordinal", flat=True)) == [1, 4, 5]
    path.write_text("coder,item-001\ncy,6\n")
    with pytest.raises(CommandError, match="no such label"):
        run("reliability", path, "--task", task.pk, "--by", project.owner.username)


def test_a_questionnaire_becomes_a_draft_with_its_dimensions(tmp_path: Path) -> None:
    project = make.make_project()
    where = ("--project", project.pk, "--by", project.owner.username)
    path = tmp_path / "study.json"
    question = {
        "name": "validity",
        "text": "Which?",
        "description": "Look.",
        "options": {"-1": "A", "1": "B"},
    }
    path.write_text(
        json.dumps({"instructions": "Do.", "type": "pairwise", "questions": [question]})
    )
    assert "is a draft" in run("study-json", path, *where)[0]
    assert "was there already" in run("study-json", path, *where)[0]
    draft = Task.objects.get().versions.get()
    assert draft.instructions == "Do." and draft.settings["dimensions"] == [
        {
            "name": "correctness_topical",
            "label": "Topical correctness",
            "question": "Which?",
            "description": "Look.",
            "neutral": False,
        }
    ]
    path.write_text('{"type": "essay", "questions": []}')
    with pytest.raises(CommandError, match=r"study\.json: type must be one of pairwise"):
        run("study-json", path, *where)
