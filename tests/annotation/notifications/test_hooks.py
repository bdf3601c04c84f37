"""Other systems are told: signed, at least once, under one id, and never into our own network."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import jobs
from annotation.models import AuditEntry, Hook, HookDelivery, Notice, Role
from annotation.notifications.actions import webhook_delivery as deliver
from annotation.notifications.actions import webhooks as hooks
from crowdqc import outbound
from crowdqc.celery import app
from crowdqc.errors import Conflict, Invalid
from crowdqc.jobs.broker import queue_states
from crowdqc.jobs.schedule import PERIODIC
from crowdqc.outbound import addresses
from tests.support import factories
from tests.support.factories import World
from tests.support.processes import ROOT, empty_queue, test_database_url, until
from tests.support.servers.receiver import Got, Receiver, Reply, receiver

pytestmark = pytest.mark.django_db
State = HookDelivery.State


@pytest.fixture
def world() -> World:
    return factories.make_world(2)


@pytest.fixture
def other_side() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


def add(world: World, url: str, events: tuple[str, ...] = ()) -> tuple[Hook, str]:
    return hooks.add_hook(by=world.requester, project=world.project, url=url, events=events)


def later() -> None:
    """As if every wait were over."""
    HookDelivery.objects.filter(state=State.WAITING).update(next_at=timezone.now())


def verified(got: Got, secret: str) -> Any:
    """The payload, after the check that a receiver makes, written anew here."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([got.id.encode(), got.headers["webhook-timestamp"].encode(), got.body])
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{wanted}"
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 30
    return json.loads(got.body)


def test_submitted_work_is_told_signed_and_without_texts(
    world: World, other_side: Receiver
) -> None:
    _, secret = add(world, other_side.url)
    add(world, other_side.url, ("run.finished",))
    done = factories.claim_and_submit(world.task, world.worker, "Their nests stand on chimneys.")
    assert deliver.deliver_due() == 1
    (got,) = other_side.got
    told = verified(got, secret)
    assert told["type"] == "assignment.submitted" and told["project"] == world.project.pk
    assert told["data"] == {
        "assignment": done.pk,
        "task": world.task.pk,
        "worker": world.worker.pseudonym,
        "answers": 2,
        "counting": 2,
        "late": False,
    }
    assert got.path == "/events?room=1" and b"chimneys" not in got.body
    row = HookDelivery.objects.get()
    assert (row.state, row.status, row.error) == (State.DONE, 204, "")
    assert deliver.deliver_due() == 0


@pytest.mark.queue
def test_the_queue_of_calls_is_given_a_job_only_where_there_is_something_to_tell(
    world: World, other_side: Receiver
) -> None:
    empty_queue()
    add(world, other_side.url)
    names = [name for row in PERIODIC.values() for name in row.get("args", ())]
    assert {name: jobs.start_if_due(name) for name in names} == dict.fromkeys(jobs.DUE, False)
    factories.claim_and_submit(world.task, world.worker, "Their nests stand on chimneys.")
    assert jobs.start_if_due("deliver_hooks")
    assert queue_states(app)["platforms"].waiting == 1
    assert deliver.deliver_due() == 1 and not jobs.start_if_due("deliver_hooks")
    empty_queue()


def test_a_signature_of_the_published_example_is_the_published_one() -> None:
    """From the specification of Standard Webhooks."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    made = deliver.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_fails_is_tried_again_under_one_id_until_it_is_taken(
    world: World, other_side: Receiver, settings: Any
) -> None:
    settings.CROWDQC_WEBHOOK_TIMEOUT = 0.3
    hook, secret = add(world, other_side.url)
    replies = iter(
        [
            Reply(500, b"down " * 200),
            Reply(seconds=0.6),
            Reply(302, headers={"location": "/x"}),
            Reply(500, b"x" * 40, drip=0.05),
            Reply(),
        ]
    )
    other_side.answer = lambda got: next(replies)
    hooks.ping(by=world.requester, hook=hook)
    errors = []
    for _ in range(5):
        assert deliver.deliver_due() in (0, 1)
        errors.append(HookDelivery.objects.get().error)
        later()
    assert errors[0].startswith("HTTP 500: down") and len(errors[0]) <= 300
    assert "0.3 seconds" in errors[1] and "redirects" in errors[2] and "0.3 seconds" in errors[3]
    row = HookDelivery.objects.get()
    assert (row.state, row.attempts, errors[4]) == (State.DONE, 5, "")
    assert len({got.id for got in other_side.got}) == 1 == len({got.body for got in other_side.got})
    for got in other_side.got:
        verified(got, secret)


def test_waits_grow_to_a_day_and_ten_tries_are_the_end(world: World, other_side: Receiver) -> None:
    other_side.answer = lambda got: Reply(503)
    hook, _ = add(world, other_side.url)
    for number in range(2):
        hooks.ping(by=world.requester, hook=hook)
        row = HookDelivery.objects.order_by("-pk")[0]
        row.attempts, row.next_at = 9, timezone.now()
        row.save()
        deliver.deliver_due()
        row.refresh_from_db()
        assert (row.state, row.attempts) == (State.FAILED, 10), number
    notice = Notice.objects.get()  # one a day, however many were given up
    assert (notice.user, notice.kind) == (world.requester, "hook.failed")
    waits = [deliver.wait_after(n).total_seconds() for n in range(1, 10)]
    assert 7 <= waits[0] <= 13 and waits[1] > 2 * waits[0] and 64_800 <= waits[-1] <= 108_000


def test_an_address_that_is_gone_is_switched_off_and_its_owner_told(
    world: World, other_side: Receiver
) -> None:
    other_side.answer = lambda got: Reply(410)
    hook, _ = add(world, other_side.url)
    hooks.ping(by=world.requester, hook=hook)
    deliver.deliver_due()
    hook.refresh_from_db()
    assert not hook.active and "410" in hook.off_why
    assert "switched off" in Notice.objects.get(user=world.requester).text
    assert hooks.emit(project=world.project, event="export.ready", data={}) == 0
    with pytest.raises(Conflict):
        hooks.ping(by=world.requester, hook=hook)
    hooks.resume(by=world.requester, hook=hook)
    other_side.answer = lambda got: Reply()
    again = hooks.redeliver(by=world.requester, delivery=HookDelivery.objects.get())
    assert deliver.deliver_due() == 1
    assert {got.id for got in other_side.got} == {str(again.event_id)}


def test_a_dead_address_holds_nobody_up(world: World, other_side: Receiver) -> None:
    dead, _ = add(world, "http://127.0.0.1:9/nobody")
    add(world, other_side.url)
    for _ in range(3):
        hooks.emit(project=world.project, event="export.ready", data={})
    assert deliver.deliver_due() == 3
    assert sorted(dead.deliveries.values_list("attempts", flat=True)) == [0, 0, 1]
    assert dead.deliveries.exclude(error="").get().error == "It cannot be reached."


def test_what_was_rolled_back_is_told_to_nobody(world: World, other_side: Receiver) -> None:
    add(world, other_side.url)
    with pytest.raises(RuntimeError), transaction.atomic():
        hooks.emit(project=world.project, event="export.ready", data={})
        raise RuntimeError
    assert deliver.deliver_due() == 0 and not other_side.got


def test_private_networks_are_refused_when_entered_and_again_when_sent(
    world: World, other_side: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, _ = add(world, other_side.url)
    settings.CROWDQC_LOCAL_ENDPOINTS = False
    for url in (
        "http://203.0.113.9/",
        "https://127.0.0.1/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest",
        "ftp://x.example",
        "https://a:b@x.example",
    ):
        with pytest.raises(Invalid) as refused:
            add(world, url)
        assert set(refused.value.fields) == {"url"}, url
    hooks.ping(by=world.requester, hook=hook)
    deliver.deliver_due()
    assert "private network" in HookDelivery.objects.get().error and not other_side.got
    # A name that leads elsewhere after the check is still connected to by the checked number.
    asked: list[str] = []

    def resolved(host: str, port: int, *, seconds: float, inside: bool) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(addresses, "resolve", resolved)
    url = other_side.url.replace("127.0.0.1", "hooks.example")
    assert outbound.post_webhook(url, b"{}", {}, seconds=5).status == 204
    assert asked == ["hooks.example"] and other_side.got[0].headers["host"].startswith("hooks.ex")


KILLED = """
import django; django.setup()
from annotation.notifications.actions import webhook_delivery
webhook_delivery.deliver_due()
"""


@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_loses_nothing(other_side: Receiver) -> None:
    world = factories.make_world(2)
    hook, secret = add(world, other_side.url)
    other_side.answer = lambda got: Reply(seconds=5 if len(other_side.got) == 1 else 0)
    hooks.ping(by=world.requester, hook=hook)
    env = os.environ | {"DATABASE_URL": test_database_url()}
    process = subprocess.Popen([sys.executable, "-c", KILLED], cwd=ROOT, env=env)
    until(lambda: other_side.got, 30, "the first try to arrive")
    process.send_signal(signal.SIGKILL)
    process.wait()
    row = HookDelivery.objects.get()
    assert (row.state, row.attempts) == (State.WAITING, 1) and row.next_at > timezone.now()
    assert deliver.deliver_due() == 0  # the lease of the dead one holds
    later()
    assert deliver.deliver_due() == 1
    assert len({got.id for got in other_side.got}) == 1 and len(other_side.got) == 2
    verified(other_side.got[1], secret)


# -- pages -----------------------------------------------------------------------------------------


def test_a_secret_is_shown_once_and_a_log_says_what_became_of_each(
    world: World, other_side: Receiver
) -> None:
    client = Client()
    client.force_login(world.requester)
    at = {"project_id": world.project.pk}
    new = reverse("hook_new", kwargs=at)
    assert client.post(new, {"url": "nowhere"}).status_code == 422
    page = client.post(new, {"url": other_side.url, "events": ["run.finished"]})
    secret = page.context["secret"]
    hook = Hook.objects.get()
    assert secret in page.content.decode() and hook.events == ["run.finished"]
    assert b"no-store" in page.headers["Cache-Control"].encode()
    here = reverse("hook", kwargs={**at, "hook_id": hook.pk})
    step = reverse("hook_step", kwargs={**at, "hook_id": hook.pk})
    client.post(step, {"step": "ping"})
    deliver.deliver_due()
    shown = client.get(here).content.decode()
    assert "HTTP 204" in shown and secret not in shown
    verified(other_side.got[0], secret)
    client.post(here, {"events": []})
    hook.refresh_from_db()
    assert hook.events == []
    client.post(step, {"step": "pause"})
    assert "Paused" in client.get(reverse("hook_list", kwargs=at)).content.decode()
    client.post(step, {"step": "resume"})
    row = HookDelivery.objects.get()
    client.post(reverse("hook_redeliver", kwargs={**at, "hook_id": hook.pk, "delivery_id": row.pk}))
    assert deliver.deliver_due() == 1 and other_side.got[1].id == other_side.got[0].id
    client.post(reverse("hook_remove", kwargs={**at, "hook_id": hook.pk}))
    assert not Hook.objects.exists()
    done = set(AuditEntry.objects.values_list("action", flat=True))
    assert {
        "hook.add",
        "hook.ping",
        "hook.change",
        "hook.pause",
        "hook.resume",
        "hook.redeliver",
        "hook.remove",
    } <= done
    assert secret not in str(list(AuditEntry.objects.values_list("detail", flat=True)))


def test_pages_take_as_many_queries_for_many_rows_as_for_few(
    world: World, django_assert_num_queries: Any
) -> None:
    client = Client()
    client.force_login(factories.make_member(world.project, Role.MANAGER).user)
    hook, _ = add(world, "https://hooks.example/a")
    hooks.ping(by=world.requester, hook=hook)

    def cost() -> list[int]:
        counted = []
        for name, args in (("hook_list", []), ("hook", [hook.pk])):
            url = reverse(name, args=[world.project.pk, *args])
            with django_assert_num_queries(QUERIES[name]):
                counted.append(client.get(url).status_code)
        return counted

    assert cost() == [200, 200]
    for _ in range(4):
        add(world, "https://hooks.example/b")
        hooks.emit(project=world.project, event="export.ready", data={})
    assert cost() == [200, 200]


QUERIES = {"hook_list": 6, "hook": 8}
