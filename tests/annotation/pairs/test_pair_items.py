"""Pairs of a draft: drawn, made again, with attention pairs; and tasks made of a study."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions import asked, tasks
from annotation.authoring.actions.drafts import edit_draft
from annotation.models import Candidate, Task
from annotation.pairs.actions import pair_design, pair_items
from annotation.task_types.pairwise import type as pairwise
from crowdqc.errors import Invalid
from tests.annotation.pairs.pair_studies import begun, save, signed_in, url, with_texts
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db, pytest.mark.db]


@pytest.fixture
def world() -> World:
    return factories.make_world(3, publish=False)


@pytest.fixture
def task(world: World) -> Task:
    return begun(world)


# Pairs ------------------------------------------------------------------------------------------


def live(task: Task) -> dict[str, int]:
    version = task.versions.latest("number")
    return dict(task.items.in_version(version.number).values_list("key", "pk"))


def test_making_pairs_twice_changes_nothing_and_a_draw_is_repeatable(
    world: World, task: Task
) -> None:
    with_texts(world, task)
    save(world, task, "task_build_pairs", {"kind": "balanced"}, part="pairs")
    save(world, task, "task_build_pairs", {"pairs_per_topic": "2"}, part="pairs")
    save(world, task, "task_build_pairs", {"to": "make"}, part="pairs")
    before = live(task)
    assert len(before) == 8 + 3  # two of three pairs on four topics, and a third of them again
    again = save(world, task, "task_build_pairs", {"to": "make"}, part="pairs")
    assert b"Nothing changed" in again.content and live(task) == before
    save(world, task, "task_build_pairs", {"to": "again"}, part="pairs")
    assert live(task) != before
    save(world, task, "task_build_pairs", {"repeat_every": "0"}, part="pairs")
    save(world, task, "task_build_pairs", {"to": "make"}, part="pairs")
    assert len(live(task)) == 8
    assert all(item.first_id < item.second_id for item in task.items.all())


def test_pairs_that_stay_keep_their_rows_and_answers_over_versions(
    world: World, task: Task
) -> None:
    with_texts(world, task, n=2)
    pair_items.make_pairs(by=world.requester, task=task)
    tasks.publish(by=world.requester, task=task)
    before = live(task)
    pair_items.edit_design(by=world.requester, task=task, fields={"repeat_every": 0})
    made = pair_items.make_pairs(by=world.requester, task=task)
    assert (made.pairs, made.new, made.gone) == (6, 0, 2)
    assert set(live(task).items()) < set(before.items())
    pair_items.edit_design(by=world.requester, task=task, fields={"repeat_every": 3})
    pair_items.make_pairs(by=world.requester, task=task)
    assert live(task) == before  # taken back: the same rows stand again
    tasks.publish(by=world.requester, task=task)
    assert set(task.items.values_list("redundancy", flat=True)) == {5}


def test_attention_pairs_stand_beside_the_pairs_and_are_not_among_them(
    world: World, task: Task
) -> None:
    with_texts(world, task, n=1)
    save(world, task, "task_build_asked_step", {"to": "template"}, part="asked")
    a, b, _ = Candidate.objects.order_by("pk").values_list("pk", flat=True)
    form = {"left": str(b), "right": str(a), "e-quality_overall": "left", "e-coverage_deep": ""}
    save(world, task, "task_build_attention", form, part="pairs")
    item = task.items.get(expected__isnull=False)
    # The left one is the second as stored: the expected answer is stored for the stored order.
    assert (item.first_id, item.second_id) == (a, b)
    assert item.expected == {"quality_overall": "second"} and item.redundancy == 0
    pair_items.edit_design(by=world.requester, task=task, fields={"repeat_every": 0})
    made = pair_items.make_pairs(by=world.requester, task=task)
    assert made.pairs == 2 and not task.items.filter(first=a, second=b, expected=None).exists()
    wrong = save(
        world, task, "task_build_attention", {**form, "e-quality_overall": "neutral"}, part="pairs"
    )
    assert wrong.status_code == 422 and b"asks for left or right" in wrong.content
    save(world, task, "task_build", {"gold_per_assignment": "2"}, part="pairs")
    with pytest.raises(Invalid, match="2 attention pairs an assignment, there is 1"):
        tasks.publish(by=world.requester, task=task)
    save(world, task, "task_build", {"gold_per_assignment": "1"}, part="pairs")
    tasks.publish(by=world.requester, task=task)
    lease = factories.claim(task, world.worker)
    assert lease.entries.count() == 3 and lease.entries.filter(holds=False).get().item == item
    save(world, task, "task_build_attention", {"remove": item.key}, part="pairs")
    assert item.key not in live(task)


def test_the_page_of_pairs_says_how_workers_hang_together(world: World, task: Task) -> None:
    with_texts(world, task)
    save(world, task, "task_build_pairs", {"to": "make"}, part="pairs")
    client = signed_in(world.requester)
    page = client.get(url("task_build", task, part="pairs")).content.decode()
    assert "share no pair" not in page and "Nobody judges their own text" in page
    save(world, task, "task_build", {"redundancy": "1"}, part="pairs")
    # 16 pairs, 4 an assignment, one judge
    answer = save(world, task, "task_build", {"items_per_assignment": "4"}, part="pairs")
    assert "4 groups that share no pair" in answer.content.decode()


def test_what_is_missing_is_named_step_by_step(world: World, task: Task) -> None:
    def lacks() -> str:
        with pytest.raises(Invalid) as refused:
            tasks.publish(by=world.requester, task=task)
        return refused.value.message

    assert lacks() == "The task has no texts."
    with_texts(world, task)
    fields = {"items_per_assignment": "5"}
    edit_draft(by=world.requester, task=task, fields=fields)  # by a program: no page renews pairs
    assert "make the pairs again" in lacks()
    page = signed_in(world.requester).get(url("task_build", task)).content.decode()
    assert "make the pairs again" in page and "part=pairs" in page
    pair_items.make_pairs(by=world.requester, task=task)
    version = tasks.publish(by=world.requester, task=task)
    assert task.items.filter(redundancy=version.redundancy).count() == 16


@pytest.mark.parametrize(
    ("view", "fields", "part"),
    [
        ("task_build", {"items_per_assignment": "4"}, "time"),
        ("task_build_pairs", {"repeat_every": "0"}, "pairs"),
        ("task_build_texts", {"leave": "first"}, "texts"),
    ],
)
def test_pairs_follow_a_change_of_what_they_depend_on(
    world: World, task: Task, view: str, fields: dict[str, str], part: str
) -> None:
    with_texts(world, task)
    pair_items.make_pairs(by=world.requester, task=task)
    first = str(Candidate.objects.order_by("pk").values_list("pk", flat=True)[0])
    sent = {name: first if value == "first" else value for name, value in fields.items()}
    save(world, task, view, sent, part=part)
    assert tasks.problems(task, task.versions.get()) == []


def test_pairs_that_were_not_drawn_here_stay_when_the_draft_changes(
    world: World, task: Task
) -> None:
    with_texts(world, task)
    pair_items.make_pairs(by=world.requester, task=task)
    edit_draft(by=world.requester, task=task, fields={"settings": {"made": ""}})
    before = live(task)
    save(world, task, "task_build_pairs", {"repeat_every": "0"}, part="pairs")
    assert live(task) == before


def test_queries_of_a_part_do_not_grow_with_the_study(world: World, task: Task) -> None:
    client, counts = signed_in(world.requester), []
    for n in (3, 30):
        with_texts(world, task, n=n)
        pair_items.make_pairs(by=world.requester, task=task)
        found = []
        for part in ("asked", "texts", "pairs", "time"):
            with CaptureQueriesContext(connection) as queries:
                assert client.get(url("task_build", task, part=part)).status_code == 200
            found.append(len(queries))
        counts.append(found)
    assert counts[0] == counts[1] and max(counts[0]) <= 32


def names(task: Task) -> list[str]:
    settings = task.versions.latest("number").settings
    return [row["name"] for row in settings.get("dimensions", settings.get("scales"))]


# Tasks made of a study --------------------------------------------------------------------------


def test_a_pilot_rates_the_same_texts_one_by_one(world: World, task: Task) -> None:
    with_texts(world, task)
    asked.use_template(by=world.requester, task=task)
    left = Candidate.objects.order_by("pk")[0]
    pair_items.leave_out(by=world.requester, task=task, candidate=left.pk, out=True)
    answer = save(world, task, "task_build_texts", {"to": "rate"}, part="texts")
    pilot = Task.objects.get(source=task)
    assert answer["HX-Redirect"].endswith(f"/tasks/{pilot.pk}/build/")
    assert names(pilot) == [row["name"] for row in pairwise.TEMPLATE]
    assert pilot.items.count() == 11 and not pilot.items.filter(first=left).exists()
    # Topics take turns, so that any four texts in a row are of four topics.
    groups = list(pilot.items.order_by("position").values_list("group__key", flat=True))
    assert len(set(groups[:4])) == 4
    pair_items.leave_out(by=world.requester, task=pilot, candidate=left.pk, out=False)
    assert pilot.items.count() == 12
    tasks.publish(by=world.requester, task=pilot)


def test_hard_pairs_go_to_a_panel_once_each_by_everybody_on_it(world: World, task: Task) -> None:
    with_texts(world, task)
    pair_items.make_pairs(by=world.requester, task=task)
    tasks.publish(by=world.requester, task=task)
    task.refresh_from_db()
    experts = [factories.make_worker(world.project) for _ in range(3)]
    hard = [*task.items.filter(repeat=True)[:1], *task.items.filter(repeat=False)[:5]]
    new = pair_design.panel_task(
        by=world.requester,
        task=task,
        items=hard,
        title="Hard pairs",
        panel_name="Experts",
        workers=experts,
    )
    assert new.source == task and new.state == "draft" and new.panel is not None
    pairs = {(item.first_id, item.second_id) for item in hard}
    assert set(new.items.values_list("first_id", "second_id")) == pairs
    version = tasks.publish(by=world.requester, task=new)
    assert version.redundancy == 3
    new.refresh_from_db()
    for expert in experts:
        assert factories.claim(new, expert).entries.count() == len(pairs)
    with pytest.raises(Exception, match="panel"):
        factories.claim(new, world.worker)
    with pytest.raises(Invalid, match="Choose pairs of this task"):
        pair_design.panel_task(
            by=world.requester,
            task=task,
            items=list(new.items.all()),
            title="No",
            panel_name="Experts",
            workers=experts,
        )


def test_choosing_a_type_explains_each_and_lists_speak_of_pairs(world: World, task: Task) -> None:
    client = signed_in(world.requester)
    page = client.get(reverse("task_new", args=[world.project.pk])).content.decode()
    for words in ("answered in people’s own words", "Two texts side by side", "answer at a time"):
        assert words in page
    with_texts(world, task)
    pair_items.make_pairs(by=world.requester, task=task)
    listed = client.get(reverse("task_list", args=[world.project.pk])).content.decode()
    assert "Pairwise judgments, 16 pairs" in listed
    assert "16 pairs, nothing published yet." in client.get(url("task", task)).content.decode()
