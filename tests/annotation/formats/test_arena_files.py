"""Arena files as they are written today come in: their columns, their verdicts, their texts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.formats.imports.tools.arena import Battle, read_battles
from annotation.models import Answer, Candidate, ImportFile, Item, Task
from crowdqc.errors import Invalid
from tests.annotation.formats.imports.test_pages import signed_in
from tests.annotation.formats.test_judgment_formats import run
from tests.support import factories as make
from tests.support.studies.judging import make_pairs
from tests.support.uploads import work

NOW = {
    "id": "b-1",
    "model_a": "Owl",
    "model_b": "Wren",
    "winner": "both_bad",
    "evaluation_session_id": "s-7",
    "language": "en",
    "is_code": False,
    "timestamp": "2025-07-01T12:00:00Z",
    "conversation_a": [
        {"role": "user", "content": [{"type": "text", "text": "Sing?"}, {"type": "image"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hoot."}]},
    ],
    "conversation_b": [
        {"role": "user", "content": [{"type": "text", "text": "Sing?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Trill."}]},
    ],
}


def read(*rows: dict[str, Any], judge: str = "") -> list[Battle]:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return read_battles(content, "battles.jsonl", judge=judge)


def test_a_battle_of_today_is_read_with_its_judge_time_texts_and_verdict() -> None:
    [one] = read(NOW)
    assert (one.topic, one.query, one.judge) == ("b-1", "Sing?", "s-7")
    assert (one.left, one.right) == (("Owl", "Hoot."), ("Wren", "Trill."))
    assert (one.winner, one.both_bad) == ("neutral", True)
    assert one.at is not None and one.at.isoformat() == "2025-07-01T12:00:00+00:00"


@pytest.mark.parametrize(
    ("said", "winner"),
    [
        ("model_a", "left"),
        ("Model B", "right"),
        ("tie", "neutral"),
        ("both_bad", "neutral"),
        ("tie (bothbad)", "neutral"),
        ("Both bad", "neutral"),
    ],
)
def test_verdicts_are_read_as_today_and_as_before(said: str, winner: str) -> None:
    [one] = read({**NOW, "winner": said})
    assert one.winner == winner and one.both_bad == ("bad" in said.casefold())


def test_a_table_with_a_column_for_each_outcome_and_responses_beside_a_prompt_is_read() -> None:
    out = io.StringIO()
    names = (
        "id",
        "model_a",
        "model_b",
        "prompt",
        "response_a",
        "response_b",
        "winner_model_a",
        "winner_model_b",
        "winner_tie",
    )
    table = csv.writer(out)
    table.writerow(names)
    table.writerow(("1", "Owl", "Wren", "Sing?", "Hoot.", "Trill, twice.", "0", "1", "0"))
    table.writerow(("2", "Owl", "Wren", "Sing?", "Hoot.", "Trill.", "0", "0", "1"))
    one, two = read_battles(out.getvalue().encode(), "train.csv", judge="crowd")
    assert (one.query, one.left) == ("Sing?", ("Owl", "Hoot."))
    assert one.right == ("Wren", "Trill, twice.")
    assert (one.winner, two.winner) == ("right", "neutral")
    with pytest.raises(Invalid) as refused:
        read({"model_a": "x", "model_b": "y", "winner_model_a": 1, "winner_tie": 1, "judge": "u"})
    assert refused.value.rows[0]["wrong"] == "More than one outcome came out."  # type: ignore[index]


def test_battles_without_a_question_are_of_one_topic_where_they_have_one_prompt() -> None:
    bare = {name: value for name, value in NOW.items() if name != "id"}
    other = {**bare, "conversation_a": [{"role": "user", "content": "Dance?"}]}
    one, two, three = read(bare, {**bare, "winner": "tie"}, other)
    assert one.topic == two.topic != three.topic
    nothing = {"model_a": "x", "model_b": "y", "winner": "tie", "judge": "u"}
    topics = [one.topic for one in read(nothing, nothing, {**nothing, "judge": "v"})]
    assert len(set(topics)) == 3
    assert topics == [one.topic for one in read(nothing, nothing, {**nothing, "judge": "v"})]


@pytest.mark.django_db
def test_how_both_bad_counts_is_an_option_a_tie_by_default(tmp_path: Path) -> None:
    path = tmp_path / "battles.jsonl"
    path.write_text(
        "".join(
            json.dumps({**NOW, "id": f"b-{k}", "winner": said}) + "\n"
            for k, said in enumerate(("model_a", "both_bad", "tie"))
        )
    )
    for options, new, words in (
        ((), 3, "3 new, 0 there already."),
        (("--both-bad", "leave-out"), 2, "2 new, 0 there already, 1 left out (both bad)."),
    ):
        project = make.make_project()
        where = ("--project", project.pk, "--by", project.owner.username)
        assert words in run("arena", path, *where, *options)[0]
        task = Task.objects.get(project=project)
        assert Answer.objects.filter(item__task=task).count() == new
    assert Candidate.objects.filter(text="Hoot.").exists()


@pytest.mark.django_db
def test_battles_come_in_by_the_browser_each_once_and_all_are_accounted_for() -> None:
    """A review found: 137 of 320 battles went in, 118 were said to be there already."""
    task = make_pairs(make.make_project(), n=1)
    client = signed_in(task.project.owner)
    rows = [
        {"model_a": a, "model_b": b, "winner": ("model_a", "both_bad")[n % 2]}
        for n, (a, b) in enumerate([("Owl", "Wren"), ("Wren", "Swift")] * 160)
    ]
    bad = {"model_a": "Owl", "model_b": "Wren", "winner": "nobody"}
    lines = [json.dumps(row) + "\n" for row in (*rows, bad)]
    page = brought(client, task, lines)
    assert "The file names no judges" in page and "160 where both were bad" in page
    report = ImportFile.objects.get().report
    assert (report["came"], report["used"]) == (321, 320)
    assert report["left_out"] == {"This is not an outcome.": 1}
    assert Answer.objects.filter(item__task=task).count() == 320
    page = brought(client, task, lines[:2] + lines[4:-1])
    assert "All 318 rows are there already; importing adds nothing." in page
    assert Answer.objects.filter(item__task=task).count() == 320


@pytest.mark.django_db
def test_a_battles_own_columns_stay_with_its_item_where_all_its_rows_agree() -> None:
    task = make_pairs(make.make_project(), n=1)
    row = {"model_a": "Owl", "model_b": "Wren", "prompt": "Sing?", "winner": "model_a"}
    rows = [{**row, "judge": f"j{n}", "prompt_id": "p-7", "mood": str(n)} for n in range(2)]
    brought(signed_in(task.project.owner), task, [json.dumps(one) + "\n" for one in rows])
    [item] = set(Answer.objects.filter(item__task=task).values_list("item", flat=True))
    assert Item.objects.get(pk=item).settings["meta"] == {"prompt_id": "p-7"}


def brought(client: Client, task: Task, lines: list[str]) -> str:
    """The page of a file of battles before it is imported, which is done then."""
    path = reverse("task_import", args=[task.project_id, task.pk, "arena"])
    answer = client.post(path, {"file": SimpleUploadedFile("b.jsonl", "".join(lines).encode())})
    work()
    page = client.get(answer["Location"]).content.decode()
    client.post(answer["Location"], {"do": "import", "leave_out": "1"})
    work()
    return page


@pytest.mark.django_db
def test_battles_by_the_ids_of_a_tasks_pairs_are_votes_on_these_pairs() -> None:
    """They bring no texts, so that the pair's own are meant; other pairs are counted before."""
    task = make_pairs(make.make_project(), n=3)
    items = list(task.items.select_related("first__system", "second__system").order_by("pk"))
    texts = Candidate.objects.count()
    rows = [
        {
            "question_id": item.key,
            "model_a": str(item.second.system),
            "model_b": str(item.first.system),
            "winner": winner,
            "judge": f"j{number}",
        }
        for number, winner in enumerate(("model_a", "tie"))
        for item in items
    ]
    lines = [json.dumps(row) + "\n" for row in rows]
    client = signed_in(task.project.owner)
    page = brought(client, task, lines)
    task.refresh_from_db()
    assert "in a new version" not in page
    assert (task.current.number, task.items.count(), Candidate.objects.count()) == (1, 3, texts)
    answers = Answer.objects.filter(item__in=items)
    assert answers.count() == 6 and set(answers.values_list("flipped", flat=True)) == {True}
    codes = answers.values_list("choices__code", flat=True)
    assert sorted(codes) == ["neutral"] * 3 + ["second"] * 3
    assert "All 6 rows are there already" in brought(client, task, lines)
    other = {**rows[0], "question_id": "other"}
    page = brought(client, task, [*lines, json.dumps(other) + "\n"])
    assert "1 pair added, in a new version" in page
    task.refresh_from_db()
    assert (task.current.number, task.items.count()) == (2, 4)
