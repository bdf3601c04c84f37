"""The worker's pages over HTTP: who gets in, what is shown, and what a plain form can do."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, Assignment, Consent, Membership
from annotation.payouts.actions import proposals as payouts
from tests.annotation.work.test_claims import run_out
from tests.support import factories
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
JSON = {"HTTP_ACCEPT": "application/json"}
HOME_QUERIES = 18
ITEM_QUERIES = 5
REVIEW_QUERIES = 5
RECORD_QUERIES = 14


def signed_in(who: Any) -> Client:
    client = Client()
    client.force_login(who.user if isinstance(who, Membership) else who)
    return client


def item_url(assignment: Assignment, number: int) -> str:
    return reverse("work_item", args=[assignment.pk, number])


def post_json(client: Client, name: str, assignment: Assignment, body: Any) -> Any:
    return client.post(
        reverse(name, args=[assignment.pk]), body, content_type="application/json", **JSON
    )


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(4)


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(world.task, world.worker)


PAGES = ["work_assignment", "work_done"]
ACTIONS = ["work_submit", "work_extend", "work_return", "work_draft", "work_stream", "work_events"]


@pytest.mark.parametrize("name", [*PAGES, *ACTIONS])
def test_an_assignment_is_its_workers_alone(
    world: factories.World, held: Assignment, name: str
) -> None:
    url = reverse(name, args=[held.pk])
    others = (world.requester, world.manager, world.outsider, factories.make_worker(world.project))
    for other in others:
        client = signed_in(other)
        answer = client.get(url) if name in PAGES else client.post(url, **JSON)
        assert answer.status_code == 404, other
    wrong = signed_in(world.worker)
    assert (wrong.post(url) if name in PAGES else wrong.get(url)).status_code == 405
    held.refresh_from_db()
    assert held.state == "leased"


def test_the_signed_out_are_sent_to_sign_in_and_scripts_are_told(held: Assignment) -> None:
    assert Client().get(reverse("work_home")).status_code == 302
    refused = post_json(Client(), "work_draft", held, {"item": 1, "draft": {}, "seq": 1})
    assert refused.status_code == 401
    assert refused.json()["code"] == "signed-out"


def test_claiming_needs_the_role_of_a_worker(world: factories.World) -> None:
    url = reverse("work_claim", args=[world.task.pk])
    assert signed_in(world.outsider).post(url).status_code == 404
    assert signed_in(world.manager).post(url).status_code == 403
    assert signed_in(world.worker).get(url).status_code == 405
    assert signed_in(world.worker).post(url).status_code == 302
    assert Assignment.objects.count() == 1


def test_agreeing_needs_the_tick_and_leads_on_to_the_task(world: factories.World) -> None:
    worker = factories.make_worker(world.project, consent=False)
    client = signed_in(worker)
    asked = client.post(reverse("work_claim", args=[world.task.pk]))
    assert "/consent/" in asked.url
    page = client.get(asked.url)
    assert b"checked" not in page.content
    text = page.context["fingerprint"]
    sent = {"text": text, "task": str(world.task.pk)}
    refused = client.post(asked.url, sent)
    assert refused.status_code == 422
    assert "Tick the box" in refused.content.decode()
    assert not Consent.objects.filter(membership=worker).exists()
    gone_on = client.post(asked.url, {**sent, "agreed": "on"})
    assert gone_on.url == reverse("work_assignment", args=[Assignment.objects.get().pk])


def test_declining_and_taking_back_lead_to_a_calm_page(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    url = reverse("work_consent", args=[world.project.pk])
    page = client.post(reverse("work_withdraw", args=[world.project.pk]), follow=True)
    assert "nothing is held against you" in page.content.decode()
    assert Consent.objects.get().withdrawn_at
    declined = client.post(url, {"decline": "1", "text": "1"}, follow=True)
    assert "Submit or return it" in declined.content.decode()
    assert client.get(item_url(held, 1)).url.startswith(url)


def test_an_assignment_can_be_done_with_plain_forms(world: factories.World) -> None:
    client = signed_in(world.worker)
    started = client.post(reverse("work_claim", args=[world.task.pk]), follow=True)
    assert "What is question 1 about?" in started.content.decode()
    held = Assignment.objects.get()
    for number in range(1, 5):
        go = "dont_know" if number == 2 else "next"
        moved = client.post(
            item_url(held, number),
            {"go": go, "text": "" if number == 2 else f"Answer {number}.", "declined": ""},
        )
    assert moved.url == reverse("work_assignment", args=[held.pk])
    page = client.get(moved.url)
    assert "Ready to submit" in page.content.decode()
    done = client.post(
        reverse("work_submit", args=[held.pk]), {"key": page.context["key"]}, follow=True
    )
    assert "Submitted, thank you" in done.content.decode()
    assert list(Answer.objects.order_by("order_shown").values_list("texts__text", flat=True)) == [
        "Answer 1.",
        "I don't know",
        "Answer 3.",
        "Answer 4.",
    ]


def test_writing_takes_i_dont_know_back(world: factories.World, held: Assignment) -> None:
    client = signed_in(world.worker)
    client.post(item_url(held, 1), {"go": "dont_know", "text": ""})
    assert held.entries.first().draft["declined"]
    client.post(item_url(held, 1), {"go": "next", "text": "", "declined": "true"})
    assert held.entries.first().draft["declined"]
    client.post(item_url(held, 1), {"go": "next", "text": "Storks.", "declined": "true"})
    assert not held.entries.first().draft["declined"]


def test_instructions_stand_before_the_first_question(world: factories.World) -> None:
    task = factories.make_task(world.project, 2, instructions="Answer **briefly**.")
    client = signed_in(world.worker)
    page = client.post(reverse("work_claim", args=[task.pk]), follow=True)
    assert "<strong>briefly</strong>" in page.content.decode()
    assert "Start with question 1" in page.content.decode()


# The text that may not be looked back at --------------------------------------------------------


def test_a_text_without_looking_back_is_shown_once_before_its_questions(
    world: factories.World,
) -> None:
    task = factories.make_task(world.project, 4, groups=2, look_back=False, redundancy=1)
    client, secret = signed_in(world.worker), "build their nests"
    held = factories.claim(task, world.worker)
    first = client.get(item_url(held, 1)).content.decode()
    assert secret in first
    assert "What is question 1" not in first
    assert client.get(item_url(held, 2)).content.decode().count(secret) == 1
    client.post(item_url(held, 1), {"go": "read"})
    for number in (1, 2):
        page = client.get(item_url(held, number)).content.decode()
        assert secret not in page
        assert f"What is question {number}" in page
    assert secret in client.get(item_url(held, 3)).content.decode()  # the second text
    assert secret not in client.get(reverse("work_assignment", args=[held.pk])).content.decode()
    # Returning the assignment and taking it again does not bring it back.
    client.post(reverse("work_return", args=[held.pk]))
    again = factories.claim(task, world.worker)
    assert secret not in client.get(item_url(again, 1)).content.decode()


def test_a_form_sent_past_the_text_closes_it_all_the_same(world: factories.World) -> None:
    task = factories.make_task(world.project, 2, look_back=False)
    client, held = signed_in(world.worker), factories.claim(task, world.worker)
    client.post(item_url(held, 1), {"go": "next", "text": "No text seen."})
    assert "build their nests" not in client.get(item_url(held, 1)).content.decode()


# What scripts talk to ----------------------------------------------------------------------------


def test_a_draft_is_kept_and_a_newer_one_is_given_back(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    body = {"item": 1, "draft": {"text": "new"}, "seq": 200}
    assert post_json(client, "work_draft", held, body).json()["seq"] == 200
    older = post_json(client, "work_draft", held, {**body, "draft": {"text": "old"}, "seq": 100})
    assert older.json()["draft"]["text"] == "new"


def test_a_page_of_the_version_before_saves_under_the_row_and_a_new_one_by_its_number(
    world: factories.World, held: Assignment
) -> None:
    client, row = signed_in(world.worker), held.entries.get(position=1).item_id
    body = {"item": row, "draft": {"text": "kept"}, "seq": 5}
    assert post_json(client, "work_draft", held, body).status_code == 422
    assert f'data-item="{row}"' not in html_of(client.get(item_url(held, 2)))
    Assignment.objects.update(seed=None)  # leased before the upgrade
    assert post_json(client, "work_draft", held, body).status_code == 200
    assert f'data-item="{row}"' in html_of(client.get(item_url(held, 2)))
    assert held.entries.get(position=1).draft["text"] == "kept"


@pytest.mark.parametrize(
    "body",
    ["no json", "[]", '{"item": "x"}', '{"item": 1, "draft": [], "seq": 1}', "[" * 100_000],
)
def test_a_broken_body_is_refused_in_words(
    world: factories.World, held: Assignment, body: str
) -> None:
    answer = post_json(signed_in(world.worker), "work_draft", held, body)
    assert answer.status_code == 422
    assert answer.json()["fields"]


def test_events_open_their_stream_and_are_acknowledged(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    body = {
        "stream": str(uuid.uuid4()),
        "first_seq": 0,
        "events": [{"method": "click", "time": 1}],
    }
    assert post_json(client, "work_events", held, body).json() == {"next": 1}
    gap = post_json(client, "work_events", held, {**body, "first_seq": 9})
    assert (gap.status_code, gap.json()["fields"]["next"]) == (409, "1")
    beacon = client.post(
        reverse("work_events", args=[held.pk]),
        {"payload": json.dumps({**body, "first_seq": 1, "events": []})},
        **JSON,
    )
    assert beacon.json() == {"next": 1}


def test_a_submit_by_script_names_the_open_questions(
    world: factories.World, held: Assignment
) -> None:
    client, key = signed_in(world.worker), str(uuid.uuid4())
    drafts = {number: {"draft": {"text": "Storks."}, "seq": 5} for number in "1234"}
    missing = {name: drafts[name] for name in list(drafts)[:3]}
    refused = post_json(client, "work_submit", held, {"key": key, "drafts": missing})
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["4"])
    for _ in range(2):
        done = post_json(client, "work_submit", held, {"key": key, "drafts": drafts})
        assert done.json() == {"next": reverse("work_done", args=[held.pk])}
    assert Answer.objects.count() == 4
    other = post_json(client, "work_submit", held, {"key": str(uuid.uuid4()), "drafts": {}})
    assert (other.status_code, other.json()["code"]) == (409, "submitted")


def test_time_is_extended_from_the_page(world: factories.World, held: Assignment) -> None:
    client = signed_in(world.worker)
    answer = post_json(client, "work_extend", held, {}).json()
    assert answer["extensions"] == 2
    assert answer["left"] > 2600
    assert client.post(reverse("work_extend", args=[held.pk])).status_code == 302


def test_after_the_time_is_over_the_page_says_what_holds(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    client.post(item_url(held, 1), {"go": "next", "text": "Storks."})
    run_out(held)
    assert "what you wrote is kept" in client.get(item_url(held, 2)).content.decode()
    home = client.get(reverse("work_home")).content.decode()
    assert "time is up" in home


# Home and record ---------------------------------------------------------------------------------


def test_home_tells_pay_time_and_what_others_earned_once_known(world: factories.World) -> None:
    rules = {"items_per_assignment": 2, "redundancy": 9, "pay": "2.00"}
    task = factories.make_task(world.project, 4, **rules)
    own = factories.make_task(world.project, 4, **rules, expected_minutes=8)
    client = signed_in(world.worker)
    offers = {one.task.pk: one for one in client.get(reverse("work_home")).context["home"].offers}
    assert task.estimated_seconds
    assert offers[task.pk].minutes == pytest.approx(task.estimated_seconds / 60)
    assert (offers[own.pk].minutes, offers[own.pk].hourly) == (8, Decimal("15.00"))
    assert {one.others for one in offers.values()} == {0}
    for minutes in (4, 5, 6, 6, 9):
        done = factories.claim_and_submit(task, factories.make_worker(world.project))
        begun = done.submitted_at - dt.timedelta(minutes=minutes)
        Assignment.objects.filter(pk=done.pk).update(opened_at=begun)
    offer = next(
        offer
        for offer in client.get(reverse("work_home")).context["home"].offers
        if offer.task.pk == task.pk
    )
    assert (offer.questions, offer.left, offer.others) == (2, 2, 5)
    assert offer.minutes == pytest.approx(6)
    assert replace(offer, minutes=0.25).time_words == "15\N{NO-BREAK SPACE}s"
    assert offer.hourly == Decimal("20.00")


def test_instructions_can_be_read_before_a_task_is_taken(world: factories.World) -> None:
    task = factories.make_task(world.project, 1, instructions="Quote the *whole* sentence.")
    client, url = signed_in(world.worker), reverse("work_offer", args=[task.pk])
    assert url in client.get(reverse("work_home")).content.decode()
    page = client.get(url).content.decode()
    assert "<em>whole</em>" in page and reverse("work_claim", args=[task.pk]) in page
    assert not Assignment.objects.filter(task=task).exists()
    client.post(reverse("work_claim", args=[task.pk]))
    assert client.get(url).url == reverse("work_home")


def test_rejection_has_its_reason_and_one_reply(world: factories.World) -> None:
    done = factories.claim_and_submit(world.task, world.worker)
    reason = factories.REJECTION
    line = payouts.ProposedLine(done.pk, decision="reject", reason_code="other", reason=reason)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    client = signed_in(world.worker)
    assert reason in client.get(reverse("work_earnings")).content.decode()
    done.refresh_from_db()
    url = reverse("work_rejection_reply", args=[done.rejection.pk])
    assert signed_in(factories.make_worker(world.project)).post(url).status_code == 404
    for text in ("", "They do not.", "Once more."):
        client.post(url, {"reply": text})
    done.rejection.refresh_from_db()
    assert done.rejection.reply == "They do not."
    assert "They do not." in client.get(reverse("work_earnings")).content.decode()


def test_paid_amounts_come_from_the_ledger(world: factories.World) -> None:
    done = factories.claim_and_submit(world.task, world.worker)
    line = payouts.ProposedLine(done.pk, bonus=Decimal("0.40"))
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("2.20"))
    found = signed_in(world.worker).get(reverse("work_earnings")).context
    assert found["history"].total == found["earnings"].due == [("EUR", Decimal("2.20"))]
    assert [paid for _, paid in found["history"].approved] == [Decimal("2.20")]


def test_all_that_is_recorded_can_be_read(world: factories.World, held: Assignment) -> None:
    target = f"item-{held.entries.first().item_id}"
    factories.make_log(
        held,
        [
            {"method": "open", "time": 0},
            {"method": "paste", "time": 5, "target": target, "length": 7, "comment": "outside"},
        ],
    )
    client = signed_in(world.worker)
    page = client.get(reverse("work_record")).content.decode()
    assert world.worker.pseudonym in page
    assert "version 1" in page
    url = reverse("work_record_assignment", args=[held.pk])
    detail = client.get(url).content.decode()
    assert "pasted 7 characters from elsewhere" in detail
    assert "question 1" in detail
    assert signed_in(world.outsider).get(url).status_code == 404
    assert signed_in(world.manager).get(url).status_code == 404


# Queries -----------------------------------------------------------------------------------------


def queries_of(client: Client, url: str) -> int:
    client.get(url)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return len(queries)


def big_home(worker: Membership, tasks: int) -> None:
    for number in range(tasks):
        task = factories.make_task(worker.project, 6, items_per_assignment=2, redundancy=9)
        factories.claim_and_submit(task, worker)
        if number % 2:
            factories.claim(task, worker)


@pytest.mark.parametrize("tasks", [2, 7])
def test_home_takes_as_many_queries_for_many_tasks_as_for_few(tasks: int) -> None:
    worker = factories.make_worker(factories.make_project())
    big_home(worker, tasks)
    assert queries_of(signed_in(worker), reverse("work_home")) == HOME_QUERIES


@pytest.mark.parametrize("questions", [2, 40])
def test_pages_of_an_assignment_take_as_many_queries_for_any_length(questions: int) -> None:
    world = factories.make_world(questions, groups=2)
    held = factories.claim(world.task, world.worker)
    client = signed_in(world.worker)
    assert queries_of(client, item_url(held, 1)) == ITEM_QUERIES
    assert queries_of(client, reverse("work_assignment", args=[held.pk])) == REVIEW_QUERIES
    factories.make_log(held, [{"method": "click", "time": n} for n in range(questions)])
    assert queries_of(client, reverse("work_record")) == RECORD_QUERIES


def test_a_lease_is_told_with_the_time_left(held: Assignment, world: factories.World) -> None:
    page = signed_in(world.worker).get(item_url(held, 1))
    left = (held.expires_at - timezone.now()).total_seconds()
    assert page.context["seconds_left"] == pytest.approx(left, abs=3)
