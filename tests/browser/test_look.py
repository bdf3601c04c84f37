"""What the style sheets give, measured where it is drawn."""

from __future__ import annotations

import base64
import itertools
import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page

from tests.browser.sign_in import sign_in
from tests.support import factories
from tests.support.studies import thinking

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PARTS = """
<main class="page"><div class="columns"><div class="column">
  <section class="section first"><div class="section-head"><h2>Content</h2></div></section>
  <label><input type="radio" name="a" id="unset"></label>
  <label><input type="radio" name="b" id="set" checked></label>
  <label><input type="checkbox" id="some"></label>
  <input type="range" id="slider" min="0" max="1" value="1">
  <article id="article">An article</article>
  <p id="arabic">ما معنى هذه الكلمة؟</p><p id="english">What is meant?</p>
  <textarea>ما معنى؟</textarea>
  <div class="scroll"><table class="data two-line"><tbody><tr>
    <td class="l1" id="paid"><span class="nowrap">Base pay</span>
      <small>Local account, <a href="#paid">proposal 2</a></small></td>
    <td class="grow full">confirmed 2 days ago</td><td class="num">2.80</td>
  </tr></tbody></table></div>
</div><aside class="rail"><h2>Rail</h2><p>Facts.</p></aside></div></main>
"""
# The pixels of a picture's column near its left end, and near its right end, without the ground.
COLUMNS = """async (picture) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const column = (x) => {
    const { data } = canvas.getImageData(x, 0, 1, image.height);
    const pixels = [...Array(image.height).keys()].map((y) => [...data.slice(4 * y, 4 * y + 3)]);
    return pixels.filter((one) => `${one}` !== `${pixels[0]}`);
  };
  return [column(20), column(image.width - 8)];
}"""


def style(page: Page, selector: str, name: str) -> str:
    return str(page.eval_on_selector(selector, "(one, name) => getComputedStyle(one)[name]", name))


def top(page: Page, selector: str) -> float:
    return float(page.eval_on_selector(selector, "one => one.getBoundingClientRect().top"))


@pytest.fixture
def parts(page: Page, live_server: Any) -> Page:
    """A page of nothing but parts, with the application's style sheets."""
    page.set_viewport_size({"width": 1360, "height": 900})
    page.goto(f"{live_server.url}/login/")
    page.evaluate("html => { document.body.innerHTML = html; }", PARTS)
    page.evaluate("() => { document.querySelector('#some').indeterminate = true; }")
    return page


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def test_parts_are_drawn_as_they_are_meant(parts: Page) -> None:
    unset, chosen, some = (
        style(parts, f"#{one}", "backgroundColor") for one in ("unset", "set", "some")
    )
    assert unset != chosen == some, "a choice that was not made looks empty"
    assert style(parts, "#article", "boxShadow") == "none"
    assert top(parts, ".rail h2") == pytest.approx(top(parts, ".column h2"), abs=1)
    height = parts.eval_on_selector("#paid", "one => one.getBoundingClientRect().height")
    assert height <= 54, "a cell beside a wide one keeps to its two lines"
    begins_on_its_own_side(parts)
    is_a_thin_line_with_a_dot(parts)


def is_a_thin_line_with_a_dot(parts: Page) -> None:
    """The slider, whose dot has the colour of the accent."""
    picture = base64.b64encode(parts.locator("#slider").screenshot()).decode()
    line, dot = parts.context.new_page().evaluate(COLUMNS, picture)
    accent = [int(part) for part in re.findall(r"\d+", style(parts, "#set", "backgroundColor"))]
    assert len(line) == 2  # pixels that are not the ground
    assert len(dot) >= 14 and dot[len(dot) // 2] == accent


def begins_on_its_own_side(parts: Page) -> None:
    """What people wrote, on the side of its own letters."""

    def room(selector: str) -> list[float]:
        found = parts.eval_on_selector(
            selector,
            """(one) => {
              const range = document.createRange();
              range.selectNodeContents(one);
              const [box, text] = [one.getBoundingClientRect(), range.getBoundingClientRect()];
              return [text.left - box.left, box.right - text.right];
            }""",
        )
        return [round(float(side)) for side in found]

    left, right = room("#arabic")
    assert left > 100 and right == 0
    left, right = room("#english")
    assert left == 0 and right > 100
    assert style(parts, "textarea", "unicodeBidi") == "plaintext"


def test_every_field_of_a_think_aloud_is_seen_before_it_is_filled(
    page: Page, context: BrowserContext, live_server: Any
) -> None:
    task = thinking.make_think(factories.make_project())
    sign_in(context, task.project.owner, live_server.url)
    page.goto(live_server.url + reverse("task_preview", args=[task.project_id, task.pk]))
    borders = page.eval_on_selector_all(
        ".attribute textarea", "all => all.map(one => getComputedStyle(one).borderTopColor)"
    )
    assert len(borders) > 1 and len(set(borders)) == 1


def box(page: Page, selector: str) -> Any:
    return page.eval_on_selector(selector, "one => one.getBoundingClientRect().toJSON()")


def test_the_bar_of_a_project_shows_search_notices_and_person_beside_one_another_on_a_phone(
    page: Page, context: BrowserContext, live_server: Any
) -> None:
    project = factories.make_project()
    sign_in(context, project.owner, live_server.url)
    page.set_viewport_size({"width": 360, "height": 780})
    page.goto(live_server.url + reverse("task_list", args=[project.pk]))
    parts = [".brand svg", ".bar-search input", ".told", ".person summary b"]
    boxes = [box(page, one) for one in parts]
    brand = box(page, ".brand")
    assert brand["right"] <= boxes[1]["left"]
    assert all(one["right"] <= two["left"] for one, two in itertools.pairwise(boxes))
    assert box(page, ".person summary")["width"] >= 40 and boxes[-1]["right"] > 300
