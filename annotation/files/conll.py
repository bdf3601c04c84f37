"""CoNLL out and in: marked spans as BIO tags of tokens, and back.

A token is a run of letters, digits and underscores, or one other character that is no whitespace.
Offsets count code points, the end outside.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from django.utils.translation import gettext

from annotation.files.reading.rows import Row
from crowdqc import numbers
from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable, read_json
from crowdqc.numbers import parse_whole

TOKEN = re.compile(r"\w+|[^\w\s]")
OUTSIDE, BEGIN, INSIDE = "O", "B-", "I-"
# As the English files of CoNLL-2003 begin a document; readers split there.
DOCUMENT = "-DOCSTART- -X- O O"
COMMENT = re.compile(r"# ?(item_id|item|worker|system|replicate|field) = (.*)")
COLUMNS = ("item_id", "worker", "system", "replicate", "field", "label", "start", "end")
SUFFIXES = (".conll", ".bio", ".iob", ".iob2")
SPANS, ABOUT, LEFT = "spans.conll", "documents.jsonl", "not_expressible.jsonl"
OVERLAPS = "overlaps a span before it"
CUTS = "begins or ends inside a token"
EMPTY = "holds no token"
SPACED = "its label holds whitespace"


class Span(NamedTuple):
    """A marked stretch of a text."""

    start: int
    end: int
    label: str


class Tagged(NamedTuple):
    """A token with its offsets and its tag."""

    text: str
    start: int
    end: int
    tag: str


def tag_tokens(text: str, spans: Sequence[Span]) -> tuple[list[Tagged], list[tuple[Span, str]]]:
    """Tag the tokens of a text, and return the spans that BIO tags cannot express, with reasons.

    Spans are taken by their start, of one start the longest first; one that overlaps a span taken
    before is not expressed.
    """
    tokens = [(found[0], found.start(), found.end()) for found in TOKEN.finditer(text)]
    starts = {start: at for at, (_, start, _) in enumerate(tokens)}
    ends = {end: at for at, (_, _, end) in enumerate(tokens)}
    tags, left = [OUTSIDE] * len(tokens), []
    for span in sorted(spans, key=lambda one: (one.start, -one.end, one.label)):
        first, last = starts.get(span.start), ends.get(span.end)
        if re.search(r"\s", span.label):
            left.append((span, SPACED))
        elif not TOKEN.search(text[span.start : span.end]):
            left.append((span, EMPTY))
        elif first is None or last is None:
            left.append((span, CUTS))
        elif any(tag != OUTSIDE for tag in tags[first : last + 1]):
            left.append((span, OVERLAPS))
        else:
            tags[first] = BEGIN + span.label
            tags[first + 1 : last + 1] = [INSIDE + span.label] * (last - first)
    return [Tagged(*token, tag) for token, tag in zip(tokens, tags, strict=True)], left


def conll_lines(tokens: Sequence[Tagged]) -> Iterator[str]:
    """Yield the lines of a document: word, start, end and tag of each token."""
    yield f"{DOCUMENT}\n\n"
    for one in tokens:
        yield f"{one.text} {one.start} {one.end} {one.tag}\n"
    yield "\n"


class Marked(NamedTuple):
    """A document of a file: the line where it begins, what its comments say, and its spans."""

    line: int
    about: dict[str, str]
    spans: list[Span]


def read_conll(lines: Iterable[str]) -> Iterator[Marked]:
    """Yield the documents of a CoNLL file: the word first on each line, its IOB2 tag last.

    Documents begin with -DOCSTART-. Offsets are those of lines such as ``conll_lines`` writes;
    elsewhere they count in the words joined by one space. Comments such as ``# item_id = leaf-1``
    name item, worker, system and field. Raises Invalid, which names the line.
    """
    held: Marked | None = None
    at, before = 0, OUTSIDE
    for number, line in enumerate(lines, 1):
        parts, said = line.split(), COMMENT.match(line)
        begins = parts[:1] == [DOCUMENT.split(maxsplit=1)[0]]
        if begins and held is not None:
            yield held
        if begins or held is None:
            held, at, before = Marked(number, {}, []), 0, OUTSIDE
        if said:
            held.about[said[1]] = said[2].strip()
        elif parts and not begins:
            if len(parts) < 2:
                raise _wrong(
                    number,
                    gettext("has no tag"),
                    gettext("Write a token and its tag on each line."),
                )
            start, end = map(parse_whole, parts[1:3] if len(parts) == 4 else ("", ""))
            if start is None or end is None:
                start, end = at, at + len(parts[0])
            at, tag = end + 1, parts[-1]
            _tagged(held, Span(start, end, tag[2:]), tag, before, number)
            before = tag
    if held is not None:
        yield held


def _tagged(held: Marked, token: Span, tag: str, before: str, number: int) -> None:
    """Begin a span with this token, or go on with the last one."""
    if tag.startswith(BEGIN):
        held.spans.append(token)
    elif tag.startswith(INSIDE):
        if before[2:] != token.label:
            raise _wrong(
                number,
                gettext("continues no %(label)s") % {"label": token.label},
                gettext("Begin each span with B-."),
            )
        held.spans[-1] = held.spans[-1]._replace(end=token.end)
    elif tag != OUTSIDE:
        raise _wrong(
            number,
            gettext("has %(tag)s, which is no tag") % {"tag": tag[:40]},
            gettext("Write O, B- or I-."),
        )


def _wrong(line: int, wrong: str, mend: str) -> Invalid:
    return Invalid(
        gettext("Line %(line)s %(wrong)s.") % {"line": numbers.count(line), "wrong": wrong},
        fields={"file": mend},
    )


def table_rows(
    documents: Iterable[Marked],
    about: Iterator[Mapping[str, Any]] | None = None,
    left: Mapping[int, Sequence[Span]] | None = None,
) -> Iterator[Row]:
    """Yield a row for each span in ``COLUMNS``, or a row "nothing" for a document without spans.

    ``about`` says of each document what its comments do not, ``left`` by its number from 1 the
    spans that tags cannot hold.
    """
    for number, one in enumerate(documents, 1):
        told: Mapping[str, Any] | None = one.about
        if about is not None:
            told = next(about, None)
        if told is None:
            raise _wrong(
                one.line,
                "begins a document too many",
                gettext("%(about)s has fewer.") % {"about": ABOUT},
            )
        told = {"item_id": told.get("item", "")} | dict(told)  # as earlier versions wrote it
        values = {name: str(told.get(name, "")) for name in COLUMNS[:5]}
        spans = [*one.spans, *(left or {}).get(number, ())]
        for start, end, label in spans:
            yield Row(one.line, {**values, "label": label, "start": str(start), "end": str(end)})
        if not spans:
            yield Row(one.line, {**values, "label": "nothing", "start": "", "end": ""})


def archive_rows(file: IO[bytes], most: int) -> Iterator[Row] | None:
    """The rows of an archive as it was exported, which closes the file; None for another archive.

    ``most`` is how many bytes its files may have. Raises Invalid where they cannot be read.
    """
    try:
        archive = zipfile.ZipFile(file)
        parts = [archive.getinfo(name) for name in (SPANS, ABOUT, LEFT)]
    except (KeyError, zipfile.BadZipFile):
        file.close()
        return None
    if sum(part.file_size for part in parts) > most:  # no more than this is read of each
        file.close()
        raise Invalid(
            gettext("Uncompressed, the archive is too large."),
            fields={"file": gettext("Split it.")},
        )
    return _unpacked(file, archive)


def _unpacked(file: IO[bytes], archive: zipfile.ZipFile) -> Iterator[Row]:
    with (
        file,
        io.TextIOWrapper(archive.open(SPANS), encoding="utf-8", newline="\n") as spans,
        archive.open(ABOUT) as about,
        archive.open(LEFT) as lost,
    ):
        try:
            left: dict[int, list[Span]] = {}
            for row in map(_read, lost):
                span = Span(row["start"], row["end"], row["label"])
                left.setdefault(row["document"], []).append(span)
            yield from table_rows(read_conll(spans), map(_read, about), left)
        except (
            Unreadable,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            zipfile.BadZipFile,
        ) as error:
            wrong = gettext("The archive cannot be read.")
            raise Invalid(wrong, fields={"file": gettext("Export it again.")}) from error


def _read(line: bytes) -> Any:
    return read_json(line, any_text=True)


def biluo(tags: Sequence[str]) -> list[str]:
    """Convert BIO tags to BILUO tags, which spaCy reads."""
    found = []
    for tag, after in zip(tags, [*tags, OUTSIDE][1:], strict=True):
        ends = tag != OUTSIDE and after != INSIDE + tag[2:]
        last = "U-" if tag.startswith(BEGIN) else "L-"
        found.append(last + tag[2:] if ends else tag)
    return found
