"""The interaction log as text for its worker."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from annotation.task_types.ready_made import translate_ready_made
from annotation.work.selectors.log import Event, is_key_run
from crowdqc.numbers import count, decimal, plural
from crowdqc.web.terms import Words

MOST_KINDS = 5
WORDS: dict[str, Words] = {
    "open": gettext_lazy("opened the page"),
    "show": gettext_lazy("was shown"),
    "focus": gettext_lazy("came to"),
    "blur": pgettext_lazy("event", "left"),
    "keydown": gettext_lazy("pressed a key"),
    "paste": gettext_lazy("pasted"),
    "copy": gettext_lazy("copied"),
    "cut": gettext_lazy("cut"),
    "drop": gettext_lazy("dropped a text"),
    "scroll": gettext_lazy("scrolled"),
    "click": gettext_lazy("clicked"),
    "resize": gettext_lazy("changed the size of the window"),
    "offline": gettext_lazy("lost the network"),
    "online": gettext_lazy("had the network again"),
}
SOURCES: dict[str, Words] = {
    "passage": gettext_lazy("from the text"),
    "own": gettext_lazy("from what you wrote here"),
    "outside": gettext_lazy("from elsewhere"),
    "sync": gettext_lazy("from another tab"),
}


# Events of each kind as a count of them is headed.
KINDS: dict[str, Words] = {
    "visibilitychange": gettext_lazy("times the page was left"),
    "open": gettext_lazy("pages opened"),
    "show": gettext_lazy("texts shown"),
    "focus": gettext_lazy("fields entered"),
    "blur": gettext_lazy("fields left"),
    "keydown": gettext_lazy("key presses"),
    "input": gettext_lazy("changes of text"),
    "paste": gettext_lazy("pastes"),
    "copy": gettext_lazy("copies"),
    "cut": gettext_lazy("cuts"),
    "drop": gettext_lazy("drops"),
    "scroll": gettext_lazy("scrolls"),
    "click": gettext_lazy("clicks"),
    "resize": gettext_lazy("resizes"),
    "offline": gettext_lazy("network lost"),
    "online": gettext_lazy("network back"),
    "change": gettext_lazy("choices"),
    "dwell": gettext_lazy("times on parts"),
    "view": gettext_lazy("parts seen"),
    "sources": gettext_lazy("looks at sources"),
    "differences": gettext_lazy("looks at differences"),
    "passage": gettext_lazy("passages opened or closed"),
    "cite": gettext_lazy("citations"),
    "find": gettext_lazy("searches"),
    "mark": gettext_lazy("marks"),
    "zoom": gettext_lazy("zooms"),
    "reset": gettext_lazy("cleared answers"),
    "play": gettext_lazy("plays"),
}
CHOSEN: dict[str, Words] = {
    "left": pgettext_lazy("choice", "left"),
    "neutral": pgettext_lazy("choice", "neutral"),
    "right": pgettext_lazy("choice", "right"),
    "yes": pgettext_lazy("choice", "yes"),
    "no": pgettext_lazy("choice", "no"),
}


MARKED: dict[str, Words] = {
    "set": gettext_lazy("marked a stretch as an attribute"),
    "remove": gettext_lazy("took an attribute out"),
}
PLAYED: dict[str, Words] = {
    "play": gettext_lazy("played the recording"),
    "pause": gettext_lazy("paused the recording"),
    "ended": gettext_lazy("heard the recording to its end"),
}
PLACES: dict[str, Words] = {
    "page": gettext_lazy("the page"),
    "left": gettext_lazy("the left text"),
    "right": gettext_lazy("the right text"),
}


# Where an event was, besides in an item.
TARGETS: dict[str, Words] = {
    "window": gettext_lazy("the window"),
    "document": gettext_lazy("the page"),
    "page": gettext_lazy("the page"),
    "passage": gettext_lazy("the text to read"),
    "next": gettext_lazy("the button to go on"),
    "back": gettext_lazy("the button to go back"),
    "skip": gettext_lazy("the button to skip"),
    "submit": gettext_lazy("the button to submit"),
}


KEYS: dict[str, Words] = {
    "letter": gettext_lazy("letter"),
    "digit": gettext_lazy("digit"),
    "space": pgettext_lazy("key", "space"),
    "correction": gettext_lazy("correction"),
    "navigation": gettext_lazy("navigation"),
    "punctuation": gettext_lazy("punctuation"),
    "enter": pgettext_lazy("key", "Enter"),
    "other": gettext_lazy("other"),
}


def _place(name: str) -> Words:
    if name.startswith("passage-"):
        return _("passage %(number)s") % {"number": name.removeprefix("passage-")}
    return PLACES.get(name) or name.replace("-", " ")


def line_titles(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return what a page calls the lines of a form, by the names that the log has for them."""
    rows = [row for part in settings.values() if isinstance(part, list) for row in part]
    return {
        str(row["name"]): str(row.get("label") or row.get("question"))
        for row in rows
        if isinstance(row, Mapping)
        and row.get("name")
        and (row.get("label") or row.get("question"))
    }


def line_choices(settings: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return what a page calls the choices of a form's lines, by line and by what the log has.

    The log of a labels page has the place of an option, that of other pages its value.
    """
    found: dict[str, dict[str, str]] = {}
    for part in settings.values():
        for row in part if isinstance(part, list) else ():
            if not isinstance(row, Mapping) or not row.get("name"):
                continue
            options, points = row.get("options") or [], row.get("points") or []
            labels = {
                str(place): translate_ready_made(str(one["label"]))
                for place, one in enumerate(options, 1)
            }
            labels |= {str(one["value"]): translate_ready_made(str(one["label"])) for one in points}
            found[str(row["name"])] = labels
    return found


def _choice_words(event: Event) -> str:
    code, choices = str(event["comment"]), event.get("choices", {})
    taken_back = code.startswith("-") and code not in choices
    choice = choices.get(code.removeprefix("-") if taken_back else code) or CHOSEN.get(code, code)
    text = (
        _("took back %(choice)s for %(field)s")
        if taken_back
        else _("chose %(choice)s for %(field)s")
    )
    return text % {"choice": choice, "field": event["title"]}


def _line_name(name: str) -> str:
    """Return the name of a form's line without its type mark."""
    return re.sub(r"^(?:[cdlr]-|entry\.|exit\.)", "", name)


def _seconds(event: Event) -> str:
    return decimal(int(event["comment"]) / 1000)


JUDGING: dict[str, Callable[[Event], str]] = {
    "change": _choice_words,
    "dwell": lambda event: (
        _("%(place)s, %(seconds)s s") % {"place": _place(event["name"]), "seconds": _seconds(event)}
    ),
    "view": lambda event: _("%(place)s on screen") % {"place": _place(event["name"])},
    "passage": lambda event: (
        (
            _("opened passage %(number)s")
            if event["name"] == "open"
            else _("closed passage %(number)s")
        )
        % {"number": event["comment"]}
    ),
    "cite": lambda event: _("cited passage %(number)s") % {"number": event["name"]},
    "find": lambda event: (
        _("searched the passages for %(length)s characters") % {"length": event.get("length", 0)}
    ),
    "sources": lambda event: (
        _("opened the sources") if event["name"] == "open" else _("closed the sources")
    ),
    "mark": lambda event: str(MARKED[event["name"]]),
    "reset": lambda event: _("cleared the answer"),
    "zoom": lambda event: _("zoomed the image to %(size)s%%") % {"size": event["comment"]},
    "play": lambda event: (
        _("%(did)s at %(seconds)s s") % {"did": PLAYED[event["name"]], "seconds": _seconds(event)}
    ),
    "differences": lambda event: (
        _("marked the differences") if event["name"] == "on" else _("unmarked the differences")
    ),
}


@dataclass(frozen=True)
class LogLine:
    """One event as its worker reads it."""

    seconds: float
    where: str
    what: str
    text: str  # what was put in, if anything was
    deleted: int


def describe_counts(kinds: Mapping[str, int], absences: int = 0) -> str:
    """Describe the most frequent kinds of events with their counts.

    Instead of each change of the page's visibility stand the ``absences``, as in all totals.
    """
    counts = {**kinds, "visibilitychange": absences} if absences else dict(kinds)
    if not absences:
        counts.pop("visibilitychange", None)
    shown = sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:MOST_KINDS]
    return ", ".join(f"{KINDS.get(kind, kind)}: {count(number)}" for kind, number in shown)


def describe_event(
    event: Event,
    names: Mapping[str, str],
    titles: Mapping[str, str] | None = None,
    *,
    choices: Mapping[str, Mapping[str, str]] | None = None,
    is_absence: bool = False,
) -> LogLine:
    """Describe an event.

    ``names`` gives names of targets, ``titles`` those of a form's lines, ``choices`` those of
    their choices. ``is_absence``: one of the absences that are counted begins with the event.
    """
    method, delta = event["method"], event.get("delta")
    what = str(WORDS.get(method) or method)
    if is_absence:
        what = _("left the page")
    elif method == "visibilitychange":
        hidden = event.get("name") == "hidden"
        what = _("the page was hidden") if hidden else _("the page was visible")
    elif method == "keydown":
        number, key = event.get("length", 1), str(event.get("name"))
        what = ngettext("pressed a key: %(key)s", "pressed %(count)s keys: %(key)s", number) % {
            "count": number,
            "key": KEYS.get(key, key),
        }
    elif method == "input":
        what = _("changed the text") if not is_key_run(event) else _run_in_words(event)
    elif method in JUDGING:
        line = _line_name(str(event.get("name", "")))
        title = (titles or {}).get(line) or line.replace("_", " ")
        chosen = (choices or {}).get(line, {})
        what = JUDGING[method]({**event, "title": title, "choices": chosen})
    if event.get("length") and method not in ("keydown", "find"):
        characters = plural(event["length"], "character", "characters")
        what = _("%(what)s %(characters)s") % {"what": what, "characters": characters}
    if event.get("comment") in SOURCES:
        source = str(SOURCES[event["comment"]])
        if method in ("paste", "drop") and event.get("name"):
            source = _("from passage %(number)s") % {"number": event["name"]}
        what = _("%(what)s %(source)s") % {"what": what, "source": source}
    target = event.get("target", "")
    return LogLine(
        seconds=event["time"] / 1000,
        where=names.get(target) or str(TARGETS.get(target, target)),
        what=what,
        text=delta[3] if delta else "",
        deleted=delta[2] if delta else 0,
    )


def _run_in_words(event: Event) -> str:
    characters = plural(len(event["ms"]), "character", "characters")
    said = {"characters": characters, "seconds": decimal(sum(event["ms"]) / 1000)}
    if event["delta"][3]:
        return _("typed %(characters)s in %(seconds)s s") % said
    return _("deleted %(characters)s in %(seconds)s s") % said
