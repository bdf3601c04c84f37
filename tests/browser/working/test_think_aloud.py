"""Thinking aloud and checking in a real browser: typed, marked in a transcript, by keyboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, BrowserType, Page, expect

from annotation.models import Assignment, Recording, SpanValue, TextValue
from annotation.work.selectors import log
from annotation.work.snapshots import attributes, checks
from tests.browser.sign_in import cut_off, kill, log_is_sent, misfits, reporting, sign_in
from tests.browser.working.keys import is_saved
from tests.support import factories
from tests.support.studies import thinking

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


def opens(page: Page, live_server: Any, held: Assignment, number: int = 1) -> None:
    page.goto(live_server.url + reverse("work_item", args=[held.pk, number]))
    expect(page.locator("#question")).to_be_visible()
    page.wait_for_load_state()


def pictured(page: Page, name: str) -> None:
    """A picture in light, dark and as wide as a phone, where a folder for them is named."""
    folder = os.environ.get("CROWDQC_SCREENS")
    if not folder:
        return
    before = page.viewport_size
    for look, size, scheme in (
        ("light", {"width": 1360, "height": 900}, "light"),
        ("dark", {"width": 1360, "height": 900}, "dark"),
        ("phone", PHONE, "light"),
    ):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_timeout(300)
        page.screenshot(path=str(Path(folder) / f"{name}-{look}.png"), full_page=look == "phone")
    page.emulate_media(color_scheme="light")
    if before:
        page.set_viewport_size(before)


def submits(page: Page, what: str) -> None:
    page.get_by_role("button", name=f"Submit {what}").click()
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()


def lines(page: Page) -> list[str]:
    values: list[str] = page.locator(".attribute textarea").evaluate_all(
        "all => all.map((one) => one.value)"
    )
    return values


def select(page: Page, words: str) -> None:
    """Select these words of the transcript as the keyboard or a finger would."""
    page.locator("#transcript").evaluate(
        """(field, words) => {
            const start = field.value.indexOf(words);
            field.focus();
            field.setSelectionRange(start, start + words.length);
        }""",
        words,
    )


@pytest.mark.long
def test_one_types_and_one_marks_a_transcript(
    signed_in: BrowserContext,
    page: Page,
    browser: Browser,
    live_server: Any,
    world: factories.World,
) -> None:
    task = thinking.make_think(world.project)
    typed = factories.claim(task, world.worker)
    opens(page, live_server, typed)
    expect(page.locator("[data-enough]")).to_contain_text("0 of at least 2")
    for text in ("Sentences link up", "no such thing", "Time runs one way"):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
    expect(page.locator("[data-enough]")).to_contain_text("3 of at least 2")
    page.get_by_role("button", name="Remove attribute 2").click()
    assert lines(page) == ["Sentences link up", "Time runs one way", ""]
    page.get_by_label("Attribute 1", exact=True).fill("Each sentence links to the next")
    pictured(page, "think-typed")
    is_saved(page)
    log_is_sent(page)
    address = page.url
    cut_off(page, "**/draft/")
    page.get_by_label("Attribute 3", exact=True).fill("Names stay")
    kill(page)  # what the server lacks is on this device still
    again = signed_in.new_page()
    again.goto(address)
    expect(again.locator("[data-enough]")).to_contain_text("3 of at least 2")
    assert lines(again) == [
        "Each sentence links to the next",
        "Time runs one way",
        "Names stay",
        "",
    ]
    again.keyboard.press("Control+Enter")
    log_is_sent(again)
    submits(again, "1 dimension")

    other = factories.make_worker(world.project)
    marked = factories.claim(task, other)
    context = browser.new_context(viewport=PHONE, has_touch=True)  # type: ignore[arg-type]
    sign_in(context, other.user, live_server.url)  # type: ignore[arg-type]
    context.set_default_timeout(10_000)
    second = context.new_page()
    marks_a_transcript(second, live_server, marked)
    context.close()

    rows = attributes.counting_attributes(task)
    assert [row.text for row in rows if row.worker_id == world.worker.pk] == [
        "Each sentence links to the next",
        "Time runs one way",
        "Names stay",
    ]
    assert [row.text for row in rows if row.worker_id == other.pk] == [
        "Time does not jump",
        "Names should stay the same",
    ]
    said = TextValue.objects.get(field="transcript").text
    assert said == f"🙂 To begin: {thinking.SAID}"
    spans = SpanValue.objects.order_by("index").values_list("index", "start", "end")
    assert [(index, said[start:end]) for index, start, end in spans] == [
        (0, "jump around in time"),
        (1, "Names should stay the same"),
    ]
    did = [event["method"] for event in log.assignment_events(typed.pk)]
    assert {"show", "input", "mark", "keydown"} <= set(did)


def marks_a_transcript(page: Page, live_server: Any, held: Assignment) -> None:
    """On a phone: a transcript typed in, two stretches marked, one worded anew, text put before."""
    opens(page, live_server, held)
    page.get_by_role("button", name="Finish").click()
    expect(page.get_by_role("alert")).to_contain_text("At least 2 attributes are wanted")
    page.get_by_text("Mark them in a transcript instead").click()
    page.locator("#transcript").fill(thinking.SAID)
    page.get_by_role("button", name="Mark the selection").tap()
    expect(page.locator("[data-told]")).to_have_text("Select a stretch of the transcript first.")
    select(page, " jump around in time")
    page.get_by_role("button", name="Mark the selection").tap()
    select(page, "Names should stay the same")
    page.keyboard.press("Alt+KeyM")
    assert lines(page) == ["jump around in time", "Names should stay the same", ""]
    page.get_by_label("Attribute 1", exact=True).fill("Time does not jump")
    # What is written before a mark moves it along.
    page.locator("#transcript").evaluate("(field) => field.setSelectionRange(0, 0)")
    page.locator("#transcript").focus()
    page.keyboard.insert_text("🙂 To begin: ")
    expect(page.locator("[data-mirror] mark")).to_have_text(
        ["jump around in time", "Names should stay the same"]
    )
    assert misfits(page, "transcript") == []
    pictured(page, "think-marked")
    page.get_by_role("button", name="Finish").click()
    submits(page, "1 dimension")


def test_a_checklist_by_keyboard_as_wide_as_a_phone(
    page: Page, live_server: Any, world: factories.World
) -> None:
    task = thinking.make_checklist(world.project, 2)
    held = factories.claim(task, world.worker)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    opens(page, live_server, held)
    expect(page.locator("[data-missing]:visible")).to_have_count(0)
    page.keyboard.press("y")
    page.keyboard.press("Enter")
    expect(page.locator("[data-missing]:visible")).to_have_count(2)  # beside the open lines
    expect(page.locator("[data-answered]")).to_have_text("1 of 3 answered")
    assert misfits(page, "open lines") == []
    pictured(page, "check-open")
    page.keyboard.press("N")
    expect(page.locator("[data-missing]:visible")).to_have_count(1)
    page.keyboard.press("y")
    expect(page.locator("[data-next]")).to_have_attribute("aria-disabled", "false")
    page.get_by_role("radio", name="Its source").check()
    expect(page.locator("[data-side=right]")).to_be_visible()
    page.locator(".judgment.current").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".meta.bars").first).to_contain_text("Text 2 of 2")
    for key in ("n", "n", "ArrowUp", "y", "n"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    log_is_sent(page)
    submits(page, "2 checklists")
    said = [(row.name, row.yes) for row in checks.counting_checks(task)]
    assert said == [
        ("links", True),
        ("time", True),
        ("names", False),
        ("links", False),
        ("time", False),
        ("names", True),
    ]
    chosen = [e for e in log.assignment_events(held.pk) if e["method"] == "change"]
    assert {e["comment"] for e in chosen} == {"yes", "no"}


@pytest.mark.long
def test_the_builders_of_both_are_well(
    browser: Browser, live_server: Any, world: factories.World
) -> None:
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    sign_in(context, world.requester, live_server.url)
    context.set_default_timeout(10_000)
    page, found = context.new_page(), list[Any]()
    think = thinking.make_think(world.project, ("Coherence", "Fluency"), publish=False)
    check = thinking.make_checklist(world.project, 3, publish=False)
    group = think.groups.order_by("position").first().key
    for task, query in (
        (think, f"?part=dimensions&text={group}&question=s2"),
        (check, "?part=asked&question=time"),
    ):
        page.goto(live_server.url + reverse("task_build", args=[task.project_id, task.pk]) + query)
        page.wait_for_load_state()
        part = query.split("=")[1].split("&")[0]
        pictured(page, f"build-{task.type}-{part}")
        found += misfits(page, f"{task.type} {query}")
    for task in (think, check):
        page.goto(live_server.url + reverse("task_preview", args=[task.project_id, task.pk]))
        pictured(page, f"preview-{task.type}")
        found += misfits(page, f"preview {task.type}")
    context.close()
    assert found == []


def speaks(page: Page) -> None:
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    page.keyboard.press("Control+Enter")  # nothing is lost by going on too early
    expect(page.locator("[data-recorder-told]")).to_have_text("Stop the recording first.")
    pictured(page, "think-recording")
    page.wait_for_timeout(500)  # of sound
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("[data-recorder-told]")).to_have_text("Kept.")
    page.wait_for_function("() => document.querySelector('audio').duration > 0.3")


def test_one_speaks_listens_again_and_writes_down_what_was_said(
    browser_type: BrowserType,
    browser_type_launch_args: dict[str, Any],
    live_server: Any,
    world: factories.World,
) -> None:
    task = thinking.make_think(world.project, settings={"recording": "required"})
    held = factories.claim(task, world.worker)
    fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    args = [*browser_type_launch_args["args"], *fake]
    browser = browser_type.launch(**{**browser_type_launch_args, "args": args})
    context = browser.new_context(permissions=["microphone"])
    assert world.worker.user is not None
    sign_in(context, world.worker.user, live_server.url)
    for page in reporting(context):
        opens(page, live_server, held)
        expect(page.get_by_text("Where you press Record: your voice")).to_be_attached()
        for number, text in enumerate(("Sentences link up", "Time runs one way"), 1):
            page.get_by_label(f"Attribute {number}", exact=True).fill(text)
        page.get_by_role("button", name="Review and submit").click()
        expect(page.locator("#problem")).to_contain_text("nothing is recorded yet")
        speaks(page)
        assert misfits(page, "think-spoken") == []
        pictured(page, "think-spoken")
        page.get_by_role("button", name="Review and submit").click()
        submits(page, "1 dimension")
    browser.close()
    kept = Recording.objects.get()
    assert kept.type == "audio/webm" and 0.3 < kept.seconds < 20


@pytest.mark.long
def test_without_a_microphone_a_file_is_sent(
    page: Page, live_server: Any, world: factories.World
) -> None:
    task = thinking.make_think(world.project, settings={"recording": "offered"})
    held = factories.claim(task, world.worker)
    opens(page, live_server, held)
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.locator("[data-recorder-told]")).to_contain_text("end a file")
    page.get_by_text("Send a file instead", exact=True).click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("[data-recorder-told]")).to_have_text("Choose a file first.")
    spoken = Path(__file__).parents[2] / "annotation" / "task_types" / "spoken.webm"
    page.get_by_label("A recording as WebM with Opus or WAV").set_input_files(spoken)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("[data-recorder-told]")).to_have_text("Kept.")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("[data-recorder-told]")).to_have_text("Deleted.")
    expect(page.locator("audio")).to_be_hidden()
    assert not Recording.objects.exists()
