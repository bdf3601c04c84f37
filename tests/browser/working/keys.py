"""What people do on any page by keyboard, and what a worker's page says then."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the target has the focus."""
    expect(target).to_be_visible()
    page.wait_for_load_state()  # its scripts have come as well
    for _ in range(80):
        page.keyboard.press("Tab")
        if target.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"the keyboard does not reach {target}")


def press_on(page: Page, target: Locator) -> None:
    """Reach the target by Tab, and press Enter on it."""
    tab_to(page, target)
    page.keyboard.press("Enter")


def is_saved(page: Page) -> None:
    expect(page.locator("[data-saved=server]")).to_be_visible()
