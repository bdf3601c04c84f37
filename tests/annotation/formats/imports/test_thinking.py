"""Samples, attributes and checklists from files and over the API, and back out again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.formats.actions.imports import import_content, import_rows
from annotation.formats.exports.pairwise import exports_of
from annotation.models import Answer, Task
from annotation.work.snapshots import attributes, checks
from crowdqc.errors import Conflict, Invalid
from tests.support import factories
from tests.support.studies import thinking
from tests.support.uploads import work

pytestmark = pytest.mark.django_db
HEAD = "dimension,rubric,sample_id,source,text,score\n"
ROWS = (
    'Fluency,"Does it read well? 1 no, 5 yes.",a,An article.,It reads.,4\n'
    "Fluency,,b,An article.,Reads it not.,1.5\n"
)


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


def load(task: Task, kind: str, content: str, name: str = "file.csv", **more: Any) -> Any:
    by = task.project.owner
    return import_content(by=by, task=task, kind=kind, content=content.encode(), name=name, **more)


def out(task: Task, what: str, form: str = "csv") -> str:
    return "".join(str(part) for part in exports_of(task)[what].lines(task, form, ""))


def said_by(task: Task) -> list[tuple[Any, ...]]:
    """What a task holds, whoever's pseudonyms they are."""
    marks = attributes.marks(Answer.objects.values_list("pk", flat=True))
    return sorted(
        (row.kind, row.index, row.text, marks.get((row.answer_id, row.index)))
        for row in attributes.counting_attributes(task)
    )


# Samples -----------------------------------------------------------------------------------------


def test_samples_bring_their_dimension_and_come_in_once(world: factories.World) -> None:
    task = thinking.make_think(world.project, publish=False)
    assert load(task, "samples", HEAD + ROWS).new == 2
    group = task.groups.get(title="Fluency")
    assert group.passage == "Does it read well? 1 no, 5 yes."
    assert [(one["key"], one["score"]) for one in group.passages] == [("a", "4"), ("b", "1.5")]
    assert task.items.get(group=group).question == "Fluency"
    again = load(task, "samples", HEAD + ROWS)
    assert (again.new, again.there) == (0, 2)


def test_samples_go_round_through_their_own_export(world: factories.World) -> None:
    task = thinking.make_think(world.project)
    for form in ("csv", "jsonl"):
        other = thinking.make_think(world.project, (), publish=False)
        load(other, "samples", out(task, "samples", form), f"samples.{form}")
        there, here = task.groups.get(), other.groups.get()
        assert (here.title, here.passage, here.passages) == (
            there.title,
            there.passage,
            there.passages,
        )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("Fluency,,a,,It reads.,good\n", "This is no number."),
        ("Fluency,,a,,,4\n", "There is no text."),
        (",,a,,It reads.,4\n", "A sample needs a dimension."),
        ("Fluency,One.,a,,A.,4\nFluency,Two.,b,,B.,4\n", "another rubric in line 2"),
        ("Fluency,,a,,A.,4\nFluency,,a,,B.,4\n", "Given twice, first on line 2"),
        ("Coherence,,s1,,Another text.,1\n", "with another text, source or score"),
    ],
)
def test_a_bad_sample_is_named_with_its_line(world: factories.World, rows: str, said: str) -> None:
    task = thinking.make_think(world.project, publish=False)
    with pytest.raises(Invalid) as refused:
        load(task, "samples", HEAD + rows)
    assert said in refused.value.rows[0]["wrong"]
    assert task.groups.count() == 1


# Attributes --------------------------------------------------------------------------------------


def test_attributes_with_marks_go_round_through_csv_and_jsonl(world: factories.World) -> None:
    task = thinking.make_think(world.project)
    said = f"  {thinking.SAID}\n\nThat is all."
    draft = thinking.thought(["=typed first"], said, "jump around in time", "Names")
    thinking.submit(factories.claim(task, world.worker), draft)
    rows = [
        {"dimension": "Coherence", "system": "model a", "attribute": text}
        for text in thinking.ATTRIBUTES
    ]
    by = world.requester
    assert import_rows(by=by, task=task, kind="attributes", rows=rows) == 1
    assert import_rows(by=by, task=task, kind="attributes", rows=rows) == 0
    for form in ("csv", "jsonl"):
        project = factories.make_project()
        other = thinking.make_think(project)
        report = load(other, "attributes", out(task, "attributes", form), f"attributes.{form}")
        assert (report.new, report.rows) == (2, 5)
        assert said_by(other) == said_by(task)
        [transcript] = attributes.transcripts(Answer.objects.filter(item__task=other)).values()
        assert transcript == said
        again = load(other, "attributes", out(task, "attributes", form), f"again.{form}")
        assert again.new == 0
        item = other.items.get()
        assert (item.held, item.redundancy) == (1, 2)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"dimension": "Fluency"}, "does not ask for this"),
        ({"system": ""}, "There is no author."),
        ({"worker": "w-1"}, "There are two authors."),
        ({"attribute": ""}, "There is no attribute."),
        ({"start": "3", "end": "9"}, "the transcript has 0 characters"),
        ({"start": "9", "end": "3"}, "start before its end"),
        ({"index": "first"}, "not a whole number"),
        ({"counts": "perhaps"}, "neither true nor false"),
    ],
)
def test_a_bad_attribute_is_named_and_nothing_is_written(
    world: factories.World, row: dict[str, str], said: str
) -> None:
    task = thinking.make_think(world.project)
    good = {"dimension": "Coherence", "system": "model a", "worker": "", "attribute": "one"}
    with pytest.raises(Invalid) as refused:
        import_rows(by=world.requester, task=task, kind="attributes", rows=[{**good, **row}])
    assert said in refused.value.rows[0]["wrong"]
    assert not Answer.objects.filter(item__task=task).exists()


def test_other_attributes_of_the_same_author_are_refused(world: factories.World) -> None:
    task = thinking.make_think(world.project)
    row = {"dimension": "Coherence", "worker": "w-1", "attribute": "one"}
    import_rows(by=world.requester, task=task, kind="attributes", rows=[row])
    with pytest.raises(Invalid, match="cannot be read"):
        changed = [{**row, "attribute": "two"}]
        import_rows(by=world.requester, task=task, kind="attributes", rows=changed)


def test_a_draft_takes_no_attributes(world: factories.World) -> None:
    task = thinking.make_think(world.project, publish=False)
    row = {"dimension": "Coherence", "system": "m", "attribute": "one"}
    with pytest.raises(Conflict, match="Publish the task first"):
        import_rows(by=world.requester, task=task, kind="attributes", rows=[row])


# Checklists --------------------------------------------------------------------------------------


def test_checklists_go_round_and_an_uncounted_one_stays_so(world: factories.World) -> None:
    task = thinking.make_checklist(world.project)
    done = thinking.submit(factories.claim(task, world.worker), thinking.YES)
    answer = done.answers.order_by("pk").first()
    answer.counts, answer.uncounted_reason = False, "Read too fast."
    answer.save()
    table = out(task, "checks")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(row["name"], row["answer"]) for row in rows[:3]] == [
        ("links", "yes"),
        ("time", "no"),
        ("names", "yes"),
    ]
    assert load(task, "checks", table).new == 0
    own = {row["item_id"]: item for row, item in zip(rows[::3], task.items.all(), strict=True)}
    Answer.objects.filter(item__task=task).delete()
    assert len(own) == 2
    assert load(task, "checks", table).new == 2
    assert len(checks.counting_checks(task)) == 3
    assert Answer.objects.get(item__task=task, counts=False).uncounted_reason == "Read too fast."


def test_a_model_fills_in_a_checklist_with_replicates(world: factories.World) -> None:
    task = thinking.make_checklist(world.project, 1)
    text = task.items.get().first.key
    rows = [
        {
            "text": text,
            "system": "model a",
            "prompt_strategy": "plain",
            "replicate": str(n),
            "name": name,
            "answer": "TRUE",
        }
        for n in (0, 1)
        for name in ("links", "time", "names")
    ]
    assert import_rows(by=world.requester, task=task, kind="checks", rows=rows) == 2
    assert {(row.replicate, row.yes) for row in checks.counting_checks(task)} == {
        (0, True),
        (1, True),
    }
    assert task.items.get().held == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "style"}, "no such question"),
        ({"answer": "perhaps"}, "neither yes nor no"),
        ({"text": "text-0"}, "does not ask for this"),
    ],
)
def test_a_bad_tick_is_named(world: factories.World, change: dict[str, str], said: str) -> None:
    task = thinking.make_checklist(world.project, 1)
    row = {"text": task.items.get().first.key, "worker": "w-1", "name": "links", "answer": "yes"}
    with pytest.raises(Invalid) as refused:
        import_rows(by=world.requester, task=task, kind="checks", rows=[{**row, **change}])
    assert said in refused.value.rows[0]["wrong"]


def test_an_incomplete_checklist_is_refused_and_says_what_is_open(world: factories.World) -> None:
    task = thinking.make_checklist(world.project, 1)
    row = {"text": task.items.get().first.key, "worker": "w-1", "name": "links", "answer": "yes"}
    with pytest.raises(Invalid) as refused:
        import_rows(by=world.requester, task=task, kind="checks", rows=[row])
    assert refused.value.rows[0]["mend"] == "Add time, names."


# Browser, API, command ---------------------------------------------------------------------------


def test_the_browser_the_api_and_the_command_take_the_same_files(
    world: factories.World, tmp_path: Path
) -> None:
    client = Client()
    client.force_login(world.requester)
    task = thinking.make_think(world.project, publish=False)
    project = world.project.pk
    upload = io.BytesIO((HEAD + ROWS).encode())
    upload.name = "samples.csv"
    kept = client.post(reverse("task_import", args=[project, task.pk, "samples"]), {"file": upload})
    work()
    page = client.get(kept["Location"]).content.decode()
    assert "Dimensions with scored samples" in page or "dimensions with scored samples" in page
    client.post(kept["Location"], {"do": "import"})
    work()
    assert task.groups.filter(title="Fluency").exists()
    rows = [{"dimension": "Tone", "rubric": "Is it calm?", "text": "Calm.", "score": "5"}]
    body = json.dumps({"rows": rows})
    url = reverse("api_samples", args=[task.pk])
    answer = client.post(url, body, content_type="application/json")
    assert (answer.status_code, answer.json()["new"]) == (201, 1)
    client.post(reverse("task_publish", args=[project, task.pk]))
    task.refresh_from_db()
    told = [{"dimension": "Tone", "system": "m", "attribute": "calm words"}]
    body = json.dumps({"rows": told})
    url = reverse("api_attributes", args=[task.pk])
    assert client.post(url, body, content_type="application/json").json()["new"] == 1
    path = tmp_path / "attributes.jsonl"
    path.write_text(json.dumps({**told[0], "system": "n"}) + "\n")
    by = ["--task", str(task.pk), "--by", world.requester.username]
    call_command("crowdqc_import", "attributes", str(path), *by)
    written = tmp_path / "out.csv"
    call_command("crowdqc_export", "thinking", "--task", str(task.pk), "--out", str(written))
    table = csv.DictReader(io.StringIO(written.read_text()))
    assert [row["system"] for row in table] == ["m", "n"]
    shown = client.get(reverse("task_export", args=[project, task.pk, "attributes", "csv"]))
    assert b"calm words" in b"".join(shown.streaming_content)
    answers = client.get(reverse("api_answers", args=[task.pk])).json()["results"]
    assert answers[0]["attributes"] == ["calm words"]
