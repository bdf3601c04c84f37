"""Two records side by side: every address that differs, alike differences together."""

from __future__ import annotations

import difflib
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Key = tuple[str, str]  # who asked, and for which address
Records = dict[Key, dict[str, Any]]
MOST_LINES, MOST_ADDRESSES = 40, 6


def write(path: Path, records: Records) -> None:
    """JSON lines in order of address and person; the same records give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"who": who, "at": at, **records[who, at]}, ensure_ascii=False)
        for who, at in sorted(records, key=lambda key: key[::-1])
    ]
    path.write_bytes(gzip.compress("".join(f"{one}\n" for one in lines).encode(), mtime=0))


def read(path: Path) -> Records:
    """What ``write`` wrote."""
    records: Records = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        row = json.loads(line)
        records[row.pop("who"), row.pop("at")] = row
    return records


def lines(value: Any, name: str = "") -> Iterator[str]:
    """A record as lines that a person can compare: a row of a table is one."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from lines(one, f"{name}.{key}" if name else str(key))
    elif (
        isinstance(value, list)
        and value
        and all(not isinstance(one, (list, dict)) for one in value)
    ):
        if name.endswith("]") or len(value) == 1:
            yield f"{name}: {' | '.join(map(str, value))}"
        else:
            yield from (f"{name}: {one}" for one in value)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from lines(one, f"{name}[{number}]")
    else:
        yield f"{name}: {value}"


def changed(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """Lines that went (-) and that came (+)."""
    old, new = list(lines(before)), list(lines(after))
    found = difflib.unified_diff(old, new, lineterm="", n=0)
    return tuple(one for one in found if not one.startswith(("---", "+++", "@@")))


def differences(before: Records, after: Records) -> list[str]:
    """Paragraphs, one a difference that some addresses have in common; none where all is equal."""
    groups: dict[tuple[str, ...], list[Key]] = {}
    for key in sorted(before.keys() | after.keys(), key=lambda key: key[::-1]):
        if key not in after:
            what: tuple[str, ...] = ("- it was not asked for",)
        elif key not in before:
            what = ("+ it is new",)
        elif before[key] == after[key]:
            continue
        else:
            what = changed(before[key], after[key])
        groups.setdefault(what, []).append(key)
    return [_paragraph(keys, what) for what, keys in groups.items()]


def _paragraph(keys: list[Key], what: tuple[str, ...]) -> str:
    heads = [f"{at} ({who})" for who, at in keys[:MOST_ADDRESSES]]
    if len(keys) > MOST_ADDRESSES:
        heads.append(f"... and {len(keys) - MOST_ADDRESSES} more")
    shown = [f"  {one[:400]}" for one in what[:MOST_LINES]]
    if len(what) > MOST_LINES:
        shown.append(f"  ... and {len(what) - MOST_LINES} more lines")
    return "\n".join([*heads, *shown])
