"""The stylesheets and scripts that pages load: built of sources that are all used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from crowdqc.web.bundles import (
    NAMES,
    BundleError,
    BundleFinder,
    bundle_scripts,
    bundle_styles,
    minify_styles,
)
from tests.support.processes import ROOT

STATIC = ROOT / "static"
LAYERS = "@layer reset, pico, tokens, base, components, pages, utilities;"


def test_each_source_is_part_of_a_bundle() -> None:
    scripts = "".join(bundle_scripts(STATIC, f"{name}.js") for name in ("worker", "staff"))
    entries = "".join((STATIC / f"{name}.css").read_text() for name in ("worker", "staff"))
    named = set(re.findall(r"^// (js/\S+\.js)$", scripts, re.MULTILINE))
    named |= set(re.findall(r'@import "(css/[^"]+)"', entries))
    sources = {
        path.relative_to(STATIC).as_posix()
        for folder in ("css", "js")
        for path in (STATIC / folder).rglob("*.*")
    }
    assert named == sources


@pytest.mark.parametrize("name", ["worker.css", "staff.css"])
def test_styles_are_all_in_layers(name: str) -> None:
    text = bundle_styles(STATIC, name)
    assert LAYERS in text
    layered = re.findall(r"^@layer (\w+) ?\{", text, re.MULTILINE)
    assert sorted(set(layered), key=LAYERS.index) == [
        layer
        for layer in ("reset", "pico", "tokens", "base", "components", "pages", "utilities")
        if layer in layered
    ]
    for target in re.findall(r'url\("(?!data:)([^"]+)"\)', text):
        assert (STATIC / "css" / target).is_file(), target  # as deep as the bundles' folder
    entry = re.sub(r"/\*.*?\*/|@layer [\w, ]+;|@import .*", "", (STATIC / name).read_text())
    assert entry.strip() == ""


def test_scopes_name_classes_that_pages_have() -> None:
    templates = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    scopes = re.findall(r" scope\((.+)\);", (STATIC / "staff.css").read_text())
    classes = {name for scope in scopes for name in re.findall(r"\.(page-[\w-]+)", scope)}
    used = set(
        re.findall(r"page-\w+", " ".join(re.findall(r"block page_class %\}(.*)", templates)))
    )
    assert classes == used


def test_styles_of_a_page_are_nested_below_its_class(tmp_path: Path) -> None:
    """Not scoped: WebKit matches no field and nothing within details in a scope."""
    (tmp_path / "all.css").write_text('@import "a.css" layer(pages) scope(.page-a, .page-b);\n')
    (tmp_path / "a.css").write_text("p { margin: 0; }\n")
    sent = minify_styles(bundle_styles(tmp_path, "all.css"))
    assert sent == "@layer pages{:where(.page-a,.page-b){p{margin: 0;}}}"
    styles = "".join(bundle_styles(STATIC, name) for name in ("worker.css", "staff.css"))
    assert ":where(.page-work)" in styles and "@scope" not in styles


def test_the_finder_builds_anew_what_has_changed(tmp_path: Path, settings: object) -> None:
    sources, home = tmp_path / "static", tmp_path / "home"
    for name in NAMES:
        (sources / name).parent.mkdir(exist_ok=True)
        (sources / name).write_text("\n")
    settings.STATICFILES_DIRS, settings.HOME = [sources], home  # type: ignore[attr-defined]
    finder = BundleFinder()
    assert [path for path, _ in finder.list(None)] == [f"bundles/{name}" for name in NAMES]
    built = Path(finder.find("bundles/worker.css"))
    before = built.stat().st_mtime_ns
    assert Path(finder.find("bundles/worker.css")).stat().st_mtime_ns == before
    (sources / "worker.css").write_text("a { color: red; }\n")
    assert Path(finder.find("bundles/worker.css")).read_text() == "a{color: red;}"
    assert finder.find("bundles/other.css") == [] == finder.find("css/base.css")


def test_the_bundles_are_found_among_static_files() -> None:
    assert all(finders.find(f"bundles/{name}") for name in NAMES)


def test_modules_run_once_and_before_those_that_import_them(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nimport "./c.js";\nb();\n')
    (tmp_path / "b.js").write_text('import "./c.js";\nexport const b = () => {};\n')
    (tmp_path / "c.js").write_text("export function c() {}\n")
    text = bundle_scripts(tmp_path, "a.js")
    assert re.findall(r"^// (\S+)", text, re.MULTILINE) == ["c.js", "b.js", "a.js"]
    assert "const { b } = module_b_js;" in text
    assert "return { b };" in text


@pytest.mark.parametrize(
    "text",
    [
        'import { a } from "./a.js";\n',  # itself
        "export default 1;\n",
        "import * as all from './b.js';\n",
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.js").write_text(text)
    with pytest.raises(BundleError):
        bundle_scripts(tmp_path, "a.js")


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        (
            ".a :is(b, c) > d { /* why */ width: calc(1px + 2px); }",
            ".a :is(b,c) > d{width: calc(1px + 2px);}",
        ),
        ("@layer x {\n  .a :not(b) { color: red }\n}\n", "@layer x{.a :not(b){color: red}}"),
        ('a::after { content: "/* , */"; }', 'a::after{content: "/* , */";}'),
    ],
)
def test_minified_styles_keep_combinators_sums_and_strings(written: str, sent: str) -> None:
    assert minify_styles(written) == sent
