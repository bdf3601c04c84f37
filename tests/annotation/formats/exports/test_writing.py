"""Writing tasks out: responses, logs, events, questionnaires, topics; and in again elsewhere."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.authoring.actions import tasks
from annotation.authoring.actions.tasks import move
from annotation.formats.actions.judgments import import_task
from annotation.formats.exports import writing
from annotation.formats.exports.pairwise import exports_of
from annotation.models import Answer, SpanValue, Task, TextValue
from annotation.task_types.writing.deltas import apply
from tests.support import factories as make
from tests.support.studies import writing_study as study

pytestmark = pytest.mark.django_db
WHAT = ("responses", "surveys", "topics", "writing-logs", "events")
RUN = [500, 0, 0, "Storks", [0, 90, 80, 120, 60, 75]]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    user = make.make_user()
    call_command(
        "crowdqc_import",
        "crowdrag-writing",
        str(study.make_folder(tmp_path / "study")),
        "--new-project",
        "Storks",
        "--by",
        user.username,
        stdout=StringIO(),
        stderr=StringIO(),
    )
    return Task.objects.select_related("current", "project__owner").get()


def lines(task: Task, what: str, form: str = "jsonl") -> list[dict[str, Any]]:
    text = "".join(map(str, exports_of(task)[what].lines(task, form, "")))
    if form == "csv":
        return list(csv.DictReader(StringIO(text, newline="")))
    return [json.loads(line) for line in text.splitlines()]


def take_in(what: str, path: Path, task: Task) -> str:
    out = StringIO()
    call_command(
        "crowdqc_import",
        what,
        str(path),
        "--task",
        str(task.pk),
        "--by",
        task.project.owner.username,
        stdout=out,
        stderr=StringIO(),
    )
    return out.getvalue()


def test_responses_say_what_they_cite_and_who_wrote_them(task: Task) -> None:
    rows = lines(task, "responses")
    assert len(rows) == 12 and list(rows[0]) == list(writing.RESPONSES)
    first = rows[0]
    assert (first["topic"], first["style"], first["origin"]) == ("t0", "bullet", "human")
    assert first["query"] == "What do storks do in place t0?"
    assert first["text"] == study.final("t0", "bullet")
    assert (first["cited"], first["documents"], first["citations"]) == ([1, 4], ["t0#0", "t0#3"], 2)
    assert (first["words"], first["statements"]) == (8, 2)
    assert first["started_at"] == "2024-10-11T18:25:05.500000+00:00"
    ann = Answer.objects.filter(worker__external_id="ann").first()
    assert ann is not None and ann.worker is not None
    assert first["worker"] == ann.worker.pseudonym != "ann" and not first["system"]
    assert {row["system"] for row in rows if row["origin"] == "system"} == {"GPT-4o"}
    flat = lines(task, "responses", "csv")[0]
    assert (flat["cited"], flat["documents"]) == ("1 4", "t0#0; t0#3")


def test_surveys_are_wide_and_leave_empty_what_was_not_asked(task: Task) -> None:
    rows = lines(task, "surveys")
    assert len(rows) == 6
    names = [name for name in rows[0] if "." in name]
    assert names[0] == "entry.knowledge" and names[-1] == "exit.omissions" and len(names) == 8
    unasked = [row for row in rows if (row["topic"], row["style"]) == ("t1", "news")]
    assert {row[name] for row in unasked for name in names} == {None}
    assert {row[name] for row in rows if row not in unasked for name in names} == {1}
    assert lines(task, "surveys", "csv")[0]["exit.sources"] == "1"


def test_logs_and_events_are_whole_and_name_nobody(task: Task) -> None:
    for row in lines(task, "writing-logs"):
        text = ""
        for delta in row["deltas"]:
            text = apply(text, delta[:4])
        assert text == study.final(row["topic"], row["style"])
        assert len(row["deltas"]) == 6
    events = lines(task, "events")
    assert len(events) == 36 and {row["item_id"] for row in events} == set(
        task.items.values_list("key", flat=True)
    )
    for what in WHAT:
        said = "".join(map(str, exports_of(task)[what].lines(task, "jsonl", "")))
        for name in ('"ann"', '"ben"', task.project.owner.username):
            assert name not in said


def test_a_page_opened_again_and_runs_of_keys_are_changes_like_any_other() -> None:
    events = [
        {"method": "show", "time": 0, "delta": [0, 0, 0, ""]},
        {"method": "input", "time": 500, "name": "run", "delta": RUN[:4], "ms": RUN[4], "keys": 6},
        {"method": "focus", "time": 700},
        {"method": "show", "time": 9000, "delta": [9000, 0, 0, "Stork"]},
        {"method": "input", "time": 8000, "delta": [8000, 5, 0, "!"]},
    ]
    assert writing.changes(events) == [[0, 0, 0, ""], RUN, [9000, 5, 1, ""], [9000, 5, 0, "!"]]


def test_what_is_exported_goes_into_a_task_of_another_project(task: Task, tmp_path: Path) -> None:
    paths = {}
    for what in ("topics", "responses", "writing-logs"):
        paths[what] = tmp_path / f"{what}.jsonl"
        out = StringIO()
        call_command(
            "crowdqc_export",
            "writing",
            "--task",
            str(task.pk),
            "--what",
            what,
            "--out",
            str(paths[what]),
            stdout=out,
        )
        assert "manifest.json says what they are" in out.getvalue()
    told = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert {name: one["rows"] for name, one in told.items()} == {
        "topics.jsonl": 2,
        "responses.jsonl": 12,
        "writing-logs.jsonl": 6,
    }
    project = make.make_project()
    assert task.current is not None
    other = import_task(
        by=project.owner,
        project=project,
        type="writing",
        title="Again",
        fields={"settings": task.current.settings, "redundancy": 1},
    )
    assert "2 new" in take_in("topics", paths["topics"], other)
    tasks.publish(by=project.owner, task=other)
    assert "12 new, 0 there already" in take_in("responses", paths["responses"], other)
    # The logs join the responses that came before them.
    assert "6 logs, 6 new" in take_in("writing-logs", paths["writing-logs"], other)
    assert "0 new, 12 there already" in take_in("responses", paths["responses"], other)
    assert "0 new, 6 there already" in take_in("writing-logs", paths["writing-logs"], other)
    other = Task.objects.select_related("current", "project").get(pk=other.pk)
    move(by=project.owner, task=other, to="close")
    for what, own in (("responses", 12), ("writing-logs", 6), ("topics", 2)):
        ours, theirs = lines(other, what), lines(task, what)
        assert len(ours) == len(theirs) == own
        for mine, yours in zip(ours, theirs, strict=True):
            for row in (mine, yours):
                for name in ("response", "assignment", "started_at", "answered_at"):
                    row.pop(name, None)
        # Space around a text is cut where a table is read, as on the page.
        if what == "responses":
            theirs = [{**row, "text": row["text"].strip()} for row in theirs]
        assert sorted(ours, key=json.dumps) == sorted(theirs, key=json.dumps)
    assert SpanValue.objects.filter(answer__item__task=other).count() == 6 * 4
    assert TextValue.objects.filter(answer__item__task=other).count() == 12


def test_tables_of_topics_and_responses_go_in_again_as_csv(task: Task, tmp_path: Path) -> None:
    project = make.make_project()
    assert task.current is not None
    other = import_task(
        by=project.owner,
        project=project,
        type="writing",
        title="Again",
        fields={"settings": task.current.settings},
    )
    for what, rows in (("topics", "8 rows, 2 new"), ("responses", "12 rows, 12 new")):
        path = tmp_path / f"{what}.csv"
        with path.open("w", newline="") as file:
            file.writelines(map(str, exports_of(task)[what].lines(task, "csv", "")))
        assert rows in take_in(what, path, other)
        if what == "topics":
            tasks.publish(by=project.owner, task=other)
            other = Task.objects.select_related("current", "project").get(pk=other.pk)
    stored = [
        list(one.groups.order_by("key").values_list("key", "title", "passages"))
        for one in (task, other)
    ]
    assert stored[0] == stored[1]


def test_the_browser_and_the_api_stream_the_same_lines(task: Task, client: Any) -> None:
    client.force_login(task.project.owner)
    page = f"/projects/{task.project_id}/tasks/{task.pk}/"
    listed = client.get(page).content.decode()
    for what in WHAT:
        for form in exports_of(task)[what].formats:
            assert f'href="{page}export/{what}.{form}"' in listed
            told = [
                b"".join(client.get(f"{at}export/{what}.{form}").streaming_content)
                for at in (page, f"/api/tasks/{task.pk}/")
            ]
            assert told[0] == told[1] and told[0].count(b"\n") > 1, what
    assert client.get(f"{page}export/writing-logs.csv").status_code == 404
    client.force_login(make.make_user())
    for at in (page, f"/api/tasks/{task.pk}/"):
        assert client.get(f"{at}export/events.jsonl").status_code == 404
