"""Bundles that somebody else made to do harm: each is refused, and none ends in a traceback."""

from __future__ import annotations

import hashlib
import io
import json
import random
import resource
import struct
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evaluation.bundles.archive import MOST_FILES
from evaluation.bundles.checking import verify
from evaluation.bundles.kinds.base import Broken, jsonl, read_jsonl
from evaluation.runs.run_types import type_of
from tests.evaluation.bundles.files import written
from tests.evaluation.bundles.test_bundles import run_of

pytestmark = pytest.mark.django_db
Files = dict[str, bytes]
DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000


@pytest.fixture(scope="module")
def bundles(shared_rows: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A real bundle of two methods that take a moment to run again."""
    folder = tmp_path_factory.mktemp("bundles")
    methods = ("ratings", "replacement_texts")
    return {name: written(run_of(name), folder) for name in methods}


def unpacked(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Files, *, mend: bool = True, more: Files | None = None) -> bytes:
    """A ZIP file of these, its manifest mended to fit them where it can be; ``more`` beside."""
    files = dict(files)
    if mend:
        manifest = json.loads(files["manifest.json"])
        others = {name: content for name, content in files.items() if name != "manifest.json"}
        manifest["files"] = {name: hashlib.sha256(one).hexdigest() for name, one in others.items()}
        files["manifest.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (*files.items(), *(more or {}).items()):
            archive.writestr(name, content)
    return out.getvalue()


def manifest_with(**changes: Any) -> Callable[[Files], bytes]:
    def change(files: Files) -> bytes:
        manifest = {**json.loads(files["manifest.json"]), **changes}
        return packed({**files, "manifest.json": json.dumps(manifest).encode()}, mend=False)

    return change


def file_as(name: str, content: bytes) -> Callable[[Files], bytes]:
    return lambda files: packed({**files, name: content}, mend=name != "manifest.json")


def linked(files: Files) -> bytes:
    out = io.BytesIO(packed(files))
    with zipfile.ZipFile(out, "a") as archive:
        link = zipfile.ZipInfo("data/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    return out.getvalue()


def patched(old: bytes, offset: int, new: bytes) -> Callable[[Files], bytes]:
    """Bytes behind every signature ``old`` replaced, as no ZIP writer would write them."""

    def change(files: Files) -> bytes:
        content, at = bytearray(packed(files)), -1
        while (at := content.find(old, at + 1)) >= 0:
            content[at + offset : at + offset + len(new)] = new
        return bytes(content)

    return change


ENTRY, END = b"PK\x01\x02", b"PK\x05\x06"
HOSTILE: dict[str, Callable[[Files], bytes]] = {
    "bomb": file_as("data/zeros.json", bytes(20 * 1024 * 1024)),
    "declares 4 GB": patched(ENTRY, 24, b"\xff\xff\xff\xfe"),
    "declares too little": patched(ENTRY, 24, b"\x01\x00\x00\x00"),
    "many files": lambda files: packed(files, more={f"x{n}": b"" for n in range(MOST_FILES)}),
    "list of 4 GB": patched(END, 12, b"\xff\xff\xff\xfe"),
    "two of one name": lambda files: packed(files, more={"README.TXT": b"", "data//x": b""}),
    "climbs": lambda files: packed(files, more={"../../etc/passwd": b""}),
    "absolute": lambda files: packed(files, more={"/etc/passwd": b""}),
    "backslash": lambda files: packed(files, more={"data\\x": b""}),
    "folder": lambda files: packed(files, more={"data/": b""}),
    "link": linked,
    "encrypted": patched(ENTRY, 8, struct.pack("<H", 1)),
    "unknown compression": patched(ENTRY, 10, struct.pack("<H", 99)),
    "no manifest": lambda files: packed({"x": b""}, mend=False),
    "manifest too deep": file_as("manifest.json", DEEP),
    "manifest no UTF-8": file_as("manifest.json", b'{"kind": "\xff"}'),
    "manifest is a list": file_as("manifest.json", b"[]"),
    "files is a list": manifest_with(files=[]),
    "method is a list": manifest_with(method=["ratings"]),
    "method unknown": manifest_with(method="\x1b[2Jratings"),
    "no hash": manifest_with(result_hash=None),
    "recipe too deep": file_as("recipe.json", DEEP),
    "recipe is a list": file_as("recipe.json", b"[]"),
    "recipe is NaN": file_as("recipe.json", b"NaN"),
    "huge number": file_as("data/answers.jsonl", b"1" * 5000),
    "infinite number": file_as("results/figures.json", b'{"about": 1e999}'),
    "environment is text": file_as("environment.json", b'"\\u001b[2J"'),
    "no ZIP": lambda files: b"PK" * 400,
    "nothing": lambda files: b"",
    "cut": lambda files: packed(files)[:-40],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_bundle_is_refused_in_words(
    what: str, bundles: dict[str, Path], tmp_path: Path
) -> None:
    path, out = tmp_path / "b.zip", StringIO()
    path.write_bytes(HOSTILE[what](unpacked(bundles["ratings"])))
    with pytest.raises(CommandError) as refused:
        call_command("verify_bundle", str(path), "--most-mb", "10", stdout=out, stderr=out)
    text = f"{refused.value}{out.getvalue()}"
    assert refused.value.returncode == 1
    assert "\x1b" not in text and len(text) < 4000


def test_options_that_no_run_can_have_are_not_run(bundles: dict[str, Path], tmp_path: Path) -> None:
    files = unpacked(bundles["ratings"])
    recipe = json.loads(files["recipe.json"])
    recipe["params"]["resamples"] = 10**12
    path = tmp_path / "b.zip"
    path.write_bytes(packed({**files, "recipe.json": json.dumps(recipe).encode()}))
    told = [text for good, text in verify(path).lines if not good]
    assert any("resamples" in text for text in told)


def mapped_megabytes() -> int:
    """What counts towards the limit of this process now."""
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if "VmData" in line) // 1024


def many_labels(files: Files) -> bytes:
    """Votes of 3,000 workers with 150 labels, whose confusion matrices take gigabytes."""
    options = [[str(code), str(code)] for code in range(150)]
    votes = (
        {"answer_id": n, "item_id": n % 40, "item_key": "x", "item_since": 1, "known": ""}
        | {"worker_id": n, "answered_at": "2026-01-01T00:00:00+00:00", "code": str(n % 150)}
        for n in range(3000)
    )
    recipe = {
        **json.loads(files["recipe.json"]),
        "method": "labels",
        "params": {one.name: one.default for one in type_of("labels").options.options},
    }
    manifest = {**json.loads(files["manifest.json"]), "method": "labels"}
    made = {
        "manifest.json": json.dumps(manifest).encode(),
        "recipe.json": json.dumps(recipe).encode(),
        "data/answers.jsonl": jsonl(votes),
        "data/field.json": json.dumps({"name": "x", "label": "", "options": options}).encode(),
        "data/other_fields.json": b"[]",
    }
    return packed({**files, **made})


def many_objects(files: Files) -> bytes:
    """A manifest of few kilobytes that unpacks to millions of lists."""
    wide = b'{"x": [' + b"[]," * 4_000_000 + b"[]]}"
    return packed({**files, "manifest.json": wide}, mend=False)


@pytest.mark.parametrize("make", [many_labels, many_objects])
def test_a_small_bundle_takes_no_more_memory_than_a_job(
    make: Callable[[Files], bytes],
    bundles: dict[str, Path],
    tmp_path: Path,
    settings: Any,
) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(make(unpacked(bundles["ratings"])))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    settings.CROWDQC_JOB_MEMORY = mapped_megabytes() + 150
    with pytest.raises(Broken, match="CROWDQC_JOB_MEMORY"):
        verify(path)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


# What stands in place of some value of a real bundle.
VALUES = (None, True, 0, -1, 2**70, 10**30, 0.5, 1e300, "", "x", "\ud800", [], [[]], {}, {"a": 1})


def replaced(value: Any, path: list[int], new: Any) -> Any:
    """The value with one entry, which the numbers lead to, replaced."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    at, *rest = path
    if isinstance(value, dict):
        name = list(value)[at % len(value)]
        return {**value, name: replaced(value[name], rest, new)}
    at %= len(value)
    return [*value[:at], replaced(value[at], rest, new), *value[at + 1 :]]


@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_no_change_of_a_bundle_ends_in_an_exception(
    seed: int, bundles: dict[str, Path], tmp_path: Path
) -> None:
    drawn = random.Random(seed)
    files = unpacked(bundles[drawn.choice(sorted(bundles))])
    for name in drawn.sample(sorted(files.keys() - {"README.txt"}), drawn.randint(1, 3)):
        if drawn.random() < 0.1:
            del files[name]
            continue
        if name.endswith(".npy"):
            at = drawn.randrange(160)
            files[name] = files[name][:at] + drawn.randbytes(4) + files[name][at + 4 :]
            continue
        lines = name.endswith(".jsonl")
        value = read_jsonl(files[name]) if lines else json.loads(files[name])
        way = [drawn.randrange(50) for _ in range(drawn.randint(0, 4))]
        changed = replaced(value, way, drawn.choice(VALUES))
        rows = changed if lines and isinstance(changed, list) else [changed]
        files[name] = b"\n".join(json.dumps(row).encode() for row in rows)
    path = tmp_path / "b.zip"
    path.write_bytes(packed(files, mend=False))
    report_or_refusal(path)


@hypothesis_settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_no_change_of_its_bytes_ends_in_an_exception(
    seed: int, bundles: dict[str, Path], tmp_path: Path
) -> None:
    drawn = random.Random(seed)
    content = bytearray(bundles["ratings"].read_bytes())
    for _ in range(drawn.randint(1, 4)):
        # Half of all changes among the names and lengths at the end.
        at = drawn.randrange(drawn.choice((0, len(content) - 900)), len(content))
        content[at : at + drawn.randrange(8)] = drawn.randbytes(drawn.randrange(8))
    path = tmp_path / "b.zip"
    path.write_bytes(content)
    report_or_refusal(path)


def report_or_refusal(path: Path) -> None:
    try:
        verify(path)
    except Broken as error:
        assert str(error)


def test_a_text_with_other_ends_of_lines_is_one_row() -> None:
    rows = [{"text": "one\u2028two\u0085three\x0cfour"}, {"text": "five"}]
    assert read_jsonl(jsonl(rows)) == rows
