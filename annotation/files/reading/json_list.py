"""JSON values in a stream, of a list or one after another; only the value at hand is held."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

from django.utils.translation import gettext

from annotation.files.reading.sources import Encoding, Source, stream
from crowdqc.errors import Invalid
from crowdqc.numbers import count

PIECE = 256 * 1024  # characters
SPACE = re.compile(r"\s*")
# Only where an element ends is asked of it: what it holds is read, and bounded, by ``read_json``.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def elements(source: Source, encoding: Encoding, most: int) -> Iterator[str]:
    """Yield the JSON of each element of a list.

    Raises Invalid where the list breaks, or an element has more than ``most`` characters.
    """
    text = _Text(source, encoding)
    text.expect("[")
    while not text.next_is("]"):
        yield text.element(most)
        if not text.next_is("]"):
            text.expect(",")
    text.expect("]")
    if text.next_is(""):
        return
    raise text.broken()


def separate_values(source: Source, encoding: Encoding, most: int) -> Iterator[str]:
    """Yield the JSON of each of several values one after another, with or without commas.

    Raises Invalid as ``elements`` does.
    """
    text = _Text(source, encoding)
    while not text.next_is(""):
        yield text.element(most)
        if text.next_is(","):
            text.expect(",")


def spans_lines(source: Source, encoding: Encoding) -> bool:
    """Whether lines are no values: the first one goes on below, or another follows beside it."""
    text = source.head(PIECE).decode(encoding.codec, "ignore").lstrip()
    try:
        _, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return False
    beside = text[end:].splitlines()[:1]
    return len(text[:end].splitlines()) > 1 or bool("".join(beside).strip().strip(","))


def is_value(text: str) -> bool:
    """Whether a text begins with a value of JSON, or with the first elements of a list."""
    try:
        _DECODER.raw_decode(text, 1 if text[:1] == "[" and text[1:2] in ("[", "{") else 0)
    except (ValueError, RecursionError):
        return False
    return True


class _Text:
    """A text that is read by pieces, and how far it was gone through."""

    def __init__(self, source: Source, encoding: Encoding) -> None:
        self._stream = io.TextIOWrapper(
            stream(source), encoding=encoding.codec, errors=encoding.errors, newline=""
        )
        self._held, self._at, self.line = "", 0, 1

    def next_is(self, mark: str) -> bool:
        """Whether the next character that is no space is this one; "" is the end."""
        while True:
            found = SPACE.match(self._held, self._at)
            self._move_to(found.end() if found else self._at)
            if self._at < len(self._held) or not self._read_more(PIECE):
                return self._held[self._at : self._at + 1] == mark

    def expect(self, mark: str) -> None:
        """Go past this mark; raise Invalid if something else comes next."""
        if not self.next_is(mark):
            raise self.broken()
        self._move_to(self._at + 1)

    def element(self, most: int) -> str:
        """The JSON of the element that begins here."""
        while True:
            try:
                _, end = _DECODER.raw_decode(self._held, self._at)
            except RecursionError:
                raise self.broken() from None
            except ValueError:
                end = 0
            size = (end or len(self._held)) - self._at
            if size > most:
                raise Invalid(
                    gettext("The element on line %(line)s has more than %(most)s characters.")
                    % {"line": count(self.line), "most": count(most)},
                    fields={"file": gettext("Split it into smaller elements.")},
                )
            if end:
                found = self._held[self._at : end]
                self._move_to(end)
                return found
            # As much again as is held, so that a long element is not read over and over.
            if not self._read_more(max(PIECE, size)):
                raise self.broken()

    def broken(self) -> Invalid:
        """Return the error that names the line from which nothing can be read."""
        return Invalid(
            gettext("The JSON cannot be read from line %(line)s on.") % {"line": count(self.line)},
            fields={"file": gettext("Write a list of JSON objects, with commas between them.")},
        )

    def _move_to(self, at: int) -> None:
        self.line += self._held.count("\n", self._at, at)
        self._at = at

    def _read_more(self, size: int) -> bool:
        piece = self._stream.read(size)
        self._held, self._at = self._held[self._at :] + piece, 0
        return bool(piece)
