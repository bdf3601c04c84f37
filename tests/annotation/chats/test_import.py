"""Files of conversations become items and texts: on the page, over the API, by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.chats.storage import chat_of
from annotation.formats.actions.imports import import_content, import_objects
from annotation.models import Answer, Candidate, ImportFile, Item, Project, Task
from crowdqc.errors import Conflict, Invalid
from tests.annotation.chats.examples import ONE, OPENAI, PNG, TWO, WEATHER, outline
from tests.annotation.formats.imports.test_pages import signed_in
from tests.annotation.formats.test_judgment_formats import run
from tests.support import factories
from tests.support.uploads import work

pytestmark = pytest.mark.django_db

FIXTURES = Path(__file__).parent / "fixtures"
PHOTO = [
    {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": PNG}},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        ],
    },
    {"role": "assistant", "content": "A pixel."},
]
RECORDS: list[dict[str, Any]] = [
    {"id": "weather", "messages": OPENAI, "model": "m1", "language": "en", "scores": {"good": 0.5}},
    {"id": "photo", "messages": PHOTO, "model": "m2"},
]


def lines(records: list[Any]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in records).encode()


def make_draft(project: Project, type: str = "labels") -> Task:
    return tasks.create_task(by=project.owner, project=project, type=type, title="Chats")


def looked_at(task: Task, kind: str, content: bytes, name: str = "chats.jsonl") -> str:
    """The page of a file before it is imported, which is done then."""
    client: Client = signed_in(task.project.owner)
    path = reverse("task_import", args=[task.project_id, task.pk, kind])
    answer = client.post(path, {"file": SimpleUploadedFile(name, content)})
    work()
    page = client.get(answer["Location"]).content.decode()
    client.post(answer["Location"], {"do": "import", "leave_out": "1"})
    work()
    return page


def test_page_counts_turns_calls_and_losses_before_conversations_become_items() -> None:
    task = make_draft(factories.make_project())
    page = looked_at(task, "chats", lines(RECORDS))
    for words in (
        "2 conversations",
        "2 to 3 turns",
        "1 tool call",
        "1 image",
        "In the conversations: 1 image not kept.",
        "read as Chat messages (OpenAI, Hugging Face) (messages)",
        "kept with the items: language, score good, system",
    ):
        assert words in page, words
    assert 'name="column:' not in page and "system_b" not in page  # nothing to map, nothing empty
    assert "[1] User: Weather?" in page and "&quot;schema&quot;" not in page
    items = {item.key: item for item in task.items.select_related("chat")}
    assert outline(chat_of(items["weather"].chat)) == WEATHER  # type: ignore[arg-type]
    assert items["weather"].settings["meta"] == {
        "system": "m1",
        "language": "en",
        "score good": "0.5",
    }
    assert items["weather"].settings["units"]["assistant"] == ["2", "3"]
    assert task.versions.latest("number").settings["content"] == "conversation"
    again = looked_at(task, "chats", lines(RECORDS))
    assert "All 2 rows are there already" in again
    assert task.items.count() == 2


def test_file_of_conversations_is_recognised_where_items_were_chosen() -> None:
    task = make_draft(factories.make_project())
    looked_at(task, "label_items", lines(RECORDS))
    assert ImportFile.objects.get().kind == "chats"
    other = make_draft(task.project)
    looked_at(other, "label_items", b"key,text\n1,Plain\n", "items.csv")
    assert ImportFile.objects.get(task=other).kind == "label_items"
    pairs = [{"prompt": "q", "response_a": "x", "response_b": "y"}]
    paired = make_draft(task.project, "pairwise")
    looked_at(paired, "candidates", lines(pairs))
    assert ImportFile.objects.get(task=paired).kind == "pairs"


def test_records_that_cannot_be_read_are_named_with_their_lines() -> None:
    task = make_draft(factories.make_project())
    content = lines([RECORDS[0], {"a": 1}]) + b'{"messages": [\n' + lines([{"messages": []}])
    page = looked_at(task, "chats", content)
    assert "Import 1 conversation without these 3" in page
    assert "No known format of conversations has these fields: a." in page
    assert "It is not JSON" in page
    assert task.items.count() == 1


def test_samples_of_an_inspect_log_are_items_with_their_scores() -> None:
    task = make_draft(factories.make_project())
    name = "inspect.eval"
    report = import_content(
        by=task.project.owner,
        task=task,
        kind="chats",
        content=(FIXTURES / name).read_bytes(),
        name=name,
    )
    assert (report.new, report.left_out) == (3, 0)
    item = task.items.get(key="sum")
    assert item.settings["meta"]["score includes"] == "C"
    assert item.settings["meta"]["target"] == "2"


def test_pairs_and_single_conversations_are_texts_under_judgment() -> None:
    project = factories.make_project()
    records = [row[1] for row in TWO if row[0] == "arena"]
    task = make_draft(project, "pairwise")
    report = import_objects(by=project.owner, task=task, kind="chat_texts", rows=records)
    assert report.new == 4
    assert task.items.filter(first__chat__isnull=False, second__chat__isnull=False).count() == 4
    longest = Candidate.objects.filter(project=project).order_by("-chat__turns").first()
    assert longest and longest.chat and longest.text.startswith("[1] User: q")
    assert import_objects(by=project.owner, task=task, kind="chat_texts", rows=records).new == 0
    for type in ("rating", "checklist"):
        alone = make_draft(project, type)
        import_objects(by=project.owner, task=alone, kind="chat_texts", rows=RECORDS)
        assert alone.items.filter(first__chat__isnull=False).count() == 2
        names = alone.items.values_list("first__system__name", flat=True)
        assert set(names) == {"m1", "m2"}


def test_each_conversation_of_a_pair_is_an_item_to_be_labeled() -> None:
    task = make_draft(factories.make_project())
    by = task.project.owner
    report = import_objects(by=by, task=task, kind="chats", rows=[TWO[0][1]])
    assert report.tally.used == 1
    assert set(task.items.values_list("key", flat=True)) == {"1-a", "1-b"}


def test_items_of_another_content_refuse_conversations() -> None:
    task = make_draft(factories.make_project())
    by = task.project.owner
    import_objects(by=by, task=task, kind="label_items", rows=[{"key": "1", "text": "Plain"}])
    with pytest.raises(Conflict):
        import_objects(by=by, task=task, kind="chats", rows=RECORDS)


def test_api_takes_records_and_command_takes_files(tmp_path: Path) -> None:
    task = make_draft(factories.make_project())
    client = signed_in(task.project.owner)
    path = reverse("api_task_chats", args=[task.pk])
    answer = client.post(path, {"rows": RECORDS[:1]}, content_type="application/json")
    assert (answer.status_code, answer.json()["new"]) == (201, 1)
    file = tmp_path / "chats.jsonl"
    file.write_bytes(lines([*RECORDS, {"b": 1}]))
    options = ("--task", task.pk, "--by", task.project.owner.username)
    out, err = run("chats", file, *options, "--skip-bad")
    assert "3 rows, 1 new, 1 there already, 1 left out" in out and "b." in err
    writing = make_draft(task.project, "writing")
    answer = client.post(
        reverse("api_task_chats", args=[writing.pk]),
        {"rows": RECORDS},
        content_type="application/json",
    )
    assert answer.status_code == 422


def test_arena_battles_keep_whole_conversations() -> None:
    """Conversations of several turns were cut to their last answer, without a word."""
    task = make_draft(factories.make_project(), "pairwise")
    rounds = TWO[1][1]
    calls = [*OPENAI, {"role": "user", "content": "Thanks"}, {"role": "assistant", "content": "Ok"}]
    battles = [
        {**rounds, "judge": "j1"},
        {
            "question_id": "t",
            "model_a": "m1",
            "model_b": "m2",
            "winner": "model_a",
            "judge": "j1",
            "conversation_a": calls,
            "conversation_b": OPENAI,
        },
    ]
    content = lines(battles)
    by = task.project.owner
    tasks.edit_draft(by=by, task=task, fields={"settings": {"dimensions": DIMENSIONS}})
    page = looked_at(task, "arena", content)
    assert "4 conversations kept whole" in page
    assert Answer.objects.filter(item__task=task).count() == 2
    chats = [chat_of(one.chat) for one in Candidate.objects.select_related("chat") if one.chat]
    assert sorted(len(chat.turns) for chat in chats) == [3, 4, 4, 5]
    assert sum(len(turn.calls) for chat in chats for turn in chat.turns) == 2
    assert Item.objects.filter(task=task, first__query="Weather?").exists()
    assert "All 2 rows are there already" in looked_at(task, "arena", content)


DIMENSIONS = [{"name": "quality_overall", "label": "Better", "neutral": True}]


HH = {
    "chosen": "\n\nHuman: Why?\n\nAssistant: Because.",
    "rejected": "\n\nHuman: Why?\n\nAssistant: No reason.",
}


def test_a_file_without_a_readable_record_lists_what_is_wrong_with_each() -> None:
    task = make_draft(factories.make_project())
    page = looked_at(task, "chats", lines([{"guild": {}, "channel": {}, "messages": []}]))
    file = ImportFile.objects.get()
    assert "Discord" in page
    rows = reverse("task_import_bad_rows", args=[task.project_id, task.pk, file.pk])
    assert rows in page


def test_dropped_file_of_conversations_begins_a_task_about_them() -> None:
    project = factories.make_project()
    client = signed_in(project.owner)
    begun = {}
    for name, content in (
        ("chats.jsonl", lines(RECORDS)),
        ("battles.jsonl", lines([TWO[1][1]])),
        ("chatgpt.jsonl", lines([raw for slug, raw, _ in ONE if slug == "chatgpt"])),
        ("hh.jsonl", lines([HH])),
        ("discord.json", json.dumps({"guild": {}, "channel": {}, "messages": []}).encode()),
        ("agent.json", (FIXTURES / "openinference_otlp.json").read_bytes()),
    ):
        client.post(
            reverse("task_from_file", args=[project.pk]),
            {"file": SimpleUploadedFile(name, content)},
        )
        file = ImportFile.objects.latest("pk")
        assert file.task
        begun[name] = (file.task.type, file.kind)
    assert begun == {
        "chats.jsonl": ("labels", "chats"),
        "battles.jsonl": ("pairwise", "chat_texts"),
        "chatgpt.jsonl": ("labels", "chats"),
        "hh.jsonl": ("pairwise", "chat_texts"),
        "discord.json": ("labels", "chats"),
        "agent.json": ("labels", "chats"),
    }


def test_invalid_archive_is_refused_by_name() -> None:
    task = make_draft(factories.make_project())
    with pytest.raises(Invalid) as refused:
        import_content(
            by=task.project.owner, task=task, kind="chats", content=b"PK\x03\x04xx", name="a.eval"
        )
    assert "archive" in refused.value.message


@pytest.mark.parametrize(
    "rows",
    [
        [{}],
        [{"messages": []}],
        [{"messages": [{"role": "user", "content": "\x00"}]}, {"a": "\x00"}],
        [{"messages": {"role": []}}],
    ],
)
def test_api_refuses_records_that_it_cannot_read_by_their_places(rows: list[Any]) -> None:
    task = make_draft(factories.make_project())
    client = signed_in(task.project.owner)
    path = reverse("api_task_chats", args=[task.pk])
    answer = client.post(path, {"rows": rows}, content_type="application/json")
    assert answer.status_code in (400, 422)
    assert not task.items.exists()


def test_texts_of_another_task_of_the_project_come_into_this_one_from_the_same_file() -> None:
    project = factories.make_project()
    rows = [{"topic": "storks", "text": f"Text {n}", "system": f"m{n}"} for n in (1, 2)]
    for type in ("rating", "pairwise", "checklist"):
        task = make_draft(project, type)
        report = import_objects(by=project.owner, task=task, kind="candidates", rows=rows)
        assert (type, report.new, report.there) == (type, 2, 0)
        assert task.items.filter(first__topic="storks").count() == (1 if type == "pairwise" else 2)
        report = import_objects(by=project.owner, task=task, kind="candidates", rows=rows)
        assert (type, report.new, report.there) == (type, 0, 2)
    assert Candidate.objects.filter(project=project).count() == 2
