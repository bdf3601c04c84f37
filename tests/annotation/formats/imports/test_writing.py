"""Writing studies and logs taken in: once, whole or not at all, and exact to the last character."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.authoring.actions.tasks import create_task
from annotation.formats.imports.published.crowdrag_writing import LOGS, RETRIEVAL, SURVEYS, TEXTS
from annotation.models import (
    Answer,
    Assignment,
    ChoiceValue,
    EventBatch,
    EventStream,
    Membership,
    SpanValue,
    Task,
    TextValue,
    User,
)
from annotation.privacy.actions.retention import erase_logs_of_project
from annotation.work.selectors import log
from tests.support import factories as make
from tests.support.studies import writing_study as study
from tests.support.studies.crowdrag_study import Rows, write

pytestmark = pytest.mark.django_db
KEPT = (Answer, Assignment, EventBatch, EventStream, Membership, SpanValue, ChoiceValue)


def run(what: str, path: Path, *more: str, by: User | None = None) -> str:
    out = StringIO()
    user = by or Task.objects.get().project.owner
    call_command(
        "crowdqc_import",
        what,
        str(path),
        *more,
        "--by",
        user.username,
        stdout=out,
        stderr=StringIO(),
    )
    return out.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return study.make_folder(tmp_path)


@pytest.fixture
def task(folder: Path) -> Task:
    run("crowdrag-writing", folder, "--new-project", "Storks", by=make.make_user())
    return Task.objects.select_related("current", "project").get()


def replayed(answer: Answer) -> str:
    assert answer.assignment_id is not None
    events = log.assignment_events(answer.assignment_id)
    return log.replay_text(log.item_events(events, answer.item_id))


def counts() -> list[int]:
    return [model.objects.count() for model in KEPT]


def test_a_published_study_is_there_with_its_logs_forms_and_citations(task: Task) -> None:
    assert task.current is not None and task.state == "closed"
    people = Answer.objects.filter(item__task=task, worker__isnull=False)
    assert people.count() == 6 and Answer.objects.filter(system__name="GPT-4o").count() == 6
    for answer in people.select_related("item", "assignment", "worker"):
        text = TextValue.objects.get(answer=answer, field="answer").text
        topic, style = answer.item.key.split("-")
        assert replayed(answer) == text == study.final(topic, style)
        spans = SpanValue.objects.filter(answer=answer).order_by("index")
        # Passages count from 0, ranks from 1; [7] is no passage, and points at nothing.
        assert [(s.target, text[s.start : s.end]) for s in spans] == [
            ("1", "[0, 3]"),
            ("4", "[0, 3]"),
        ]
        held = answer.assignment
        assert held is not None and held.source == "import" and held.opened_at is not None
        assert held.submitted_at is not None and held.submitted_at == answer.answered_at
        assert (held.submitted_at - held.opened_at).total_seconds() == 61.001
        assert answer.worker is not None
        assert answer.worker.external_id == ("ben" if style == "news" else "ann")
    said = ChoiceValue.objects.filter(answer__item__task=task)
    assert said.count() == 5 * 8  # one person was asked nothing
    assert {row.field.partition(".")[0] for row in said} == {"entry", "exit"}


def test_the_order_of_the_file_decides_between_states_of_one_time(task: Task) -> None:
    stream = EventStream.objects.first()
    assert stream is not None
    events = [event for batch in stream.batches.all() for event in batch.events]
    assert [event["method"] for event in events] == ["show"] + ["input"] * 5
    assert {event.get("name") for event in events[1:]} == {"snapshot"}
    assert [event["time"] for event in events] == [0, 900, 1800, 2500, 61_000, 61_001]
    assert [event["time"] for event in events] == [event["delta"][0] for event in events]
    assert stream.next_seq == 6 and stream.stored_bytes > 500


def test_the_same_folder_again_adds_nothing_and_says_so(task: Task, folder: Path) -> None:
    before = counts()
    said = run("crowdrag-writing", folder, "--task", str(task.pk))
    assert "Everything was there already; nothing was added." in said
    assert counts() == before


def test_a_log_that_was_erased_does_not_come_back_with_its_file(task: Task, folder: Path) -> None:
    assert erase_logs_of_project(by=task.project.owner, project=task.project) == 6
    said = run("crowdrag-writing", folder, "--task", str(task.pk))
    assert "nothing was added" in said and not EventStream.objects.exists()


def spoilt(folder: Path, name: str, line: int, **values: Any) -> Path:
    rows: Rows = {
        RETRIEVAL: study.topics,
        SURVEYS: study.surveys,
        TEXTS: study.texts,
        LOGS: study.snapshots,
    }[name]()
    rows[line - 1] |= values
    write(folder, name, rows)
    return folder


@pytest.mark.parametrize(
    ("name", "line", "values", "told"),
    [
        (LOGS, 5, {"timestamp": "noon"}, "line 5, timestamp: This is no time"),
        (LOGS, 20, {"timestamp": study.START}, "line 20, timestamp: This is before the snapshot"),
        (LOGS, 4, {"style": "essay"}, "line 4, style: The response began on line 1 with bullet"),
        (LOGS, 1, {"topic": "t9"}, "line 1, topic: There is no such topic"),
        (LOGS, 19, {"text": "Else."}, "line 1, text: The last snapshot is not the text"),
        (SURVEYS, 2, {"worker_knowledge": 9}, "line 2, worker_knowledge: The question has no"),
        (SURVEYS, 3, {"response": "r-t0-bullet"}, "line 3, response: This response is there twice"),
        (RETRIEVAL, 2, {"references_ids": ["a"]}, "line 2, references_texts: There is not one"),
        (TEXTS, 2, {"origin": "cat"}, "line 2, origin: There is no such origin"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field_and_nothing_is_written(
    tmp_path: Path, name: str, line: int, values: dict[str, Any], told: str
) -> None:
    folder = spoilt(study.make_folder(tmp_path), name, line, **values)
    with pytest.raises(CommandError) as refused:
        run("crowdrag-writing", folder, "--new-project", "Storks", by=make.make_user())
    assert told in str(refused.value) and name in str(refused.value)
    assert not Task.objects.exists() and not EventStream.objects.exists()


def test_a_task_that_cites_from_another_number_takes_no_such_study(folder: Path) -> None:
    project = make.make_project()
    task = create_task(by=project.owner, project=project, type="writing", title="From one")
    with pytest.raises(CommandError, match="cite passages from 0 on"):
        run("crowdrag-writing", folder, "--task", str(task.pk), by=project.owner)
    other = make.make_task(project)
    with pytest.raises(CommandError, match="asks for no responses"):
        run("crowdrag-writing", folder, "--task", str(other.pk), by=project.owner)


def test_anybodys_logs_go_into_a_task_that_asks_for_their_topics(
    task: Task, tmp_path: Path
) -> None:
    path = tmp_path / "logs.jsonl"
    rows = [{**row, "response": f"x-{row['response']}"} for row in study.snapshots()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = run("writing-logs", path, "--task", str(task.pk))
    assert said.startswith("logs.jsonl: 6 logs, 6 new, 0 there already.")
    made = Answer.objects.filter(worker__external_id__startswith="x-r-")
    assert made.count() == 6  # nobody is named, so each response has a writer of its own
    for answer in made:
        assert replayed(answer) == TextValue.objects.get(answer=answer).text
    assert "0 new, 6 there already" in run("writing-logs", path, "--task", str(task.pk))
    item = made[0].item
    item.refresh_from_db()
    assert item.held == item.redundancy == 2
    path.write_text(json.dumps(rows[0] | {"topic": "frogs"}) + "\n")
    with pytest.raises(CommandError, match="line 1, topic: There is no such topic"):
        run("writing-logs", path, "--task", str(task.pk))


def test_responses_of_people_and_systems_come_in_as_a_table_row_by_row(
    task: Task, tmp_path: Path, client: Any
) -> None:
    path = tmp_path / "given.csv"
    good = [
        "t0,essay,Storks nest on roofs [0].,cat,,,",
        "t0,essay,Storks nest [1] on poles [2].,,Owl,short,",
        "t1,news,Not this one [3].,dora,,,false",
    ]
    bad = ["t0,poem,Storks.,cat,,,", "t0,news,,cat,,,", "t0,news,Storks.,cat,Owl,,"]
    head = "topic,style,text,worker,system,prompt_strategy,counts"
    path.write_text("\n".join([head, *good, *bad]) + "\n")
    with pytest.raises(CommandError) as refused:
        run("responses", path, "--task", str(task.pk))
    assert [line.partition(":")[0] for line in str(refused.value).splitlines()[1:]] == [
        "line 5, topic, style",
        "line 6, text",
        "line 7, worker, system",
    ]
    assert Answer.objects.filter(item__task=task).count() == 12
    path.write_text("\n".join([head, *good]) + "\n")
    for said in ("3 new, 0 there already", "0 new, 3 there already"):
        assert said in run("responses", path, "--task", str(task.pk))
    cat, dora = (Answer.objects.get(worker__external_id=name) for name in ("cat", "dora"))
    owl = Answer.objects.get(system__name="Owl")
    assert (cat.counts, dora.counts) == (True, False) and dora.uncounted_reason
    cat.item.refresh_from_db()
    dora.item.refresh_from_db()
    assert (cat.item.held, dora.item.held) == (2, 1)
    targets = (
        SpanValue.objects.filter(answer=owl).order_by("index").values_list("target", flat=True)
    )
    assert list(targets) == ["2", "3"]
    client.force_login(task.project.owner)
    page = client.get(f"/projects/{task.project_id}/tasks/{task.pk}/import/responses/")
    assert page.status_code == 200 and b"Import responses" in page.content
