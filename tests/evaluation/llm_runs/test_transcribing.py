"""Recordings of think-alouds are transcribed by a model, and corrected by who said them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects import actions as people
from annotation.formats.exports.pairwise import get_export
from annotation.models import (
    Assignment,
    Consent,
    Membership,
    Notice,
    Project,
    Recording,
    Task,
    TextValue,
    Transcript,
)
from annotation.work.actions import recordings
from annotation.work.snapshots import attributes
from crowdqc.errors import Conflict
from evaluation.llm import engine
from evaluation.llm.endpoints import probe
from evaluation.llm_runs import start as ask_start
from evaluation.llm_runs import transcribing
from evaluation.models import LanguageModel, LLMAttempt, LLMCall, Run, RunState
from evaluation.people import erasure, person_data
from tests.evaluation.llm_runs.test_answering import asked, finished
from tests.support import factories
from tests.support.pages import html_of
from tests.support.servers.llm import Fault, Stub, make_model, serving
from tests.support.studies import thinking

pytestmark = pytest.mark.django_db
HEARD = "Well, I look weather sentences link up."
RIGHT = "Well, I look whether sentences link up."
DRAFT = thinking.thought(["Sentences link up", "Time runs one way"])


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(lambda body: HEARD) as server:
        yield server


def cover(project: Project, *speakers: Membership) -> None:
    """Consent that covers transcription, and agreed to by these."""
    people.change_consent_text(
        by=project.owner, project=project, text="All.", retention_days=30, transcription=True
    )
    for one in speakers:
        factories.make_consent(one)


def spoken(task: Task, worker: Membership, *, submitted: bool, seconds: float = 1.5) -> Recording:
    held = factories.claim(task, worker)
    kept = thinking.make_recording(held.entries.get(), seconds)
    if submitted:
        thinking.submit(held, DRAFT)
    return kept


def think(world: factories.World) -> Task:
    return thinking.make_think(world.project, settings={"recording": "offered"})


def speech_model(project: Project, stub: Stub, **fields: object) -> LanguageModel:
    model = make_model(project, stub.base_url, use="speech", **fields)  # type: ignore[arg-type]
    model.price_in, model.price_out = Decimal(100), None  # 0.006 a minute
    model.save()
    return model


def transcribe(task: Task, stub: Stub) -> Run:
    return finished(task, "transcribe", model=speech_model(task.project, stub).pk)


def signed_in(worker: Membership) -> Client:
    client = Client()
    assert worker.user is not None
    client.force_login(worker.user)
    return client


def page_of(held: Assignment) -> str:
    return reverse("work_transcript", args=[held.pk, 1])


def archive(task: Task) -> list[dict[str, str]]:
    """The table of the exported recordings."""
    made = get_export(task, "recordings", "zip").table(task, "zip", "")
    data = b"".join(made.parts("zip"))
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        return [json.loads(line) for line in found.read("recordings.jsonl").splitlines()]


def test_a_recording_is_sent_and_its_transcript_waits_for_the_speaker(
    world: factories.World, stub: Stub
) -> None:
    cover(world.project, world.worker)
    task = think(world)
    kept = spoken(task, world.worker, submitted=True)
    run = transcribe(task, stub)
    assert run.state == RunState.DONE, run.error
    (sent,) = stub.asked
    assert (sent["model"], sent["response_format"]) == ("stub-1", "verbose_json")
    assert sent["file"]["type"] == "audio/wav" and len(sent["file"]["bytes"]) == kept.size
    draft = Transcript.objects.get()
    assert (draft.text, draft.model, draft.confirmed_at) == (HEARD, "stub-1", None)
    assert Notice.objects.get(kind="transcript.ready").user == world.worker.user
    call = LLMCall.objects.get()
    assert call.cost == Decimal("0.0002")  # two seconds of sound
    assert HEARD not in f"{call.text} {call.value} {list(LLMAttempt.objects.values('text'))}"


def test_only_a_confirmed_transcript_is_used_as_the_words_of_a_person(
    world: factories.World, stub: Stub
) -> None:
    cover(world.project, world.worker)
    task = think(world)
    held = spoken(task, world.worker, submitted=True).entry.assignment
    transcribe(task, stub)
    answer = held.answers.get().pk
    assert attributes.transcripts([answer]) == {}
    assert (archive(task)[0]["transcript"], archive(task)[0]["transcript_by"]) == (HEARD, "machine")
    client = signed_in(world.worker)
    assert HEARD in html_of(client.get(page_of(held)))
    assert client.post(page_of(held), {"text": " "}).status_code == 422
    assert client.post(page_of(held), {"text": RIGHT}).status_code == 302
    assert attributes.transcripts([answer]) == {answer: RIGHT}
    assert (archive(task)[0]["transcript"], archive(task)[0]["transcript_by"]) == (RIGHT, "speaker")
    assert not Transcript.objects.filter(text=HEARD).exists()


def test_each_dimension_has_the_transcript_of_its_own_recording(
    world: factories.World, stub: Stub
) -> None:
    cover(world.project, world.worker)
    rules = {"recording": "offered"}
    task = thinking.make_think(world.project, ("Coherence", "Style"), settings=rules)
    held = factories.claim(task, world.worker)
    thinking.make_recording(held.entries.get(position=1))
    thinking.submit(held, DRAFT)
    transcribe(task, stub)
    url = reverse("work_transcript", args=[held.pk, 2])
    assert signed_in(world.worker).post(url, {"text": RIGHT}).status_code == 302
    first, second = held.answers.order_by("item__position", "item").values_list("pk", flat=True)
    assert attributes.transcripts([first, second]) == {second: RIGHT}


def test_in_an_open_session_the_confirmed_transcript_can_be_marked_and_is_submitted(
    world: factories.World, stub: Stub
) -> None:
    cover(world.project, world.worker)
    task = think(world)
    held = spoken(task, world.worker, submitted=False).entry.assignment
    transcribe(task, stub)
    client, item = signed_in(world.worker), reverse("work_item", args=[held.pk, 1])
    assert page_of(held) in html_of(client.get(item))
    assert client.post(page_of(held), {"text": RIGHT})["Location"] == item
    assert f"{RIGHT}</textarea>" in html_of(client.get(item))
    held.refresh_from_db()
    thinking.submit(held, {**held.entries.get().draft, **DRAFT})
    assert TextValue.objects.get(field="transcript").text == RIGHT
    assert "readonly" in html_of(client.get(page_of(held)))
    assert client.post(page_of(held), {"text": HEARD}).status_code == 409


def test_nobody_is_transcribed_whose_agreement_does_not_cover_it(
    world: factories.World, stub: Stub
) -> None:
    task, other = think(world), factories.make_worker(world.project)
    spoken(task, world.worker, submitted=True)
    spoken(task, other, submitted=True)
    model = speech_model(world.project, stub)
    with pytest.raises(Conflict, match="Recordings may be transcribed by a model"):
        ask_start.prepare(task=task, method="transcribe", raw={"model": model.pk})
    cover(world.project, other)
    ready = ask_start.prepare(task=task, method="transcribe", raw={"model": model.pk})
    assert (ready.preview.calls, ready.preview.at_most) == (1, Decimal("0.0002"))
    finished(task, "transcribe", model=model.pk)
    who = Transcript.objects.values_list("recording__entry__assignment__worker", flat=True)
    assert list(who) == [other.pk]
    people.withdraw_consent(by=other.user, member=other)  # type: ignore[arg-type]
    assert not Consent.objects.filter(membership=other, withdrawn_at=None).exists()
    Transcript.objects.all().delete()
    assert (
        ask_start.prepare(task=task, method="transcribe", raw={"model": model.pk}).plan.asks == []
    )


@pytest.mark.parametrize(("step", "sent"), [("_requeue", 0), ("read_recording_bytes", 1)])
def test_an_agreement_that_ends_during_the_run_counts_at_once(
    world: factories.World, stub: Stub, monkeypatch: pytest.MonkeyPatch, step: str, sent: int
) -> None:
    cover(world.project, world.worker)
    task = think(world)
    spoken(task, world.worker, submitted=True)
    usual = getattr(transcribing, step)

    def ended(*args: object) -> object:
        people.withdraw_consent(by=world.worker.user, member=world.worker)  # type: ignore[arg-type]
        return usual(*args)

    monkeypatch.setattr(transcribing, step, ended)
    run = transcribe(task, stub)
    assert (len(stub.asked), asked(run)["counts"]["failed"]) == (sent, 1)
    assert not Transcript.objects.exists()
    assert LLMCall.objects.get().cost == (Decimal("0.0002") if sent else 0)


def test_a_failed_request_is_repeated_and_what_is_transcribed_is_not_asked_again(
    world: factories.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BACKOFF", 0.01)
    cover(world.project, world.worker)
    task = think(world)
    spoken(task, world.worker, submitted=True)
    with serving(lambda body: HEARD if len(server.asked) > 1 else Fault(status=503)) as server:
        run = transcribe(task, server)
        assert asked(run)["counts"]["answered"] == 1
        assert len(server.asked) == 2
        assert asked(finished(task, "transcribe", **run.params))["counts"]["asked"] == 0
        assert len(server.asked) == 2


def test_the_budget_bounds_what_is_sent(world: factories.World, stub: Stub) -> None:
    cover(world.project, world.worker)
    task = think(world)
    spoken(task, world.worker, submitted=True, seconds=50)
    model = speech_model(world.project, stub, hard_budget=Decimal("0"))
    with pytest.raises(Conflict):
        ask_start.start(by=world.requester, task=task, method="transcribe", raw={"model": model.pk})
    assert stub.asked == []


def test_a_transcript_goes_with_its_recording(world: factories.World, stub: Stub) -> None:
    cover(world.project, world.worker)
    task = think(world)
    kept = spoken(task, world.worker, submitted=False)
    transcribe(task, stub)
    held = kept.entry.assignment
    recordings.remove_recording(by=world.worker.user, assignment=held, position=0)  # type: ignore[arg-type]
    assert not Transcript.objects.exists()
    assert signed_in(world.worker).get(page_of(held)).status_code == 404


def test_a_speaker_downloads_their_transcripts_and_has_them_erased(
    world: factories.World, stub: Stub
) -> None:
    cover(world.project, world.worker)
    task = think(world)
    spoken(task, world.worker, submitted=True)
    run = transcribe(task, stub)
    assert world.worker.user is not None
    data = b"".join(person_data.own_data(world.worker.user))
    with zipfile.ZipFile(io.BytesIO(data)) as own:
        assert json.loads(own.read("transcripts.jsonl"))["text"] == HEARD
    erasure.request_erasure(by=world.worker.user, worker=world.worker, although_undecided=True)
    erasure.carry_out(world.worker.pk)
    assert not Transcript.objects.exists()
    assert LLMCall.objects.get().messages == []
    run.refresh_from_db()
    assert run.spoiled


def test_a_probe_finds_whether_a_model_transcribes(world: factories.World, stub: Stub) -> None:
    model = speech_model(world.project, stub)
    assert probe.probe(model).can == {"transcription": "verbose_json"}
    with serving(lambda body: HEARD, usage=False) as plain:
        model = speech_model(world.project, plain)
        assert probe.probe(model).note
    with serving(
        lambda body: Fault(status=400) if body["response_format"] != "json" else HEARD
    ) as short:
        model = speech_model(world.project, short)
        assert probe.probe(model).can == {"transcription": "json"}
    with serving(lambda body: Fault(status=404)) as none:
        assert probe.probe(speech_model(world.project, none)).can is None


def test_a_price_by_the_minute_is_entered_and_shown(world: factories.World) -> None:
    client = Client()
    client.force_login(world.requester)
    model = make_model(world.project, "https://models.example/v1", use="speech")
    url = reverse("models_model", args=[world.project.pk, model.pk])
    assert client.post(url, {"price_minute": "0.006"}).status_code == 302
    model.refresh_from_db()
    assert (model.price_in, model.price_out) == (Decimal(100), None)
    assert "0.006 a minute" in html_of(client.get(reverse("models", args=[world.project.pk])))
    task = think(world)
    shown = html_of(client.get(reverse("task_ask", args=[world.project.pk, task.pk, "transcribe"])))
    assert reverse("project_settings_consent", args=[world.project.pk]) in shown
