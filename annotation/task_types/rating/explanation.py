"""What a rating of a document asks besides its scales: an explanation, evidence, feedback.

After Wadhwa, Chen, Li and Durrett, "Using Natural Language Explanations to Rescale Human
Judgments", section 3 and App. D: a rating is worth as much as the words that give its reason.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.task_types.base import whole_number
from annotation.task_types.sentences import sentences
from annotation.task_types.texts import storable
from crowdqc.errors import Invalid
from crowdqc.numbers import count, plural
from crowdqc.web.words import count_words

EXPLANATION, EVIDENCE, FEEDBACK = "explanation", "evidence", "feedback"
SENTENCE = "sentence"  # the target of a span of evidence
NONE, OPTIONAL, REQUIRED = "none", "optional", "required"
WANTED = (NONE, OPTIONAL, REQUIRED)
MAX_EXPLANATION, MAX_EVIDENCE, MAX_NUMBERS = 4000, 600, 60
_PART = re.compile(r"(\d{1,4})(?:\s*[-–]\s*(\d{1,4}))?$")


# Settings ----------------------------------------------------------------------------------------


def clean(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The settings ``explanation`` and ``evidence``; Invalid names the field.

    An explanation that is required has at least one word; an optional one is held to the least
    number of words only where there is one.
    """
    asked = raw.get(EXPLANATION)
    asked = asked if isinstance(asked, Mapping) else {}
    wanted, evidence = asked.get("wanted") or NONE, raw.get(EVIDENCE) or NONE
    for name, value in ((EXPLANATION, wanted), (EVIDENCE, evidence)):
        if value not in WANTED:
            raise Invalid(
                _("%(name)s is not known.") % {"name": name}, fields={name: ", ".join(WANTED)}
            )
    least = whole_number(asked, "min_words", 5, 1, 200)
    return {EXPLANATION: {"wanted": wanted, "min_words": least}, EVIDENCE: evidence}


def digest(text: str) -> str:
    """Hash a text by its words alone, ignoring case, spaces and punctuation."""
    return hashlib.sha256(" ".join(re.findall(r"\w+", text.casefold())).encode()).hexdigest()[:12]


def copies(question: str, answer: str) -> list[str]:
    """Hash the texts that an explanation must not copy: question, answer and its sentences.

    The sentences of the answer are among them: one alone, or several in a row, is no explanation.
    """
    parts = [question, answer, *sentences(answer)]
    return list(dict.fromkeys(digest(part) for part in parts if part.strip()))


# Drafts ------------------------------------------------------------------------------------------


def draft_texts(raw: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a draft that are not empty; Invalid where one is too long."""
    found = {}
    for name, most in (
        (EXPLANATION, MAX_EXPLANATION),
        (EVIDENCE, MAX_EVIDENCE),
        (FEEDBACK, MAX_EXPLANATION),
    ):
        value = raw.get(name) or ""
        if not isinstance(value, str):
            raise Invalid(
                _("The %(name)s is not a text.") % {"name": name}, fields={name: _("Send a text.")}
            )
        if len(value) > most:
            raise Invalid(
                _("The %(name)s is too long.") % {"name": name},
                fields={name: _("%(most)s characters at most.") % {"most": count(most)}},
            )
        if value.strip():
            found[name] = storable(value)
    return found


def numbers(typed: str, last: int = 0) -> list[int]:
    """Parse sentence numbers as typed ("3, 5-7") into a sorted list; Invalid if there are none.

    ``last``: the document's last sentence; 0 where that is not known.
    """
    found: set[int] = set()
    for part in re.split(r"[,;\s]+", re.sub(r"\s*[-–]\s*", "-", typed.strip())):
        if not part:
            continue
        match = _PART.match(part)
        if match is None:
            raise Invalid(
                _("“%(part)s” is not a sentence number.") % {"part": part[:20]},
                fields={EVIDENCE: ""},
            )
        low, high = int(match[1]), int(match[2] or match[1])
        if low < 1 or high < low or (last and high > last):
            wrong = _("There is no sentence %(part)s.")
            if last:
                wrong = _("There is no sentence %(part)s; there are 1 to %(last)s.")
            raise Invalid(wrong % {"part": part, "last": last}, fields={EVIDENCE: ""})
        found.update(range(low, min(high, low + MAX_NUMBERS) + 1))
    if len(found) > MAX_NUMBERS:
        raise Invalid(
            _("%(max_numbers)s sentences at most.") % {"max_numbers": MAX_NUMBERS},
            fields={EVIDENCE: ""},
        )
    return sorted(found)


# Checks ------------------------------------------------------------------------------------------


def explanation_problem(text: str, settings: Mapping[str, Any], labels: Iterable[str] = ()) -> str:
    """Return what is wrong with an explanation, as a sentence; "" if nothing is.

    ``labels``: the names and points of the scales, which explain nothing when repeated.
    """
    asked, written = settings.get(EXPLANATION) or {}, text.strip()
    wanted = asked.get("wanted", NONE)
    if wanted == NONE or (wanted == OPTIONAL and not written):
        return ""
    if not written:
        return _("Say in a few words why.")
    words, least = count_words(written), asked.get("min_words", 1)
    if words < least:
        return _("%(words)s so far; at least %(least)s are wanted.") % {
            "words": plural(words, "word"),
            "least": least,
        }
    if digest(written) in {digest(label) for label in labels}:
        return _("This repeats a label. Say what makes the answer so.")
    said = {digest(part) for part in sentences(written)}
    known = set(settings.get("copies") or ())
    if digest(written) in known or (said and said <= known):
        return _("This repeats the question or the answer. Say what you think of it.")
    return ""


def evidence_problem(typed: str, settings: Mapping[str, Any], *, best: bool) -> str:
    """Return what is wrong with the cited sentences; "" if nothing is.

    ``best``: every scale is at its top point, so that no sentence has to be cited.
    """
    wanted, last = settings.get(EVIDENCE, NONE), int(settings.get("sentences") or 0)
    if wanted == NONE or not last:  # without a document there is nothing to point at
        return ""
    try:
        found = numbers(typed, last)
    except Invalid as error:
        return error.message
    if wanted == REQUIRED and not found and not best:
        return _("Choose the sentences that show it, or write their numbers.")
    return ""


def spans(typed: str, settings: Mapping[str, Any]) -> list[tuple[str, int, str, int, int]]:
    """Convert typed sentence numbers to spans (field, index, target, start, end)."""
    if settings.get(EVIDENCE, NONE) == NONE or not settings.get("sentences"):
        return []
    found = numbers(typed, int(settings["sentences"]))
    return [(EVIDENCE, index, SENTENCE, n, n) for index, n in enumerate(found)]
