"""Label Studio's JSON: out and in again it is the same, and a file of others is read right."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import uuid
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.formats.actions import votes as vote_imports
from annotation.formats.actions.label_studio import import_label_studio
from annotation.formats.exports.pairwise import PAIR_EXPORTS
from annotation.formats.imports.tools import label_studio
from annotation.formats.imports.tools.crowdkit import Label
from annotation.formats.imports.tools.label_studio import read_label_studio
from annotation.models import Answer, SpanValue, Task
from annotation.work.actions import answers
from crowdqc.errors import Invalid
from tests.annotation.formats.exports.test_pairwise import TWO, judge
from tests.support import factories as make
from tests.support.studies import labels
from tests.support.studies.judging import make_pairs, make_ratings

pytestmark = pytest.mark.django_db


def exported(task: Task, form: str = "json") -> str:
    task = Task.objects.select_related("project", "current").get(pk=task.pk)
    return "".join(PAIR_EXPORTS["label-studio"].lines(task, form))


def again(text: str, **options: Any) -> Task:
    """The task that a file makes in a new project."""
    project = make.make_project()
    task, _ = import_label_studio(
        by=project.owner,
        project=project,
        file=read_label_studio(text.encode(), "x.json"),
        title="Again",
        **options,
    )
    return Task.objects.select_related("project", "current").get(pk=task.pk)


def said(task: Task) -> list[Any]:
    """What was said, by whom, when, and whether it counts, without anybody's ids."""
    rows = []
    for one in Answer.objects.filter(item__task=task).select_related(
        "item__first", "item__second", "worker", "system"
    ):
        texts = sorted(one.texts.values_list("field", "index", "text"))
        first, second = (text.text if text else "" for text in (one.item.first, one.item.second))
        codes = {row.field: row.code for row in one.choices.all()}
        left, right = (second, first) if one.flipped else (first, second)
        chosen = sorted(
            (name, {"first": first, "second": second}.get(code, code) if second else code)
            for name, code in codes.items()
        )
        rows.append(
            (
                one.item.key,
                left,
                right,
                chosen,
                texts,
                one.worker.pseudonym if one.worker else "",
                str(one.system or ""),
                one.replicate,
                one.counts,
                one.uncounted_reason,
                one.answered_at,
            )
        )
    return sorted(rows, key=str)


def free_text() -> Task:
    task = make.make_task(n=3, passage="A text about storks.")
    make.claim_and_submit(task, texts={"q-001": "Nests.", "q-002": "", "q-003": "Frogs, =2 a day"})
    make.claim_and_submit(task, texts="On chimneys.")
    make.make_system_answers(task, {("Owl", "plain"): {"q-001": "Sticks."}})
    Answer.objects.filter(item__key="q-003", texts__text="On chimneys.").update(
        counts=False, uncounted_reason="taken out by a manager"
    )
    return task


def pairs() -> Task:
    project = make.make_project()
    texts = ("The probe left in 1977.", "It was launched in 1977 and still sends.")
    task = make_pairs(
        project, n=3, sides=(1, -1), settings=TWO, redundancy=2, order="random", texts=texts
    )
    votes = iter(["left", "right", "neutral", "right", "right", "left"] * 2)
    for _ in range(2):
        judge(task, make.make_worker(project), votes)
    return task


def ratings() -> Task:
    task = make_ratings(make.make_project(), n=3)
    keys = task.items.order_by("key").values_list("key", flat=True)
    labels = [
        Label(1, key, who, str(n % 5 + 1)) for who in ("a", "b") for n, key in enumerate(keys)
    ]
    vote_imports.import_labels(by=task.project.owner, task=task, dimension="", labels=labels)
    return task


@pytest.mark.parametrize("kind", [free_text, pairs, ratings])
def test_what_is_exported_comes_back_the_same_in_a_new_project(kind: Any) -> None:
    task = kind()
    text = exported(task)
    other = again(text)
    assert said(other) == said(task)
    assert other.type == task.type
    # And out of there once more: the same file but for numbers and the order of authors.
    told = [[row["data"] for row in json.loads(one)] for one in (exported(other), text)]
    for row in (*told[0], *told[1]):
        row.pop("document", None)  # what stands beside texts under judgment does not come along
    assert told[0] == told[1]
    # The same file again adds nothing.
    _, added = import_label_studio(
        by=other.project.owner,
        project=other.project,
        task=other,
        name="x.json",
        file=read_label_studio(text.encode(), "x.json"),
    )
    assert added.new == 0


def test_results_have_the_shapes_that_label_studio_reads() -> None:
    row = next(
        one for one in json.loads(exported(free_text())) if one["data"]["item_id"] == "q-002"
    )
    declined = next(one for one in row["annotations"] if len(one["result"]) == 2)
    assert [(r["from_name"], r["type"], r["value"]) for r in declined["result"]] == [
        ("declined", "choices", {"choices": ["dont_know"]}),
        ("answer", "textarea", {"text": ["I don't know"]}),
    ]
    assert declined.keys() >= {
        "id",
        "completed_by",
        "result",
        "lead_time",
        "was_cancelled",
        "ground_truth",
        "unique_id",
        "created_at",
    }
    assert declined["lead_time"] > 0
    task = pairs()
    values = {
        (r["type"], r["value"]["pairwise"])
        for one in json.loads(exported(task))
        for a in one["annotations"]
        for r in a["result"]
    }
    assert values == {("pairwise", "left"), ("pairwise", "right"), ("pairwise", "none")}
    rated = json.loads(exported(ratings()))[1]["annotations"][0]["result"][0]
    assert (rated["type"], rated["value"]) == ("rating", {"rating": 2})


def test_the_csv_has_the_columns_of_label_studio() -> None:
    rows = list(csv.DictReader(io.StringIO(exported(free_text(), "csv"))))
    assert list(rows[0]) == [
        "annotation_id",
        "annotator",
        "item_id",
        "question",
        "context",
        "topic",
        "answer",
        "declined",
        "created_at",
        "id",
        "lead_time",
        "updated_at",
    ]
    assert len(rows) == 6
    assert {row["answer"] for row in rows if row["item_id"] == "q-003"} == {
        "Frogs, =2 a day",
        "On chimneys.",
    }


THEIRS = [
    {
        "id": 71,
        "inner_id": 1,
        "drafts": [],
        "file_upload": "a.csv",
        "project": 4,
        "total_annotations": 3,
        "cancelled_annotations": 1,
        "meta": {},
        "data": {"text": "The stay was pleasant and the tea was hot."},
        "annotations": [
            {
                "id": 501,
                "completed_by": 3,
                "was_cancelled": False,
                "ground_truth": False,
                "created_at": "2024-05-02T10:00:30.5Z",
                "updated_at": "2024-05-02T10:00:30.5Z",
                "lead_time": 12.25,
                "unique_id": "b9",
                "draft_created_at": None,
                "result": [
                    {
                        "id": "x1",
                        "type": "choices",
                        "origin": "manual",
                        "to_name": "text",
                        "from_name": "Sentiment",
                        "value": {"choices": ["Positive"]},
                    },
                    {
                        "id": "x2",
                        "type": "rating",
                        "to_name": "text",
                        "from_name": "stars",
                        "value": {"rating": 4},
                    },
                    {
                        "id": "x3",
                        "type": "textarea",
                        "to_name": "text",
                        "from_name": "why",
                        "value": {"text": ["It says pleasant."]},
                    },
                ],
            },
            {
                "id": 502,
                "completed_by": {"id": 8, "email": "someone@example.org"},
                "was_cancelled": True,
                "ground_truth": False,
                "created_at": "2024-05-02T11:00:00Z",
                "lead_time": 3.0,
                "result": [
                    {
                        "id": "y",
                        "type": "choices",
                        "to_name": "text",
                        "from_name": "Sentiment",
                        "value": {"choices": ["Negative"]},
                    }
                ],
            },
            {
                "id": 503,
                "completed_by": 9,
                "was_cancelled": True,
                "ground_truth": False,
                "created_at": "2024-05-02T12:00:00Z",
                "result": [],
            },
            {
                "id": 504,
                "completed_by": 3,
                "was_cancelled": False,
                "ground_truth": True,
                "created_at": "2024-05-03T10:00:00Z",
                "result": [
                    {
                        "id": "z",
                        "type": "choices",
                        "to_name": "text",
                        "from_name": "Sentiment",
                        "value": {"choices": ["Positive"]},
                    }
                ],
            },
        ],
        "predictions": [
            {
                "id": 9,
                "model_version": "base-2",
                "score": 0.7,
                "result": [
                    {
                        "id": "p",
                        "type": "choices",
                        "to_name": "text",
                        "from_name": "Sentiment",
                        "value": {"choices": ["Negative"]},
                    }
                ],
            },
        ],
        "created_at": "2024-05-01T09:00:00Z",
        "updated_at": "2024-05-02T10:00:30Z",
    },
]


def test_a_file_of_others_is_read_right_by_the_command(tmp_path: Path) -> None:
    path, user, out = tmp_path / "reviews.json", make.make_user(), StringIO()
    path.write_text(json.dumps(THEIRS))
    call_command(
        "crowdqc_import",
        "label-studio",
        str(path),
        "--new-project",
        "Reviews",
        "--by",
        user.username,
        stdout=out,
        stderr=StringIO(),
    )
    assert "4 answers, 4 new, 0 there already" in out.getvalue()
    task = Task.objects.select_related("current").latest("pk")
    assert task.type == "rating"
    found = {
        (one.worker.external_id if one.worker else str(one.system)): one
        for one in Answer.objects.filter(item__task=task).order_by("-pk")
    }
    assert set(found) == {"3", "8", "base-2"}  # who said nothing is nobody's answer
    one = Answer.objects.get(item__task=task, worker__external_id="3", counts=True)
    assert {row.field: row.code for row in one.choices.all()} == {"sentiment": "2", "stars": "4"}
    assert [row.text for row in one.texts.all()] == ["It says pleasant."]
    assert one.answered_at == dt.datetime(2024, 5, 2, 10, 0, 30, 500000, tzinfo=dt.UTC)
    assert one.assignment is not None and one.assignment.opened_at is not None
    assert (one.answered_at - one.assignment.opened_at).total_seconds() == 12.25
    assert not found["8"].counts
    truth = Answer.objects.get(item__task=task, worker__external_id="3", counts=False)
    assert truth.uncounted_reason == "ground truth in Label Studio"
    rows = json.loads(exported(task))[0]["annotations"]
    assert [row["ground_truth"] for row in rows].count(True) == 1


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"type": "rectanglelabels"}, "task 71, annotation 501, Sentiment type"),
        ({"type": "rating", "value": {"rating": "four"}}, "task 71, annotation 501"),
    ],
)
def test_what_cannot_be_taken_is_refused_naming_task_and_annotation(
    change: dict[str, Any], where: str
) -> None:
    raw = json.loads(json.dumps(THEIRS))
    raw[0]["annotations"][0]["result"][0].update(change)
    with pytest.raises(Invalid) as refused:
        read_label_studio(json.dumps(raw).encode(), "x.json")
    assert refused.value.rows[0]["column"].startswith(where)  # type: ignore[index]
    raw[0]["annotations"][0]["completed_by"] = None
    with pytest.raises(Invalid) as refused:
        read_label_studio(json.dumps(raw).encode(), "x.json")
    for bad in (
        b"{}",
        b"[]",
        b"[1]",
        b"nothing",
        b'[{"data": 3}]',
        b'[{"data": {}, "annotations": [1]}]',
    ):
        with pytest.raises(Invalid):
            read_label_studio(bad, "x.json")


def test_a_file_whose_type_is_no_word_is_known_by_its_controls() -> None:
    rows = json.loads(exported(ratings()))
    for row in rows:
        row["meta"]["crowdqc"]["type"] = ["rating"]
    assert again(json.dumps(rows)).type == "rating"


def test_several_choices_at_once_are_no_points_of_a_scale() -> None:
    raw = json.loads(json.dumps(THEIRS))
    raw[0]["annotations"][0]["result"][0]["value"] = {"choices": ["Positive", "Negative"]}
    with pytest.raises(Invalid, match="annotation 501: Sentiment has 2 choices"):
        again(json.dumps(raw))


TEXT = "In Bonn 🙂 on Monday"


def marked(name: str, word: str, label: str, shift: int = 0) -> dict[str, Any]:
    """A result of Label Studio's that labels a word of TEXT; ``shift`` moves its offsets."""
    start = TEXT.index(word) + shift
    value = {"start": start, "end": start + len(word), "text": word, "labels": [label]}
    return {"from_name": name, "to_name": "text", "type": "labels", "value": value}


@pytest.mark.parametrize("shift", [0, 1])  # code points, and UTF-16 units as before 2021
def test_labels_and_spans_of_others_are_read_and_go_out_as_they_came(shift: int) -> None:
    tone = {"from_name": "Tone", "type": "choices", "value": {"choices": ["Warm", "Short"]}}
    spans = [marked("label", "Bonn", "PLACE"), marked("label", "Monday", "DATE", shift)]
    given = [{"id": 5, "completed_by": 3, "result": [*spans, tone]}]
    task = again(json.dumps([{"id": 7, "data": {"text": TEXT}, "annotations": given}]))
    assert task.type == "labels"
    answer = Answer.objects.get(item__task=task)
    held = {(TEXT[row.start : row.end], row.target) for row in answer.spans.all()}
    assert held == {("Bonn", "place"), ("Monday", "date")}
    chosen = {row.field: row.code for row in answer.choices.all()}
    assert chosen == {"tone.short": "yes", "tone.warm": "yes"}
    out = exported(task)
    assert said(again(out)) == said(task)
    value = {"start": 13, "end": 19, "text": "Monday", "labels": ["date"]}
    assert value in [row["value"] for row in json.loads(out)[0]["annotations"][0]["result"]]


def test_a_mark_that_is_not_on_its_words_is_refused_naming_the_annotation() -> None:
    given = [{"id": 5, "completed_by": 3, "result": [marked("label", "Bonn", "PLACE", 2)]}]
    with pytest.raises(Invalid, match=r"annotation 5: .* is not “Bonn”"):
        again(json.dumps([{"id": 7, "data": {"text": TEXT}, "annotations": given}]))


def test_rankings_go_out_as_rankers_of_a_list_and_come_back() -> None:
    options = [{"value": "a", "label": "First"}, {"value": "b", "label": "Second"}]
    rank = {"name": "order", "label": "Order", "question": "Rank", "kind": "rank"}
    fields = [{**rank, "options": options}]
    task = labels.make_labels(make.make_project(), [TEXT], fields=fields)
    held = make.claim(task, worker := make.make_worker(task.project))
    drafts = {task.items.get().pk: {"l-order.b": "1", "l-order.a": "2"}}
    assert worker.user is not None
    answers.submit_assignment(by=worker.user, assignment=held, key=uuid.uuid4(), drafts=drafts)
    out = exported(task)
    (told,) = json.loads(out)
    assert told["data"]["order_options"][0] == {"id": "a", "title": "First"}
    (result,) = told["annotations"][0]["result"]
    assert (result["type"], result["to_name"]) == ("ranker", "order-list")
    assert result["value"] == {"ranker": {"order": ["b", "a"]}}  # what their RankerTag takes
    assert said(again(out)) == said(task)
    buckets = out.replace('{"order": ["b", "a"]}', '{"one": ["b"], "two": ["a"]}')
    with pytest.raises(Invalid, match="cannot be read"):
        again(buckets)


@pytest.mark.parametrize(
    ("text", "start", "end", "quoted", "stored"),
    [
        ("🙂 a word", 4, 8, "word", (4, 8)),
        ("🙂 a word", 5, 9, "word", (4, 8)),  # counted in UTF-16
        ("🙂\ud83d a word", 6, 10, "word", (5, 9)),  # in UTF-16 behind half a character
        ("\ud83d here", 0, 1, "\ud83d", (0, 1)),
        ("a\r\nb c", 3, 4, "b", (2, 3)),
        (" Over\n the hill", 11, 15, "hill", (10, 14)),
        ("Size: 9   mm", 6, 12, "9 mm", (6, 12)),
        ("cafe\u0301 bar", 6, 9, "bar", (6, 9)),
    ],
)
def test_a_mark_lies_on_the_same_words_of_the_stored_text(
    text: str, start: int, end: int, quoted: str, stored: tuple[int, int]
) -> None:
    value = {"start": start, "end": end, "text": quoted, "labels": ["X"]}
    other = {"id": 2, "data": {"text": "other"}, "annotations": []}
    mark = {"from_name": "part", "to_name": "t", "type": "labels", "value": value}
    one = {"id": 1, "data": {"text": text}}
    file = [{**one, "annotations": [{"completed_by": 1, "result": [mark]}]}, other]
    task = again(json.dumps(file))
    assert list(SpanValue.objects.filter(answer__item__task=task).values_list("start", "end")) == [
        stored
    ]
    value["end"] += 9
    with pytest.raises(Invalid):
        again(json.dumps(file))


def test_what_other_parts_lack_takes_no_vote_with_it() -> None:
    choice = {"from_name": "mood", "to_name": "t", "type": "choices"}
    path = {"from_name": "kind", "to_name": "t", "type": "taxonomy"}
    mark = {"from_name": "part", "to_name": "t", "type": "labels", "id": "r"}
    span = {"start": 0, "end": 2, "text": "ab", "labels": ["X"]}
    results = [
        {**choice, "id": "c", "value": {"choices": ["good"]}},
        {**path, "value": {"taxonomy": [["animal", "cat"]]}},
        {**mark, "value": span},
        {**choice, "id": "r", "from_name": "sure", "value": {"choices": ["yes"]}},
    ]
    raw = {
        "id": 1,
        "data": {"text": "ab"},
        "annotations": [{"id": 5, "completed_by": 1, "result": results}],
        "predictions": [286, {"result": results, "model_version": None}],
    }
    file = read_label_studio(json.dumps([raw]).encode(), "x.json")
    (given,) = file.tasks[0].given
    assert dict((name, value) for name, _, value in given.choices) == {
        "mood": ["good"],
        "kind": ["animal > cat"],
    }
    assert file.left == {
        label_studio.IDS: 1,
        label_studio.NO_VERSION: 1,
        label_studio.OF_REGIONS: 2,
    }
