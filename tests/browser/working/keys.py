"""What a worker does on any page by keyboard, and what the page says then."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def is_saved(page: Page) -> None:
    expect(page.locator("[data-saved=server]")).to_be_visible()
