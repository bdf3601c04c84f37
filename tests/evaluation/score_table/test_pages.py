"""Score a table: how a file is read, what is left out and why, and what scoring makes of it."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.formats.uploads.actions import drop_uploads_naming
from annotation.models import Answer, ChoiceValue, ImportFile, Item, Project, Task, User
from annotation.models.tasks import TaskState
from evaluation.models import Run, RunState
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


def drop(client: Client, text: str, name: str = "votes.csv", where: str = "") -> str:
    """Upload a table and let the job read it; the address of its page."""
    content = SimpleUploadedFile(name, text.encode())
    answer = client.post(where or reverse("score_table"), {"file": content})
    assert answer.status_code == 302, html_of(answer)
    work()
    return str(answer["Location"])


def votes(extra: str = "") -> str:
    """Three workers, six items, two labels."""
    rows = [f"w{k},i{n},{'yes' if n % 2 else 'no'}" for k in range(3) for n in range(6)]
    return "worker,item,label\n" + "\n".join(rows) + "\n" + extra


def test_the_example_becomes_a_closed_task_with_its_known_answers_and_a_finished_run() -> None:
    user = factories.make_user()
    client = client_of(user)
    page = client.post(reverse("score_table"), {"example": "1"})["Location"]
    work()
    shown = html_of(client.get(page))
    assert "Ready to score" in shown and "Score 300 labels" in shown
    answer = client.post(page, {"do": "score"})
    run = Run.objects.get()
    assert answer["Location"] == reverse("run", args=[run.project_id, run.number])
    task = Task.objects.get()
    assert (task.type, task.state, task.project.owner) == ("labels", TaskState.CLOSED, user)
    assert Item.objects.filter(task=task, expected__isnull=False).count() == 12
    assert Answer.objects.filter(item__task=task).count() == 300
    given = [line.split(",")[2] for line in EXAMPLE.read_text().splitlines()[1:]]
    stored = ChoiceValue.objects.filter(answer__item__task=task).values_list("code", flat=True)
    assert sorted(stored) == sorted(given)
    assert engine.execute(run.pk) == RunState.DONE
    results = client.get(page, follow=True)
    assert "of 8 workers" in html_of(results)


def test_each_row_left_out_is_named_with_its_line_and_the_others_are_scored() -> None:
    client = client_of(factories.make_user())
    page = drop(client, votes("w0,i7,\n,i8,yes\nw1,i1,no\nw2,i2,no\n"))
    shown = html_of(client.get(page))
    assert "22 rows read: 18 can be used, 4 are left out" in shown
    assert "No label" in shown and "No worker" in shown
    assert "w1 labels this item again on line 22." in shown and "The last one counts." in shown
    assert "Given twice, first on line" in shown
    listed = b"".join(client.get(page + "left-out.csv")).decode().splitlines()  # type: ignore[arg-type]
    assert [line.split(",")[0] for line in listed[1:]] == ["9", "20", "21", "23"]
    client.post(page, {"do": "score"})
    assert Answer.objects.count() == 18
    file = ImportFile.objects.get()
    assert file.report["came"] == 22 and sum(file.report["left_out"].values()) == 4
    changed = ChoiceValue.objects.get(answer__worker__external_id="w1", answer__item__key="i1")
    assert changed.code == "no"


def test_columns_without_usual_names_can_be_chosen() -> None:
    client = client_of(factories.make_user())
    text = "a,b,c,d\n" + "".join(f"{k},{n},{n % 2},{k + n}\n" for k in range(3) for n in range(6))
    page = drop(client, text)
    shown = html_of(client.get(page))
    assert "Columns missing" in shown and "3 columns missing" in shown
    client.post(page, {"column:a": "worker", "column:b": "item", "column:c": "label"})
    work()
    assert "Score 18 labels" in html_of(client.get(page))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("worker,item,label\nw1,i1,\nw2,i1,\n", "No row can be used"),
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
    assert not Project.objects.exists() and not Task.objects.exists()


def test_labels_that_no_code_can_hold_are_kept_as_they_are_written() -> None:
    client = client_of(factories.make_user())
    long = "a label that is much longer than forty characters"
    page = drop(client, votes().replace("yes", long).replace("no", "unsure"))
    client.post(page, {"do": "score"})
    (field,) = Task.objects.get().current.settings["fields"]  # type: ignore[union-attr]
    assert {one["label"] for one in field["options"]} == {long, "unsure"}
    assert engine.execute(Run.objects.get().pk) == RunState.DONE


def test_a_table_dropped_in_a_project_becomes_its_task() -> None:
    project = factories.make_project()
    client = client_of(project.owner)
    where = reverse("score_table_in", args=[project.pk])
    client.post(drop(client, votes(), where=where), {"do": "score"})
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


def test_a_table_of_a_usual_size_is_taken_not_only_a_small_one() -> None:
    rows = "".join(
        f"worker-{n % 50},item-{n // 5},{'yes' if n % 3 else 'no'}\n" for n in range(5000)
    )
    page = drop(client_of(factories.make_user()), "worker,item,label\n" + rows)
    assert ImportFile.objects.get().size > 2**16
    assert page


def test_a_second_click_scores_once() -> None:
    client = client_of(factories.make_user())
    page = drop(client, votes())
    client.post(page, {"do": "score"})
    client.post(page, {"do": "score"})
    assert Run.objects.count() == 1 and Answer.objects.count() == 18
