"""The pages of attributes and of a checklist in the making: read, edited, frozen, compared."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Task
from evaluation.checklists.filled.text_scores import HUMAN, dimension_name, publish
from evaluation.checklists.making import actions, pipeline, stages
from evaluation.models import Checklist, ChecklistVersion, Run, RunFigure, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import checks as checks_corpus
from tests.evaluation.corpora import thinking as corpus
from tests.support.servers.llm import make_model, serving

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def task() -> Task:
    return corpus.make_thought()


@pytest.fixture
def client(task: Task) -> Client:
    signed = Client()
    signed.force_login(task.project.owner)
    return signed


def make_checklist(task: Task, name: str = "Order", whose: str = pipeline.EVERYBODY) -> Checklist:
    return actions.create(
        by=task.project.owner, task=task, item=corpus.item_of(task), name=name, whose=whose
    )


def url(checklist: Checklist, name: str, *more: Any) -> str:
    return reverse(name, args=[checklist.project_id, checklist.pk, *more])


def text(client: Client, address: str) -> str:
    answer = client.get(address, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_person_writes_every_stage_by_hand_in_the_browser_where_no_model_is_set_up(
    client: Client, task: Task
) -> None:
    made = client.post(
        reverse("checklist_new", args=[task.project_id, task.pk]),
        {"name": "By hand", "item": corpus.item_of(task).pk, "whose": "people"},
    )
    checklist = Checklist.objects.get()
    assert made.headers["Location"] == url(checklist, "checklist")
    page = text(client, url(checklist, "checklist"))
    assert "No model is set up" in page and "Every stage can be done by hand" in page

    def post(kind: str, **fields: Any) -> str:
        answer = client.post(url(checklist, "checklist_stage", kind), fields, follow=True)
        assert answer.status_code == 200, answer.content.decode()
        return answer.content.decode()

    post("components", new="Sequence\nOpening", seen="0")
    form = text(client, url(checklist, "checklist_stage", "clusters"))
    assert form.count("in no component</option>") == 6
    post(
        "clusters",
        **{
            "place-a1-": "c1",
            "place-a2-": "c2",
            "place-a3-": "",
            "place-a4-": "c1",
            "place-a5-": "c1",
            "place-a6-": "c2",
        },
        seen="0",
    )
    assert "1 attribute in no component" in text(client, url(checklist, "checklist"))
    post("key_questions", **{"text-c1": "Does it follow?", "text-c2": "Is it framed?"}, seen="0")
    post(
        "sub_questions",
        **{
            "text-0": "Does each sentence follow?",
            "component-0": "c1",
            "attr-0": ["a1", "a4"],
        },
        seen="0",
    )
    post(
        "sub_questions",
        **{
            "text-0": "Does each sentence follow?",
            "id-0": "s1",
            "component-0": "c1",
            "attr-0": ["a1", "a4"],
            "text-1": "Is the topic named first?",
            "component-1": "c2",
            "attr-1": ["a2"],
        },
        seen="1",
    )
    form = text(client, url(checklist, "checklist_stage", "validation"))
    assert "made of: Does each sentence follow?" in form
    post("validation", do="copy", seen="0")
    page = text(client, url(checklist, "checklist"))
    assert "Freeze as a version" in page and "from 2 attributes" in page
    frozen = client.post(url(checklist, "checklist_freeze"), follow=True).content.decode()
    assert "Is the topic named first?" in frozen and corpus.OWL[1] in frozen
    page = text(client, url(checklist, "checklist"))
    assert "Freeze as a version" not in page and "Next: create a task." in page
    version = ChecklistVersion.objects.get()
    made = client.post(url(checklist, "checklist_make_task", 1), {"title": "In order?"})
    assert str(version.tasks.get().pk) in made.headers["Location"]
    assert "1 task asks them." in text(client, url(checklist, "checklist"))
    again = client.get(url(checklist, "checklist_version", 1))
    filled = {"title": "In order, asked again?", "key": str(again.context["form"]["key"].value())}
    assert filled["key"] in again.content.decode()
    where = {
        client.post(url(checklist, "checklist_make_task", 1), filled).headers["Location"]
        for _ in "12"  # two clicks
    }
    assert len(where) == 1
    page = text(client, url(checklist, "checklist_version", 1))
    assert page.index("In order?") < page.index("In order, asked again?")
    assert "Create another task" in page and version.tasks.count() == 2


def test_what_a_stage_refuses_is_said_and_nothing_typed_is_lost(client: Client, task: Task) -> None:
    checklist = make_checklist(task)
    address = url(checklist, "checklist_stage", "components")
    client.post(address, {"new": "Sequence\nOpening", "seen": "0"})
    answer = client.post(address, {"text-c1": "Same", "text-c2": "Same", "seen": "1"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "say the same" in page and page.count(">Same</textarea>") == 2
    many = client.post(
        address, {"text-c1": "One", "new": "Two\nThree\nFour\nFive\nSix", "seen": "1"}
    )
    assert many.status_code == 422 and "Two\nThree" in many.content.decode()
    stale = client.post(address, {"text-c1": "Other", "seen": "0"})
    assert stale.status_code == 409 and "Somebody changed this stage" in stale.content.decode()
    early = client.post(url(checklist, "checklist_stage", "validation"), {"text-0": "Is it?"})
    assert early.status_code == 409
    assert client.get(url(checklist, "checklist_stage", "nonsense")).status_code == 404


def test_an_earlier_row_of_a_stage_is_opened_and_saved_again(client: Client, task: Task) -> None:
    checklist = make_checklist(task)
    address = url(checklist, "checklist_stage", "components")
    client.post(address, {"new": "Sequence\nOpening", "seen": "0"})
    client.post(address, {"text-c1": "", "text-c2": "Frame", "seen": "1"})
    assert [one["text"] for one in pipeline.stage_states(checklist)["components"].data] == ["Frame"]
    page = text(client, f"{address}?row=1")
    assert "An earlier row" in page and ">Sequence</textarea>" in page
    client.post(address, {"text-c1": "Sequence", "text-c2": "Opening", "seen": "2", "row": "1"})
    found = pipeline.stage_states(checklist)["components"]
    assert found.row is not None and found.row.number == 3
    assert [one["text"] for one in found.data] == ["Sequence", "Opening"]
    assert client.get(f"{address}?row=9").status_code == 404


def test_models_are_asked_from_the_page_of_all_ways_of_asking_as_well(
    client: Client, task: Task
) -> None:
    with serving(corpus.answer) as stub:
        model = make_model(task.project, stub.base_url)
        bare = text(client, reverse("task_ask", args=[task.project_id, task.pk, "checklist_stage"]))
        new = reverse("checklist_new", args=[task.project_id, task.pk])
        assert "Make a checklist first" in bare and new in bare
        checklist = make_checklist(task)
        for method, options in (
            ("think_aloud", {"sessions": "1"}),
            ("checklist_stage", {"checklist": checklist.pk, "stage": "components"}),
        ):
            address = reverse("task_ask", args=[task.project_id, task.pk, method])
            assert client.get(address).status_code == 200
            sent = client.post(address, {"model": model.pk, "temperature": "0", **options})
            assert sent.status_code == 302, sent.content.decode()
            run = Run.objects.get(state=RunState.QUEUED)
            assert runs.execute(run.pk) == RunState.DONE
            shown = reverse("run", args=[task.project_id, run.number])
            assert client.get(shown).status_code == 200
    assert pipeline.stage_states(checklist)["components"].row is not None


def test_ticked_questions_are_merged_and_removed(client: Client, task: Task) -> None:
    checklist, by = make_checklist(task), task.project.owner
    with serving(corpus.answer) as stub:
        model = make_model(task.project, stub.base_url)
        for kind in stages.ORDER[1:]:
            found = runs.start(
                by=by,
                task=task,
                method="checklist_stage",
                params={"model": model.pk, "checklist": checklist.pk, "stage": kind},
            )
            assert runs.execute(found.pk) == RunState.DONE
    address = url(checklist, "checklist_stage", "validation")
    data = pipeline.stage_states(checklist)["validation"].data
    rows = {}
    for at, one in enumerate(data):
        rows |= {
            f"text-{at}": one["text"],
            f"id-{at}": one["id"],
            f"attr-{at}": one["attributes"],
            f"component-{at}": one["component"],
            f"from-{at}": one["from"],
        }
    client.post(address, {**rows, "do": "merge", "pick": ["v1", "v2"], "seen": "1"})
    merged = pipeline.stage_states(checklist)["validation"].data
    assert [one["attributes"] for one in merged] == [["a1", "a3", "a5"], ["a2", "a4"]]
    assert client.post(address, {**rows, "do": "merge", "pick": ["v1"]}).status_code == 422
    rows = {name: value for name, value in rows.items() if not name.endswith("-1")}
    client.post(address, {**rows, "do": "remove", "pick": ["v3"], "seen": "2"})
    assert [one["id"] for one in pipeline.stage_states(checklist)["validation"].data] == ["v1"]


def test_a_model_is_asked_from_the_page_after_its_cost_was_shown(
    client: Client, task: Task
) -> None:
    checklist = make_checklist(task)
    address = url(checklist, "checklist_ask", "components")
    assert "Set up a model, or do it by hand" in text(client, address)
    with serving(corpus.answer) as stub:
        model = make_model(task.project, stub.base_url)
        page = text(client, address)
        assert "Preview of the call" in page and corpus.OWL[0] in page
        fields = {"model": model.pk, "temperature": "0"}
        shown = client.post(address, fields, headers={"HX-Request": "true"})
        assert shown.status_code == 200 and not Run.objects.exists()
        sent = client.post(address, fields)
        assert sent.headers["Location"] == url(checklist, "checklist")
        started = Run.objects.get()
        assert "hx-get" in text(client, url(checklist, "checklist_live"))
        assert runs.execute(started.pk) == RunState.DONE
    live = client.get(url(checklist, "checklist_live"))
    assert live.headers["HX-Refresh"] == "true" and "Opening and close" in live.content.decode()
    assert f"run {started.number}" in text(client, url(checklist, "checklist"))


def test_the_page_of_attributes_compares_conditions_once_a_run_has(
    client: Client, task: Task
) -> None:
    address = reverse("think_aloud_results", args=[task.project_id, task.pk])
    assert "Compare the conditions" in text(client, address)
    with serving(corpus.answer) as stub:
        model = make_model(task.project, stub.base_url)
        thinking = runs.start(
            by=task.project.owner, task=task, method="think_aloud", params={"model": model.pk}
        )
        assert runs.execute(thinking.pk) == RunState.DONE
        corpus.think(task, ["Watch for one idea a paragraph", "Endings matter"], "yew-03")
    started = runs.start(by=task.project.owner, task=task, method="attribute_diversity")
    assert runs.execute(started.pk) == RunState.DONE
    told = RunFigure.objects.get(run=started, name="diversity").data["dimensions"][0]
    assert [one["condition"] for one in told["conditions"]] == (
        ["one person"] * 3 + ["one model", "several people", "people and models"]
    )
    combined = told["conditions"][-1]
    assert combined["n"] == 13 and 0 < combined["rouge"]["low"] < combined["rouge"]["high"]
    assert sum(combined["spread"]["share"]) == pytest.approx(1)
    pair = told["conditions"][2]["rouge"]
    assert pair["low"] is None and pair["reason"] == "2 attributes; an interval needs 10"
    assert told["differences"] == {}  # the model gave five
    page = text(client, address)
    assert "People and models combined" in page and "once each side has ten attributes" in page
    client.post(reverse("run_start", args=[task.project_id, task.pk]), {"again": "1"})
    again = Run.objects.get(state=RunState.QUEUED)
    assert runs.execute(again.pk) == RunState.DONE
    again.refresh_from_db()
    started.refresh_from_db()
    assert again.result_hash == started.result_hash


def test_the_page_of_a_checklist_takes_as_many_queries_for_few_entries_as_for_many(
    client: Client, task: Task
) -> None:
    checklist, by = make_checklist(task), task.project.owner
    actions.save_stage(by=by, checklist=checklist, kind="components", entries=[{"text": "One"}])

    def counted() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            assert client.get(url(checklist, "checklist")).status_code == 200
        return len(found)

    counted()
    few = counted()
    many = [{"text": f"Attribute {n}", "author": "here", "kind": "person"} for n in range(80)]
    actions.save_stage(by=by, checklist=checklist, kind="attributes", entries=many)
    actions.save_stage(
        by=by, checklist=checklist, kind="components", entries=[{"text": one} for one in "abcde"]
    )
    assert counted() == few


def test_the_page_of_attributes_takes_as_many_queries_for_one_checklist_as_for_many(
    client: Client, task: Task
) -> None:
    address = reverse("think_aloud_results", args=[task.project_id, task.pk])

    def counted() -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(address).status_code == 200
        return len(found)

    make_checklist(task)
    counted()
    few = counted()
    for n in range(4):
        make_checklist(task, f"List {n}")
    corpus.think(task, corpus.THOUGHTS, "yew-03")
    assert counted() == few


def test_a_share_of_texts_is_drawn_evenly_over_human_scores_and_topics(task: Task) -> None:
    checklist = make_checklist(task)
    questions = [{"name": "q1", "label": "Clear?"}]
    version = ChecklistVersion.objects.create(
        checklist=checklist, number=1, questions=questions, frozen_by=task.project.owner
    )
    texts = checks_corpus.make_texts(task.project, topics=10, systems=10)
    assert actions.sample_texts(version, texts, 100) == texts
    # Without human scores: even over topics.
    drawn = actions.sample_texts(version, texts, 20)
    assert Counter(one.topic for one in drawn) == {f"tea-{k}": 2 for k in range(10)}
    assert drawn == actions.sample_texts(version, texts, 20)
    # With them: even over their points as well, and of those texts alone.
    scored = texts[:90]
    dimension = dimension_name(pipeline.subject_of(checklist.item).dimension)
    given = {one.pk: 1.0 + (k % 10 > 6) + 3 * (k % 10 == 9) for k, one in enumerate(scored)}
    publish(
        by=task.project.owner,
        task=task,
        name="two readers",
        version="test",
        role=HUMAN,
        scores={dimension: given},
    )
    drawn = actions.sample_texts(version, texts, 20)
    assert len(drawn) == 18 and {one.pk for one in drawn} <= set(given)
    assert Counter(given[one.pk] for one in drawn) == {1.0: 6, 2.0: 6, 5.0: 6}
    assert max(Counter(one.topic for one in drawn).values()) == 2
