"""Consent by type of task, and devices and networks of work as keyed hashes."""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.projects import actions as people
from annotation.accounts.projects.consent_words import RECORDED_BY_TYPE, SPOKEN, fill_consent
from annotation.models import Assignment, Consent, Membership, WorkerOrigin
from annotation.privacy.actions.erasure import forget_names
from annotation.task_types import TYPES
from annotation.work.actions.origins import delete_due_origins
from crowdqc import limits
from crowdqc.errors import NotAllowed
from evaluation.people.selectors.evidence import WorkerEvidence
from tests.support import factories
from tests.support.factories import World
from tests.support.studies import thinking

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(6, redundancy=20)


def signed_in(worker: Membership, device: str = "", address: str = "192.0.2.1") -> Client:
    client = Client(REMOTE_ADDR=address)
    assert worker.user
    client.force_login(worker.user)
    if device:
        held = limits.signing.dumps({limits.NUMBER: device}, salt=limits.DEVICE_SALT)
        client.cookies[limits.device_cookie()] = held
    return client


def take(world: World, worker: Membership, device: str, address: str) -> None:
    client = signed_in(worker, device, address)
    client.post(reverse("work_claim", args=[world.task.pk]))
    assert Assignment.objects.filter(worker=worker).exists()


def test_one_device_or_network_of_two_workers_is_a_likeness_with_its_base_rate(
    world: World,
) -> None:
    people_here = [factories.make_worker(world.project) for _ in range(4)]
    one, two, three, _four = people_here
    for worker, device, address in zip(
        people_here,
        ("laptop", "laptop", "phone", "tablet"),
        ("192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.4"),
        strict=True,
    ):
        take(world, worker, device, address)
    alike = WorkerEvidence(world.project).alike
    assert set(alike) == {one.pk, two.pk, three.pk}
    [device] = alike[one.pk]
    assert device.worker == two.pk and device.kind == "device" and "1 of 6 pairs" in device.evidence
    [network] = alike[three.pk]
    assert network.worker == two.pk and "network" in network.evidence
    kept = WorkerOrigin.objects.values_list("digest", flat=True)
    assert all(len(bytes(digest)) == 16 for digest in kept)
    assert not any(b"192.0.2" in bytes(digest) for digest in kept)


def test_a_network_of_many_workers_says_nothing_about_two(world: World) -> None:
    for at in range(12):
        take(world, factories.make_worker(world.project), f"device {at}", "192.0.2.9")
    assert WorkerEvidence(world.project).alike == {}


def test_another_project_has_another_hash_of_one_device(world: World) -> None:
    other = factories.make_world(6)
    take(world, world.worker, "laptop", "192.0.2.1")
    take(other, other.worker, "laptop", "192.0.2.1")
    digests = [bytes(one) for one in WorkerOrigin.objects.values_list("digest", flat=True)]
    assert len(digests) == len(set(digests)) == 4


def test_nothing_is_recorded_under_a_consent_that_does_not_cover_it(world: World) -> None:
    people.change_consent_text(
        by=world.requester, project=world.project, text="Hello.", retention_days=30
    )
    factories.make_consent(world.worker)
    take(world, world.worker, "laptop", "192.0.2.1")
    assert not WorkerOrigin.objects.exists()


def test_origins_go_with_the_person_and_after_the_days_of_the_log(world: World) -> None:
    other = factories.make_worker(world.project)
    take(world, world.worker, "laptop", "192.0.2.1")
    take(world, other, "phone", "192.0.2.2")
    client = signed_in(world.worker)
    page = client.get(reverse("work_record"))
    assert len(page.context["origins"]) == 2
    data = b"".join(client.get(reverse("own_data")).streaming_content)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        rows = [json.loads(line) for line in archive.read("origins.jsonl").splitlines()]
    assert [row["first_day"] for row in rows] == [timezone.localdate().isoformat()] * 2
    forget_names(worker=world.worker)
    assert set(WorkerOrigin.objects.values_list("worker", flat=True)) == {other.pk}
    assert delete_due_origins() == 0
    long_ago = timezone.localdate() - dt.timedelta(days=366)
    WorkerOrigin.objects.filter(kind="device").update(last_on=long_ago)
    assert delete_due_origins() == 1


def test_a_device_keeps_its_number_when_somebody_signs_in_again() -> None:
    requests, numbers, held = RequestFactory(), [], ""
    for name in ("ada", "ada", "grace"):
        request, response = requests.get("/"), HttpResponse()
        if numbers:
            request.COOKIES = {limits.device_cookie(): held}
        limits.remember_device(request, response, [name])
        held = response.cookies[limits.device_cookie()].value
        request.COOKIES = {limits.device_cookie(): held}
        numbers.append(limits.device_number(request))
    assert numbers[0] and len(set(numbers)) == 1


def test_workers_agree_to_what_their_type_of_task_records(world: World) -> None:
    spoken = thinking.make_think(world.project)
    worker = factories.make_worker(world.project, consent=False)
    client = signed_in(worker)
    consent = reverse("work_consent", args=[world.project.pk])
    for task, speaks in ((world.task, False), (spoken, True)):
        claimed = client.post(reverse("work_claim", args=[task.pk]))
        assert claimed["Location"] == f"{consent}?task={task.pk}"
        page = client.get(claimed["Location"])
        assert (SPOKEN in page.context["words"]) is speaks
        text = {"text": page.context["fingerprint"], "agreed": "on", "task": task.pk}
        client.post(claimed["Location"], text)
        assert Assignment.objects.filter(worker=worker, task=task).exists()
    [given] = Consent.objects.filter(membership=worker)
    assert set(given.task_types) == {world.task.type, spoken.type}


def test_without_a_task_the_text_is_of_what_the_project_has_published(world: World) -> None:
    worker = factories.make_worker(world.project, consent=False)
    consent = reverse("work_consent", args=[world.project.pk])
    client = signed_in(worker)
    page = client.get(consent)
    assert SPOKEN not in page.context["words"]
    client.post(consent, {"text": page.context["fingerprint"], "agreed": "on"})
    spoken = thinking.make_think(world.project)
    assert client.get(consent).context["given"].task_types == [world.task.type]
    page = client.get(f"{consent}?task={spoken.pk}")
    assert page.context["given"] is None and SPOKEN in page.context["words"]


def test_an_agreement_for_one_type_opens_no_other(world: World) -> None:
    spoken = thinking.make_think(world.project)
    worker = factories.make_worker(world.project, consent=False)
    assert worker.user
    text = people.current_consent_text(world.project)
    people.give_consent(
        by=worker.user, member=worker, text=text, agreed=True, task_types=[world.task.type]
    )
    factories.claim(world.task, worker)
    with pytest.raises(NotAllowed) as refused:
        factories.claim(spoken, worker)
    assert refused.value.code == "no-consent"


def test_a_text_without_a_place_for_it_is_agreed_to_for_all_types(world: World) -> None:
    people.change_consent_text(
        by=world.requester, project=world.project, text="Hello.", retention_days=30
    )
    text = people.current_consent_text(world.project)
    assert world.worker.user
    given = people.give_consent(
        by=world.worker.user, member=world.worker, text=text, agreed=True, task_types=["labels"]
    )
    assert given.task_types == [] and given.covers("think_aloud")


def test_every_type_of_task_says_what_it_records() -> None:
    assert set(RECORDED_BY_TYPE) == set(TYPES)
    whole = fill_consent("{{recorded}}")
    assert all(fill_consent("{{recorded}}", [name]) in whole or name for name in RECORDED_BY_TYPE)
    assert SPOKEN in whole and SPOKEN not in fill_consent("{{recorded}}", ["labels"])
