"""The overview: its figures are sums of what is there, and say how they were counted."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.access import Access
from annotation.authoring.actions import tasks
from annotation.authoring.actions.items import save_item
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.progress import median_hourly
from annotation.authoring.selectors.tasks import task_rows
from annotation.conversations.actions import write_as_worker
from annotation.models import Assignment, Rejection, Role, User
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.payments import mark_sent
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.actions.rejections import reply_to_rejection
from annotation.payouts.selectors.balance import hand_payments
from annotation.work.selectors.earnings import compute_earnings
from evaluation.models import Run, RunState, WorkerScore
from evaluation.overview import selectors as overview
from evaluation.overview.task_outlook import TaskOutlook
from evaluation.overview.todo import task_todos, todos
from evaluation.pairwise import adaptive
from evaluation.payouts.selectors.figures import key_figures
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_study import text_of
from tests.support import factories
from tests.support.factories import REJECTION, World
from tests.support.studies import thinking

pytestmark = [pytest.mark.django_db, pytest.mark.db]


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=5, pay="2.00")


def facts(world: World, person: User | None = None) -> overview.Facts:
    person = person or world.manager
    roles = frozenset(world.project.memberships.filter(user=person).values_list("role", flat=True))
    world.project.refresh_from_db()
    return overview.facts(Access(world.project, person, roles))


def figure(found: overview.Facts, label: str) -> dict[str, object]:
    return next(one for one in overview.figures(found) if one["label"] == label)


def test_cost_is_the_ledger_and_what_waits_and_the_end_adds_open_work(world: World) -> None:
    paid, waiting = (factories.claim_and_submit(world.task) for _ in range(2))
    factories.claim(world.task, world.worker)
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(paid.pk, bonus=Decimal("0.50"))],
    )
    before = facts(world)
    assert before.spent == Decimal("4.50")
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("2.50"))
    found = facts(world)
    assert found.spent == Decimal("4.50")  # approving moves money, it makes none
    # 5 assignments of 2 questions are needed: 2 done, 1 in work, 2 open.
    assert (found.submitted, found.needed) == (2, 5)
    assert found.cost_limit == Decimal("4.50") + 3 * Decimal("2.00")
    assert found.waiting[world.task.pk]["n"] == 1
    assert waiting.pk


def test_every_page_names_one_cost_at_most_with_bonuses_and_one_number_of_assignments() -> None:
    """7 items, 3 an assignment: one is approved with a bonus, one waits, one is in progress."""
    world = factories.make_world(7, redundancy=2, items_per_assignment=3, pay="1.00")
    paid, _waiting = (factories.claim_and_submit(world.task) for _ in range(2))
    factories.claim(world.task, factories.make_worker(world.project))
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(paid.pk, bonus=Decimal("0.25"))],
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("1.25"))
    found, cost, [row] = facts(world), Build(world.task).cost(), task_rows(world.project)
    [progress] = found.published
    assert found.spent == cost.money.spent == Decimal("2.25")
    assert found.ahead == cost.ahead == (1 + cost.open_assignments) * Decimal("1.00")
    assert {found.cost_limit, row.cost_limit, cost.cost_limit} == {found.spent + found.ahead}
    assert progress.open_assignments == cost.open_assignments
    assert found.needed == 3 + cost.open_assignments
    client = Client()
    client.force_login(world.manager)
    words = f"at most {found.needed} assignments at €1.00"
    for page in ("project", "task_list"):
        assert words in client.get(reverse(page, args=[world.project.pk])).content.decode()
    of = f"of at most {found.needed}"
    assert (figure(found, "Assignments")["of"], row.progress.of_needed) == (of, of)
    tasks.move(by=world.requester, task=world.task, to="close")
    [row], found = task_rows(world.project), facts(world)
    assert row.cost_limit == found.cost_limit == Decimal("3.25")  # work in progress is still paid
    assert row.progress.of_needed == figure(found, "Assignments")["of"] == "of 3"


def test_rejected_work_is_in_no_hourly_pay(world: World) -> None:
    """10.00, 12.00 and 15.00 an hour; then a fourth at 120.00 is rejected."""
    done = [factories.claim_and_submit(world.task, world.worker)]
    more = [factories.make_task(world.project, 2, redundancy=5, pay="2.00") for _ in range(3)]
    done += [factories.claim_and_submit(task, world.worker) for task in more]
    for assignment, minutes in zip(done, (12, 10, 8, 1), strict=True):
        factories.took(assignment, minutes)
    Assignment.objects.update(task=world.task)

    def medians() -> set[Decimal | None]:
        figures = key_figures(world.task)
        assert figures is not None
        own = compute_earnings(world.worker.user)
        assert own.hourly_works == done[0].task.assignments.exclude(pk=done[-1].pk).count()
        return {median_hourly(world.project), figures.hourly, own.hourly}

    line = ProposedLine(done[-1].pk, decision="reject", reason_code="other", reason=REJECTION)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    assert medians() == {Decimal("12.00")}


@pytest.mark.parametrize(("budget", "warning"), [("1.50", "€0.50 over budget"), ("2.00", None)])
def test_cost_above_the_budget_warns(world: World, budget: str, warning: str | None) -> None:
    factories.claim_and_submit(world.task)
    world.project.budget = Decimal(budget)
    world.project.save()
    assert figure(facts(world), "Cost so far").get("warning") == warning


def test_a_rejection_costs_nothing(world: World) -> None:
    done = factories.claim_and_submit(world.task)
    line = ProposedLine(done.pk, decision="reject", reason_code="other", reason=factories.REJECTION)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    assert facts(world).spent == 0


def test_a_closed_task_expects_no_more_cost(world: World) -> None:
    factories.claim_and_submit(world.task)
    tasks.move(by=world.requester, task=world.task, to="close")
    assert facts(world).cost_limit == Decimal("2.00")


def test_hourly_pay_is_measured_against_the_floor_and_says_what_would_lift_it(
    world: World,
) -> None:
    world.project.hourly_floor = Decimal("12.00")
    world.project.save()
    for minutes in (8, 12):  # 15.00 and 10.00 an hour
        done = factories.claim_and_submit(world.task)
        end = timezone.now()
        Assignment.objects.filter(pk=done.pk).update(
            opened_at=end - dt.timedelta(minutes=minutes), submitted_at=end
        )
    found = facts(world)
    told = figure(found, "Median hourly pay")
    assert told["value"] == "€12.00"  # at the median time, as a task says it
    assert "floor €12.00" in told["note"] and "1 person below" in told["note"]
    [one] = [todo for todo in todos(found) if "an hour" in todo.text]
    # 12 minutes at 12.00 an hour are 2.40: 0.40 more; 3 assignments are still open.
    assert "€0.40 more an assignment would lift all of them: €1.20 at most." in one.text


def test_each_person_sees_what_waits_for_them(world: World) -> None:
    done = factories.claim_and_submit(world.task)
    assert "1 assignment" in [todo.head for todo in todos(facts(world))]
    payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )
    mine = {todo.head: todo.text for todo in todos(facts(world, world.requester))}
    theirs = {todo.head: todo.text for todo in todos(facts(world))}
    assert mine["Proposal 1"] == "of yours waits for approval."
    assert theirs["Proposal 1"].endswith("waits for you.")
    assert facts(world).rows[0].next_label == "Approve proposal 1"
    row = facts(world, world.requester).rows[0]
    assert (row.next_label, row.waits) == ("Invite more workers", False)


def test_approved_pay_waits_for_whoever_may_pay_it_by_hand(world: World) -> None:
    done = [factories.claim_and_submit(world.task) for _ in range(2)]
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(one.pk, bonus=Decimal("0.50")) for one in done],
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    url = reverse("payment_by_hand", args=[world.project.pk])

    def lines(person: User) -> list[tuple[str, str]]:
        return [(one.head, one.text) for one in todos(facts(world, person)) if one.url == url]

    [(head, text)] = lines(world.manager)
    assert head == "4 payments" and "€5.00" in text and "2 people" in text
    assert lines(world.requester) == []
    mark_sent(by=world.manager, payments=hand_payments(world.project, batch.number))
    assert lines(world.manager) == []


def test_groups_come_from_the_official_run(world: World) -> None:
    assert figure(facts(world), "Distinguishable workers")["value"] == "no run yet"
    done = [factories.claim_and_submit(world.task).worker for _ in range(3)]
    for number, state in ((1, RunState.DONE), (2, RunState.FAILED)):
        run = Run.objects.create(
            project=world.project,
            task=world.task,
            number=number,
            method="aqer",
            version="1",
            state=state,
        )
        for at, worker in enumerate(done):
            WorkerScore.objects.create(
                run=run,
                worker=worker,
                n=2,
                estimate=0.5,
                component=1,
                group=(1, 1, 2)[at] if state == RunState.DONE else 1,
            )
        if state == RunState.DONE:
            make_official(run)
    thought = thinking.make_think(world.project)
    later = Run.objects.create(  # of a method that scores nobody: no figure of workers
        project=world.project,
        task=thought,
        number=3,
        method="attribute_diversity",
        version="1",
        state=RunState.DONE,
    )
    make_official(later)
    told = figure(facts(world), "Distinguishable workers")
    assert (told["value"], told["of"]) == ("2", "groups of 3 people")
    assert str(told["note"]).startswith("run 1, ")


def test_an_empty_project_says_what_will_fill_it() -> None:
    project = factories.make_project()
    client = Client()
    client.force_login(project.owner)
    page = client.get(reverse("project", args=[project.pk])).content.decode()
    assert "0 of 5 steps done. Next: create a task." in page


@pytest.mark.parametrize("show", ["", "open", "waiting", "closed", "nonsense"])
def test_every_view_of_the_tasks_opens(world: World, show: str) -> None:
    factories.claim_and_submit(world.task)
    factories.make_task(world.project, 0, publish=False)
    client = Client()
    client.force_login(world.manager)
    page = client.get(reverse("project", args=[world.project.pk]), {"show": show})
    assert page.status_code == 200


def test_a_manager_is_led_to_no_page_that_only_requesters_open(world: World) -> None:
    draft = factories.make_task(world.project, 0, publish=False)
    new = reverse("task_new", args=[world.project.pk])
    build = reverse("task_build", args=[world.project.pk, draft.pk])
    pages = [reverse(name, args=[world.project.pk]) for name in ("project", "task_list")]
    bodies = {}
    for person in (world.requester, world.manager):
        client = Client()
        client.force_login(person)
        bodies[person] = "".join(client.get(page).content.decode() for page in pages)
        importing = reverse("task_import", args=[world.project.pk, world.task.pk, "answers"])
        empty = client.get(reverse("task_results", args=[world.project.pk, world.task.pk]))
        assert (importing in empty.content.decode()) == (person == world.requester)
    assert new in bodies[world.requester] and build in bodies[world.requester]
    assert new not in bodies[world.manager] and build not in bodies[world.manager]


def test_a_task_shorter_than_its_assignments_needs_one_for_each_answer_to_a_question() -> None:
    world = factories.make_world(2, redundancy=5, pay="2.00", items_per_assignment=8)
    found = facts(world)
    assert (found.needed, found.cost_limit) == (5, Decimal("10.00"))
    cost = Build(world.task).cost()
    assert (cost.assignments, cost.cost_limit) == (5, Decimal("10.00"))
    [row] = task_rows(world.project)
    assert row.outstanding == 5


def test_imported_work_has_no_cost_and_paid_work_beside_it_keeps_its_own(world: World) -> None:
    factories.claim_and_submit(world.task)
    Assignment.objects.update(source="import", pay=0)
    tasks.move(by=world.requester, task=world.task, to="close")
    assert [one["label"] for one in overview.figures(facts(world))] == [
        "Assignments",
        "Distinguishable workers",
    ]
    client = Client()
    client.force_login(world.manager)
    url = reverse("project", args=[world.project.pk])
    assert not re.search(r"[>€\s]0\.00", client.get(url).content.decode())
    paid = factories.make_task(world.project, 2, pay="2.00")
    factories.claim_and_submit(paid)
    assert figure(facts(world), "Cost so far")["value"] == "€2.00"
    assert not re.search(r"[>€\s]0\.00", client.get(url).content.decode())


def test_an_open_task_with_imports_names_their_number_and_pays_for_the_rest(world: World) -> None:
    factories.claim_and_submit(world.task)
    Assignment.objects.update(source="import", pay=0)
    found = facts(world)
    [row] = found.rows
    assert row.progress.has_only_imports and not found.is_imported
    assert found.submitted == 0 and found.needed == row.progress.needed - 1
    open_ones = row.progress.needed - 1
    assert f"1 assignment imported, at most {open_ones} assignment" in row.sub
    client = Client()
    client.force_login(world.manager)
    html = client.get(reverse("project", args=[world.project.pk])).content.decode()
    assert re.search(r'data-label="Cost so far">\s*<span class="dim">imported<', html)


def test_every_page_of_a_task_counts_repeated_judgments_alike() -> None:
    task = pair_corpus.make_task(topics=1, redundancy=2)
    task.items.filter(pk__in=task.items.values("pk")[:5]).update(repeat=True)
    task = pair_corpus.make_judged(task=task, workers=2)
    task.items.filter(repeat=True).update(redundancy=4)
    args = [task.project_id, task.pk]
    adaptive.change(
        by=task.project.owner,
        task=task,
        raw={"dimension": "overall", "floor": 2, "ceiling": 8, "certainty": 0.8, "target": "label"},
    )
    client = Client()
    client.force_login(task.project.owner)
    for name in ("task", "pair_results", "pair_adaptive"):
        assert "Judgments 30 of 40" in text_of(
            client.get(reverse(name, args=args)).content.decode()
        ), name
    for name in ("project", "task_list"):
        shown = text_of(client.get(reverse(name, args=args[:1])).content.decode())
        assert "30 of 40, 75%" in shown and "15 pairs" in shown, name


def test_a_reply_to_a_rejection_is_listed_for_who_may_answer_it(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    line = ProposedLine(one.pk, decision="reject", reason_code="other", reason=REJECTION)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    rejection = Rejection.objects.get()
    reply_to_rejection(by=one.worker.user, rejection=rejection, text="I answered it all.")
    url = reverse("rejection_list", args=[world.project.pk])

    def listed(person: User) -> bool:
        return any(todo.url.startswith(url) for todo in todos(facts(world, person)))

    assert (listed(world.manager), listed(world.requester)) == (True, False)


def test_the_page_of_a_task_lists_what_waits_the_days_and_the_plan() -> None:
    def shown(size: int) -> tuple[int, TaskOutlook]:
        world = factories.make_world(2, redundancy=8, pay="2.00")
        for _ in range(size):
            one = factories.claim_and_submit(world.task)
            asked = {"text": "Which?", "key": uuid.uuid4()}
            write_as_worker(by=one.worker.user, worker=one.worker, task=world.task, **asked)
        client = Client()
        client.force_login(world.manager)
        url = reverse("task", args=[world.project.pk, world.task.pk])
        client.get(url)
        with CaptureQueriesContext(connection) as caught:
            page = client.get(url)
        return len(caught), page.context["outlook"]

    (asked, five), (asked_again, seven) = shown(5), shown(7)
    assert asked == asked_again
    assert [todo.head for todo in five.todos] == ["5 assignments", "5 messages"]
    assert [todo.head for todo in seven.todos] == ["7 assignments", "7 messages"]
    assert "7; most on a day: 7" in seven.chart and "ahead" in seven.chart
    assert seven.plan.endswith("/plan/")


def test_a_task_without_answers_offers_its_plan_where_its_type_has_one(world: World) -> None:
    client = Client()
    client.force_login(world.requester)
    url = reverse("task", args=[world.project.pk, world.task.pk])
    plan = reverse("task_plan", args=[world.project.pk, world.task.pk])
    assert client.get(url).content.decode().count(plan) == 2  # before data, and related pages
    ratings = tasks.create_task(
        by=world.requester, project=world.project, type="rating", title="Rate"
    )
    page = client.get(reverse("task", args=[world.project.pk, ratings.pk]))
    assert "/plan/" not in page.content.decode()


def test_items_that_were_imported_into_an_open_task_are_named_until_they_are_published() -> None:
    world = factories.make_world(2)
    access = Access(world.project, world.requester, frozenset({Role.REQUESTER}))
    assert not [one for one in task_todos(access, world.task) if one.mark == "draft"]
    tasks.edit_draft(by=world.requester, task=world.task, fields={"redundancy": 3})
    save_item(by=world.requester, task=world.task, key="new", question="Where do they nest?")
    world.task.refresh_from_db()
    (todo,) = [one for one in task_todos(access, world.task) if one.mark == "draft"]
    assert "1 new or changed item" in todo.text
    assert todo.url == reverse("task_build", args=[world.project.pk, world.task.pk])
    tasks.publish(by=world.requester, task=world.task)
    world.task.refresh_from_db()
    assert not [one for one in task_todos(access, world.task) if one.mark == "draft"]
