"""What the history of a text consists of: the words in which ``writing_process`` tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluation.methods.writing.origins import Segment

KINDS = ("typed", "deleted", "pasted", "cited", "jump", "sync", "shown")
ORIGINS = ("", "passage", "own", "outside", "unexplained")
PARTS = frozenset({"keys", "pastes", "visibility", "passages"})  # what a log may record


@dataclass(frozen=True)
class Change:
    """One change of the text: at ``position``, ``deleted`` units give way to ``inserted``.

    Applied in their order, from the empty text, changes give ``Process.text``. ``ms`` are the
    intervals of a run of keys (ms[0] = 0; key i put in or took away unit i). ``parts`` says what of
    ``inserted`` came from where (relative to its beginning; none: all was typed); ``source`` and
    ``passage`` what most of it did. "shown" is the text that an opening of the page began with, as
    a change of the text before it (often none at all); "sync" what came from another tab; "jump"
    much at once, without a paste and without a key for each character.
    """

    time: int
    position: int
    deleted: int
    inserted: str
    kind: str
    source: str = ""
    passage: int = 0
    ms: tuple[int, ...] = ()
    parts: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Opening:
    """A passage opened and closed (or left open until the page was)."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True)
class View:
    """``ms`` milliseconds of ``[start, end)`` with a passage in view."""

    passage: int
    start: int
    end: int
    ms: int


@dataclass(frozen=True)
class Key:
    """A key that put in or took away text; ``gap`` ms after the key before, None after a break."""

    time: int
    gap: int | None
    correction: bool
    repeat: bool = False  # the same character as before: a key held down, perhaps


@dataclass(frozen=True)
class Process:
    """A text's history. ``recorded`` holds which of keys, pastes, visibility and passages the log
    has; ``snapshots`` says that it was made of texts saved now and then. ``start`` is the time of
    the first event since the assignment was opened; every other time counts from it. ``absences``
    are [start, end) with the page hidden, unfocused or closed; ``pauses`` a minute or more in which
    nothing was done, the page being there. ``dwell`` is milliseconds in view of each passage.
    """

    changes: tuple[Change, ...]
    text: str
    segments: tuple[Segment, ...] = ()
    absences: tuple[tuple[int, int], ...] = ()
    pauses: tuple[tuple[int, int], ...] = ()
    openings: tuple[Opening, ...] = ()
    views: tuple[View, ...] = ()
    dwell: Mapping[int, int] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()
    length: int = 0
    start: int = 0
    recorded: frozenset[str] = frozenset()
    snapshots: bool = False

    def origins(self) -> tuple[Segment, ...]:
        """What of the final text came from where: segments that cover all of it, in order."""
        return self.segments
