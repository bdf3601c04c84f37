"""What docs/security.md claims can be looked up."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_every_test_that_the_security_page_names_exists() -> None:
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for path in (ROOT / "tests").rglob("test_*.py"):
        there |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert set(re.findall(r"`(test_\w+(?:\.py)?)`", PAGE)) - there == set()


def test_every_file_that_the_security_page_names_holds_its_test() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE)
    assert named
    for name, test in named:
        [path] = [ROOT / name] if "/" in name else (ROOT / "tests" / "security").rglob(name)
        assert re.search(rf"^def {test}\b", path.read_text(), re.MULTILINE), (name, test)


def test_every_chapter_stands_on_the_security_page() -> None:
    assert re.findall(r"^### V(\d+) ", PAGE, re.MULTILINE) == [str(n) for n in range(1, 18)]


def test_every_file_that_the_guarantees_name_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "tests" / "GUARANTEES.md").read_text())
    assert named and [name for name in named if not (ROOT / name).is_file()] == []
