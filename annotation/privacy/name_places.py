"""Where a name that a platform or a file has for a person may stand, by type.

Erasing follows references and never searches texts: a row is somebody's by a foreign key, or
because a field declared here holds one of their names as its whole value, within the recruitment
that gave the name. Amounts, dates, keys of JSON, numbers and other people's names cannot match.
Whoever adds a field that holds such a name adds it here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import quote

GONE = "[erased]"
EVERY = "*"  # in a path: each entry of a list


class NameKind(Enum):
    """What a field names a person by."""

    PARTICIPANT = "the platform's id of the person"
    SESSION = "the platform's id of their submission"


@dataclass(frozen=True)
class NamePlace:
    """A field within a JSON column; ``path`` leads to it, EVERY stands for each list entry."""

    model: str
    column: str
    path: tuple[str, ...]
    holds: NameKind


PLACES = (
    NamePlace("PlatformEvent", "payload", ("participant_id",), NameKind.PARTICIPANT),
    NamePlace("PlatformEvent", "payload", ("resource_id",), NameKind.SESSION),
    NamePlace("Statement", "rows", (EVERY, "participant"), NameKind.PARTICIPANT),
    NamePlace("Statement", "rows", (EVERY, "submission"), NameKind.SESSION),
)
# The part of a request's address that is the id of a submission.
SUBMISSION = re.compile(r"(?<= submissions/)[^/ ]+(?=/)")


@dataclass(frozen=True)
class Names:
    """One person's names within one recruitment, or in the files of one project."""

    participants: Set[str] = field(default_factory=frozenset)
    sessions: Set[str] = field(default_factory=frozenset)

    def of(self, holds: NameKind) -> Set[str]:
        """Return the names of this kind: of participants or of sessions."""
        return self.participants if holds is NameKind.PARTICIPANT else self.sessions

    def __bool__(self) -> bool:
        return bool(self.participants or self.sessions)


def is_name(value: Any, names: Set[str]) -> bool:
    """Whether a whole JSON value is one of these names; platforms write some ids as numbers."""
    return isinstance(value, str | int) and not isinstance(value, bool) and str(value) in names


def places_in(model: str, column: str) -> list[NamePlace]:
    """Return the declared places of names in a JSON column."""
    return [place for place in PLACES if (place.model, place.column) == (model, column)]


def named_in(value: Mapping[str, Any], path: tuple[str, ...], names: Set[str]) -> bool:
    """Whether the field at the path (without EVERY) is one of the names as a whole."""
    found: Any = value
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return is_name(found, names)


def erased_at(value: Any, path: tuple[str, ...], names: Set[str]) -> Any:
    """Return a JSON value with the field at a path erased if it holds one of the names."""
    if not path:
        return GONE if is_name(value, names) else value
    step, rest = path[0], path[1:]
    if step == EVERY:
        return [erased_at(one, rest, names) for one in value] if isinstance(value, list) else value
    if isinstance(value, dict) and step in value:
        return {**value, step: erased_at(value[step], rest, names)}
    return value


def erased_request(request: str, sessions: Set[str]) -> str:
    """A request's line without the submission's id, where that is one of these sessions."""
    known = {quote(session, safe="") for session in sessions}
    return SUBMISSION.sub(lambda found: GONE if found[0] in known else found[0], request)
