"""The text of an own prompt: its placeholders are found and checked, never executed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from crowdqc.errors import Invalid
from crowdqc.numbers import count
from evaluation.llm.own.purposes import Purpose
from evaluation.llm.prompting import OPTIONAL, PLACE

MARK = re.compile(r"\{\{(?P<kind>[?/]?)(?P<name>[^{}\n]*)\}\}|(?P<open>\{\{)")
NAME = re.compile(r"[a-z_]+")
LONGEST = 20_000  # characters of each of the two texts
MOST_ERRORS = 5


@dataclass(frozen=True)
class Mark:
    """One placeholder in a text, or the begin ("?") or end ("/") of an optional part."""

    kind: str
    name: str
    line: int  # from 1
    column: int

    @property
    def line_and_column(self) -> str:
        return _("Line %(line)s, character %(column)s") % {"line": self.line, "column": self.column}


def check_texts(purpose: Purpose, system: str, user: str) -> None:
    """Raise Invalid on a text that cannot be filled in: each fault with its name and position."""
    fields: dict[str, str] = {}
    for name, text in (("system", system), ("user", user)):
        found = list(_faults(purpose, text))
        if len(text) > LONGEST:
            found.insert(
                0,
                _("At most %(longest)s characters; these are %(text)s.")
                % {"longest": count(LONGEST), "text": count(len(text))},
            )
        if found:
            fields[name] = " ".join(found[:MOST_ERRORS])
    if not user.strip():
        fields["user"] = _("Write what the model is asked.")
    if not fields:
        # What stands in the optional part of another placeholder may be left out of a question.
        always = OPTIONAL.sub(
            lambda part: part[2] if part[1] in purpose.required else "", f"{system}\n{user}"
        )
        there = set(PLACE.findall(always))
        missing = [f"{{{{{name}}}}}" for name in purpose.required if name not in there]
        if missing:
            fields["user"] = _("Missing: %(names)s. “%(title)s” needs it.") % {
                "names": ", ".join(missing),
                "title": _(purpose.title),
            }
    if fields:
        raise Invalid(_("The prompt cannot be saved."), fields=fields)


def _marks(text: str) -> Iterator[Mark]:
    for found in MARK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - (text.rfind("\n", 0, found.start()) + 1) + 1
        if found["open"]:
            yield Mark("open", "", line, column)
        else:
            yield Mark(found["kind"], found["name"], line, column)


def _faults(purpose: Purpose, text: str) -> Iterator[str]:
    part: Mark | None = None  # the optional part that is open
    for one in _marks(text):
        if one.kind == "open":
            yield _("%(where)s: “{{” is not closed on its line.") % {"where": one.line_and_column}
        elif not NAME.fullmatch(one.name) or one.name not in purpose.offered:
            yield (
                _("%(where)s: {{%(kind)s%(one)s}} is not offered here. Offered: %(names)s.")
                % {
                    "where": one.line_and_column,
                    "kind": one.kind,
                    "one": one.name[:40],
                    "names": ", ".join(purpose.offered),
                }
            )
        elif one.kind == "?":
            if part is not None:
                yield _("%(where)s: an optional part cannot begin inside that of %(part)s.") % {
                    "where": one.line_and_column,
                    "part": part.name,
                }
            part = one
        elif one.kind == "/":
            if part is None or part.name != one.name:
                yield _("%(where)s: {{/%(one)s}} closes nothing that is open.") % {
                    "where": one.line_and_column,
                    "one": one.name,
                }
            part = None
    if part is not None:
        yield _("%(where)s: {{?%(part)s}} is never closed by {{/%(part)s}}.") % {
            "where": part.line_and_column,
            "part": part.name,
        }
