"""A worker downloads all that is kept of them, and nothing of anybody else."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects.consent_words import CONSENT_TEXT, fill_consent
from annotation.conversations import actions as conversations
from annotation.models import AuditEntry, Item, Membership, Project, User
from evaluation.models import Run, WorkerScore
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories
from tests.support.factories import World
from tests.support.kept import kept
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


@pytest.fixture
@kept
def world() -> World:
    made = factories.make_world(1)
    mine = factories.claim_and_submit(made.task, made.worker, "My own words on storks.")
    factories.make_log(mine, [{"method": "open", "time": 0}])
    factories.claim_and_submit(made.task, texts="Somebody else’s words on storks.")
    run = Run.objects.create(
        project=made.project, task=made.task, number=1, method="aqer", version="1", state="done"
    )
    for worker, score in ((made.worker, 0.25), (mine_not(made), 0.75)):
        WorkerScore.objects.create(run=run, worker=worker, estimate=score, n=1)
    make_official(run)
    return made


def mine_not(world: World) -> Membership:
    others = Membership.objects.filter(project=world.project, role="worker")
    return others.exclude(pk=world.worker.pk).get()


def signed_in(user: User | None) -> Client:
    client = Client()
    assert user is not None
    client.force_login(user)
    return client


def unpacked(response: Any) -> dict[str, str]:
    data = b"".join(response.streaming_content)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_a_worker_gets_everything_of_theirs_and_a_sentence_on_each_file(world: World) -> None:
    told = {"task": world.task, "worker": world.worker}
    conversations.write_as_worker(by=world.worker.user, text="Is it?", key=uuid4(), **told)
    conversations.write_as_staff(by=world.requester, text="It is.", key=uuid4(), **told)
    files = unpacked(signed_in(world.worker.user).get(reverse("own_data")))
    said = files.pop("README.txt")
    assert all(f"{name}:" in said for name in files)
    rows = {name: [json.loads(line) for line in text.splitlines()] for name, text in files.items()}
    (answer,) = rows["answers.jsonl"]
    assert answer["texts"][0]["text"] == "My own words on storks."
    assert rows["events.jsonl"][0]["events"][0]["method"] == "open"
    assert rows["consents.jsonl"][0]["text"].strip() == fill_consent(CONSENT_TEXT).strip()
    sides = [(row["from"], row["text"]) for row in rows["messages.jsonl"]]
    assert sides == [("you", "Is it?"), ("the project", "It is.")]
    assert world.requester.username not in "".join(files.values())
    assert rows["account.jsonl"][0]["username"] == world.worker.user.username  # type: ignore[union-attr]
    assert "submitted an assignment" in [row["what"] for row in rows["log.jsonl"]]
    everything = "".join(files.values())
    assert "Somebody else" not in everything
    assert mine_not(world).pseudonym not in everything
    assert rows["scores.jsonl"] == []
    assert "Scores are not shown" in said
    Project.objects.update(show_scores=True)
    files = unpacked(signed_in(world.worker.user).get(reverse("own_data")))
    assert [json.loads(one)["score"] for one in files["scores.jsonl"].splitlines()] == [0.25]


def test_it_does_not_tell_which_pairs_test_attention(world: World) -> None:
    study = pair_corpus.make_judged(
        workers=3, task=pair_corpus.make_task(topics=1, sources=3, redundancy=3)
    )
    judge = study.assignments.order_by("pk")[0].worker
    gold = Item.objects.filter(answers__worker=judge).order_by("pk")[0]
    Item.objects.filter(pk=gold.pk).update(expected={"clarity": "first"})
    gold.answers.update(counts=False, uncounted_reason="An attention item never counts.")
    text = unpacked(signed_in(judge.user).get(reverse("own_data")))["answers.jsonl"]
    rows = [json.loads(line) for line in text.splitlines()]
    assert "attention" not in text.lower() and len(rows) > 1
    assert gold.key not in text  # which would end in -attention, or name whose texts they are
    assert [row["item"] for row in rows] == list(range(1, len(rows) + 1))
    assert len({tuple(row) for row in rows}) == 1 and "counts" not in rows[0]


def test_staff_hand_it_out_without_the_account_and_the_log_says_so(world: World) -> None:
    address = reverse("worker_data", args=[world.project.pk, world.worker.pk])
    files = unpacked(signed_in(world.manager).post(address))
    assert "account.jsonl" not in files
    assert "My own words" in files["answers.jsonl"]
    assert world.worker.user.username not in "".join(files.values())  # type: ignore[union-attr]
    assert AuditEntry.objects.get(action="worker.data").actor == world.manager


def test_the_pages_say_what_goes_and_a_requester_sets_for_how_long_texts_stay(
    world: World,
) -> None:
    staff = signed_in(world.requester)
    address = reverse("worker_data_erase", args=[world.project.pk, world.worker.pk])
    told = html_of(staff.get(address))
    assert "Not decided yet: 1 submitted assignment." in told
    assert "Download what is kept of" in told
    own = signed_in(world.worker.user)
    address = reverse("own_data_erase", args=[world.project.pk])
    told = html_of(own.get(address))
    assert "Erase it all the same" in told
    assert own.post(address).status_code == 409
    assert own.post(address, {"although_undecided": "1"}).status_code == 302
    assert Membership.objects.get(pk=world.worker.pk).erase_asked_at
    keep = reverse("project_settings_kept", args=[world.project.pk])
    for days, stays in (("5", None), ("90", 90), ("x", 90), ("", None)):
        staff.post(keep, {"days": days})
        assert Project.objects.get(pk=world.project.pk).answer_days_kept == stays
    settings = html_of(staff.get(reverse("project_settings", args=[world.project.pk])))
    assert "Data retention" in settings


def test_the_consent_text_names_what_is_recorded_and_what_one_may_ask_for() -> None:
    for word in ("explanation", "transcript", "erased", "download", "language models"):
        assert word in CONSENT_TEXT
