"""Runs in which a model writes down recordings of think-alouds (InteractEval, section 3.3.1).

A transcript is a draft: its speaker corrects and confirms it before it counts as their words. It
is stored as soon as it comes, beside the recording; calls hold its length alone, so that it is
erased with the recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from annotation.accounts.projects.actions import current_consent_text
from annotation.files.reading.recordings import EXTENSIONS
from annotation.models import Recording, Task, Transcript, User
from annotation.task_types import get_type
from annotation.work.actions.transcripts import store_transcript
from annotation.work.selectors.recordings import read_recording_bytes
from annotation.work.selectors.transcripts import (
    TranscriptionWork,
    covered_recordings,
    transcription_work,
)
from crowdqc.errors import Conflict
from crowdqc.numbers import duration, plural
from evaluation.llm import completion
from evaluation.llm.ask import ModelQuestion
from evaluation.llm.calls import Chat, fetch_replies
from evaluation.llm.completion import Completion, Outcome
from evaluation.llm.prompting import Rendered
from evaluation.llm.schemas import TEXT
from evaluation.llm.wording import ParsedAnswer, key_of, messages_of
from evaluation.llm_runs.parts import MODEL, chat_model, failures, reasons
from evaluation.methods.core.params import Params
from evaluation.models import CallState, LanguageModel, LLMCall, Run
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome as RunOutcome
from evaluation.runs.run_types import RunType

SLUG = "transcribe"
PREPARE, ASK = gettext_noop("Recordings"), gettext_noop("Transcribing")
FORM = "json"  # of an answer, where no probe found a better one
OPTIONS = Params(SLUG, (MODEL,))
Row = dict[str, Any]


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """What a run would transcribe; Conflict where the consent text does not cover it."""
    return _plan(task, params, transcription_work(task))


def _plan(task: Task, params: Mapping[str, Any], work: TranscriptionWork) -> Plan:
    model = chat_model(task, params["model"], LanguageModel.Use.SPEECH)
    lacking = _lacking(task)
    if lacking:
        raise Conflict(f"{lacking['sentence']}. {lacking['why']}")
    asks = [_question(row) for row in work.recordings]
    sentence = gettext("%(model)s transcribes %(recordings)s, %(sound)s in all.") % {
        "model": model.name,
        "recordings": plural(len(asks), "recording"),
        "sound": duration(sum(row.seconds for row in work.recordings)),
    }
    if work.uncovered:
        left_out = gettext("Left out, as their speakers have not agreed to it: %(recordings)s.")
        left_out %= {"recordings": plural(work.uncovered, "recording")}
        sentence = f"{sentence} {left_out}"
    return Plan(model, asks, sentence)


def _lacking(task: Task) -> dict[str, str]:
    """The consent text, where it does not cover transcription."""
    if current_consent_text(task.project).transcription:
        return {}
    return {
        "sentence": gettext("The consent text does not cover transcription"),
        "why": gettext(
            "Tick “Recordings may be transcribed by a model” in the project’s consent settings. "
            "Only recordings of workers who then agree are sent."
        ),
        "url": reverse("project_settings_consent", args=[task.project_id]),
        "label": gettext("Consent settings"),
    }


def _subject(kept: Recording) -> str:
    return f"recording:{kept.pk}"


def _question(kept: Recording) -> ModelQuestion:
    """Make the question on a recording; one that was recorded anew is another question."""
    told = f"recording {kept.pk} of {kept.kept_at.isoformat()}, sha256 {kept.sha256}"
    prompt = Rendered("transcription@1", ({"role": "user", "content": told},))
    seconds = {"seconds": kept.seconds}
    return ModelQuestion(_subject(kept), prompt, TEXT, seconds, tries=1)


def _fits(task: Task) -> bool:
    """Whether the task records speech, or holds recordings made while it did."""
    version = task.current
    records = version is not None and get_type(task.type).records_speech(version.settings)
    return records or Recording.objects.filter(entry__assignment__task=task).exists()


def _next_step(run: Run, new: int) -> tuple[str, str, str]:
    rows = Transcript.objects.filter(recording__entry__assignment__task=run.task_id)
    found = rows.aggregate(n=Count("pk"), confirmed=Count("confirmed_at"))
    said = gettext("Speakers have confirmed %(confirmed)s of %(n)s transcripts of this task.")
    return said % found, _place(run), gettext("Go to the task")


def _place(run: Run) -> str:
    """The page of the task, whose exports hold the transcripts."""
    return reverse("task", args=[run.project_id, run.task_id])


TRANSCRIBE = LLMRunSpec(
    SLUG,
    "1.0",
    gettext_noop("Transcribe recordings"),
    plan,
    OPTIONS,
    noun="transcript",
    next_step=_next_step,
    lacking=_lacking,
    fits=_fits,
    use=LanguageModel.Use.SPEECH,
)


@dataclass(frozen=True)
class Speaking:
    """Recordings by the subject of their question, and who has them transcribed."""

    recordings: Mapping[str, Recording]
    by: User | None


def speech_source(speaking: Speaking) -> type[Chat]:
    """Return how recordings are sent and transcripts parsed, for ``fetch_replies``."""

    class Speech(Chat):
        """Recordings as the engine works on them; stores what comes at once."""

        path = completion.TRANSCRIPTIONS

        def _recording(self, call_id: int) -> Recording:
            return speaking.recordings[self._ask(call_id).subject]

        def body(self, call_id: int) -> dict[str, Any]:
            kept, sound = self._recording(call_id), None
            same = covered_recordings().filter(pk=kept.pk, kept_at=kept.kept_at)
            if same.exists():  # asked again just before it leaves
                name = f"recording.{EXTENSIONS[kept.type]}"
                sound = (name, read_recording_bytes(kept), kept.type)
            form = self.model.can.get("transcription", FORM)
            return {"model": self.model.name, "response_format": form, "file": sound}

        def read(self, call_id: int, found: Completion) -> ParsedAnswer:
            kept, words = self._recording(call_id), found.spoken.strip()
            if not words:
                return ParsedAnswer(outcome=Outcome.WRONG_FORM, reason="No speech was recognized.")
            stored = store_transcript(
                by=speaking.by,
                recording_id=kept.pk,
                kept_at=kept.kept_at,
                text=words,
                model=self.model.name,
            )
            if not stored:
                reason = "It was removed or has a transcript, or its speaker no longer agrees."
                return ParsedAnswer(outcome=Outcome.WRONG_FORM, reason=reason)
            return ParsedAnswer({"characters": len(words)})

    return Speech


def compute(run: Run, steps: Recorder) -> Row:
    """Send the recordings and store each transcript as it arrives."""
    steps.begin(PREPARE)
    work = transcription_work(run.task)
    asked = _plan(run.task, run.params, work)
    asks, recordings = asked.asks, {_subject(row): row for row in work.recordings}
    steps.set_words(count=asked.sentence)
    steps.begin(ASK, total=len(asks))
    _requeue(run, asked.model, asks)
    source = speech_source(Speaking(recordings, run.started_by))
    replies = fetch_replies(run, asked.model, asks, steps, source)
    answered = sum(reply.value is not None for reply in replies)
    failed = len(replies) - answered
    steps.set_words(count=f"{plural(answered, 'transcript')}, {failed:,} failed")
    return {
        "counts": {
            "asked": len(replies),
            "cached": 0,
            "answered": answered,
            "failed": failed,
        },
        "reasons": reasons(replies),
        "failed": failures(replies),
    }


def _requeue(run: Run, model: LanguageModel, asks: Sequence[ModelQuestion]) -> None:
    """Ask again what was answered though no transcript is there: a job ended in between."""
    keys = [key_of(model, ask, messages_of(model, ask)) for ask in asks]
    LLMCall.objects.filter(project_id=run.project_id, key__in=keys, state=CallState.DONE).update(
        state=CallState.QUEUED, not_before=None, finished_at=None
    )


def write(run: Run, done: Row) -> RunOutcome:
    """Keep the counts; the transcripts are stored already."""
    recipe = {"method": SLUG, "version": run.version, "params": dict(run.params)}
    return RunOutcome({}, {"asked": done, "recipe": recipe})


RUNS = RunType(
    TRANSCRIBE,
    ("attributes",),
    gettext_noop("recordings of think-alouds"),
    (PREPARE, ASK),
    compute,
    write,
    place=_place,
)
