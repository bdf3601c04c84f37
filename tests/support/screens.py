"""Pictures of every page for each role: light, dark, and as wide as a phone; axe reads each.

``python -m tests.support.screens [--out DIR] [--url URL] [--only TEXT]``

Without ``--url`` it serves a scratch database with the demo. An instance named by ``--url`` must
hold the demo; a project, an import file and two assignments are added to it. Pages are found by
following links, so a new page is in the pictures once something links to it. Prints the slowest
pages. Ends with status 1 where something is wrong with a page (``tests.support.crawl``).
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import django
from playwright.sync_api import Page, sync_playwright

from tests.bench import harness
from tests.conftest import NO_CHROMIUM, chromium_launch
from tests.support import crawl

ROOT = Path(__file__).resolve().parents[2]
# Name of the picture's ending -> width, height, colour scheme.
LOOKS = {"light": (1360, 900, "light"), "dark": (1360, 900, "dark"), "phone": (390, 844, "light")}


@dataclass
class Pictures(crawl.Inspector):
    """Inspects every page, and takes its pictures."""

    folder: Path = ROOT
    only: str = ""
    taken: list[str] = field(default_factory=list)

    def look(self, page: Page, role: str, name: str, *, wanted: bool = True) -> None:
        """Inspect the page as it stands, and take it in every look where it is ``wanted``."""
        if self.only not in f"{role}-{name}":
            return
        super().look(page, role, name, wanted=wanted)
        if not wanted:
            return
        for look, (width, height, scheme) in LOOKS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.wait_for_timeout(150)
            # As tall as the page: what sticks to the window's edge would cover its middle.
            tall = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": max(height, tall)})
            page.wait_for_timeout(100)
            page.screenshot(path=self.folder / f"{role}-{name}-{look}.png")
        self.taken.append(f"{role}-{name}")
        print(f"  {role}-{name}", flush=True)


@contextlib.contextmanager
def instance(url: str | None) -> Iterator[str]:
    """The address of an instance with the demo: the one named, or one of our own."""
    if url:
        yield url.rstrip("/")
        return
    with harness.scratch_database() as environment:
        print("Loading the demo", flush=True)
        harness.python(environment, "manage.py", "load_demo")
        with harness.served(environment, "crowdqc.wsgi:application", workers=1) as port:
            yield f"http://127.0.0.1:{port}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.support.screens", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screens")
    parser.add_argument("--url", help="an instance that holds the demo")
    parser.add_argument("--only", default="", help="pictures whose name holds this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pictures = Pictures(folder=options.out, only=options.only)
    with sync_playwright() as playwright, instance(options.url) as root:
        launch = chromium_launch(playwright)
        if launch is None:
            raise SystemExit(NO_CHROMIUM)
        browser = playwright.chromium.launch(**launch)
        crawl.everything(browser, root, pictures)
        browser.close()
    print(f"{len(pictures.taken)} pages, {len(LOOKS)} pictures each, in {options.out}")
    print("\n".join(["The slowest answers:", *pictures.slowest()]))
    for fault in pictures.faults:
        print(f"  {fault}")
    print(f"{len(pictures.faults)} faults" if pictures.faults else "Nothing is wrong with them")
    return 1 if pictures.faults else 0


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    sys.exit(main())
