"""Markdown costs in proportion to its length, in time and in HTML."""

from __future__ import annotations

import time

import pytest

from crowdqc.web.markdown import GROWTH, ROOM, render_markdown

HEAD = "|".join("a" * 500) + "\n" + "|".join("-" * 500) + "\n"
HOSTILE = {
    "brackets": "[" * 100_000,
    "images": "![" * 50_000,
    "closed brackets": "[" * 50_000 + "]" * 50_000,
    "a wide table": HEAD + "a\n" * 400,
    "a wide table in a list": "- " + HEAD.replace("\n", "\n  ") + "a\n  " * 400,
    "links": "[a](x) " * 3_000,
    "emphasis": "**a " * 25_000,
    "signs": "&<" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_costs_in_proportion_and_is_shown_as_it_was_typed(text: str) -> None:
    begun = time.process_time()
    html = render_markdown(text)
    assert time.process_time() - begun < 2  # it took up to 8 s
    assert len(html) <= max(GROWTH * len(text) + ROOM, 12 * len(text))
    assert "<script" not in html


def test_usual_texts_keep_their_tables_and_links() -> None:
    table = "| label | means |\n|---|---|\n" + "| a | b |\n" * 40
    links = "\n".join(f"- [source {n}](https://example.org/{n})" for n in range(200))
    assert render_markdown(table).count("<td>") == 80
    assert render_markdown(links).count("<a href") == 200


def test_what_is_shown_as_typed_is_escaped() -> None:
    html = render_markdown("[" * 3_000 + "<img src=x onerror=alert(1)>\n\nnext")
    assert "<img" not in html and html.count("<p>") == 2
