"""Sphinx: ``make docs`` builds these pages into build/docs; warnings are errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import django
from docutils import nodes
from latex2mathml.converter import convert

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()

from crowdqc.deployment.installation import read_version as app_version  # noqa: E402
from tests.support.manual import PARTS, rail  # noqa: E402

project = "crowdqc"
author = "The crowdqc authors"
version = release = app_version()
language = "en"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
highlight_language = "text"
exclude_patterns = ["_static", "_templates", "progress.md"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "deflist", "fieldlist"]
myst_heading_anchors = 4
# Files of the repository that pages name; they are not part of the documentation.
myst_url_schemes = ["http", "https", "mailto"]
suppress_warnings: list[str] = []

# Quotes stay as they are typed: commands are copied from these pages.
smartquotes = False
html_theme = "furo"
html_title = "crowdqc"
html_static_path = ["_static", "../static/vendor/fonts"]
html_css_files = ["manual.css"]
html_favicon = "../static/img/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
html_math_renderer = "mathml"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "monokai"


def fill_in(app: Any, docname: str, source: list[str]) -> None:
    """What is generated takes the place of its mark."""
    for name, part in PARTS.items():
        mark = f"<!-- generated: {name} -->"
        if mark in source[0]:
            source[0] = source[0].replace(mark, part())


def visit_math(self: Any, node: nodes.Element) -> None:
    self.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def visit_equation(self: Any, node: nodes.Element) -> None:
    self.body.append(self.starttag(node, "div", CLASS="equation", tabindex="0"))
    self.body.append(convert(node.astext(), display="block"))
    if node["number"]:
        self.body.append(f'<span class="number">({node["number"]})</span>')
    self.body.append("</div>")
    raise nodes.SkipNode


def open_to_all(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """What scrolls can be reached by keyboard, and headings say their level."""
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    context["body"] = body.replace(
        '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'
    )
    context["furo_navigation_tree"] = context.get("furo_navigation_tree", "").replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def beside_a_method(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """What the rail of a method's page says, and its question as a lead."""
    if not (found := rail(context.get("meta") or {})):
        return
    folder = page.rpartition("/")[0]
    related = [f"{folder}/{name}" for name in found.related]
    context["rail"] = {
        "terms": found.terms,
        "versions": found.versions,
        "used": found.used,
        "related": [
            (app.builder.get_relative_uri(page, one), app.env.titles[one].astext())
            for one in related
        ],
    }
    context["body"] = context["body"].replace("</h1>\n<p>", '</h1>\n<p class="lead">', 1)


def setup(app: Any) -> None:
    app.connect("source-read", fill_in)
    app.connect("html-page-context", open_to_all, priority=900)
    app.connect("html-page-context", beside_a_method)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_equation, None))
