"""The dialog in which a draft is published: what it says, what it holds back, for every type."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from django.db.models import Sum
from django.urls import reverse

from annotation.accounts.projects.actions import current_consent_text
from annotation.authoring.actions.drafts import edit_draft
from annotation.authoring.actions.items import save_item
from annotation.authoring.actions.label_fields import edit_field
from annotation.authoring.actions.tasks import create_task
from annotation.authoring.actions.tasks import publish as publish_task
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.publishing import Publishing
from annotation.authoring.selectors.cost import most_assignments
from annotation.authoring.selectors.progress import progress_of
from annotation.authoring.selectors.tasks import task_row, versions_of
from annotation.authoring.views.builder.context import republishing
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import get_template, is_template_text, templates
from annotation.models import Recruitment, Task
from annotation.task_types import TYPES
from evaluation.runs.planning.price import Answers, price_of
from tests.annotation.pairs.pair_studies import HTMX, signed_in
from tests.support.factories import (
    World,
    claim,
    claim_and_submit,
    make_answers,
    make_task,
    make_worker,
    make_world,
)
from tests.support.studies.labels import make_labels
from tests.support.studies.ratings import make_documents

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world(2, publish=False)


def sentences(task: Task) -> list[str]:
    return [gap.sentence for gap in Publishing(Build(task)).gaps]


def publish(world: World, task: Task, **sent: str) -> int:
    url = reverse("task_publish", args=[task.project_id, task.pk])
    return int(signed_in(world.requester).post(url, sent).status_code)


@pytest.mark.parametrize("type", list(TYPES))
def test_every_type_has_the_dialog_and_an_empty_draft_is_held_back(world: World, type: str) -> None:
    task = create_task(by=world.requester, project=world.project, type=type, title="New")
    url = reverse("task_publish", args=[task.project_id, task.pk])
    for headers in ({}, {"HX-Request": "true"}):
        page = signed_in(world.requester).get(url, headers=headers)
        assert page.status_code == 200 and b"disabled" in page.content
    assert publish(world, task) == 422
    task.refresh_from_db()
    assert task.current is None


def test_each_missing_thing_leads_to_where_it_is_mended(world: World) -> None:
    edit_draft(by=world.requester, task=world.task, fields={"instructions": "", "redundancy": 3})
    found = {gap.url.partition("?")[2] or gap.url for gap in Publishing(Build(world.task)).gaps}
    project = [world.project.pk]
    assert found == {
        "part=text",
        "part=known",
        f"task={world.task.pk}#who",
        reverse("invitation_new", args=project),  # two workers are too few
    }


def test_the_consent_is_asked_for_once_in_a_project(world: World) -> None:
    before = sentences(world.task)
    url = reverse("project_settings_consent", args=[world.project.pk])
    client = signed_in(world.requester)
    sent = {"institution": "Aldmere University", "contact": "", "purpose": "To see."}
    assert client.post(url, sent).status_code == 422
    back = client.post(f"{url}?task={world.task.pk}", {**sent, "contact": "lab@example.org"})
    assert back["Location"] == reverse("task_publish", args=[world.project.pk, world.task.pk])
    text = current_consent_text(world.project).text
    assert "Aldmere University" in text and "lab@example.org" in text and "To see." in text
    assert "What is recorded while you work" in text
    assert len(sentences(world.task)) == len(before) - 1
    assert "institution" not in client.get(url).content.decode()


def test_the_cost_holds_the_fee_of_the_platform_and_what_is_left_of_the_budget(
    world: World,
) -> None:
    edit_draft(by=world.requester, task=world.task, fields={"pay": "2.00", "redundancy": 2})
    way_in = {"task": world.task, "created_by": world.requester, "kind": Recruitment.Kind.PANEL}
    Recruitment.objects.create(**way_in, fee_percent=Decimal(25), currency="EUR")
    world.project.budget = Decimal("10.00")
    world.project.save(update_fields=["budget"])
    world.task.refresh_from_db()
    found = Publishing(Build(world.task))
    assignments = found.cost.assignments
    assert found.fee == Decimal("0.50") * assignments
    assert found.total == Decimal("2.50") * assignments
    assert found.budget_left == Decimal("10.00") - found.total
    make_task(world.project, 2, redundancy=1, pay="1.50")  # its open work is owed to others
    later = Publishing(Build(world.task))
    assert later.budget_left == Decimal("8.50") - found.total


def test_instructions_are_a_templates_until_a_word_of_them_changes() -> None:
    text = next(iter(templates().values())).rules["instructions"]
    assert is_template_text(f"  {text}\r\n")
    assert not is_template_text(text + " More.")
    assert not is_template_text("")


def test_instructions_of_a_template_are_named_until_they_were_published_once(world: World) -> None:
    task = begin_task(by=world.requester, project=world.project, template=get_template("sentiment"))
    client = signed_in(world.requester)
    where = [task.project_id, task.pk]
    url, build = reverse("task_publish", args=where), reverse("task_build", args=where)
    assert client.get(url).context["template_text"] and not client.get(build).context["missing"]
    assert client.post(url).status_code == 302
    for title in ("Second", "Third"):
        edit_draft(by=world.requester, task=task, fields={"title": title})
        assert not client.get(build).context["missing"]
        assert not client.get(url).context["template_text"]
        assert client.post(url).status_code == 302
    other = get_template("classification").rules["instructions"]
    edit_draft(by=world.requester, task=task, fields={"instructions": other})
    assert client.get(url).context["template_text"]


def test_examples_can_be_removed_from_the_dialog_which_is_then_shown_again(world: World) -> None:
    task = begin_task(by=world.requester, project=world.project, template=get_template("sentiment"))
    url = reverse("task_examples", args=[task.project_id, task.pk])
    client = signed_in(world.requester)
    back = client.post(url, {"back": "publish"})
    assert back["Location"] == reverse("task_publish", args=[task.project_id, task.pk])
    assert client.get(back["Location"]).status_code == 200


def test_the_builder_marks_the_instructions_of_a_template_until_they_change(world: World) -> None:
    task = begin_task(by=world.requester, project=world.project, template=get_template("sentiment"))
    url = reverse("task_build", args=[task.project_id, task.pk])
    client = signed_in(world.requester)
    assert client.get(f"{url}?part=text").context["template_text"]
    saved = client.post(f"{url}?part=text", {"instructions": "Ours."}, headers=HTMX)
    assert not saved.context["template_text"]


def test_a_new_version_says_what_it_costs_beyond_the_work_that_is_done(world: World) -> None:
    by, task = world.requester, world.task
    edit_draft(by=by, task=task, fields={"pay": "2.00", "redundancy": 1, "items_per_assignment": 1})
    assert Publishing(Build(task)).cost.money.spent == 0
    assert Publishing(Build(task)).further_cost == Publishing(Build(task)).total == Decimal("4.00")
    publish_task(by=by, task=task)
    claim_and_submit(task)
    edit_draft(by=by, task=task, fields={"redundancy": 3, "pay": "3.00"})
    found = Publishing(Build(task))
    assert (found.cost.money.spent, found.further_cost, found.total) == (2, 15, 17)


def test_pay_and_redundancy_change_in_the_dialog_and_no_unseen_cost_is_published(
    world: World,
) -> None:
    by, task = world.requester, world.task
    edit_draft(by=by, task=task, fields={"pay": "1.00", "redundancy": 1, "items_per_assignment": 1})
    client = signed_in(by)
    url = reverse("task_publish", args=[task.project_id, task.pk])
    shown = client.post(url, {"look": "1", "pay": "2.00", "redundancy": "3"}, headers=HTMX)
    draft = task.versions.latest("number")
    assert (draft.pay, draft.redundancy, draft.published_at) == (2, 3, None)
    total = str(shown.context["publishing"].total)
    assert total == "12.00" and "Publish for €12.00" in shown.content.decode()
    sent = {"pay": "4.00", "redundancy": "3", "total": total}
    changed = client.post(url, sent)
    assert (changed.status_code, changed.context["changed"]) == (422, True)
    refused = client.post(url, {**sent, "pay": "1,000"})
    assert refused.status_code == 422 and refused.context["wrong"]["pay"]
    draft.refresh_from_db()
    assert (draft.pay, draft.published_at) == (4, None)
    assert client.post(url, {**sent, "total": "24.00"}).status_code == 302
    draft.refresh_from_db()
    assert draft.published_at is not None


def test_every_page_names_one_cost_with_the_fee_of_the_platform(world: World) -> None:
    by, task = world.requester, world.task
    edit_draft(by=by, task=task, fields={"pay": "2.00", "redundancy": 2, "items_per_assignment": 1})
    Recruitment.objects.create(
        task=task, kind="panel", name="Ours", currency="EUR", created_by=by, fee_percent="33.30"
    )

    def costs() -> set[Decimal]:
        task.refresh_from_db()
        dialog, [overview] = Publishing(Build(task)), progress_of([task])
        assert dialog.further_cost <= dialog.total
        return {dialog.total, task_row(task).cost_limit, overview.spent + overview.ahead}

    publish_task(by=by, task=task)
    assert costs() == {Publishing(Build(task)).cost.cost_limit} == {Decimal("10.66")}
    claim_and_submit(task)
    claim(task, make_worker(task.project))
    assert costs() == {Decimal("10.66")}
    page = signed_in(by).get(reverse("task", args=[task.project_id, task.pk])).content.decode()
    assert "€10.66 at most with the platform’s fee" in page


def said_of(task: Task) -> str:
    build = Build(task)
    return republishing(build, Publishing(build).rewording)


def test_the_dialog_and_the_list_say_what_a_version_changes(world: World) -> None:
    by = world.requester
    task = make_labels(world.project, redundancy=3)
    field = task.versions.get().settings["fields"][0]
    edit_field(by=by, task=task, name=field["name"], fields={"question": "What is it?"})
    edit_draft(by=by, task=task, fields={"redundancy": 5})
    save_item(by=by, task=task, key="leaf-9", question="One more leaf.")
    changes = ["question reworded", "labels per item 3 to 5", "1 item new"]
    assert versions_of(task)[0].changes == changes
    assert said_of(task).startswith(f"Version 2: {', '.join(changes)}.")
    edit_field(by=by, task=task, name=field["name"], fields={"label-0": "Dots", "required": ""})
    changes[1:1] = ["options changed"]
    changes[2:2] = ["other rules for answers"]
    assert versions_of(task)[0].changes == changes


@pytest.mark.parametrize("changes", [False, True])
def test_the_dialog_speaks_of_other_items_only_where_some_change(
    world: World, changes: bool
) -> None:
    by = world.requester
    task = make_labels(world.project, redundancy=3)
    edit_draft(by=by, task=task, fields={"instructions": "Look at every leaf twice."})
    if changes:
        item = task.items.first()
        assert item is not None
        save_item(by=by, task=task, key=item.key, question="Another leaf.", item=item)
    assert bool(Build(task).changes().changed) == changes
    assert ("all other items" in said_of(task)) == changes


def test_what_must_be_done_first_stands_apart_from_what_may_stay(world: World) -> None:
    task = begin_task(
        by=world.requester, project=world.project, template=get_template("classification")
    )
    url = reverse("task_publish", args=[task.project_id, task.pk])
    html = signed_in(world.requester).get(url).content.decode()
    optional = html.partition('data-gaps="optional"')[2].partition("</ul>")[0]
    assert optional.count("<li>") > 2 and "mark-bad" not in optional
    assert 'data-gaps="required"' not in html


def test_pay_is_said_for_one_item_and_an_hour_wherever_it_is_typed(world: World) -> None:
    url = reverse("task_build", args=[world.project.pk, world.task.pk]) + "?part=time"
    client = signed_in(world.requester)
    edit_draft(by=world.requester, task=world.task, fields={"items_per_assignment": 2})
    saved = client.post(url, {"pay": "0.03"}, headers=HTMX)
    assert "= <b>€0.015</b> per question" in saved.content.decode()
    saved = client.post(url, {"expected_minutes": "2"}, headers=HTMX).content.decode()
    assert "€0.90 an hour" in saved and 'id="pay-note" hx-swap-oob' in saved


def test_imported_answers_beyond_the_plan_hide_no_open_ones_and_cost_nothing(world: World) -> None:
    """3 items with 8 imported answers each; then 5 are planned for them and for a new item."""
    by, task = world.requester, world.task
    edit_draft(by=by, task=task, fields={"pay": "0.40", "redundancy": 3, "items_per_assignment": 2})
    publish_task(by=by, task=task)
    keys = list(task.items.values_list("key", flat=True))
    make_answers(task, {f"w-{n}": dict.fromkeys(keys, "On roofs.") for n in range(8)})
    task.refresh_from_db()
    row = task_row(task)
    assert (row.answers, row.planned, row.pending, row.filled) == (16, 6, 0, 6)
    assert row.complete and row.outstanding == 0 and row.cost_limit == 0
    assert row.is_imported  # "16 answers", without the 6 that were planned
    edit_draft(by=by, task=task, fields={"redundancy": 5})
    save_item(by=by, task=task, key="new", question="Where else do they nest?")
    dialog = Publishing(Build(task))
    assert (dialog.cost.open_answers, dialog.cost.open_assignments) == (5, 5)
    assert dialog.total == dialog.further_cost == Decimal("2.00")
    publish_task(by=by, task=task)
    task.refresh_from_db()
    row = task_row(task)
    assert (row.answers, row.planned, row.pending, row.filled) == (16, 15, 5, 10)
    assert not row.complete and not row.is_imported
    assert row.outstanding == 3 and row.cost_limit == Decimal("2.00")
    overview = progress_of([task])[0]
    assert (overview.open_assignments, overview.ahead) == (5, Decimal("2.00"))


def test_at_most_holds_though_last_assignments_are_short(world: World) -> None:
    """3 items, 2 an assignment, 2 workers per item: both take 2 and then 1, at full pay."""
    task = make_task(
        world.project, 3, publish=False, redundancy=2, items_per_assignment=2, pay="1.00"
    )
    planned = price_of(task, task.version_or_draft()).cost(Answers.fill_items(2, 3))
    limits = [Publishing(Build(task)).total, Build(task).cost().cost_limit, planned]
    publish_task(by=world.requester, task=task)
    for worker in [make_worker(world.project)] * 2 + [make_worker(world.project)] * 2:
        claim_and_submit(task, worker)
        task.refresh_from_db()
        [overview] = progress_of([task])
        limits += [task_row(task).cost_limit, overview.spent + overview.ahead]
    earned = task.assignments.aggregate(s=Sum("pay"))["s"]
    assert {*limits, earned} == {Decimal("4.00")}


def test_assignments_that_end_with_documents_cost_as_much_in_the_plan(world: World) -> None:
    """Four documents of 3 answers, 6 an assignment: each takes one, of 3 workers."""
    task = make_documents(world.project, 4, settings={"one_document": True})
    planned = price_of(task, task.version_or_draft()).cost(Answers.fill_items(3, 12))
    assert {planned, Build(task).cost().cost_limit} == {Decimal("24.00")}


def test_no_order_of_workers_takes_more_assignments_than_the_bound() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        items, size, workers = rng.randint(1, 7), rng.randint(1, 4), rng.randint(1, 3)
        free, met, taken = dict.fromkeys(range(items), workers), {}, 0
        first = most = most_assignments(items * workers, items=items, size=size, workers=workers)
        while sum(free.values()):
            own = met.setdefault(rng.randint(1, 2 * workers + taken), set())
            held = [item for item, left in free.items() if left and item not in own]
            if not held:
                continue
            held = rng.sample(held, min(size, len(held)))
            own.update(held)
            free.update({item: free[item] - 1 for item in held})
            taken += 1
            still = most_assignments(
                sum(free.values()), items=items, size=size, workers=workers, taken=taken
            )
            assert taken + still <= most
            most = taken + still
        assert taken <= first
