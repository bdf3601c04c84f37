"""Score a table: how a file is read, what is left out and why, and what scoring makes of it."""

from __future__ import annotations

import csv
import io
import json
import time
from typing import Any

import pytest
import xlsxwriter
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.formats.exports.labels import label_table
from annotation.formats.exports.pairwise import candidate_table
from annotation.formats.uploads.actions import drop_uploads_naming
from annotation.models import (
    Answer,
    ChoiceValue,
    ImportFile,
    Item,
    Membership,
    Project,
    Role,
    StoredFile,
    Task,
    User,
)
from annotation.models.tasks import TaskState
from evaluation.items.joined import JoinedTable
from evaluation.models import Run, RunState
from evaluation.pairwise.selectors.names import is_generated_id
from evaluation.runs import engine
from evaluation.score_table.views import EXAMPLE
from tests.support import factories
from tests.support.pages import html_of
from tests.support.uploads import work

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def drop(client: Client, text: str | bytes, name: str = "votes.csv", where: str = "") -> str:
    """Upload a table and let the job read it; the address of its page."""
    content = SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)
    answer = client.post(where or reverse("score_table"), {"file": content})
    assert answer.status_code == 302, html_of(answer)
    work()
    return str(answer["Location"])


def score(client: Client, page: str) -> None:
    """Click the button and let the job write the task."""
    assert client.post(page, {"do": "score"}).status_code in (302, 422)
    work()


def run_quickly(run: Run) -> None:
    """Work on the run with few draws: how exact it is, is no matter of a page."""
    fewer = {"encoder": "char-svd", "resamples": 100, "restarts": 2, "draws": 100}
    run.params |= {name: fewer[name] for name in fewer if name in run.params}
    run.save(update_fields=["params"])
    assert engine.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error


def votes(extra: str = "") -> str:
    """Three workers, six items, two labels."""
    rows = [f"w{k},i{n},{'yes' if n % 2 else 'no'}" for k in range(3) for n in range(6)]
    return "worker,item,label\n" + "\n".join(rows) + "\n" + extra


def test_items_without_a_text_have_none_in_the_joined_table() -> None:
    client = client_of(factories.make_user())
    score(client, drop(client, votes()))
    rows = list(JoinedTable(Task.objects.get()).rows())
    assert {row["item_id"] for row in rows} == {f"i{n}" for n in range(6)}
    assert {row["text"] for row in rows} == {""}


def test_the_example_becomes_a_closed_task_with_its_known_answers_and_a_finished_run() -> None:
    user = factories.make_user()
    client = client_of(user)
    page = client.post(reverse("score_table"), {"example": "1"})["Location"]
    work()
    shown = html_of(client.get(page))
    assert "Ready to score" in shown and "Score 300 labels" in shown
    score(client, page)
    run = Run.objects.get()
    waiting = html_of(client.get(page))
    assert "Scoring" in waiting and reverse("run", args=[run.project_id, run.number]) in waiting
    task = Task.objects.get()
    assert (task.type, task.state, task.project.owner) == ("labels", TaskState.CLOSED, user)
    assert Item.objects.filter(task=task, expected__isnull=False).count() == 12
    assert Answer.objects.filter(item__task=task).count() == 300
    given = [line.split(",")[2] for line in EXAMPLE.read_text().splitlines()[1:]]
    stored = ChoiceValue.objects.filter(answer__item__task=task).values_list("code", flat=True)
    assert sorted(stored) == sorted(given)
    assert engine.execute(run.pk) == RunState.DONE  # by the recipe that makes it official
    led = client.get(page, headers={"HX-Request": "true"})["HX-Redirect"]  # the page asks again
    assert led == reverse("task_results", args=[run.project_id, task.pk])
    assert "of 8 workers" in html_of(client.get(page, follow=True))
    overview = html_of(client.get(reverse("project", args=[run.project_id])))
    assert "no run yet" not in overview
    assert "240 of 240" in overview  # 60 labels more are of items with known answers
    worker = EXAMPLE.read_text().splitlines()[1].split(",")[0]
    for name in ("label_results", "people"):
        where = [run.project_id, task.pk] if name == "label_results" else [run.project_id]
        assert f">{worker}</small>" in html_of(client.get(reverse(name, args=where)))


def test_each_row_left_out_is_named_with_its_line_and_the_others_are_scored() -> None:
    client = client_of(factories.make_user())
    page = drop(client, votes("w0,i7,\n,i8,yes\nw1,i1,no\nw2,i2,no\n"))
    shown = html_of(client.get(page))
    assert "22 rows read as labels: 18 labels can be used. 4 rows are left out" in shown
    assert "No label" in shown and "No worker" in shown
    assert "w1 has this item again on line 22." in shown and "The last one counts." in shown
    assert "Given twice, first on line" in shown
    listed = b"".join(client.get(page + "left-out.csv")).decode().splitlines()  # type: ignore[arg-type]
    assert [line.split(",")[0] for line in listed[1:]] == ["9", "20", "21", "23"]
    score(client, page)
    assert Answer.objects.count() == 18
    file = ImportFile.objects.get()
    assert file.report["came"] == 22 and sum(file.report["left_out"].values()) == 4
    changed = ChoiceValue.objects.get(answer__worker__external_id="w1", answer__item__key="i1")
    assert changed.code == "no"


def test_the_sheet_and_the_row_that_a_workbook_was_read_from_are_named() -> None:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet("Notes")
        sheet = book.add_worksheet("May")
        sheet.write(0, 0, "Our study")
        for at, line in enumerate(votes("w0,i7,\n").splitlines(), 2):
            sheet.write_row(at, 0, line.split(","))
    client = client_of(factories.make_user())
    page = drop(client, file.getvalue(), "votes.xlsx")
    shown = html_of(client.get(page))
    assert "sheet “May” of 2 is read; row 3 names the columns" in shown
    assert "19 rows read as labels: 18 labels can be used. 1 row is left out" in shown
    listed = b"".join(client.get(page + "left-out.csv")).decode().splitlines()  # type: ignore[arg-type]
    assert [line.split(",")[0] for line in listed[1:]] == ["22"]  # as the workbook counts


def test_the_encoding_and_the_first_line_can_be_said_and_the_bytes_go_once_it_is_scored() -> None:
    client = client_of(factories.make_user())
    rows = [f"w{k},i{n},{'да' if n % 2 else 'нет'}" for k in range(3) for n in range(6)]
    page = drop(client, ("worker,item,label\n" + "\n".join(rows)).encode("cp1251"))
    file = ImportFile.objects.get()
    offered = {codec: sample for codec, _, sample in file.sheet["encodings"]}
    assert (offered["cp1251"], "utf-8" in offered) == ("w0,i0,нет", False)
    assert 'value="cp1251"' in html_of(client.get(page))
    client.post(page, {"do": "reading", "encoding": "cp1251", "header": "no"})
    work()
    file.refresh_from_db()
    assert file.sheet["columns"] == ["column 1", "column 2", "column 3"]
    client.post(page, {"do": "reading", "encoding": "cp1251", "header": ""})
    work()
    refused = client.post(page, {"do": "reading", "encoding": "utf-8", "header": ""})
    assert refused.status_code == 422 and "18 labels can be used" in html_of(refused)
    assert StoredFile.objects.count() == 1
    score(client, page)
    assert set(ChoiceValue.objects.values_list("code", flat=True)) == {"да", "нет"}
    assert not StoredFile.objects.exists()


def test_a_file_that_cannot_be_read_as_said_is_read_as_before_and_it_is_said() -> None:
    client = client_of(factories.make_user())
    page = drop(client, votes().replace("worker,item,label\n", "w9,i0,yes\n").replace("i0", "w0"))
    client.post(page, {"do": "reading", "encoding": "", "header": "yes"})
    work()
    file = ImportFile.objects.get()
    assert (file.state, file.sheet["rows"], file.sheet["reading"]["header"]) == ("ready", 18, True)
    twice = drop(client, votes().replace("worker,item,label\n", "w0,w0,yes\n"))
    client.post(twice, {"do": "reading", "encoding": "", "header": "yes"})
    work()
    file = ImportFile.objects.latest("pk")
    assert (file.state, file.sheet["rows"], file.sheet["reading"]) == ("ready", 19, {})
    assert "names w0 twice" in html_of(client.get(twice))


def test_columns_without_usual_names_can_be_chosen() -> None:
    client = client_of(factories.make_user())
    text = "a,b,c,d\n" + "".join(f"{k},{n},{n % 2},{k + n}\n" for k in range(3) for n in range(6))
    page = drop(client, text)
    shown = html_of(client.get(page))
    assert "Columns missing" in shown and "3 columns missing" in shown
    client.post(page, {"column:a": "worker", "column:b": "item", "column:c": "label"})
    work()
    assert "Score 18 labels" in html_of(client.get(page))


def test_kinds_say_what_the_file_has_by_the_columns_that_were_chosen() -> None:
    client = client_of(factories.make_user())
    text = "a,b,c,d\n" + "".join(f"{k},{n},{n % 2},{k + n}\n" for k in range(3) for n in range(6))
    page = drop(client, text)
    here = {row["here"] for row in client.get(page).context["kinds"]}
    assert "no worker, label, item or item text" in here
    client.post(page, {"column:a": "worker", "column:b": "item", "column:c": "label"})
    work()
    told = {row["slug"]: row["here"] for row in client.get(page).context["kinds"]}
    assert told["label_table"] == told["rating_table"] == "all columns"
    assert told["comparison_table"] == "no left, right"


def test_a_matrix_whose_columns_are_all_read_as_something_else_can_be_corrected() -> None:
    client = client_of(factories.make_user())
    page = drop(client, "a,b\n" + "".join(f"{n},{n % 2}\n" for n in range(30)))
    client.post(page, {"do": "kind", "kind": "label_matrix"})
    work()
    client.post(page, {"column:a": "item", "column:b": "gold"})
    work()
    shown = client.get(page).context
    assert not shown.get("active") and not shown["can_score"]
    assert [one["field"] for one in shown["columns"]] == ["item", "gold"]


def test_a_column_chosen_while_rows_are_checked_counts() -> None:
    client = client_of(factories.make_user())
    text = "a,b,c,d\n" + "".join(f"{k},{n},{n % 2},{k + n}\n" for k in range(3) for n in range(6))
    page = drop(client, text)
    client.post(page, {"column:a": "worker"})
    shown = client.get(page).context
    assert shown["active"] and {row["name"]: row["field"] for row in shown["columns"]} == {
        "a": "worker",
        "b": "",
        "c": "",
        "d": "",
    }
    client.post(page, {"column:a": "worker", "column:b": "item", "column:c": "label"})
    work()
    assert client.get(page).context["votes"] == 18


def test_the_button_names_the_comparisons_that_count() -> None:
    client = client_of(factories.make_user())
    rows = [f"j{judge},i{item},owl,wren,left" for item in range(6) for judge in range(5)]
    again = [f"j{judge},i0,owl,wren,right" for judge in range(4)]
    page = drop(client, "\n".join(["judge,item,left,right,winner", *rows, *again]))
    assert client.get(page).context["votes"] == 30


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("worker,item,label\nw1,i1,\nw2,i1,\n", "See what is wrong with them below"),
        ("worker,item,label\n", "It names columns and has no rows"),
        ("worker,item,label\nw1,i1,yes\nw2,i1,yes\n", "Only one label"),
        ("worker,item,label\n" + "".join(f"w,i{n},l{n}\n" for n in range(201)), "201 different"),
    ],
)
def test_a_table_that_cannot_be_scored_says_why_and_has_no_button(text: str, words: str) -> None:
    client = client_of(factories.make_user())
    page = drop(client, text)
    shown = html_of(client.get(page))
    assert words in shown and 'value="score"' not in shown
    client.post(page, {"do": "score"})
    work()
    assert not Project.objects.exists() and not Task.objects.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", json.dumps({"messages": [{"role": "user", "content": "Hi"}]})),
        ("a.json", json.dumps([[{"from": "human", "value": "Hi"}]])),
        ("steps.jsonl", json.dumps({
            "labeler": "ann", "question": {"problem": "Why? " * 30},
            "label": {"steps": [{"completions": [{"text": "So", "rating": 1}]}]},
        })),
    ],
)  # fmt: skip
def test_a_file_of_conversations_leads_to_where_they_are_imported(name: str, text: str) -> None:
    project = factories.make_project()
    client = client_of(project.owner)
    where = reverse("score_table_in", args=[project.pk])
    page = drop(client, text, name, where)
    assert ImportFile.objects.get().error["is_chats"]
    answer = client.get(page)
    assert answer.context["state"][0] == "bad"
    assert reverse("task_new", args=[project.pk]) in html_of(answer)


def test_labels_that_no_code_can_hold_are_kept_as_they_are_written() -> None:
    client = client_of(factories.make_user())
    long = "a label that is much longer than forty characters"
    page = drop(client, votes().replace("yes", long).replace("no", "unsure"))
    score(client, page)
    (field,) = Task.objects.get().current.settings["fields"]  # type: ignore[union-attr]
    assert {one["label"] for one in field["options"]} == {long, "unsure"}
    run_quickly(Run.objects.get())


def test_a_typo_is_mended_with_a_click_and_a_bad_time_is_left_empty() -> None:
    client = client_of(factories.make_user())
    rows = [
        f"w{k},i{n},{'Right' if n % 2 else 'Wrong'},2026-01-01,b{n % 3}"
        for k in range(3)
        for n in range(30)
    ]
    rows += ["w9,i1,Rihgt,2026-01-01,b1", "w9,i2,Wrong,14/31/2026,b2"]
    page = drop(client, "worker,item,label,time,batch\n" + "\n".join(rows) + "\n")
    shown = html_of(client.get(page))
    assert "92 rows read as labels: 91 labels can be used. 1 row is left out" in shown
    assert "Close to “Right”, which is given 45 times" in shown
    assert "Use “Right”" in shown and "time: 1 cell is no clear time (“14/31/2026” on" in shown
    other = {"do": "fix", "column": "label", "value": "Right", "use": "Wrong"}
    assert client.post(page, other).status_code == 409
    client.post(page, {"do": "fix", "column": "label", "value": "Rihgt", "use": "Right"})
    work()
    assert "Score 92 labels" in html_of(client.get(page))
    score(client, page)
    assert Answer.objects.count() == 92
    assert set(ChoiceValue.objects.values_list("code", flat=True)) == {"Right", "Wrong"}
    assert Item.objects.get(key="i1").settings["meta"] == {"batch": "b1"}


@pytest.mark.parametrize("kind", ["labels", "comparisons", "answers", "ratings"])
def test_columns_that_vary_within_an_item_are_kept_with_each_answer(kind: str) -> None:
    client = client_of(factories.make_user())
    text = {"labels": votes, "comparisons": comparisons, "answers": answers, "ratings": ratings}
    head, *rows = text[kind]().splitlines()
    rows = [f"{row},{n}.5,b1" for n, row in enumerate(rows)]
    score(client, drop(client, "\n".join([f"{head},seconds,batch", *rows])))
    kept = Answer.objects.values_list("meta__seconds", flat=True)
    assert sorted(kept) == sorted(f"{n}.5" for n in range(len(rows)))
    if kind == "labels":  # what is the same in all rows of an item is the item's
        assert Item.objects.first().settings["meta"] == {"batch": "b1"}  # type: ignore[union-attr]
        task = Task.objects.get()
        exported = [row[-1] for row in label_table(task, "csv").rows]
        assert '{"seconds": "3.5"}' in exported


def test_a_table_can_be_read_as_another_kind() -> None:
    client = client_of(factories.make_user())
    page = drop(client, ratings())
    client.post(page, {"do": "kind", "kind": "label_table"})
    work()
    client.post(page, {"column:worker": "worker", "column:item": "item", "column:score": "label"})
    work()
    assert "Score 48 labels" in html_of(client.get(page))
    assert client.post(page, {"do": "kind", "kind": "items"}).status_code == 422


def test_what_cannot_be_written_is_said_on_the_page_and_can_be_changed() -> None:
    project = factories.make_project()
    client = client_of(project.owner)
    where = reverse("score_table_in", args=[project.pk])
    page = drop(client, votes(), where=where)
    client.post(page, {"do": "score"})
    ImportFile.objects.update(mapping={"worker": "worker"})
    work()
    work()
    shown = html_of(client.get(page))
    assert "No column is read as label" in shown and "Read: worker: worker." in shown
    assert not Task.objects.exists()


def test_a_table_dropped_in_a_project_becomes_its_task() -> None:
    project = factories.make_project()
    client = client_of(project.owner)
    where = reverse("score_table_in", args=[project.pk])
    score(client, drop(client, votes(), where=where))
    assert Task.objects.get().project == project
    assert Project.objects.count() == 1


def test_a_table_is_seen_by_nobody_else_and_goes_when_a_person_in_it_is_erased() -> None:
    project = factories.make_project()
    where = reverse("score_table_in", args=[project.pk])
    client = client_of(project.owner)
    page = drop(client, votes(), where=where)
    assert client_of(factories.make_user()).get(page).status_code == 404
    assert drop_uploads_naming(project=project, names={"w1"}) == 1
    assert "Cannot be read" in html_of(client.get(page))


@pytest.mark.parametrize("read", [True, False])
def test_a_table_goes_whose_column_is_a_person_however_it_is_read_so_far(read: bool) -> None:
    """Whoever dropped a matrix may still choose to have it read as one."""
    project = factories.make_project()
    where = reverse("score_table_in", args=[project.pk])
    content = SimpleUploadedFile("matrix.csv", b"item,w1,w2,label\ni1,yes,yes,a\ni2,no,yes,b\n")
    client = client_of(project.owner)
    page = client.post(where, {"file": content})["Location"]
    if read:
        work()
        client.post(page, {"do": "kind", "kind": "label_table"})
    assert drop_uploads_naming(project=project, names={"w1"}) == 1


def test_a_matrix_has_no_more_labels_than_a_file_has_rows(settings: Any) -> None:
    settings.CROWDQC_IMPORT_MAX_ROWS = 8
    client = client_of(factories.make_user())
    page = drop(client, "item,w1,w2,w3\ni1,yes,yes,no\ni2,no,yes,no\ni3,no,yes,yes\n")
    assert "The matrix has more than 8 labels" in html_of(client.get(page))
    page = drop(client, "item,w1,w2,w3\ni1,yes,yes,no\ni2,no,yes,no\ni3,no,,\n")
    assert "Ready to score" in html_of(client.get(page))


def test_a_label_column_of_texts_is_refused_before_all_of_them_are_compared() -> None:
    user = factories.make_user()
    client = client_of(user)
    rows = "".join(f"w{n % 7},i{n},text {n}\n" for n in range(10_000))
    begun = time.process_time()
    page = drop(client, "worker,item,label\n" + rows)
    shown = html_of(client.get(page))
    assert "has 10,000 different values; 200 is the most" in shown
    assert time.process_time() - begun < 10  # its time grew with the square of the rows


def test_a_table_of_a_usual_size_is_taken_not_only_a_small_one() -> None:
    rows = "".join(
        f"worker-{n % 50},item-{n // 5},{'yes' if n % 3 else 'no'}\n" for n in range(5000)
    )
    page = drop(client_of(factories.make_user()), "worker,item,label\n" + rows)
    assert ImportFile.objects.get().size > 2**16
    assert page


@pytest.mark.parametrize("kind", ["labels", "matrix", "comparisons", "answers", "ratings"])
def test_each_kind_of_table_has_an_example_that_is_read_whole_and_can_be_scored(kind: str) -> None:
    client = client_of(factories.make_user())
    where = reverse("score_table_example", args=[kind])
    assert where in html_of(client.get(reverse("score_table")))
    content = client.get(where).content
    shown = html_of(client.get(drop(client, content.decode(), f"{kind}.csv")))
    assert "Rows with a problem" not in shown and 'value="score"' in shown
    assert ImportFile.objects.get().kind.startswith("label" if kind == "matrix" else kind[:5])
    assert client.get(reverse("score_table_example", args=["views"])).status_code == 404


def test_an_earlier_table_can_be_saved_to_one_of_ones_projects_or_to_a_new_one() -> None:
    project, other = factories.make_project(), factories.make_project()
    client = client_of(project.owner)
    page = drop(client, votes())
    assert f"{page}#save" in html_of(client.get(reverse("score_table")))
    shown = html_of(client.get(page))
    assert "New project" in shown and f'value="{project.pk}"' in shown
    assert f'value="{other.pk}"' not in shown
    assert "about 3 s" in shown
    assert client.post(page, {"do": "score", "project": other.pk}).status_code == 404
    client.post(page, {"do": "score", "project": project.pk})
    client.post(page, {"do": "score", "project": project.pk})
    work()
    assert Task.objects.get().project == project


def test_a_second_click_scores_once() -> None:
    client = client_of(factories.make_user())
    page = drop(client, votes())
    client.post(page, {"do": "score"})
    client.post(page, {"do": "score"})
    work()
    assert Run.objects.count() == 1 and Answer.objects.count() == 18


def comparisons() -> str:
    """Six judges on all pairs of four systems: alder beats all others, dogwood loses to all."""
    names = ("alder", "birch", "cedar", "dogwood")
    rows = []
    for judge in range(6):
        for a in range(4):
            for b in range(a + 1, 4):
                left, right = (names[b], names[a]) if judge % 2 else (names[a], names[b])
                winner = "tie" if (judge + a + b) % 5 == 0 else names[a]
                rows.append(f"j{judge},{left},{right},{winner}")
    return "judge,left,right,winner\n" + "\n".join(rows) + "\n"


def answers() -> str:
    """Five workers on eight questions: four say the same in other words, one something else."""
    ways = ("The tide rises because the {} moves", "Because the {} moves, the tide rises")
    rows = []
    for item in range(8):
        for worker in range(5):
            said = ways[worker % 2].format(f"moon number {item}")
            said = said if worker < 4 else "I like to eat bread with butter"
            rows.append(f'w{worker},"Why does tide {item} rise?","{said}"')
    return "worker,question,answer\n" + "\n".join(rows) + "\n"


def ratings() -> str:
    """Four workers rate twelve texts alike, but for a point now and then."""
    rows = [
        f"w{worker},t{item},{min(5, 1 + item % 5 + (worker + item) % 7 // 6)}"
        for item in range(12)
        for worker in range(4)
    ]
    return "worker,item,score\n" + "\n".join(rows) + "\n"


def matrix(turned: bool = False) -> str:
    rows = [["item", "w0", "w1", "w2"]]
    rows += [[f"i{n}", *("yes" if (n + k) % 4 else "no" for k in range(3))] for n in range(12)]
    if turned:
        rows = [list(column) for column in zip(*rows, strict=True)]
        rows[0][0] = "worker"
    return "\n".join(",".join(row) for row in rows) + "\n"


def label_studio(kind: str = "choices") -> str:
    """Ten tasks, each annotated by three people; the prediction of a model; one was skipped."""
    tasks = []
    for n in range(10):
        said = (
            {"choices": ["yes" if n % 2 else "no"]} if kind == "choices" else {"rating": 1 + n % 4}
        )
        result = [{"from_name": "asked", "to_name": "text", "type": kind, "value": said}]
        tasks.append(
            {
                "id": n,
                "data": {"text": f"Text number {n}"},
                "annotations": [
                    {"id": 10 * n + k, "completed_by": {"id": k}, "result": result}
                    for k in range(3)
                ],
                "predictions": [{"model_version": "owl", "result": result}],
            }
        )
    tasks[0]["annotations"].append({"completed_by": 9, "was_cancelled": True, "result": []})  # type: ignore[attr-defined]
    return json.dumps(tasks)


@pytest.mark.parametrize(("kind", "type"), [("choices", "labels"), ("rating", "rating")])
def test_an_export_of_label_studio_is_recognised_and_scored_with_all_its_annotators(
    kind: str, type: str
) -> None:
    client = client_of(factories.make_user())
    page = drop(client, label_studio(kind), "export.json")
    shown = html_of(client.get(page))
    assert "Score 10 tasks" in shown and "3 annotators" in shown
    score(client, page)
    task = Task.objects.get()
    assert (task.type, task.state) == (type, TaskState.CLOSED)
    people = Answer.objects.filter(item__task=task, worker__isnull=False)
    assert people.count() == 30
    assert set(people.values_list("worker__external_id", flat=True)) == {"0", "1", "2"}
    assert Answer.objects.filter(system__name="owl").count() == 10
    run_quickly(Run.objects.get())


def test_an_annotation_that_cannot_be_read_is_named_and_the_others_are_scored() -> None:
    tasks = json.loads(label_studio())
    tasks[3]["annotations"][1]["result"][0]["type"] = "rectanglelabels"
    tasks[4]["annotations"] = tasks[4]["predictions"] = []
    client = client_of(factories.make_user())
    page = drop(client, json.dumps(tasks, indent=1), "export.json")
    shown = html_of(client.get(page))
    assert "10 rows read as Label Studio: 9 tasks can be used. 1 row is left out" in shown
    assert "rectanglelabels" in shown and "Nobody annotated this task" in shown


def test_an_export_of_label_studio_goes_when_one_of_its_annotators_is_erased() -> None:
    project = factories.make_project()
    client = client_of(project.owner)
    where = reverse("score_table_in", args=[project.pk])
    drop(client, label_studio(), "export.json", where)
    assert drop_uploads_naming(project=project, names={"77"}) == 0
    assert drop_uploads_naming(project=project, names={"2"}) == 1


@pytest.mark.parametrize(
    ("text", "button", "type", "n", "shown"),
    [
        (comparisons(), "Score 36 comparisons", "pairwise", 36, "alder"),
        (answers(), "Score 40 answers", "free_text", 40, "5 workers"),
        (ratings(), "Score 48 ratings", "rating", 48, "Krippendorff"),
        (matrix(), "Score 36 labels", "labels", 36, "3 workers"),
        (matrix(turned=True), "Score 36 labels", "labels", 36, "3 workers"),
    ],
    ids=["comparisons", "answers", "ratings", "matrix", "matrix of coders"],
)
def test_each_kind_of_table_is_recognised_and_leads_to_results(
    text: str, button: str, type: str, n: int, shown: str
) -> None:
    client = client_of(factories.make_user())
    page = drop(client, text)
    seen = html_of(client.get(page))
    assert button in seen, seen[:3000]
    score(client, page)
    task = Task.objects.get()
    assert (task.type, task.state) == (type, TaskState.CLOSED)
    assert Answer.objects.filter(item__task=task, counts=True).count() == n
    run_quickly(Run.objects.get())
    results = client.get(page, follow=True)
    assert results.status_code == 200
    assert shown in html_of(results)


@pytest.mark.parametrize("kind", ["ratings", "comparisons"])
def test_the_texts_of_a_scored_table_leave_with_the_ids_of_its_file(kind: str) -> None:
    client = client_of(factories.make_user())
    text = {"ratings": ratings, "comparisons": comparisons}[kind]()
    score(client, drop(client, text))
    rows = list(candidate_table(Task.objects.get(), "csv").rows)
    assert rows and not [row["key"] for row in rows if is_generated_id(row["key"])]


def _csv(client: Client, address: str) -> list[dict[str, str]]:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def test_downloads_of_a_scored_table_hold_its_ids_for_requesters_alone() -> None:
    client = client_of(factories.make_user())
    score(client, drop(client, votes()))
    task, run = Task.objects.get(), Run.objects.get()
    run_quickly(run)
    ids = [task.project_id, task.pk]
    known = dict(Membership.objects.filter(user=None).values_list("pseudonym", "external_id"))
    assert sorted(known.values()) == ["w0", "w1", "w2"]
    workers = f"{reverse('label_export', args=ids)}?table=workers"
    rows = _csv(client, workers)
    assert {row["pseudonym"]: row["worker"] for row in rows} == known
    joined = _csv(client, reverse("task_table", args=[*ids, "csv"]))
    assert {name for row in joined for name in json.loads(row["votes"])} == {"w0", "w1", "w2"}
    about = _csv(client, f"{reverse('label_export', args=ids)}?table=columns")
    assert "pseudonym" in {row["column"] for row in about if row["table"] == "workers"}

    viewer = factories.make_member(task.project, Role.VIEWER)
    seen = _csv(client_of(viewer.user), workers)
    assert {row["worker"] for row in seen} == set(known) and "pseudonym" not in seen[0]


def test_best_workers_of_a_scored_table_have_its_ids() -> None:
    client = client_of(factories.make_user())
    score(client, drop(client, answers()))
    task, run = Task.objects.get(), Run.objects.get()
    run_quickly(run)
    rows = _csv(
        client, f"{reverse('run_export', args=[task.project_id, run.number])}?table=workers"
    )
    known = dict(Membership.objects.filter(user=None).values_list("pseudonym", "external_id"))
    assert known and {row["pseudonym"]: row["worker"] for row in rows} == known
    joined = _csv(client, reverse("task_table", args=[task.project_id, task.pk, "csv"]))
    assert {row["pseudonym"]: row["worker"] for row in joined} == known


def test_the_page_of_a_table_speaks_the_readers_language() -> None:
    user = factories.make_user()
    user.language = "de"
    user.save(update_fields=["language"])
    client = client_of(user)
    page = drop(client, votes("w9,,yes\n"))
    shown = html_of(client.get(page))
    assert '<html lang="de"' in shown and "Tabelle auswerten" in shown
    for english in ("Left out", "No item", "comma", "Score a table", "Keep as metadata"):
        assert english not in shown
    odd = html_of(client.get(drop(client, "a,b\nx,y\nz,w\n")))
    assert "No column" not in odd and "no worker" not in odd
