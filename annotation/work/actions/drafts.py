"""Draft versions: which save builds on which, and conflicts that need a choice.

A tab numbers its saves, and each save names the ones that its text takes into account (``seen``,
of every tab the last one). So a lost reply or a late request is never taken for a second version,
and a text of another tab or device is never overwritten unseen: both are kept until one is chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import AssignmentItem
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count

MAX_DRAFT_BYTES = 1024 * 1024  # of one version, as JSON
MOST_OTHERS = 10  # versions of one draft that wait for a choice
# Of all that wait. The latest always fits, so that nothing is dropped as it is saved.
MAX_OTHERS_BYTES = 2 * MAX_DRAFT_BYTES
MOST_SEEN = 50  # tabs that a draft remembers


@dataclass(frozen=True)
class Version:
    """One save: its tab, its number there, and the saves that it includes."""

    seq: int
    tab: str = ""  # programs and plain forms have none
    seen: Mapping[str, int] = field(default_factory=dict)  # tab -> its last save that was seen
    chosen: bool = False  # the worker has chosen it over the version on the server

    def covers(self, tab: str, seq: int) -> bool:
        """Whether this version includes that save."""
        return self.seen.get(tab, -1) >= seq or (tab == self.tab and seq <= self.seq)


class SaveOutcome(Enum):
    """The result of a save."""

    KEPT = "kept"
    STALE = "stale"  # the draft takes it into account already
    APART = "apart"  # it waits beside the draft until its person chooses


class DraftChanged(Conflict):
    """The stored draft is not the one that this save was based on."""

    code = "draft-changed"

    def __init__(self, entry: AssignmentItem) -> None:
        super().__init__(
            _(
                "Number %(position)s was changed in another tab or on another device. Open "
                "it and choose a version; nothing is lost."
            )
            % {"position": entry.position + 1}
        )
        self.entry = entry


def current_version(entry: AssignmentItem) -> Version:
    """Return the version of an entry's draft."""
    state = entry.draft_versions or {}
    tab, seen = state.get("tab", ""), state.get("seen", {})
    if seen.get(tab) != entry.draft_seq:  # replaced since by a save that names no versions
        tab, seen = "", {**seen, "": entry.draft_seq}
    return Version(entry.draft_seq, tab, seen)


def other_versions(entry: AssignmentItem) -> list[dict[str, Any]]:
    """Return conflicting versions as {tab, seq, seen, draft}."""
    return list((entry.draft_versions or {}).get("others", ()))


def versions_for_page(entry: AssignmentItem, *, beyond: Version | None = None) -> dict[str, Any]:
    """Return a draft's versions for a page; ``beyond``: unseen other versions."""
    held = current_version(entry)
    others = [
        one
        for one in other_versions(entry)
        if beyond is None or not beyond.covers(one["tab"], one["seq"])
    ]
    return {"seq": held.seq, "tab": held.tab, "seen": dict(held.seen), "others": others}


def check_size(draft: Mapping[str, Any]) -> None:
    """Raise Invalid if one version alone exceeds the limit of drafts."""
    if _size(draft) > MAX_DRAFT_BYTES:
        raise Invalid(
            _("This answer is too long to be saved. Shorten it."),
            fields={
                "draft": _("At most %(bytes)s bytes as JSON.") % {"bytes": count(MAX_DRAFT_BYTES)}
            },
        )


def place_draft(entry: AssignmentItem, draft: Mapping[str, Any], version: Version) -> SaveOutcome:
    """Put a save into its locked entry, as the draft or as a conflict.

    Raises Invalid where the draft alone is too large.
    """
    check_size(draft)
    held = current_version(entry)
    last = held.seen.get(version.tab, -1) if version.tab else held.seq
    if version.seq <= last:
        return SaveOutcome.STALE
    others = [one for one in other_versions(entry) if not version.covers(one["tab"], one["seq"])]
    # Programs and plain forms name no versions: the later save counts.
    known = not version.tab or not held.seq or version.covers(held.tab, held.seq)
    known = known or draft == entry.draft
    if not known and not version.chosen:
        if any(_version_of(one).covers(version.tab, version.seq) for one in others):
            return SaveOutcome.STALE
        others.append(_row(version, draft))
        state = {"tab": held.tab, "seen": dict(held.seen)}
        entry.draft_versions = {**state, "others": _latest_within_limit(others)}
        return SaveOutcome.APART
    before = dict(held.seen)
    if not known:
        others.append(_row(held, entry.draft))
        before.pop(held.tab, None)  # it waits among the others from now on
    seen = {
        tab: max(before.get(tab, 0), version.seen.get(tab, 0)) for tab in {*before, *version.seen}
    }
    latest = sorted(seen.items(), key=lambda one: one[1])[-MOST_SEEN:]
    entry.draft, entry.draft_seq = dict(draft), version.seq
    entry.draft_versions = {
        "tab": version.tab,
        "seen": {**dict(latest), version.tab: version.seq},
        "others": _latest_within_limit(others),
    }
    return SaveOutcome.KEPT


def _size(value: Mapping[str, Any]) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def _latest_within_limit(others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the latest versions within the limit, at least the last one."""
    first, room = len(others), MAX_OTHERS_BYTES
    for one in reversed(others[-MOST_OTHERS:]):
        room -= _size(one["draft"])
        if room < 0 and first < len(others):
            break
        first -= 1
    return others[first:]


def _version_of(row: Mapping[str, Any]) -> Version:
    return Version(row["seq"], row["tab"], row["seen"])


def _row(version: Version, draft: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tab": version.tab,
        "seq": version.seq,
        "seen": dict(version.seen),
        "draft": dict(draft),
    }
