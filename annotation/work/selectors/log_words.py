"""The interaction log in words, for the person whose work it records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annotation.work.selectors.log import Event, is_run

WORDS = {
    "open": "opened the page",
    "show": "was shown",
    "focus": "came to",
    "blur": "left",
    "keydown": "pressed a key",
    "paste": "pasted",
    "copy": "copied",
    "cut": "cut",
    "drop": "dropped a text",
    "scroll": "scrolled",
    "click": "clicked",
    "resize": "changed the size of the window",
    "offline": "lost the network",
    "online": "had the network again",
}
SOURCES = {
    "passage": "from the text",
    "own": "from what you wrote here",
    "outside": "from elsewhere",
    "sync": "from another tab",
}


OPENED = {"open": "opened", "close": "closed"}
MARKED = {"set": "marked a stretch as an attribute", "remove": "took an attribute out"}
PLAYED = {"play": "played the recording", "pause": "paused it", "ended": "heard it to its end"}
PLACES = {"page": "the page", "left": "the left text", "right": "the right text"}


def _place(name: str) -> str:
    return PLACES.get(name) or name.replace("-", " ")


def _asked(name: str) -> str:
    """What a line of a form asked for, without the mark of its kind."""
    return re.sub(r"^(?:[cdr]-|entry\.|exit\.)", "", name).replace("_", " ")


JUDGING: dict[str, Callable[[Event], str]] = {
    "change": lambda event: f"chose {event['comment']} for {_asked(event['name'])}",
    "dwell": lambda event: f"{_place(event['name'])}, {int(event['comment']) / 1000:.1f} s",
    "view": lambda event: f"{_place(event['name'])} on screen",
    "passage": lambda event: f"{OPENED[event['name']]} passage {event['comment']}",
    "cite": lambda event: f"cited passage {event['name']}",
    "find": lambda event: f"searched the passages for {event.get('length', 0)} characters",
    "sources": lambda event: f"{event['name']} the sources",
    "mark": lambda event: MARKED[event["name"]],
    "zoom": lambda event: f"zoomed the image to {event['comment']}%",
    "play": lambda event: f"{PLAYED[event['name']]} at {int(event['comment']) / 1000:.1f} s",
    "differences": lambda event: f"marks of differences {event['name']}",
}


@dataclass(frozen=True)
class Line:
    """One event as its own worker reads it."""

    seconds: float
    where: str
    what: str
    text: str  # what was put in, if anything was
    deleted: int


def in_words(event: Event, names: Mapping[str, str]) -> Line:
    """An event in words; ``names`` gives the targets their names."""
    method, delta = event["method"], event.get("delta")
    what = WORDS.get(method) or str(method)
    if method == "visibilitychange":
        what = "left the page" if event.get("name") == "hidden" else "came back to the page"
    elif method == "keydown":
        number = event.get("length", 1)
        what = f"pressed {'a key' if number == 1 else f'{number} keys'}: {event.get('name')}"
    elif method == "input":
        what = "changed the text" if not is_run(event) else _run_in_words(event)
    elif method in JUDGING:
        what = JUDGING[method](event)
    if event.get("length") and method not in ("keydown", "find"):
        what += f" {event['length']} characters"
    if event.get("comment") in SOURCES:
        numbered = method in ("paste", "drop") and event.get("name")
        what += f" from passage {event['name']}" if numbered else f" {SOURCES[event['comment']]}"
    target = event.get("target", "")
    return Line(
        seconds=event["time"] / 1000,
        where=names.get(target, target.replace("window", "the window")),
        what=what,
        text=delta[3] if delta else "",
        deleted=delta[2] if delta else 0,
    )


def _run_in_words(event: Event) -> str:
    number, seconds = len(event["ms"]), sum(event["ms"]) / 1000
    did = "typed" if event["delta"][3] else "deleted"
    return f"{did} {number} character{'' if number == 1 else 's'} in {seconds:.1f} s"
