"""Values of a table are shown as its file writes them, by the page, the API and the command."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.formats.actions.imports import import_content
from annotation.formats.exports.pairwise import PAIR_EXPORTS
from annotation.models import Item, Task
from evaluation.management.commands.crowdqc_score import open_file
from evaluation.models import CandidateScore, Run
from tests.evaluation.score_table.test_pages import client_of, drop, run_quickly, score
from tests.support import factories
from tests.support.pages import html_of
from tests.support.uploads import work

pytestmark = pytest.mark.django_db
Made = Callable[[bytes, str], Task]


def table(head: str, rows: list[str]) -> bytes:
    return "\n".join([head, *rows]).encode()


def labels(*forms: str, items: tuple[str, str] = ("i0", "i0")) -> bytes:
    """Three workers on ten items; only the first row has the last form and the last item."""
    rows = [
        f"w{k},{items[0][:-1]}{n},{forms[n % (len(forms) - 1)]}"
        for n in range(10)
        for k in range(3)
    ]
    rows[0] = f"w0,{items[1]},{forms[-1]}"
    return table("worker,item,label", rows)


def ratings(*forms: str) -> bytes:
    rows = [f"w{k};t{n};{forms[(n + k) % len(forms)]}" for n in range(10) for k in range(3)]
    return table("worker;item;score", rows)


def json_ratings(*forms: str) -> bytes:
    return "\n".join(
        f'{{"worker": "w{k}", "item": "t{n}", "score": {forms[(n + k) % len(forms)]}}}'
        for n in range(10)
        for k in range(3)
    ).encode()


LABELS = {
    "mostly with a point": (labels("1.0", "2.0", "1"), ["1.0", "2.0"]),
    "mostly without one": (labels("1", "2", "1.0"), ["1", "2"]),
    "mostly in capitals": (labels("TRUE", "FALSE", "true"), ["FALSE", "TRUE"]),
    "as a program writes them": (labels("true", "false", "TRUE"), ["false", "true"]),
    "ids, too": (labels("a", "b", "a", items=("1.00", "1")), ["a", "b"]),
    "with exponents": (labels("1e3", "2e3", "1e3"), ["1e3", "2e3"]),
}
RATINGS = {
    "two decimals": (ratings("3.50", "0.10", "2.00"), "a.csv", ["0.10", "2.00", "3.50"]),
    "a decimal comma": (ratings("3,5", "1,5", "2"), "a.csv", ["1,5", "2", "3,5"]),
    "in both ways": (ratings("3.5", "3.5", "3.50", "1"), "a.csv", ["1", "3.5"]),
    "exponents": (ratings("1e1", "5e-1", "2"), "a.csv", ["5e-1", "2", "1e1"]),
    "numbers in JSON": (json_ratings("3.50", "0.10", "2.0"), "a.jsonl", ["0.10", "2.0", "3.50"]),
    "a slider": (ratings("10", "45", "100"), "a.csv", ["10", "45", "100"]),
}


def by_page(content: bytes, name: str) -> Task:
    client = client_of(factories.make_user())
    page = drop(client, content, name)
    score(client, page)
    return Task.objects.get()


def by_api(content: bytes, name: str) -> Task:
    world = factories.make_world(n=1)
    client = Client()
    client.force_login(world.requester)
    before = set(Task.objects.values_list("pk", flat=True))
    body = {"name": name, "content": base64.b64encode(content).decode()}
    where = reverse("api_tables", args=[world.project.pk])
    sent = client.post(where, json.dumps(body), "application/json").json()
    work()
    told = reverse("api_table", args=[world.project.pk, sent["id"]])
    assert client.post(f"{told}score/").status_code == 202
    work()
    return Task.objects.exclude(pk__in=before).get()


def exported(task: Task, what: str) -> list[dict[str, str]]:
    export = PAIR_EXPORTS[what]
    text = b"".join(
        one if isinstance(one, bytes) else one.encode() for one in export.lines(task, "csv")
    ).decode()
    return list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))


def settings_of(task: Task) -> dict[str, Any]:
    assert task.current is not None
    return task.current.settings


@pytest.mark.parametrize("make", [by_page, by_api])
@pytest.mark.parametrize("case", LABELS)
def test_labels_and_ids_keep_the_form_that_the_file_writes_most_often(
    case: str, make: Made
) -> None:
    content, wanted = LABELS[case]
    task = make(content, "votes.csv")
    options = [one["label"] for one in settings_of(task)["fields"][0]["options"]]
    assert sorted(options) == wanted
    assert {row["label"] for row in exported(task, "labels")} == set(wanted)
    keys = set(Item.objects.filter(task=task).values_list("key", flat=True))
    assert len(keys) == 10 and ("1.00" in keys) == (case == "ids, too")


@pytest.mark.parametrize("case", LABELS)
def test_the_command_names_labels_as_the_file_does(case: str, tmp_path: Path) -> None:
    content, wanted = LABELS[case]
    path = tmp_path / "votes.csv"
    path.write_bytes(content)
    out = io.StringIO()
    call_command("crowdqc_score", path, stdout=out, stderr=io.StringIO())
    named = {line.split()[0] for line in out.getvalue().splitlines() if line.strip()}
    assert set(wanted) <= named


@pytest.mark.parametrize("make", [by_page, by_api])
@pytest.mark.parametrize("case", RATINGS)
def test_scores_are_points_exports_and_means_as_the_file_writes_them(
    case: str, make: Made, tmp_path: Path
) -> None:
    content, name, wanted = RATINGS[case]
    task = make(content, name)
    (scale,) = settings_of(task)["scales"]
    assert ([one["label"] for one in scale["points"]], scale["label"]) == (wanted, "score")
    for what, column in (
        ("judgments", "score"),
        ("ratings", "label"),
        ("crowdkit-labels", "label"),
    ):
        assert {row[column] for row in exported(task, what)} == set(wanted), what
    path = tmp_path / name
    path.write_bytes(content)
    checked = open_file(path)[1].checked
    assert [written for _, written in checked.about["scores"]] == wanted
    run = Run.objects.get()
    run_quickly(run)
    scores = [one["score"] / checked.about["factor"] for one in checked.good if one["item"] == "t0"]
    place = Item.objects.get(task=task, key="t0")
    (mean,) = CandidateScore.objects.filter(run=run, candidate=place.first_id)
    assert mean.estimate == pytest.approx(sum(scores) / 3)


def test_an_export_of_decimals_is_known_when_it_is_imported_again() -> None:
    task = by_page(*RATINGS["two decimals"][:2])
    rows = [
        f"{row['item_id']},{row['worker']},{row['score']}" for row in exported(task, "judgments")
    ]
    content = table("item_id,worker,score", rows)
    report = import_content(
        by=task.project.owner, task=task, kind="judgments", name="a.csv", content=content
    )
    assert (report.new, report.tally.left_out) == (0, {"there": 30})


def test_a_page_of_a_rated_text_shows_its_mean_in_the_units_of_the_file() -> None:
    task = by_page(*RATINGS["two decimals"][:2])
    run = Run.objects.get()
    run_quickly(run)
    client = client_of(task.project.owner)
    where = reverse("rating_results", args=[run.project_id, run.task_id])
    shown = html_of(client.get(f"{where}?run={run.number}"))
    assert "1.87" in shown and "187" not in shown and "× 100" not in shown
