"""Files of pairs: a prompt and two texts a row become the pairs of a draft."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.authoring.actions.tasks import create_task, problems, publish
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.authoring.selectors.builder.publishing import Publishing
from annotation.files.reading.rows import Row
from annotation.formats.actions.imports import import_content
from annotation.formats.registry import format_for, recognise_texts
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import get_template
from annotation.models import Candidate, Task
from crowdqc.errors import Invalid
from tests.support.factories import World, make_world

pytestmark = pytest.mark.django_db


def jsonl(*rows: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "prompt": f"Prompt {number}",
        "response_a": f"First answer to {number}.",
        "response_b": f"Second answer to {number}.",
        **more,
    }


@pytest.fixture
def world() -> World:
    return make_world(1, publish=False)


@pytest.fixture
def draft(world: World) -> Task:
    return create_task(
        by=world.requester, project=world.project, type="pairwise", title="Which is better?"
    )


def load(world: World, task: Task, *rows: dict[str, Any]) -> int:
    content = jsonl(*rows)
    return import_content(
        by=world.requester, task=task, kind="pairs", content=content, name="pairs.jsonl"
    ).new


def test_a_file_of_prompts_with_two_responses_becomes_pairs_ready_to_publish(
    world: World, draft: Task
) -> None:
    new = load(world, draft, *(row(n, model_a="alder", model_b="birch") for n in range(3)))
    assert new == 3
    pairs = draft.items.select_related("first__system", "second__system")
    assert {(one.first.system.name, one.second.system.name) for one in pairs} == {
        ("alder", "birch")
    }
    assert sorted(pairs.values_list("question", flat=True)) == ["Prompt 0", "Prompt 1", "Prompt 2"]
    assert problems(draft, draft.versions.get()) == []
    assert load(world, draft, *(row(n, model_a="alder", model_b="birch") for n in range(4))) == 1


def test_only_the_pairs_of_the_file_are_made_where_a_prompt_has_more_texts(
    world: World, draft: Task
) -> None:
    first = row(1, model_a="alder", model_b="birch")
    other = row(1, response_a="Third.", response_b="Fourth.", model_a="cedar", model_b="dogwood")
    assert load(world, draft, first, other) == 2
    assert draft.items.count() == 2
    assert draft.groups.count() == 1


def test_without_models_the_two_columns_are_the_systems(world: World, draft: Task) -> None:
    load(world, draft, row(1))
    names = Candidate.objects.filter(project=draft.project).values_list("system__name", flat=True)
    assert sorted(names) == ["response_a", "response_b"]


@pytest.mark.parametrize(
    ("bad", "column"),
    [
        ({"response_b": ""}, "response_b"),
        ({"response_b": "First answer to 1."}, "response_a, response_b"),
        ({"prompt": ""}, "prompt"),
    ],
)
def test_a_row_that_is_no_pair_is_refused_by_its_line_and_column(
    world: World, draft: Task, bad: dict[str, str], column: str
) -> None:
    with pytest.raises(Invalid) as refused:
        load(world, draft, row(0), {**row(1), **bad})
    (problem,) = refused.value.rows
    assert (problem["line"], problem["column"]) == (2, column)


def test_a_topic_with_two_prompts_is_refused(world: World, draft: Task) -> None:
    with pytest.raises(Invalid) as refused:
        load(world, draft, row(0, topic="t"), row(1, topic="t"))
    assert refused.value.rows[0]["column"] == "topic"


def test_own_pairs_replace_the_examples_of_a_template(world: World) -> None:
    task = begin_task(
        by=world.requester, project=world.project, template=get_template("comparison")
    )
    load(world, task, row(1), row(2))
    assert task.items.count() == 2
    assert not Candidate.objects.filter(key__startswith="template-example-").exists()


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (["prompt", "response_a", "response_b", "model_a", "model_b"], "pairs"),
        (["instruction", "output_1", "output_2"], "pairs"),
        (["prompt", "chosen", "rejected"], "pairs"),
        (["id", "prompt", "answer_model_a", "answer_model_b"], "pairs"),
        (["prompt", "llama_answer", "qwen_answer"], "pairs"),
        (["Frage", "Antwort ChatGPT", "Antwort Mistral"], "pairs"),
        (["prompt", "text_de", "text_en"], "candidates"),
        (["prompt", "answer_id", "answer", "system"], "candidates"),
        (["topic", "text", "system"], "candidates"),
        (["prompt", "response", "model"], "candidates"),
    ],
)
def test_texts_to_be_judged_are_told_from_pairs_by_their_columns(
    columns: list[str], kind: str
) -> None:
    assert recognise_texts(columns) == kind


def test_systems_are_named_by_what_tells_two_columns_apart(world: World, draft: Task) -> None:
    rows = [{"prompt": "Why?", "llama_answer": "Because.", "qwen_answer": "Nobody knows."}]
    load(world, draft, *rows)
    pair = draft.items.select_related("first__system", "second__system").get()
    assert {pair.first.system.name, pair.second.system.name} == {"llama", "qwen"}  # type: ignore[union-attr]


APART = "2 groups that are never compared: “alpha”, “gamma” | “beta”, “delta”."


def test_systems_that_are_never_compared_are_named_at_the_import_and_at_publishing(
    world: World, draft: Task
) -> None:
    rows = [
        row(1, model_a="alpha", model_b="gamma"),
        row(2, model_a="beta", model_b="delta"),
    ]
    form = format_for(draft, "pairs")
    lines = [Row(number, one) for number, one in enumerate(rows, 1)]
    columns = {name: name for name in rows[0]}
    checked = form.check(lines, columns, form.known_of(draft))
    assert [note.startswith(APART) for note in checked.notes] == [True]
    load(world, draft, *rows)
    told = [gap.sentence for gap in Publishing(Build(draft)).gaps]
    assert sum(one.startswith(APART) for one in told) == 1
    load(world, draft, row(3, model_a="gamma", model_b="beta"))
    told = [gap.sentence for gap in Publishing(Build(draft)).gaps]
    assert not any("never compared" in one for one in told)


def test_texts_of_topics_without_a_system_in_common_are_named(world: World, draft: Task) -> None:
    given = (("1", "alpha"), ("1", "gamma"), ("2", "beta"), ("2", "delta"))
    rows = [{"topic": topic, "system": name, "text": f"{name}!"} for topic, name in given]
    form = format_for(draft, "candidates")
    lines = [Row(number, one) for number, one in enumerate(rows, 1)]
    checked = form.check(lines, {name: name for name in rows[0]}, form.known_of(draft))
    assert [note.startswith(APART) for note in checked.notes] == [True]


def test_a_pair_keeps_the_id_of_its_row_which_no_other_pair_may_have(
    world: World, draft: Task
) -> None:
    assert load(world, draft, *(row(n, id=f"p-{n}") for n in range(3))) == 3
    keys = list(draft.items.order_by("position").values_list("key", flat=True))
    assert keys == ["p-0", "p-1", "p-2"]
    assert load(world, draft, row(0, id="p-0")) == 0
    for bad in ([row(7, id="p-1")], [row(8, pair_id="new"), row(9, pair_id="new")]):
        with pytest.raises(Invalid):
            load(world, draft, *bad)
    # An id that several rows have is no id of a pair.
    assert load(world, draft, row(10, id="x"), row(11, id="x")) == 2


def texts(*names: str) -> bytes:
    """A file of one text a system on each of three prompts."""
    return jsonl(
        *(
            {"query": f"Prompt {n}", "text": f"{name} on {n}.", "system": name}
            for n in range(3)
            for name in names
        )
    )


CHATS = [
    {
        "model": name,
        "messages": [
            {"role": "user", "content": "Prompt 0"},
            {"role": "assistant", "content": f"{name} says so."},
        ],
    }
    for name in ("elm", "fir")
]
# Files on prompts of the draft's pairs: their kind, and the texts and pairs of a task of its own.
OTHERS = {
    "candidates": (texts("cedar", "dogwood"), 6, 3),
    "pairs": (jsonl(*(row(n, response_a=f"Another answer to {n}.") for n in range(3))), 6, 3),
    "chat_texts": (jsonl(*CHATS), 2, 1),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_second_task_on_the_same_prompts_holds_the_texts_of_its_own_file_alone(
    world: World, draft: Task, kind: str
) -> None:
    load(world, draft, *(row(n) for n in range(3)))
    publish(by=world.requester, task=draft)
    other = create_task(by=world.requester, project=world.project, type="pairwise", title="Other")
    content, n_texts, n_pairs = OTHERS[kind]
    for new in (True, False):  # the same file again finds its texts
        report = import_content(
            by=world.requester, task=other, kind=kind, content=content, name="other.jsonl"
        )
        assert bool(report.new) == new
        made = PairBuild(Build(other))
        pairs = other.items.filter(repeat=False)
        assert (made.texts, pairs.count()) == (n_texts, n_pairs)
        assert PairBuild(Build(draft)).texts == 6
    load(world, draft, *(row(n, response_b="Later.") for n in range(3)))
    assert PairBuild(Build(draft)).texts == 9
    assert PairBuild(Build(other)).texts == n_texts


def test_a_text_whose_id_another_task_holds_becomes_a_text_of_its_own(
    world: World, draft: Task
) -> None:
    rows = [
        {"key": f"{name}-1", "query": "Prompt 1", "text": f"By {name}.", "system": name}
        for name in ("alder", "birch")
    ]
    other = create_task(by=world.requester, project=world.project, type="pairwise", title="Other")
    for task, new in ((draft, 2), (other, 2), (draft, 0), (other, 0)):
        report = import_content(
            by=world.requester, task=task, kind="candidates", content=jsonl(*rows), name="t.jsonl"
        )
        assert (report.new, PairBuild(Build(task)).texts) == (new, 2)
    assert Candidate.objects.filter(key="alder-1").count() == 1
