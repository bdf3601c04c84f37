"""The benchmarks' own frame: what one machine lacks does not fail what it has."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.conftest import NO_CHROMIUM


def test_without_a_chromium_its_benchmark_says_so_and_the_others_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CROWDQC_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.setattr(bench, "OUT", tmp_path / "bench.json")
    monkeypatch.setattr(sys, "argv", ["tests.bench", "logging"])
    assert bench.main() == 0
    assert json.loads(bench.OUT.read_text()) == []
    assert f"bench_logging is left out: {NO_CHROMIUM}" in capfd.readouterr().err
