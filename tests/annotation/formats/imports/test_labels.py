"""Items to label and labels from files: what comes in, what is refused and where, and out again."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.authoring.actions import media
from annotation.files.reading.importer import Row
from annotation.formats.actions.imports import import_content
from annotation.formats.exports.pairwise import exports_of
from annotation.formats.imports.labels import LabelItems
from annotation.models import Answer, Task
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.servers.receiver import Reply, receiver
from tests.support.studies import labels
from tests.support.uploads import work

pytestmark = pytest.mark.django_db
VOTES = """worker,item,label,gold,time
ann,leaf-1,spots,spots,2026-03-01T10:00:00Z
ann,leaf-2,Holes,,
bob,leaf-1,holes,,
bob,leaf-2,unsure,,
cid,leaf-1,spots,,
"""


@pytest.fixture
def project() -> Any:
    return factories.make_project()


@pytest.mark.parametrize(
    ("columns", "values", "key"),
    [
        (["review_id", "review"], [["r1", "Good."], ["r2", "Bad."]], "review_id"),
        (["ReviewID", "review"], [["r1", "Good."], ["r2", "Bad."]], "ReviewID"),
        (["author_id", "post id", "text"], [["a", "1", "x"], ["a", "2", "y"]], "post id"),
        (["shop_id", "text"], [["s1", "Good."], ["s1", "Bad."]], None),  # not unique
        (["paid", "text"], [["1", "Good."], ["2", "Bad."]], None),
        (["review_id", "item_id", "text"], [["1", "8", "x"], ["2", "9", "y"]], "item_id"),
    ],
)
def test_a_column_of_unique_ids_is_proposed_as_the_id_of_items(
    columns: list[str], values: list[list[str]], key: str | None
) -> None:
    rows = [Row(n, dict(zip(columns, one, strict=True))) for n, one in enumerate(values, 2)]
    assert LabelItems().guess(columns, rows).get("key") == key


def load(task: Task, kind: str, content: str, name: str = "file.csv") -> Any:
    by = task.project.owner
    return import_content(by=by, task=task, kind=kind, content=content.encode(), name=name)


def out(task: Task, what: str, form: str = "csv") -> str:
    return "".join(str(part) for part in exports_of(task)[what].lines(task, form, ""))


def stored(task: Task) -> list[tuple[Any, ...]]:
    rows = Answer.objects.filter(item__task=task).order_by("item__key", "worker__pseudonym")
    return [
        (
            row.item.key,
            row.counts,
            sorted(row.choices.values_list("field", "code", "ordinal")),
            list(row.texts.values_list("field", "text")),
            list(row.spans.values_list("field", "target", "start", "end")),
        )
        for row in rows.select_related("item")
    ]


def test_labels_find_their_items_by_the_texts_that_one_item_alone_has(project: Any) -> None:
    task = labels.make_labels(project, ["A leaf.", "Two leaves.", "A stem.", "A stem."])
    one, two, three, _same = task.items.order_by("position")
    content = f'worker,text,label\nann,"{one.question}",spots\nann,"{two.question}",holes\n'
    assert load(task, "labels", content).new == 2
    assert {key for key, *_ in stored(task)} == {one.key, two.key}
    with pytest.raises(Invalid):
        load(task, "labels", f'worker,text,label\nbob,"{three.question}",spots\n')


def test_labels_come_in_once_and_their_gold_becomes_a_known_answer(project: Any) -> None:
    task = labels.make_labels(project)
    assert load(task, "labels", VOTES).new == 5
    assert [(key, counts) for key, counts, *_ in stored(task)] == [
        ("leaf-1", True),
        ("leaf-1", True),
        ("leaf-1", True),
        ("leaf-2", True),
        ("leaf-2", True),
    ]
    known = task.items.get(key="leaf-1")
    assert (known.expected, known.redundancy, known.held) == ({"damage": "spots"}, 3, 3)
    assert Answer.objects.filter(choices__code="holes", choices__ordinal=1).count() == 2
    again = load(task, "labels", VOTES)
    assert again.new == 0 and again.there == 5
    assert Answer.objects.filter(item__task=task).count() == 5


@pytest.mark.parametrize(
    ("row", "line", "said"),
    [
        ("ann,leaf-3,spotz,,", 7, "Did you mean spots?"),
        ("ann,leaf-9,spots,,", 7, "The task does not ask for this."),
        ("ann,leaf-1,holes,,", 7, "labeled the item on line 2, with another label"),
        ("dan,leaf-1,spots,holes,", 7, "known answer spots on line 2"),
        ("dan,leaf-3,,,", 7, "There is no label."),
    ],
)
def test_a_bad_label_is_named_with_its_line_and_nothing_is_written(
    project: Any, row: str, line: int, said: str
) -> None:
    task = labels.make_labels(project)
    with pytest.raises(Invalid) as refused:
        load(task, "labels", f"{VOTES}{row}\n")
    (problem,) = [one for one in refused.value.rows if one["line"] == line]
    assert said in f"{problem['wrong']} {problem['mend']}"
    assert not Answer.objects.filter(item__task=task).exists()


def test_every_kind_of_field_goes_out_and_comes_in_again(project: Any) -> None:
    note = {"name": "note", "question": "Why?", "kind": "long_text", "required": False}
    fields = [labels.DAMAGE, labels.MORE, labels.PLACES, note]
    text = "In Bonn 🙂 on Monday"
    task = labels.make_labels(project, [text], fields=fields)
    rows = [
        {"worker": "ann", "item": "leaf-1", "field": name, "label": label, **more}
        for name, label, more in (
            ("damage", "spots", {}),
            ("more.curled", "yes", {}),
            ("places", "place", {"start": 3, "end": 7}),
            ("places", "date", {"start": 13, "end": 19}),
            ("note", "It is written there, isn’t it?", {}),
        )
    ]
    load(task, "labels", "\n".join(map(json.dumps, rows)), "x.jsonl")
    assert stored(task) == [
        (
            "leaf-1",
            True,
            [("damage", "spots", 0), ("more.curled", "yes", 1), ("more.yellow", "no", 0)],
            [("note", "It is written there, isn’t it?")],
            [("places", "place", 3, 7), ("places", "date", 13, 19)],
        )
    ]
    for form in ("csv", "jsonl"):
        other = labels.make_labels(project, [text], fields=fields)
        load(other, "labels", out(task, "labels", form), f"labels.{form}")
        assert stored(other) == stored(task)
    with pytest.raises(Invalid, match="cannot be read"):
        bad = {"worker": "bob", "item": "leaf-1", "field": "places", "label": "date"}
        load(task, "labels", json.dumps({**bad, "start": 3, "end": 40}), "x.jsonl")


def test_items_keep_their_other_columns_and_known_answers(project: Any) -> None:
    task = labels.make_labels(project, [], publish=False)
    content = "id,text,gold,station\na,One leaf,holes,North\n,Another leaf,,South\n"
    assert load(task, "label_items", content).new == 2
    assert load(task, "label_items", content).new == 0
    first = task.items.get(key="a")
    assert first.expected == {"damage": "holes"}
    assert first.settings == {"meta": {"station": "North"}}
    lines = out(task, "label_items").splitlines()
    assert lines[:2] == ["item_id,text,gold,station", "a,One leaf,holes,North"]
    with pytest.raises(Invalid) as refused:
        load(task, "label_items", "id,text,gold\nb,A leaf,rust\na,Another text,\n")
    assert [(one["line"], one["wrong"]) for one in refused.value.rows] == [
        (2, "The field has no such option."),
        (3, "The task has this id with another text."),
    ]


def test_a_table_names_uploaded_images_and_the_export_says_what_was_shown(
    project: Any, settings: Any
) -> None:
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    task = labels.make_labels(project, [], settings={"content": "image"}, publish=False)
    green = labels.make_image(project, "green.png")
    labels.make_image(project, "brown.png", labels.png("brown"))
    content = "id,text,image,station\na,A green leaf,green.png,North\nb,,brown.png,South\n"
    assert load(task, "label_items", content).new == 2
    assert load(task, "label_items", content).new == 0
    lines = out(task, "label_items").splitlines()
    assert lines[0] == "item_id,text,gold,file,sha256,type,station"
    assert lines[1] == f"a,A green leaf,,green.png,{green.sha256},image/png,North"
    with pytest.raises(Invalid) as refused:
        load(
            task,
            "label_items",
            "id,text,image\nc,Red,gren.png\na,A green leaf,brown.png\nd,Blue,\n"
            "e,Inside,http://169.254.169.254/leaf.png\n",
        )
    assert [(one["line"], one["wrong"], one["mend"]) for one in refused.value.rows] == [
        (2, "The project has no file of this name.", "Did you mean green.png?"),
        (
            3,
            "The task has this id with another file or description.",
            "Give this item another id.",
        ),
        (4, "An item needs a file.", "Name an uploaded file."),
        (5, "This address cannot be used.", "This address lies in a private network."),
    ]


def test_a_column_called_file_of_a_task_of_texts_is_kept_with_its_items(project: Any) -> None:
    task = labels.make_labels(project, [], publish=False)
    assert load(task, "label_items", "id,text,file\na,One leaf,field-book.txt\n").new == 1
    assert task.items.get().settings == {"meta": {"file": "field-book.txt"}}


def test_images_are_fetched_once_by_a_job_and_what_cannot_be_says_why(
    project: Any, settings: Any
) -> None:
    settings.CROWDQC_LOCAL_ENDPOINTS = True
    task = labels.make_labels(project, [], settings={"content": "image"}, publish=False)
    replies = {
        "/leaf.png": Reply(200, labels.png()),
        "/page.png": Reply(200, b"<!doctype html>"),
        "/gone.png": Reply(404),
        "/moved.png": Reply(302, headers={"location": "/leaf.png"}),
        "/long.png": Reply(200, bytes(10 * 2**20 + 1)),
    }
    with receiver() as server:
        server.answer = lambda got: replies[got.path]
        root = server.url.partition("/events")[0]
        rows = "".join(f"{path[1:-4]},A leaf,{root}{path}\n" for path in replies)
        assert load(task, "label_items", f"id,text,file\n{rows}").new == 5
        assert media.fetch_due() == 1
        assert media.fetch_due() == 0
        assert len(server.got) == 5
    found = {item.key: item for item in task.items.select_related("media")}
    assert found["leaf"].media is not None and found["leaf"].media.address == f"{root}/leaf.png"
    assert found["leaf"].settings == {}
    said = {key: item.settings["fetch"]["error"] for key, item in found.items() if key != "leaf"}
    assert said["page"].startswith("page.png is no image or sound")
    assert "answered 404" in said["gone"] and "answered 302" in said["moved"]
    assert "longer than 10,485,760 bytes" in said["long"]
    assert media.fetch_again(by=project.owner, task=task) == 4


def test_an_address_that_leads_inside_is_not_fetched(project: Any, settings: Any) -> None:
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    task = labels.make_labels(project, ["A leaf"], settings={"content": "image"}, publish=False)
    address = "http://127.0.0.1:9/leaf.png"
    task.items.update(settings=media.to_fetch(address, project.owner))
    assert media.fetch_due() == 0
    said = task.items.get().settings["fetch"]["error"]
    assert said == "This address lies in a private network."


def test_crowd_kit_and_label_studio_get_labels_of_known_items_too(project: Any) -> None:
    task = labels.make_labels(project)
    load(task, "labels", VOTES)
    frame = out(task, "crowdkit-labels").splitlines()
    assert frame[0] == "task,worker,label" and len(frame) == 6
    assert sorted(line.rpartition(",")[2] for line in frame[1:]) == [
        "holes", "holes", "spots", "spots", "unsure",
    ]  # fmt: skip
    tasks = json.loads(out(task, "label-studio", "json"))
    assert [len(one["annotations"]) for one in tasks] == [3, 2, 0]
    result = tasks[0]["annotations"][0]["result"][0]
    assert (result["from_name"], result["to_name"], result["type"]) == ("damage", "text", "choices")
    assert tasks[0]["data"]["text"] == labels.TEXTS[0]


def test_label_studio_gets_spans_with_their_text(project: Any) -> None:
    task = labels.make_labels(project, ["In Bonn on Monday"], fields=[labels.PLACES])
    row = {"worker": "ann", "item": "leaf-1", "field": "places", "label": "place"}
    load(task, "labels", json.dumps({**row, "start": 3, "end": 7}), "x.jsonl")
    (told,) = json.loads(out(task, "label-studio", "json"))[0]["annotations"][0]["result"]
    assert told["type"] == "labels"
    assert told["value"] == {"start": 3, "end": 7, "text": "Bonn", "labels": ["place"]}


ONE_MODEL = "Nr,Label\nleaf-1,spots\nleaf-2,holes\n"


def test_a_file_of_one_models_labels_comes_in_once_the_page_says_whose_it_is(project: Any) -> None:
    task = labels.make_labels(project)
    client = Client()
    client.force_login(project.owner)
    sent = SimpleUploadedFile("labels.csv", ONE_MODEL.encode())
    where = client.post(
        reverse("task_import", args=[project.pk, task.pk, "labels"]), {"file": sent}
    )["Location"]
    work()
    view = client.get(where).context["view"]
    assert not view.can_import and [one["value"] for one in view.of_file] == ["", ""]
    read = {"column:Nr": "item", "column:Label": "label"}
    client.post(where, {**read, "all:worker": "", "all:system": "oak-2"})
    work()
    view = client.get(where).context["view"]
    assert (view.can_import, view.new, view.bad) == (True, 2, 0)
    assert [one["value"] for one in view.of_file] == ["", "oak-2"]
    client.post(where, {"do": "import"})
    work()
    given = Answer.objects.filter(item__task=task).order_by("item__key")
    assert list(given.values_list("system__name", "choices__code")) == [
        ("oak-2", "spots"),
        ("oak-2", "holes"),
    ]


def test_the_command_takes_the_model_of_a_file_of_labels(project: Any, tmp_path: Path) -> None:
    task = labels.make_labels(project)
    (tmp_path / "labels.csv").write_text(ONE_MODEL)
    told = {"task": task.pk, "by": project.owner.username, "stdout": StringIO()}
    call_command("crowdqc_import", "labels", str(tmp_path / "labels.csv"), all_by="oak-2", **told)
    names = Answer.objects.filter(item__task=task).values_list("system__name", flat=True)
    assert list(names) == ["oak-2", "oak-2"]
