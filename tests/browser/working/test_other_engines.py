"""What workers do in every type of task, in Firefox and WebKit: stored to the letter, no error.

Chromium runs the whole suite of browsers; here each page is worked through once, by the means that
engines differ in: keys, the pointer, selections, the clipboard, drafts over a reload.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from annotation.models import Answer, Assignment, Consent, Recording, Task
from annotation.work.selectors import log
from tests.browser.engines import (
    ENGINES,
    WIDE,
    EngineMissing,
    Tab,
    errors_kept,
    opened_engine,
)
from tests.support import factories
from tests.support.studies import judging, labels, ratings, thinking, writing

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]
TEXT = "On Monday 🙂 we met in Bonn & Köln."
COUNT: dict[str, Any] = {
    "name": "count",
    "label": "Leaves",
    "question": "How many leaves?",
    "kind": "number",
}
ORDER: dict[str, Any] = {
    "name": "order",
    "label": "Order",
    "question": "What is worst?",
    "kind": "rank",
    "options": [{"value": "holes", "label": "Holes"}, {"value": "spots", "label": "Spots"}],
}
# The middle of a word of the text that is marked, on the screen.
WORD = """
const walker = document.createTreeWalker(
  document.querySelector("[data-marked]"), NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const from = walker.currentNode.data.indexOf(arguments[0]);
  if (from < 0) continue;
  const range = document.createRange();
  range.setStart(walker.currentNode, from);
  range.setEnd(walker.currentNode, from + arguments[0].length);
  const { left, right, top, bottom } = range.getBoundingClientRect();
  return [left, right, (top + bottom) / 2].map(Math.round);
}
"""
# Of each line: whether its question stands beside its choices, within its frame.
IN_ROWS = """
const box = (one) => one.getBoundingClientRect();
return [...document.querySelectorAll(".judgment, .ask")].map((line) => {
  const parts = [line, ...line.querySelectorAll(".legend-cell, .choice")];
  const [frame, words, choices] = parts.map(box);
  return words.top >= frame.top && words.bottom <= frame.bottom
    && words.top < choices.bottom && choices.top < words.bottom && words.right < choices.left;
});
"""
SPOKEN = Path(__file__).parents[2] / "annotation" / "task_types" / "spoken.webm"
SELECT = """
const text = document.querySelector(`#passage-${arguments[0]} .reading`).firstChild;
const start = text.data.indexOf(arguments[1]);
document.activeElement.blur();
getSelection().setBaseAndExtent(text, start, text, start + arguments[1].length);
"""


@pytest.fixture(scope="module", params=ENGINES)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebDriver]:
    """A browser for all tests of this engine."""
    try:
        with opened_engine(request.param, tmp_path_factory.mktemp("engine")) as driver:
            yield driver
    except EngineMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def tab(engine: WebDriver, live_server: Any, _kept_files: None) -> Iterator[Tab]:
    """A page at which nobody is signed in, and in which nothing may go wrong."""
    tab = Tab(engine, live_server.url)
    with errors_kept():
        tab.open("/login/")
        tab.size(*WIDE)
        yield tab
        errors = tab.errors()
        tab.forget()
    assert errors == []


def take(tab: Tab, task: Task) -> Assignment:
    """A new worker's assignment, open at its first item."""
    worker = factories.make_worker(task.project)
    assert worker.user is not None
    held = factories.claim(task, worker)
    key = factories.session_of(worker.user)
    tab.driver.add_cookie({"name": settings.SESSION_COOKIE_NAME, "value": key})
    tab.open(reverse("work_item", args=[held.pk, 1]))
    return held


def submit(tab: Tab, words: str) -> None:
    tab.find("h1", "Ready to submit")
    tab.fits()
    tab.click("button", f"Submit {words}")
    tab.find("h1", "Submitted")
    tab.fits()


def replayed(held: Assignment) -> str:
    """What the log gives for the first item."""
    item = held.entries.get(position=0).item_id
    return log.replay_text(log.item_events(log.assignment_events(held.pk), item))


def choices(answer: Answer) -> list[tuple[str, str]]:
    return list(answer.choices.order_by("pk").values_list("field", "code"))


def test_one_signs_in_agrees_takes_a_task_and_finds_the_draft_after_a_reload(tab: Tab) -> None:
    user = factories.make_user("ada-lowe", password=factories.PASSWORD)
    world = factories.make_world(2, settings={"min_words": 2, "max_words": 60})
    worker = factories.make_worker(world.project, user, consent=False)
    tab.open("/login/")
    tab.fits()
    tab.find("[name=login]").send_keys("ada-lowe")
    tab.find("[name=password]").send_keys(factories.PASSWORD, Keys.ENTER)
    tab.find("h1", "Work")
    tab.fits()
    tab.click("button", "Read and start")
    tab.find("h1", "What is recorded, and who sees it")
    tab.fits()
    tab.click("label", "I have read this and agree")
    tab.click("button", "Agree")
    tab.has_focus("#answer")
    assert Consent.objects.filter(membership=worker).count() == 1
    held = Assignment.objects.get(worker=worker)

    tab.press("Nests on chimneys,", " and  Köln 🙂.")
    tab.press(Keys.BACKSPACE, Keys.BACKSPACE, ".")
    tab.fits()
    tab.is_saved()
    assert held.entries.get(position=0).draft["text"] == "Nests on chimneys, and  Köln ."
    tab.press(" Also")
    tab.reload()
    tab.has_focus("#answer")
    assert tab.value("#answer") == "Nests on chimneys, and  Köln . Also"
    tab.press(" on poles.")
    tab.hold(Keys.CONTROL, Keys.ENTER)
    tab.find("h1", "What is question 2 about?")
    tab.has_focus("#answer")
    tab.press("Frogs and mice.")
    tab.hold(Keys.CONTROL, Keys.ENTER)
    submit(tab, "2 answers")
    texts = held.answers.order_by("order_shown").values_list("texts__text", flat=True)
    assert list(texts) == ["Nests on chimneys, and  Köln . Also on poles.", "Frogs and mice."]
    assert replayed(held) == "Nests on chimneys, and  Köln . Also on poles."


def test_labels_are_chosen_by_pointer_and_by_keys_and_fields_come_and_go(tab: Tab) -> None:
    fields = (labels.DAMAGE, labels.MORE, COUNT, ORDER)
    task = labels.make_labels(factories.make_project(), labels.TEXTS[:2], fields=fields)
    held = take(tab, task)
    tab.is_gone("[data-field=more]")
    tab.click("[data-field=damage] label", "Brown spots")
    tab.find("[data-field=more]", "asked because you chose “Brown spots”")
    tab.click("[data-field=more] label", "Yellowing")
    tab.click("[data-field=more] label", "Curled edges")
    tab.find("#f-count").send_keys("3")
    tab.fits()
    for place, rank in ((1, "2"), (2, "1")):
        tab.find(f"[data-field=order] select[data-place='{place}']").send_keys(rank)
    tab.click("[data-next]")

    tab.find("#question", "Item 2 of 2")
    tab.press("3")
    tab.is_gone("[data-field=more]")
    tab.press("1")
    tab.find("[data-field=more]")
    tab.press(
        Keys.TAB, "2", Keys.ARROW_UP, Keys.SPACE, Keys.TAB, "12", Keys.TAB, "2", Keys.TAB, "1"
    )
    tab.reload()
    tab.find("[data-field=more] label:has(:checked)", "Yellowing")
    tab.press(Keys.ENTER)
    submit(tab, "2 items")
    first, second = held.answers.order_by("order_shown")
    given = {"damage": "spots", "more.yellow": "yes", "more.curled": "yes"}
    ranks = {"order.holes": "2", "order.spots": "1"}
    assert dict(choices(first)) == {**given, "count": "3", **ranks}
    assert dict(choices(second)) == {**given, "count": "12", **ranks}


def test_spans_are_marked_by_keys_by_dragging_and_by_a_label_chosen_first(tab: Tab) -> None:
    task = labels.make_labels(factories.make_project(), [TEXT], fields=[labels.PLACES])
    held = take(tab, task)
    tab.ask("document.querySelector('[data-marked]').focus()")
    tab.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert tab.ask("return String(getSelection())") == "Monday"
    tab.press("2")
    tab.find("[data-marks] tbody tr", "Monday")
    left, right, middle = tab.ask(WORD, "Bonn")
    tab.drag((left, middle), (right, middle))
    tab.click("[data-label-bar] button", "Place")
    tab.find("[data-marks] tbody tr", "Bonn")
    tab.click("[data-label-bar] button", "Place")  # nothing is selected: it stays pressed
    left, right, middle = tab.ask(WORD, "Köln")
    tab.drag(((left + right) // 2, middle), ((left + right) // 2, middle))
    tab.find("[data-marks] tbody tr", "Köln")
    tab.fits()
    tab.click("[aria-label='Remove Monday']")
    tab.click("[data-next]")
    submit(tab, "1 item")
    spans = held.answers.get().spans.order_by("index")
    assert [(TEXT[one.start : one.end], one.target) for one in spans] == [
        ("Bonn", "place"),
        ("Köln", "place"),
    ]


def test_an_image_is_zoomed_brightened_and_labeled(tab: Tab) -> None:
    held = take(tab, labels.make_images(factories.make_project()))
    width = "const image = document.querySelector('[data-zoom-frame] img');" + (
        "return image.complete && image.naturalWidth && image.clientWidth"
    )
    fitted = tab.wait(lambda: tab.ask(width))
    tab.click("[data-zoom=in]")
    tab.press("+")
    assert round(tab.ask(width) / fitted, 2) == 2.25
    tab.find("[data-zoom-said]", "225%")
    tab.fits()
    tab.press("z", "b")
    assert tab.ask(width) == fitted
    filtered = "return getComputedStyle(document.querySelector('[data-zoom-frame] img')).filter"
    assert tab.ask(filtered) == "brightness(1.5)"
    tab.press("2")
    tab.click("[data-field=more] label", "Curled edges")
    tab.click("[data-next]")
    tab.find("#question", "Item 2 of 2")
    tab.press("3", Keys.ENTER)
    tab.find(".review img")
    submit(tab, "2 items")
    first, second = held.answers.order_by("order_shown")
    assert choices(first) == [
        ("damage", "holes"),
        ("more.yellow", "no"),
        ("more.curled", "yes"),
    ]
    assert choices(second) == [("damage", "none")]


def test_pairs_are_judged_by_keys_and_by_pointer(tab: Tab) -> None:
    held = take(tab, judging.make_pairs(factories.make_project(), 2))
    tab.find(".judgment.current")
    assert tab.ask(IN_ROWS) == [True]
    tab.click("[data-toggle=differences]")
    marked = "return [...CSS.highlights.get('only-here')].map((one) => one.startContainer.data"
    found = tab.ask(f"{marked}.slice(one.startOffset, one.endOffset))")
    assert any("Crossing" in run for run in found)
    assert not any("heliopause" in run for run in found)
    tab.click("a[data-cite='3']")
    tab.find("#source-3.open", "The magnetic field")
    tab.fits()
    tab.press(Keys.ESCAPE)
    tab.is_gone("#sources")
    tab.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    tab.find("[data-answered]", "1 of 1 answered")
    tab.reload()
    tab.find("[data-answered]", "1 of 1 answered")
    tab.press(Keys.ENTER)
    tab.find(".meta.bars", "Pair 2 of 2")
    tab.click(".judgment label", "Left")
    tab.click("[data-next]")
    submit(tab, "2 pairs")
    assert judging.stored_votes(held) == [
        {"quality_overall": "second"},
        {"quality_overall": "second"},  # it is shown turned: its left text is the second
    ]


def test_a_response_is_cited_pasted_undone_and_found_again_after_a_reload(tab: Tab) -> None:
    held = take(tab, writing.make_writing(factories.make_project()))
    assert tab.ask(IN_ROWS) == [True] * 4
    choose(tab, writing.ENTRY)
    tab.fits()
    tab.click("button", "Continue")
    tab.has_focus("#answer")
    tab.press("Storks come back to their nest every spring")
    tab.click("[data-cite='1']")
    tab.has_focus("#answer")
    tab.hold(Keys.ALT, "c")
    tab.has_focus("#cite-number")
    tab.press("2", Keys.ENTER)
    tab.has_focus("#answer")
    tab.press(". ")
    tab.ask(SELECT, 3, "warm air, which does not rise over the sea")
    tab.hold(Keys.CONTROL, "c")
    tab.ask("document.querySelector('#answer').focus()")
    tab.hold(Keys.CONTROL, Keys.END)
    tab.press("They soar on ")
    tab.hold(Keys.CONTROL, "v")
    tab.press(" x")
    tab.press(Keys.BACKSPACE, Keys.BACKSPACE)
    tab.click("[data-cite='3']")
    tab.press(".")
    tab.find("[data-cited]", "3")
    tab.fits()
    written = (
        "Storks come back to their nest every spring [1, 2]. They soar on warm air, which does not "
        "rise over the sea [3]."
    )
    assert tab.value("#answer") == written
    tab.press(" Unsent")
    tab.reload()
    assert tab.value("#answer") == f"{written} Unsent"
    tab.has_focus("#answer")
    tab.press(*[Keys.BACKSPACE] * len(" Unsent"))
    tab.hold(Keys.CONTROL, Keys.ENTER)
    tab.find("legend", "Are you satisfied with what you wrote?")
    choose(tab, writing.EXIT)
    tab.fits()
    tab.click("button", "Review")
    submit(tab, "1 response")
    answer = held.answers.get()
    assert answer.texts.get(field="answer").text == written
    assert replayed(held) == written
    spans = answer.spans.order_by("index")
    assert [(one.target, written[one.start : one.end]) for one in spans] == [
        ("1", "[1, 2]"),
        ("2", "[1, 2]"),
        ("3", "[3]"),
    ]
    assert dict(choices(answer)) == writing.ENTRY | writing.EXIT
    pastes = [one for one in log.assignment_events(held.pk) if one["method"] == "paste"]
    assert [(one["comment"], one["name"]) for one in pastes] == [("passage", "3")]


def choose(tab: Tab, answers: dict[str, str]) -> None:
    for name, value in answers.items():
        tab.click(f'label:has([name="{name}"][value="{value}"])')


def test_an_answer_is_rated_with_evidence_and_an_explanation(tab: Tab) -> None:
    held = take(tab, ratings.make_documents(factories.make_project(), 1, 2))
    tab.find(".judgment.current")
    tab.click("label:has([name=r-completeness][value='70'])")
    tab.click("label:has([name=r-correctness][value='1'])")
    tab.click("[data-sentence='1'] button")
    tab.click("#sentence-4 .words")
    assert tab.value("#evidence") == "1, 4"
    tab.find("#explanation").send_keys("Too short.")
    tab.click("[data-next]")
    tab.find("#explanation-wrong", "2 words so far; at least 5 are wanted.")
    tab.find("#explanation").clear()
    tab.find("#explanation").send_keys(ratings.WHY)
    tab.fits()
    tab.reload()
    assert tab.value("#explanation") == ratings.WHY
    tab.click("[data-next]")

    tab.find(".meta.bars", "Answer 2 of 2")
    tab.press("4", "1")
    tab.find("[data-answered]", "2 of 2 answered")
    tab.press("e", Keys.ARROW_DOWN, Keys.SPACE, Keys.ARROW_DOWN, Keys.SPACE, Keys.SPACE, "w")
    tab.has_focus("#explanation")
    tab.press("Nothing is missing and nothing is wrong.")
    tab.hold(Keys.CONTROL, Keys.ENTER)
    submit(tab, "2 ratings")
    first, second = held.answers.order_by("order_shown")
    assert dict(first.choices.values_list("field", "ordinal")) == {
        "completeness": 70,
        "correctness": 1,
    }
    assert first.texts.get(field="explanation").text == ratings.WHY
    assert list(first.spans.order_by("index").values_list("start", flat=True)) == [1, 4]
    assert dict(second.choices.values_list("field", "ordinal")) == {
        "completeness": 100,
        "correctness": 1,
    }
    assert list(second.spans.values_list("start", flat=True)) == [4]
    assert second.texts.get(field="explanation").text == "Nothing is missing and nothing is wrong."


def test_a_checklist_is_filled_by_keys_and_by_pointer(tab: Tab) -> None:
    held = take(tab, thinking.make_checklist(factories.make_project(), 2))
    tab.find(".judgment.current")
    assert tab.ask(IN_ROWS) == [True, True, True]
    tab.press("y", "n", "y")
    tab.find("[data-answered]", "3 of 3 answered")
    tab.fits()
    tab.press(Keys.ENTER)
    tab.find(".meta.bars", "2 of 2")
    for name, value in {"links": "no", "names": "yes", "time": "no"}.items():
        tab.find(f".judgment.current label:has([name=c-{name}])")  # a choice by pointer leads on
        tab.click(f"label:has([name=c-{name}][value={value}])")
    tab.reload()
    tab.find("[data-answered]", "3 of 3 answered")
    tab.click("[data-next]")
    submit(tab, "2 checklists")
    assert [dict(choices(one)) for one in held.answers.order_by("order_shown")] == [
        {"links": "yes", "names": "no", "time": "yes"},
        {"links": "no", "names": "yes", "time": "no"},
    ]


def test_attributes_are_written_line_by_line_while_thinking_aloud(tab: Tab) -> None:
    held = take(tab, thinking.make_think(factories.make_project()))
    tab.find("[data-enough]", "0 of at least 2")
    # What a page styles for itself also holds within details and for fields.
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    assert tab.ask(style, ".think-sample > summary", "display") == "flex"
    assert tab.ask(style, ".think-sample .score", "borderTopWidth") == "1px"
    assert tab.ask(style, ".attribute textarea", "fontSize") == "16px"
    for words in ("Sentences link up", "no such thing", "Time runs one way"):
        tab.press(words, Keys.ENTER)
    tab.find("[data-enough]", "3 of at least 2")
    tab.click("[aria-label='Remove attribute 2']")
    tab.fits()
    tab.reload()
    tab.find("[data-enough]", "2 of at least 2")
    tab.hold(Keys.CONTROL, Keys.ENTER)
    submit(tab, "1 dimension")
    texts = held.answers.get().texts.order_by("pk").values_list("text", flat=True)
    assert list(texts) == ["Sentences link up", "Time runs one way"]


def speak(tab: Tab, wanted: str) -> Assignment:
    """An assignment of thinking aloud whose attributes are written down already."""
    task = thinking.make_think(factories.make_project(), settings={"recording": wanted})
    held = take(tab, task)
    for words in thinking.ATTRIBUTES:
        tab.press(words, Keys.ENTER)
    tab.fits()
    return held


def test_one_speaks_and_listens_again(tab: Tab) -> None:
    if tab.driver.name != "firefox":
        pytest.skip("no microphone can be made for the browser that comes with WebKitGTK")
    held = speak(tab, "required")
    tab.click("[data-record]")
    tab.has_focus("[data-record-stop]")
    time.sleep(0.5)  # of sound
    tab.click("[data-record-stop]")
    tab.find("[data-recorder-told]", "Kept.")
    tab.wait(lambda: tab.ask("return document.querySelector('audio').duration > 0.3"))
    tab.click(".work-actions .primary")
    submit(tab, "1 dimension")
    kept = Recording.objects.get(entry__assignment=held)
    assert kept.type == "audio/webm"
    assert 0.3 < kept.seconds < 20


def test_a_recording_is_sent_as_a_file(tab: Tab) -> None:
    held = speak(tab, "required")
    if not tab.ask("return document.querySelector('[data-recorder-file]').open"):
        tab.click("[data-recorder-file] summary")
    tab.find("[data-recorder-file] [type=file]").send_keys(str(SPOKEN))
    tab.click("[data-recorder-file] button", "Send")
    tab.find("[data-recorder-told]", "Kept.")
    tab.fits()
    tab.click(".work-actions .primary")
    submit(tab, "1 dimension")
    assert Recording.objects.get(entry__assignment=held).seconds > 0.3
    texts = held.answers.get().texts.order_by("pk").values_list("text", flat=True)
    assert list(texts) == list(thinking.ATTRIBUTES)


def test_the_text_is_gone_once_one_has_gone_on(tab: Tab) -> None:
    held = take(tab, factories.make_task(factories.make_project(), 2, look_back=False))
    tab.find("#work", "you cannot look back")
    assert "build their nests" in tab.ask("return document.body.innerText")
    tab.hold(Keys.CONTROL, Keys.ENTER)
    tab.has_focus("#answer")
    for act in (lambda: None, tab.reload, tab.driver.back, tab.driver.forward):
        act()
        tab.find("#answer")
        shown = tab.wait(lambda: tab.ask("return document.documentElement.innerHTML"))
        assert "build their nests" not in shown
    assert held.entries.count() == 2


def test_a_step_back_by_keys_keeps_what_stands_and_undo_is_in_the_log(tab: Tab) -> None:
    held = take(tab, factories.make_task(factories.make_project(), 2))
    tab.has_focus("#answer")
    tab.press("They nest on poles.")
    tab.hold(Keys.CONTROL, Keys.ENTER)
    tab.find("h1", "What is question 2 about?")
    tab.press("Frogs")
    tab.hold(Keys.ALT, Keys.ARROW_LEFT)
    tab.find("h1", "What is question 1 about?")
    assert tab.value("#answer") == "They nest on poles."
    tab.has_focus("#answer")
    tab.press(" And 👩‍🔬", Keys.HOME, Keys.DELETE, "é")
    tab.hold(Keys.CONTROL, "z")
    tab.hold(Keys.CONTROL, "a")
    tab.hold(Keys.CONTROL, "x")
    tab.hold(Keys.CONTROL, "v")
    tab.hold(Keys.CONTROL, "v")
    written = tab.value("#answer")
    assert written.count("nest on poles. And 👩‍🔬") == 2
    tab.is_saved()
    tab.sends_log()
    assert held.entries.get(position=0).draft["text"] == written
    assert replayed(held) == written
    pastes = [one for one in log.assignment_events(held.pk) if one["method"] == "paste"]
    assert [one["comment"] for one in pastes] == ["own", "own"]
