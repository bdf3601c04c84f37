"""Notes of a conversation in words: what of its source is not in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

UNREAD = "unread_fields"
# Code -> what so many of them are.
TEXTS: Mapping[str, Promise] = {
    "attachments_missing": ngettext_lazy(
        "%(n)s attachment that the file does not hold",
        "%(n)s attachments that the file does not hold",
        "n",
    ),
    "attributes_dropped": ngettext_lazy(
        "%(n)s attribute that the sender left out", "%(n)s attributes that the sender left out", "n"
    ),
    "columns_cut": ngettext_lazy(
        "%(n)s further column not kept", "%(n)s further columns not kept", "n"
    ),
    "double_spans": ngettext_lazy(
        "%(n)s step that came twice, kept once", "%(n)s steps that came twice, kept once", "n"
    ),
    "files_not_kept": ngettext_lazy("%(n)s file not kept", "%(n)s files not kept", "n"),
    "hidden_messages": ngettext_lazy(
        "%(n)s hidden message left out", "%(n)s hidden messages left out", "n"
    ),
    "images_not_kept": ngettext_lazy("%(n)s image not kept", "%(n)s images not kept", "n"),
    "judge_steps_left_out": ngettext_lazy(
        "%(n)s step of a judge left out", "%(n)s steps of judges left out", "n"
    ),
    "no_output": ngettext_lazy("%(n)s missing answer", "%(n)s missing answers", "n"),
    "orphan_results": ngettext_lazy(
        "%(n)s tool result without its call", "%(n)s tool results without their calls", "n"
    ),
    "other_branches": ngettext_lazy(
        "%(n)s other branch left out", "%(n)s other branches left out", "n"
    ),
    "pages_missing": ngettext_lazy(
        "%(n)s further page that the file does not hold",
        "%(n)s further pages that the file does not hold",
        "n",
    ),
    "private_fields_left_out": ngettext_lazy(
        "%(n)s field about persons left out", "%(n)s fields about persons left out", "n"
    ),
    "redacted_reasoning": ngettext_lazy(
        "%(n)s encrypted reasoning", "%(n)s encrypted reasonings", "n"
    ),
    "refusals": ngettext_lazy("%(n)s refusal", "%(n)s refusals", "n"),
    "spans_cut": ngettext_lazy("%(n)s step cut off", "%(n)s steps cut off", "n"),
    "steps_not_chosen": ngettext_lazy(
        "%(n)s step where nothing was chosen", "%(n)s steps where nothing was chosen", "n"
    ),
    "texts_cut": ngettext_lazy("%(n)s text shortened", "%(n)s texts shortened", "n"),
    "tools_shortened": ngettext_lazy(
        "%(n)s list of tools cut to their names", "%(n)s lists of tools cut to their names", "n"
    ),
    "turns_after_judged": ngettext_lazy(
        "%(n)s message after the judged turn left out",
        "%(n)s messages after the judged turn left out",
        "n",
    ),
    "turns_cut": ngettext_lazy("%(n)s turn cut off", "%(n)s turns cut off", "n"),
    "unknown_parts": ngettext_lazy(
        "%(n)s part of an unknown kind, shown as JSON",
        "%(n)s parts of unknown kinds, shown as JSON",
        "n",
    ),
    "unknown_roles": ngettext_lazy(
        "%(n)s turn of an unknown role, shown under its name",
        "%(n)s turns of unknown roles, shown under their names",
        "n",
    ),
    "unknown_verdicts": ngettext_lazy(
        "%(n)s verdict that is not known", "%(n)s verdicts that are not known", "n"
    ),
    "unreadable_messages": ngettext_lazy(
        "%(n)s message that is no object", "%(n)s messages that are no objects", "n"
    ),
}


def note_texts(notes: Iterable[str]) -> list[str]:
    """Write the notes of one or many conversations in words, each code once with its total."""
    counts, unread = Counter[str](), dict[str, None]()
    for note in notes:
        code, _colon, value = note.partition(":")
        if code == UNREAD:
            unread |= dict.fromkeys(value.split(","))
        elif value.isdigit():
            counts[code] += int(value)
    found = [str(TEXTS[code] % {"n": n}) for code, n in sorted(counts.items()) if code in TEXTS]
    if unread:
        found.append(_("fields not read: %(names)s") % {"names": ", ".join(unread)})
    return found
