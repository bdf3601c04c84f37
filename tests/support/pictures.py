"""Pictures for the documentation, taken from the demo of ``make run``, into docs/screens.

``python -m tests.support.pictures [--url URL] [--only NAME]``

Each is one line of ``PICTURES``. A project is added to the instance, so take them from a fresh one.
They are in the light scheme and have few colours, which keeps them small.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import NO_CHROMIUM, chromium_launch

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "screens"
PASSWORD = "crowdqc-demo"
DEMO = "/projects/1/"
COLOURS = 96
LARGEST = 80_000  # bytes


def _path(path: str) -> Callable[[Page], None]:
    return lambda page: _open(page, path)


def _open(page: Page, path: str) -> None:
    page.goto(urljoin(page.url, path))


def _new_project(page: Page) -> None:
    _open(page, "/projects/new/")
    page.get_by_label("Name").fill("My project")
    page.get_by_role("button", name="Create project").click()


def _builder(page: Page) -> None:
    _new_project(page)
    page.get_by_text("Classify messages").first.click()
    page.get_by_role("link", name="Edit What does the customer want?").click()


def _label_page(page: Page) -> None:
    _builder(page)
    page.get_by_text("Preview as worker").first.click()


def _scored(page: Page) -> None:
    _open(page, "/score/")
    page.get_by_text("Try with example data").click()
    page.get_by_role("button", name="Score 300 labels").click()
    page.get_by_role("heading", name="Competence").wait_for(timeout=120_000)


@dataclass(frozen=True)
class Picture:
    """One picture: its file, the size of the window, and how its page is reached."""

    name: str
    width: int
    height: int
    reach: Callable[[Page], None]


PICTURES = [
    Picture("project.png", 1100, 700, _path(DEMO)),
    Picture("leaderboard.png", 1240, 880, _path(f"{DEMO}tasks/2/study/")),
    Picture("scored-table.png", 1100, 800, _scored),
    Picture("templates.png", 1180, 900, _new_project),
    Picture("builder.png", 1100, 960, _builder),
    Picture("label-page.png", 1100, 520, _label_page),
    Picture("pair-page.png", 1100, 800, _path(f"{DEMO}tasks/2/preview/")),
]


def sign_in(browser: Browser, url: str) -> Page:
    """A page of the demo's requester, in the light scheme."""
    page = browser.new_context(color_scheme="light").new_page()
    page.goto(f"{url}/login/")
    page.get_by_label("E-mail or username").fill("requester")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(lambda found: "/login/" not in found)
    return page


def take(page: Page, picture: Picture, folder: Path) -> int:
    """Write the picture; returns how many bytes it has."""
    page.set_viewport_size({"width": picture.width, "height": picture.height})
    picture.reach(page)
    page.wait_for_load_state("networkidle")
    page.mouse.move(0, 0)
    seen = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = folder / picture.name
    seen.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.support.pictures", description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where make run serves")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--only", default="", help="pictures whose name holds this")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        launch = chromium_launch(playwright)
        if launch is None:
            raise SystemExit(NO_CHROMIUM)
        browser = playwright.chromium.launch(**launch)
        sizes = {
            one.name: take(sign_in(browser, options.url.rstrip("/")), one, options.out)
            for one in PICTURES
            if options.only in one.name
        }
        browser.close()
    for name, size in sizes.items():
        print(f"  {name}: {size:,} bytes")
    return int(any(size > LARGEST for size in sizes.values()))


if __name__ == "__main__":
    sys.exit(main())
