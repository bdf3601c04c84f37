"""What people do on any page by keyboard, and what a worker's page says then."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def press(page: Page, *keys: str) -> None:
    page.wait_for_load_state()  # what is shown may wait for its scripts
    for key in keys:
        page.keyboard.press(key)


def press_at_once(page: Page, *keys: str) -> None:
    """Press keys before the page does anything that it puts off after the first of them."""
    page.evaluate(
        "keys => keys.forEach((key) => document.activeElement.dispatchEvent("
        "new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })))",
        keys,
    )


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the target has the focus."""
    expect(target).to_be_visible()
    page.wait_for_load_state()  # its scripts have come as well
    one = target.element_handle()  # looking for it anew takes longer than the key
    for _ in range(80):
        page.keyboard.press("Tab")
        reached, gone = one.evaluate("one => [one === document.activeElement, !one.isConnected]")
        if reached:
            return
        if gone:
            one = target.element_handle()
    raise AssertionError(f"the keyboard does not reach {target}")


def press_on(page: Page, target: Locator) -> None:
    """Reach the target by Tab, and press Enter on it."""
    tab_to(page, target)
    page.keyboard.press("Enter")


def passes(page: Page, seconds: float) -> None:
    """Let this time pass for all pages of the page's browser, whose clock tests move."""
    page.wait_for_load_state()  # a page whose scripts are still to come would not notice
    page.clock.run_for(round(1000 * seconds))


def is_saved(page: Page) -> None:
    """What was filled in is with the server, which it is sent to a second later."""
    passes(page, 1.1)
    page.locator("[data-saved=server]").wait_for()
