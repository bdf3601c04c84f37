"""Judgments of people and models from elsewhere, on the pairs that a task asks already."""

from __future__ import annotations

import csv
import io
import itertools
import json
import uuid
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.files.reading.sheet import sheet_of
from annotation.formats.actions.imports import import_content, import_rows
from annotation.formats.exports.pairwise import PAIR_EXPORTS
from annotation.formats.imports.judgments import HEAD, TAIL
from annotation.formats.selectors.imports import check_rows
from annotation.models import Answer, Assignment, AuditEntry, Candidate, Item, System, Task
from annotation.task_types.pairwise.sides import left_right
from annotation.work.actions import answers, exclusions
from annotation.work.actions.answers import set_counts
from crowdqc.errors import Conflict, Invalid
from tests.evaluation.corpora import pair_checked
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories as make
from tests.support.kept import kept
from tests.support.studies.judging import make_pairs, make_ratings
from tests.support.uploads import work

pytestmark = [pytest.mark.django_db, pytest.mark.db]
TWO = {
    "dimensions": [
        {"name": "clarity", "label": "Clarity", "neutral": True},
        {"name": "overall", "label": "Overall", "neutral": False},
    ]
}
Row = dict[str, Any]


def exported(task: Task, slug: str = "judgments") -> list[dict[str, str]]:
    """The rows of an export, all values as texts."""
    text = "".join(PAIR_EXPORTS[slug].lines(task, "csv", ""))  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(text)))


def fresh(task: Task) -> Task:
    return Task.objects.select_related("project", "current").get(pk=task.pk)


def bring(task: Task, rows: list[Row]) -> int:
    return import_rows(by=task.project.owner, task=task, kind="judgments", rows=rows)


def wrong(task: Task, rows: list[Row]) -> list[Row]:
    """The bad rows of a refusal, which has written nothing."""
    before = Answer.objects.count(), System.objects.count()
    with pytest.raises(Invalid) as refused:
        bring(task, rows)
    assert (Answer.objects.count(), System.objects.count()) == before
    return list(refused.value.rows)  # type: ignore[arg-type]


def twin(task: Task, *, turned: bool) -> Task:
    """The same texts and pairs in a project of its own; ``turned``: each stored the other way."""
    project = make.make_project()
    texts = list(Candidate.objects.filter(project=task.project).order_by("pk"))
    for text in reversed(texts) if turned else texts:
        system = System.objects.create(project=project, name=f"of {text.key}")
        Candidate.objects.create(
            project=project, key=text.key, topic=text.topic, text=text.text, system=system
        )
    new = Candidate.objects.filter(project=project).in_bulk(field_name="pk")
    keys = {text.key: pk for pk, text in new.items()}
    assert task.current is not None
    other = tasks.create_task(by=project.owner, project=project, type=task.type, title="Twin")
    tasks.edit_draft(by=project.owner, task=other, fields={"settings": task.current.settings})
    group = tasks.save_group(by=project.owner, task=other, key="all", title="All")
    for item in task.items.select_related("first", "second"):
        ids = sorted(keys[text.key] for text in (item.first, item.second) if text)
        Item.objects.create(
            task=other,
            group=group,
            key=item.key,
            question="Which?",
            since=1,
            position=item.position,
            first_id=ids[0],
            second_id=ids[1] if ids[1:] else None,
            side=-item.side if turned else item.side,
            repeat=item.repeat,
        )
    tasks.publish(by=project.owner, task=other)
    return fresh(other)


@pytest.fixture
@kept
def task() -> Task:
    """Five pairs, judged in the browser by three workers and by a model, in both orders twice.

    One worker is excluded then, and one judgment of another does not count.
    """
    project = make.make_project()
    task = make_pairs(
        project,
        n=5,
        sides=(1, -1),
        settings=TWO,
        redundancy=3,
        order="random",
        items_per_assignment=3,
    )
    sides = itertools.cycle(("left", "right", "right", "neutral", "left"))
    for worker in [make.make_worker(project) for _ in range(3)]:
        for _ in range(2):
            assignment = make.claim(task, worker)
            drafts = {
                entry.item_id: {"d-clarity": next(sides), "d-overall": "right"}
                for entry in assignment.entries.order_by("position")
            }
            assert worker.user is not None
            answers.submit_assignment(
                by=worker.user, assignment=assignment, key=uuid.uuid4(), drafts=drafts
            )
    task, by = fresh(task), project.owner
    calls = [
        {
            "item_id": f"item-{n:03d}",
            "system": "Wren",
            "prompt_strategy": "short",
            "replicate": r,
            "flipped": flipped,
            "clarity": code,
            "overall": "neutral" if n == 1 else code,
        }
        for n in range(1, 6)
        for r in (0, 1)
        for flipped, code in ((False, "first"), (True, "second" if r else "neutral"))
    ]
    assert bring(task, calls) == 20
    one, two, _ = project.memberships.filter(role="worker").order_by("pk")
    exclusions.exclude(by=by, task=task, worker=one, reason="a test")
    answer = Answer.objects.filter(worker=two).first()
    assert answer is not None
    set_counts(by=by, answer=answer, counts=False, reason="a slip")
    return task


# -- out and in again ----------------------------------------------------------------------------


def counting(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows that enter results, without the names of topic and version."""
    own = {"topic", "version"}
    return [
        {name: value for name, value in row.items() if name not in own}
        for row in rows
        if (row["counts"], row["excluded"]) == ("true", "false")
    ]


def by_texts(row: dict[str, str]) -> dict[str, str]:
    """A row with its judgments as the text that won, whichever the task calls first."""
    won = {name: row.get(row[name], row[name]) for name in ("clarity", "overall")}
    turned = {"first", "second", "flipped"}
    return {name: value for name, value in row.items() if name not in turned} | won


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_the_export_writes_comes_in_and_goes_out_the_same(task: Task, form: str) -> None:
    lines = PAIR_EXPORTS["judgments"].lines(task, form, "")
    content = "".join(lines).encode()  # type: ignore[arg-type]
    other = twin(task, turned=False)
    for new, there in ((35, 0), (0, 35)):
        report = import_content(
            by=other.project.owner, task=other, kind="judgments", content=content, name=f"a.{form}"
        )
        assert (report.new, report.there, report.left_out) == (new, there, 0)
    first, again = exported(task), exported(other)
    assert list(first[0]) == [*HEAD, "clarity", "overall", *TAIL]
    assert counting(again) == counting(first) and len(counting(first)) == 35 - 5 - 1
    reasons = {row["reason"] for row in again if row["counts"] == "false"}
    assert reasons == {"a slip", "its author is excluded where it comes from"}
    # A third project, from the second, and back into the first: there is nothing to be lost.
    third = twin(task, turned=False)
    assert bring(third, again) == 35 and counting(exported(third)) == counting(first)
    assert bring(task, exported(third)) == 0


def test_texts_stay_what_they_are_where_the_other_task_stores_the_pair_turned(task: Task) -> None:
    rows, other = exported(task), twin(task, turned=True)
    assert bring(other, rows) == 35
    again = exported(other)
    assert all(a["first"] == b["second"] for a, b in zip(again, rows, strict=True))
    assert [by_texts(row) for row in counting(again)] == [by_texts(row) for row in counting(rows)]
    assert bring(other, rows) == 0 == bring(task, again)


def test_a_workers_rows_become_one_assignment_and_hold_slots_where_they_count(task: Task) -> None:
    other = twin(task, turned=False)
    bring(other, exported(task))
    held = Assignment.objects.filter(task=other)
    assert held.count() == 3 and {a.entries.count() for a in held} == {5}
    assert all((a.state, a.source) == ("submitted", "import") and not a.pay for a in held)
    assert all(a.settled_at for a in held)
    for item in other.items.all():
        counted = item.answers.filter(worker__isnull=False, counts=True).count()
        assert item.held == counted == item.entries.filter(holds=True).count()
    calls = Answer.objects.filter(item__task=other, system__isnull=False)
    assert set(calls.values_list("replicate", "flipped")) == {
        (0, False),
        (1, True),
        (2, False),
        (3, True),
    }
    assert AuditEntry.objects.filter(action="judgments.import").latest("pk").detail["new"] == 35
    # Who judges a pair again, the other way round, does so in a further assignment.
    row = {"item_id": "item-001", "worker": "ann", "clarity": "first", "overall": "first"}
    assert bring(other, [row, {**row, "flipped": "true"}, {**row, "item_id": "item-002"}]) == 3
    ann = Assignment.objects.filter(worker__external_id="ann").order_by("pk")
    assert [a.entries.count() for a in ann] == [2, 1]
    assert bring(other, [row, {**row, "flipped": "true"}]) == 0


def test_a_thousand_rows_are_written_in_bulk() -> None:
    project = make.make_project()
    task = make_pairs(project, n=20, settings=TWO)
    rows = [
        {"item_id": f"item-{n:03d}", "worker": f"w{k}", "clarity": "first", "overall": "second"}
        for n in range(1, 21)
        for k in range(25)
    ] + [
        {"item_id": f"item-{n:03d}", "system": "Wren", "replicate": k, "clarity": "first"}
        for n in range(1, 21)
        for k in range(25)
    ]
    counted = []
    for some, new in ((rows[:1] + rows[-1:], 2), (rows, 998)):
        with CaptureQueriesContext(connection) as queries:
            assert bring(task, some) == new
        counted.append(len(queries))
    assert counted[1] <= counted[0] + 5


# -- ratings, and what is refused whole ----------------------------------------------------------


def test_ratings_are_named_by_item_or_text_and_go_round(tmp_path: Path) -> None:
    project = make.make_project()
    task = make_ratings(project)
    texts = [item.first.key for item in task.items.select_related("first")]
    assert (
        bring(
            task,
            [
                {"item_id": "item-001", "worker": "ann", "quality_overall": 4},
                {"text": texts[1], "worker": "ann", "quality_overall": 2},
                {"text": texts[1], "system": "Wren", "replicate": 1, "quality_overall": 5},
            ],
        )
        == 3
    )
    other = twin(task, turned=False)
    rows = exported(task)
    assert bring(other, rows) == 3 and counting(exported(other)) == counting(rows)
    assert [row["replicate"] for row in rows] == ["0", "0", "1"]
    assert bring(other, rows) == 0
    base = {"item_id": "item-001", "worker": "bo"}
    [point] = wrong(task, [{**base, "quality_overall": "9"}])
    assert (point["column"], point["mend"]) == ("quality_overall", "It has 1, 2, 3, 4, 5.")
    [name] = wrong(task, [{**base, "quality_overall": 1, "quality_overal": 3}])
    assert name["column"] == "quality_overal" and "mean quality_overall" in name["mend"]
    [text] = wrong(task, [{"text": "text-0", "worker": "bo", "quality_overall": 1}])
    assert text["column"] == "text"


def test_a_file_that_cannot_say_what_who_or_how_names_the_columns(task: Task) -> None:
    for row, column in (
        ({"worker": "a", "clarity": "first"}, "item_id or first or left"),
        ({"item_id": "item-001", "clarity": "first"}, "worker or system"),
        ({"item_id": "item-001", "worker": "a"}, "clarity or overall"),
    ):
        with pytest.raises(Invalid) as refused:
            bring(task, [row])
        assert list(refused.value.fields) == [column]


def test_judgments_go_only_where_something_is_judged_and_published() -> None:
    world = make.make_world(2)
    row = {"item_id": "q-001", "worker": "a", "overall": "first"}
    with pytest.raises(Invalid, match="takes no judgments"):
        bring(world.task, [row])
    draft = tasks.create_task(by=world.requester, project=world.project, type="pairwise", title="D")
    with pytest.raises(Conflict, match="Publish the task first"):
        bring(draft, [row])
    pairs = make_pairs(world.project, n=1, settings=TWO)
    with pytest.raises(Invalid, match="takes no answers of systems"):
        import_rows(
            by=world.requester,
            task=pairs,
            kind="system_answers",
            rows=[{"item_id": "item-001", "system": "Wren", "answer": "left"}],
        )
    worker = make.make_worker(world.project)
    people.remove_member(by=world.requester, member=worker)
    [gone] = wrong(pairs, [{"item_id": "item-001", "worker": worker.pseudonym, "clarity": "first"}])
    assert "was removed" in gone["wrong"]


# -- browser, command, API -----------------------------------------------------------------------


def test_a_requester_sees_how_a_file_is_read_and_mends_its_columns(task: Task) -> None:
    client = Client()
    client.force_login(task.project.owner)
    where = [task.project_id, task.pk]
    address = reverse("task_import", args=[*where, "judgments"])
    assert f'href="{address}"' in client.get(reverse("task", args=where)).content.decode()
    page = client.get(address).content.decode()
    assert "<code>overall</code>" in page and "one way to say what was judged" in page
    assert client.get(reverse("task_import", args=[*where, "answers"])).status_code == 404
    text = "pair,model,clear,overall\nitem-001,Owl,first,second\nitem-002,Owl,second,nobody\n"
    answer = client.post(address, {"file": SimpleUploadedFile("owl.csv", text.encode())})
    work()
    page = client.get(answer["Location"]).content.decode()
    assert "2 of 2 rows cannot be read" in page and "does not ask for clear." in page
    columns = {
        "column:pair": "item_id",
        "column:model": "system",
        "column:clear": "clarity",
        "column:overall": "overall",
    }
    client.post(answer["Location"], columns)
    work()
    page = client.get(answer["Location"]).content.decode()
    assert "1 of 2 rows cannot be read" in page and "no judgment of a pair" in page
    client.post(answer["Location"], {"do": "import", "leave_out": "1"})
    work()
    done = client.get(answer["Location"])
    assert "1 new judgment from 2 rows." in done.content.decode()
    call = Answer.objects.get(system__name="Owl")
    assert dict(call.choices.values_list("field", "code")) == {
        "clarity": "first",
        "overall": "second",
    }


def test_the_command_takes_the_same_file_and_says_what_became_of_it(
    task: Task, tmp_path: Path
) -> None:
    path, by = tmp_path / "owl.jsonl", task.project.owner.username
    rows = [
        {"item_id": f"item-00{n}", "llm": "Owl", "clarity": "A", "flipped": True} for n in (1, 2, 9)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    where = ("judgments", str(path), "--task", str(task.pk), "--by", by)
    with pytest.raises(CommandError, match=r"1 of 3 rows(.|\n)*line 3, item_id: "):
        call_command("crowdqc_import", *where)
    for told in (
        "3 rows, 2 new, 0 there already, 1 left out.",
        "3 rows, 0 new, 2 there already, 1 left out.",
    ):
        out, err = StringIO(), StringIO()
        call_command("crowdqc_import", *where, "--skip-bad", stdout=out, stderr=err)
        assert told in out.getvalue() and "line 3, item_id" in err.getvalue()
    calls = Answer.objects.filter(system__name="Owl")
    assert set(calls.values_list("replicate", "flipped", "choices__code")) == {(1, True, "second")}
    with pytest.raises(CommandError, match="is not a requester"):
        call_command("crowdqc_import", *where[:-1], make.make_user().username)


def test_the_api_takes_all_rows_or_none(task: Task) -> None:
    client, at = APIClient(), f"/api/tasks/{task.pk}/judgments/"
    client.force_authenticate(task.project.owner)
    row = {"item_id": "item-001", "system": "Owl", "clarity": "first", "flipped": False}
    bad = client.post(at, {"rows": [row, {**row, "item_id": "item-1"}]}, format="json")
    assert bad.status_code == 422
    assert [(one["line"], one["column"]) for one in bad.json()["rows"]] == [(2, "item_id")]
    assert not System.objects.filter(name="Owl").exists()
    for new in (1, 0):
        done = client.post(at, {"rows": [row]}, format="json")
        left_out = {} if new else {"there": 1}
        told = {"rows": 1, "new": new, "used": new, "left_out": left_out, "notes": []}
        assert (done.status_code, done.json()) == (201, told)


def test_an_imported_model_stands_beside_people_on_the_page_of_judges() -> None:
    task = pair_corpus.make_judged(workers=5, task=pair_corpus.make_task(topics=2, sources=4))
    where, core = [task.project_id, task.pk], pair_checked.core(task)
    address = reverse("task_import", args=[*where, "judgments"])
    client = pair_checked.signed_in(task)
    empty = client.get(reverse("pair_judges", args=where)).content.decode()
    assert f'href="{address}"' in empty and core.state == "done"
    # Both models read every pair both ways; one goes by merit, the other always against it.
    better = {"Tern-2": ("left", "right"), "Owl": ("right", "left")}
    rows = []
    for item, flipped in itertools.product(task.items.select_related("first", "second"), (0, 1)):
        left, right = left_right(item.first, item.second, flipped=bool(flipped))
        for system, sides in better.items():
            side = sides[pair_corpus.merit(left) < pair_corpus.merit(right)]
            rows.append(
                {
                    "left": left.key,
                    "right": right.key,
                    "system": system,
                    "prompt_strategy": "judge",
                    "clarity": side,
                    "overall": side,
                }
            )
    assert bring(task, rows) == 48
    run = pair_checked.core(task)
    assert pair_checked.figure(run, "diagnostics")["counts"]["machine_judgments"] == 48
    page = pair_checked.page(task, "pair_judges")
    assert "Tern-2, judge" in page and "Owl, judge" in page and "48 calls" in page
    assert "same label in both orders on 100%" in page
    assert "one person does" not in page  # intervals of the two are not a comparison
    assert "Import judgments" not in page
    every = {
        str(System.objects.get(pk=row["machine"])): row["majority"]
        for row in pair_checked.figure(run, "judge")
        if not row["dimension"]
    }
    assert every["Tern-2, judge"] > 0.85
    assert every["Tern-2, judge"] + every["Owl, judge"] == pytest.approx(1)
    assert check_rows(task, "judgments", sheet_of(rows)).checked.there == 48


def test_judgments_are_found_by_the_texts_of_the_task() -> None:
    task = make_pairs(make.make_project(), 1, settings=TWO)
    item = task.items.select_related("first", "second").first()
    assert item is not None and item.first is not None and item.second is not None
    row = {"response_a": item.second.text, "response_b": item.first.text}
    assert bring(task, [{**row, "worker": "ann", "clarity": "left"}]) == 1
    answer = Answer.objects.get(item__task=task)
    assert (answer.item_id, answer.flipped) == (item.pk, True)
