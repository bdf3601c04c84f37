"""An answer as it was written: what the replay page shows, and what its player plays.

Everything here is read from the recorded log alone and compared with the submitted text each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Answer
from annotation.task_types.ready_made import translate_ready_made
from annotation.task_types.rendering import words_in
from annotation.task_types.writing.citations import cited_numbers
from annotation.task_types.writing.deltas import diff_texts
from annotation.work.selectors.log import (
    assignment_events,
    event_target,
    item_events,
    replay_steps,
    utf16_length,
)
from crowdqc.numbers import clock, count, duration, plural
from evaluation.charts.folded import Timeline
from evaluation.charts.replay import Paste, Writing, replay_strip
from evaluation.methods.writing.origins import Sources
from evaluation.methods.writing.presence import Change, Process
from evaluation.methods.writing.process import read

FOLDED_MS = 60_000  # a longer time without a change or an opening is folded
BIG = 100  # UTF-16 units put in or taken away at once
FROM = {
    "passage": gettext_lazy("from a passage"),
    "own": gettext_lazy("from their own text"),
    "outside": gettext_lazy("from outside"),
    "unexplained": gettext_lazy("no paste explains it"),
    "": gettext_lazy("typed"),
}


@dataclass(frozen=True)
class Replay:
    """One answer's text, its log, and whether the one gives the other."""

    answer: Answer
    submitted: str
    process: Process | None  # None: nothing was recorded
    broken: str  # what is wrong with the log, "" where it can be played to its end
    passages: tuple[Mapping[str, Any], ...]
    first_number: int
    style: str

    @property
    def exact(self) -> bool:
        """Whether the last frame is the submitted text (blank space at its ends is not sent)."""
        return self.difference == ""

    @cached_property
    def difference(self) -> str:
        """Say how the replay's end differs from the submitted text; "" if it does not."""
        if self.process is None:
            return ""
        change = diff_texts(self.process.text.strip(), self.submitted.strip())
        if change is None:
            return ""
        position, deleted, inserted = change
        there = plural(utf16_length(inserted), "character")
        return _(
            "from character %(position)s on, %(there)s of the submitted text stand where the log "
            "has %(deleted)s"
        ) % {"position": count(position + 1), "there": there, "deleted": count(deleted)}

    @cached_property
    def recorded(self) -> int:
        """Number of changes in the log, counting each keystroke."""
        changes = self.process.changes if self.process else ()
        return sum(max(1, len(c.ms)) for c in changes if c.deleted or c.inserted)

    @property
    def length(self) -> int:
        """Milliseconds from the first event to the last; 1 s at least."""
        return max(1000, self.process.length) if self.process else 1000

    @cached_property
    def timeline(self) -> Timeline:
        """Time in milliseconds with pauses of more than a minute folded."""
        if self.process is None:
            return Timeline(self.length)
        moments: list[float] = []
        for change in self.process.changes:
            moments += [change.time, change.time + sum(change.ms)]
        for opening in self.process.openings:
            moments += [opening.start, opening.end]
        return Timeline.around(moments, self.length, FOLDED_MS)

    @property
    def cited(self) -> list[int]:
        """Ranks of the passages that the submitted text cites."""
        ranks = (number - self.first_number + 1 for number in cited_numbers(self.submitted))
        return [rank for rank in ranks if 1 <= rank <= len(self.passages)]

    @property
    def sentence(self) -> str:
        """Short description of the text, like "Essay, 268 words, 6 sources."."""
        parts = [self.style] if self.style else []
        parts.append(plural(words_in(self.submitted), "word"))
        if self.passages:
            parts.append(plural(len(self.cited), "source"))
        return f"{', '.join(parts)}."


def replay_of(answer: Answer) -> Replay:
    """The replay of an answer fetched with item, group, version and texts; two queries."""
    item = answer.item
    texts = [value.text for value in answer.texts.all() if value.field == "answer"]
    passages = tuple(item.group.passages or ())
    settings = {**answer.version.settings, **item.settings}
    first = int(settings.get("first_number", 1))
    process, broken = None, ""
    if answer.assignment_id:
        titles = [str(one.get("title", "")) for one in passages]
        page = [text for text in (item.group.passage, item.question) if text]
        sources = Sources.of_page(titles, [str(one["text"]) for one in passages], page)
        process, broken = _process(answer.assignment_id, item.pk, sources, first)
    labels = {
        style["name"]: translate_ready_made(style["label"]) for style in settings.get("styles", [])
    }
    return Replay(
        answer=answer,
        submitted="\n\n".join(texts),
        process=process,
        broken=broken,
        passages=passages,
        first_number=first,
        style=labels.get(settings.get("style", ""), ""),
    )


def _process(
    assignment_id: int, item_id: int, sources: Sources, first: int
) -> tuple[Process | None, str]:
    """The history of the text; of a broken log what can be told up to where it breaks."""
    events = assignment_events(assignment_id)
    own = item_events(events, item_id)
    if not any("delta" in event for event in own):
        return None, ""
    target = event_target(item_id)
    try:
        return read(events, sources, target=target, first_number=first), ""
    except ValueError as error:
        whole = _before_the_break(own)
        lost = {(event["stream"], event["seq"]) for event in own[whole:]}
        kept = [event for event in events if (event["stream"], event["seq"]) not in lost]
        at = clock((own[whole]["time"] - events[0]["time"]) / 1000)
        told = _("The log is broken at %(at)s: %(error)s What follows cannot be played.") % {
            "at": at,
            "error": error,
        }
        if not any("delta" in event for event in own[:whole]):
            return None, told
        return read(kept, sources, target=target, first_number=first), told


def _before_the_break(own: Sequence[Mapping[str, Any]]) -> int:
    """Count the text's events that can be applied one after the other."""
    deltas = [place for place, event in enumerate(own) if event.get("delta")]
    done = 0
    with suppress(ValueError):
        for _ in replay_steps(own):
            done += 1
    return deltas[done] if done < len(deltas) else len(own) - 1


# -- the strip and the moments to jump to --------------------------------------------------------


def insertion_text(change: Change) -> str:
    """A change that brought much at once, in words."""
    words = plural(words_in(change.inserted), "word")
    if change.kind == "jump":
        source = FROM[change.source or "unexplained"]
        return _("%(words)s came in at once, %(source)s") % {"words": words, "source": source}
    return _("Paste of %(words)s, %(source)s") % {"words": words, "source": FROM[change.source]}


def strip(replay: Replay) -> SafeString:
    """Draw the four lanes of the replay; the playhead is at the end."""
    process = replay.process
    if process is None:
        return SafeString("")
    line = replay.timeline
    seconds = Timeline(
        line.length / 1000,
        tuple(type(f)(f.start / 1000, f.end / 1000, f.kept / 1000) for f in line.folds),
    )
    typing: list[tuple[float, int]] = []
    deleting: list[tuple[float, int]] = []
    pastes = []
    for change in process.changes:
        at = change.time / 1000
        if change.deleted and change.kind not in ("shown", "sync"):
            deleting.append((at, change.deleted))
        if change.kind in ("typed", "cited") and change.inserted:
            typing += _typed(change)
        if change.kind in ("pasted", "jump"):
            source = change.source or "unexplained"
            pastes.append(Paste(at, words_in(change.inserted), source))
    away = [(a / 1000, b / 1000) for a, b in process.absences]
    writing = Writing(seconds.length, typing, deleting, pastes, away, seconds)
    return replay_strip(writing, now=seconds.length)


def _typed(change: Change) -> list[tuple[float, int]]:
    """A run key by key; anything else as one."""
    if not change.ms:
        return [(change.time / 1000, utf16_length(change.inserted))]
    at, found = change.time, []
    for after in change.ms:
        at += after
        found.append((at / 1000, 1))
    return found


def jumps(replay: Replay) -> dict[str, list[tuple[int, str]]]:
    """Moments with their words: pastes, changes of ``BIG`` units and more, pauses."""
    changes = replay.process.changes if replay.process else ()
    # Snapshots know no pastes; what came in between two of them at once is the nearest to one.
    kinds = ("pasted", "jump") if replay.process and replay.process.snapshots else ("pasted",)
    paste = [(c.time, insertion_text(c)) for c in changes if c.kind in kinds]
    big = []
    for change in changes:
        size = utf16_length(change.inserted)
        if change.kind == "shown" or max(size, change.deleted) < BIG or change.ms:
            continue
        if size >= BIG:
            big.append((change.time, insertion_text(change)))
        else:
            big.append(
                (change.time, _("%(count)s characters deleted") % {"count": count(change.deleted)})
            )
    pause = [
        (
            round(fold.start),
            _("%(time)s without a change") % {"time": duration((fold.end - fold.start) / 1000)},
        )
        for fold in replay.timeline.folds
    ]
    return {"paste": paste, "big": big, "pause": pause}


# -- what the player loads -----------------------------------------------------------------------


def player_data(replay: Replay) -> dict[str, Any]:
    """Changes in their order and the folds, times in ms; see ``static/js/replay/text.js``.

    A change is ``[time, position, deleted, inserted, [[length, source, passage]...], kind, ms]``.
    """
    changes = replay.process.changes if replay.process else ()
    return {
        "length": replay.length,
        "first": replay.first_number,
        "folds": [[round(f.start), round(f.end), round(f.kept)] for f in replay.timeline.folds],
        "changes": [_played(change) for change in changes],
        "jumps": jumps(replay),
    }


def _played(change: Change) -> list[Any]:
    size = utf16_length(change.inserted)
    parts = [[p.end - p.start, p.source, p.passage] for p in change.parts]
    if not parts and size:
        parts = [[size, change.source, change.passage]]
    row: list[Any] = [
        change.time,
        change.position,
        change.deleted,
        change.inserted,
        parts,
        change.kind,
    ]
    if change.ms:
        row.append(list(change.ms))
    return row
