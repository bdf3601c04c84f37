"""Items to label and labels from files: what comes in, what is refused and where, and out again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.formats.actions.imports import import_content
from annotation.formats.exports.pairwise import exports_of
from annotation.models import Answer, Task
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.studies import labels

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
        ("dan,leaf-3,spots,,soon", 7, "This is not a time."),
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
    assert lines[:2] == ["key,text,gold,station", "a,One leaf,holes,North"]
    with pytest.raises(Invalid) as refused:
        load(task, "label_items", "id,text,gold\nb,A leaf,rust\na,Another text,\n")
    assert [(one["line"], one["wrong"]) for one in refused.value.rows] == [
        (2, "The field has no such option."),
        (3, "The task has this id with another text."),
    ]


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
