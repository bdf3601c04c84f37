"""The look keeps its promises: contrast of the tokens, nothing inline, vendored files unchanged."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from django.template.loader import render_to_string

from annotation.task_types.rendering import words_in

ROOT = Path(__file__).resolve().parents[3]
STATIC, TEMPLATES = ROOT / "static", ROOT / "templates"
TOKENS = dict(
    (name, (light, dark))
    for name, light, dark in re.findall(
        r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", (STATIC / "css/tokens.css").read_text()
    )
)


def luminance(colour: str) -> float:
    """Relative luminance of sRGB (WCAG 2.2)."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground", "least"),
    [
        *[(ink, "paper", 4.5) for ink in ("ink", "ink2", "ink3", "accent", "good", "warn", "bad")],
        *[(ink, "surface", 4.5) for ink in ("ink", "ink2", "ink3", "accent", "bad")],
        *[(ink, "sunken", 4.5) for ink in ("ink", "ink2", "ink3")],
        *[(ink, "accent-soft", 4.5) for ink in ("ink", "ink2", "accent")],
        *[("ink", f"heat-{step}", 5.4) for step in range(6)],
        *[("ink", soft, 4.5) for soft in ("blue-soft", "orange-soft", "warn-soft", "bad-soft")],
        ("on-accent", "accent", 4.5),
        ("on-accent", "accent-strong", 4.5),
        ("warn", "warn-soft", 4.5),
        ("bad", "bad-soft", 4.5),
        ("edge", "paper", 3.0),
        ("edge", "surface", 3.0),
    ],
)
def test_words_are_legible_on_their_ground(
    scheme: int, text: str, ground: str, least: float
) -> None:
    assert contrast(TOKENS[text][scheme], TOKENS[ground][scheme]) >= least


def test_vendored_files_are_the_ones_that_are_named() -> None:
    listed = re.findall(
        r"file\s+(\S+)\s+sha256\s+([0-9a-f]{64})", (STATIC / "vendor/VENDORED.txt").read_text()
    )
    kept = {
        p.relative_to(STATIC / "vendor").as_posix()
        for p in (STATIC / "vendor").rglob("*")
        if p.suffix in {".js", ".css", ".woff2"}
    }
    assert {path for path, _ in listed} == kept
    for path, digest in listed:
        assert hashlib.sha256((STATIC / "vendor" / path).read_bytes()).hexdigest() == digest


def test_pico_in_its_layer_is_the_file_of_the_package() -> None:
    layered = (STATIC / "vendor/pico/pico.layer.css").read_bytes()
    inner = layered.removeprefix(b"@layer pico {\n").removesuffix(b"\n}\n")
    named = re.search(r"\(sha256 ([0-9a-f]{64})\)", (STATIC / "vendor/VENDORED.txt").read_text())
    assert named is not None
    assert hashlib.sha256(b'@charset "UTF-8";' + inner).hexdigest() == named[1]


# What WebKit (2.50) leaves out, by a pattern of the styles that would need it.
NOT_IN_WEBKIT = {
    "a line of text with its colour, style or thickness in one": (
        r"text-decoration:(?! (?:underline|line-through|none);)"
    ),
    "a legend as a cell of a grid, which is a cell within it instead": (
        r"legend \{[^}]*(?:float|grid-(?:row|column)):"
    ),
}


@pytest.mark.parametrize("what", NOT_IN_WEBKIT)
def test_styles_need_nothing_that_webkit_leaves_out(what: str) -> None:
    styles = {path: path.read_text() for path in (STATIC / "css").rglob("*.css")}
    assert len(styles) > 30
    assert [path for path, text in styles.items() if re.search(NOT_IN_WEBKIT[what], text)] == []


INLINE = (r"\sstyle\s*=", r"\son\w+\s*=\s*[\"']", r"<script(?![^>]*\bsrc=)")


def test_no_template_styles_or_scripts_inline() -> None:
    templates = {path: path.read_text() for path in TEMPLATES.rglob("*.html")}
    assert len(templates) > 100
    wrong = [path for path, text in templates.items() if any(re.search(r, text) for r in INLINE)]
    assert wrong == []
    # A report is a file of its own, which nobody opens under the app's policy.
    styled = {path.name for path, text in templates.items() if "<style" in text}
    assert styled == {"report.html"}


@pytest.mark.parametrize(
    "name", ["400.html", "403.html", "403_csrf.html", "404.html", "500.html", "503.html"]
)
def test_an_error_page_stands_without_any_context(name: str) -> None:
    html = render_to_string(name)
    assert "<h1>" in html
    assert 'href="/"' in html


def test_a_text_has_as_many_words_as_a_reader_counts() -> None:
    assert words_in("- The well-known bee's dance [1][2] – seen\n* twice") == 6
    assert words_in("") == words_in("– [3] *") == 0
