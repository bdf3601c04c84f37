"""From attributes of people and a model, stage by stage, to a frozen checklist and a task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from annotation.models import Answer, AuditEntry, Candidate, System, Task
from crowdqc.errors import Conflict, Invalid
from evaluation.checklists.making import actions, pipeline, stages
from evaluation.models import (
    Checklist,
    ChecklistStage,
    ChecklistVersion,
    LanguageModel,
    Run,
    RunState,
)
from evaluation.runs import engine as runs
from tests.evaluation.corpora import thinking as corpus
from tests.support.servers.llm import Stub, make_model, serving

pytestmark = pytest.mark.django_db


@pytest.fixture
def task() -> Task:
    return corpus.make_thought()


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(corpus.answer) as running:
        yield running


@pytest.fixture
def model(task: Task, stub: Stub) -> LanguageModel:
    return make_model(task.project, stub.base_url)


def run(task: Task, method: str, **params: Any) -> Run:
    """A run of this method, worked on to its end."""
    started = runs.start(
        by=task.project.owner, task=task, method=method, params=params, lane=str(params)
    )
    runs.execute(started.pk)
    started.refresh_from_db()
    return started


def done(task: Task, method: str, **params: Any) -> Run:
    found = run(task, method, **params)
    assert found.state == RunState.DONE, found.error
    return found


def make_checklist(task: Task, whose: str = pipeline.EVERYBODY, name: str = "Order") -> Checklist:
    return actions.create(
        by=task.project.owner, task=task, item=corpus.item_of(task), name=name, whose=whose
    )


def all_stages(task: Task, model: LanguageModel, checklist: Checklist) -> None:
    for kind in stages.ORDER[1:]:
        done(task, "checklist_stage", model=model.pk, checklist=checklist.pk, stage=kind)


def stage(checklist: Checklist, kind: str) -> pipeline.Standing:
    return pipeline.stage_states(checklist)[kind]


def test_two_people_and_a_model_become_a_frozen_checklist_and_a_task(
    task: Task, model: LanguageModel, stub: Stub
) -> None:
    done(task, "think_aloud", model=model.pk)
    system = System.objects.get(project=task.project)
    assert (system.name, system.prompt_strategy) == (model.name, "think_aloud@1")
    checklist = make_checklist(task)
    assert [one["author"] for one in stage(checklist, "attributes").data] == (
        ["owl-01"] * 3 + ["reed-02"] * 3 + [model.name] * 5
    )
    all_stages(task, model, checklist)
    found = pipeline.stage_states(checklist)
    assert not pipeline.next_stage(found)
    joined = found["validation"].data[2]
    assert joined["attributes"] == ["a2", "a4"] and joined["from"] == ["s3", "s4"]
    assert [one["id"] for one in stages.unplaced_attributes(pipeline.data_of(found))] == [
        "a8",
        "a10",
    ]
    version = actions.freeze(by=task.project.owner, checklist=checklist)
    assert version.made_of["people"] == 2 and version.made_of["models"] == 1
    assert version.questions[2] == {
        "name": "q3",
        "text": "Is the topic named at the start?",
        "component": "Opening and close",
        "attributes": [
            {"text": corpus.OWL[1], "author": "owl-01", "kind": "person"},
            {"text": corpus.REED[0], "author": "reed-02", "kind": "person"},
        ],
    }
    assert actions.freeze(by=task.project.owner, checklist=checklist) == version
    with pytest.raises(IntegrityError, match="is frozen"), transaction.atomic():
        ChecklistVersion.objects.filter(pk=version.pk).update(questions=[])
    made = actions.make_task(
        by=task.project.owner, version=version, title="Is it in order?", texts=[]
    )
    settings = made.versions.get().settings
    assert [row["label"] for row in settings["questions"]] == [
        one["text"] for one in version.questions
    ]
    assert settings["version"] == version.pk and settings["dimension"] == corpus.DIMENSION
    again = actions.make_task(by=task.project.owner, version=version, title="Again", texts=[])
    assert list(version.tasks.order_by("pk")) == [made, again]


def test_the_texts_of_a_made_task_are_those_that_were_chosen(
    task: Task, model: LanguageModel
) -> None:
    checklist = make_checklist(task)
    all_stages(task, model, checklist)
    version = actions.freeze(by=task.project.owner, checklist=checklist)
    system = System.objects.create(project=task.project, name="writer")
    texts = [
        Candidate.objects.create(
            project=task.project, key=f"t-{n}", topic="storks", text=f"Storks {n}.", system=system
        )
        for n in range(2)
    ]
    made = actions.make_task(by=task.project.owner, version=version, title="Check", texts=texts)
    assert set(made.items.values_list("first_id", flat=True)) == {text.pk for text in texts}


def test_asking_again_costs_no_call_and_changes_no_stage(
    task: Task, model: LanguageModel, stub: Stub
) -> None:
    done(task, "think_aloud", model=model.pk)
    checklist = make_checklist(task)
    all_stages(task, model, checklist)
    asked, rows = len(stub.asked), ChecklistStage.objects.count()
    assert asked == 6
    done(task, "think_aloud", model=model.pk)
    all_stages(task, model, checklist)
    assert len(stub.asked) == asked
    assert ChecklistStage.objects.count() == rows
    assert Answer.objects.filter(system__isnull=False).count() == 1


def test_sessions_of_one_model_are_replicates_and_come_once(
    task: Task, model: LanguageModel, stub: Stub
) -> None:
    done(task, "think_aloud", model=model.pk, sessions=2, temperature=0.7)
    done(task, "think_aloud", model=model.pk, sessions=3, temperature=0.7)
    given = Answer.objects.filter(system__prompt_strategy="think_aloud@1, temperature 0.7")
    assert sorted(given.values_list("replicate", flat=True)) == [0, 1, 2]
    assert len(stub.asked) == 3


def test_a_later_stage_is_out_of_date_when_an_earlier_one_changes(
    task: Task, model: LanguageModel
) -> None:
    checklist, by = make_checklist(task), task.project.owner
    all_stages(task, model, checklist)
    edited = [
        {**one, "text": "Sequence of thoughts"} if one["id"] == "c1" else one
        for one in stage(checklist, "components").data
    ]
    row = actions.save_stage(by=by, checklist=checklist, kind="components", entries=edited)
    assert row.number == 2 and row.by == by and row.run is None
    found = pipeline.stage_states(checklist)
    assert [kind for kind, one in found.items() if one.stale] == list(stages.ORDER[2:])
    assert found["validation"].stale == "components"
    with pytest.raises(Conflict, match="out of date"):
        actions.freeze(by=by, checklist=checklist)
    refused = run(
        task, "checklist_stage", model=model.pk, checklist=checklist.pk, stage="validation"
    )
    assert refused.state == RunState.FAILED and "out of date" in refused.error
    # The same content once more, on the new components, brings the clusters up to date.
    held = stage(checklist, "clusters").data
    actions.save_stage(by=by, checklist=checklist, kind="clusters", entries=held)
    assert not stage(checklist, "clusters").stale
    assert pipeline.next_stage(pipeline.stage_states(checklist)) == "key_questions"


def test_people_edit_move_merge_and_remove_and_every_question_keeps_its_origin(
    task: Task, model: LanguageModel
) -> None:
    checklist, by = make_checklist(task), task.project.owner
    all_stages(task, model, checklist)
    data = stage(checklist, "clusters").data
    data[0]["attributes"].remove("a1")
    data[1]["attributes"].append("a1")
    moved = actions.save_stage(by=by, checklist=checklist, kind="clusters", entries=data)
    assert "a1" in moved.data[1]["attributes"]
    now = pipeline.data_of(pipeline.stage_states(checklist))
    assert [one["id"] for one in stages.misplaced_questions("sub_questions", now)] == ["s1"]
    for kind in stages.ORDER[3:]:
        entries = stage(checklist, kind).data
        if kind == "validation":
            entries = stages.merged(entries, ["v1", "v2"])
        actions.save_stage(by=by, checklist=checklist, kind=kind, entries=entries)
    first, second = stage(checklist, "validation").data
    assert first["attributes"] == ["a1", "a3", "a5"] and first["from"] == ["s1", "s2"]
    version = actions.freeze(by=by, checklist=checklist)
    assert [len(one["attributes"]) for one in version.questions] == [3, 2]
    entries = [second]
    actions.save_stage(by=by, checklist=checklist, kind="validation", entries=entries)
    assert actions.freeze(by=by, checklist=checklist).number == 2
    version.refresh_from_db()
    assert len(version.questions) == 2  # what was frozen stays as it was
    assert AuditEntry.objects.filter(action="checklist.stage", actor=by).count() >= 10


def test_an_answer_that_names_what_is_not_there_is_asked_for_again(task: Task) -> None:
    wrong: dict[str, Any] = {
        "components": {"components": list("abcdef")},
        "clusters": {"c1": [1, 99], "c2": [2]},
        "key_questions": {"c1": "Only one?"},
        "sub_questions": {
            "c1": [{"question": "Of the other one?", "attributes": [2]}],
            "c2": [{"question": "Is it?", "attributes": [2]}],
        },
        "validation": {"questions": [{"question": "Made of nothing?", "made_of": [77]}]},
    }
    asked: list[str] = []

    def answers(body: dict[str, Any]) -> str:
        asked.append(kind := corpus.stage_of(body))
        return json.dumps(wrong[kind]) if asked.count(kind) == 1 else corpus.answer(body)

    with serving(answers) as stub:
        model = make_model(task.project, stub.base_url)
        checklist = make_checklist(task)
        all_stages(task, model, checklist)
    assert asked == [kind for kind in wrong for _ in range(2)]
    assert not pipeline.next_stage(pipeline.stage_states(checklist))


def test_a_model_that_never_gives_a_usable_answer_fails_the_run_with_its_reason(
    task: Task,
) -> None:
    with serving(lambda body: '{"components": []}') as stub:
        model = make_model(task.project, stub.base_url)
        checklist = make_checklist(task)
        found = run(
            task, "checklist_stage", model=model.pk, checklist=checklist.pk, stage="components"
        )
    assert found.state == RunState.FAILED and "components" in found.error
    assert stage(checklist, "components").row is None


def test_a_checklist_is_written_by_hand_from_the_rubric_without_any_model(task: Task) -> None:
    checklist, by = make_checklist(task, whose=pipeline.NOBODY), task.project.owner
    save = {"by": by, "checklist": checklist}
    actions.save_stage(**save, kind="components", entries=[{"text": "Sequence"}])  # type: ignore[arg-type]
    assert stage(checklist, "clusters").data == [{"component": "c1", "attributes": []}]
    question = {"component": "c1", "text": "Does each thought follow from the last?"}
    actions.save_stage(**save, kind="key_questions", entries=[question])  # type: ignore[arg-type]
    actions.save_stage(**save, kind="sub_questions", entries=[question])  # type: ignore[arg-type]
    actions.save_stage(**save, kind="validation", entries=[question])  # type: ignore[arg-type]
    version = actions.freeze(by=by, checklist=checklist)
    assert version.made_of["condition"] == "components written by hand"
    assert version.questions[0]["attributes"] == []


def test_somebody_chooses_whose_attributes_enter(task: Task, model: LanguageModel) -> None:
    done(task, "think_aloud", model=model.pk)
    for whose, authors in {
        "people": {"owl-01", "reed-02"},
        "models": {"stub-1"},
        "author:owl-01": {"owl-01"},
        "none": set(),
        "all": {"owl-01", "reed-02", "stub-1"},
    }.items():
        checklist = make_checklist(task, whose=whose, name=whose)
        assert {one["author"] for one in stage(checklist, "attributes").data} == authors


def test_more_than_five_components_or_an_unknown_attribute_are_refused(task: Task) -> None:
    checklist, by = make_checklist(task), task.project.owner
    save = {"by": by, "checklist": checklist}
    with pytest.raises(Invalid, match="5 is the most"):
        actions.save_stage(**save, kind="components", entries=[{"text": c} for c in "abcdef"])  # type: ignore[arg-type]
    actions.save_stage(**save, kind="components", entries=[{"text": "Sequence"}])  # type: ignore[arg-type]
    wrong = [{"component": "c1", "attributes": ["a1", "a77"]}]
    with pytest.raises(Invalid, match="a77"):
        actions.save_stage(**save, kind="clusters", entries=wrong)  # type: ignore[arg-type]


def test_new_attributes_keep_the_ids_of_those_that_were_there(
    task: Task, model: LanguageModel
) -> None:
    checklist, by = make_checklist(task, whose=pipeline.PEOPLE), task.project.owner
    all_stages(task, model, checklist)
    done(task, "think_aloud", model=model.pk)
    actions.take_attributes(by=by, checklist=checklist, whose=pipeline.EVERYBODY)
    data = stage(checklist, "attributes").data
    assert [one["id"] for one in data] == [f"a{n}" for n in range(1, 12)]
    assert data[0]["text"] == corpus.OWL[0] and data[8]["text"] == corpus.THOUGHTS[2]
    assert stage(checklist, "components").stale == "attributes"
