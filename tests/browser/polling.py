"""Pages that ask again by themselves ask more often, as nothing is shown by waiting for them."""

from __future__ import annotations

from playwright.sync_api import BrowserContext

OFTEN = """
document.addEventListener("htmx:beforeProcessNode", ({ target }) => {
  const trigger = target.getAttribute?.("hx-trigger") || "";
  if (/^every \\d+s$/.test(trigger)) target.setAttribute("hx-trigger", "every 300ms");
});
"""


def polls_often(context: BrowserContext) -> None:
    """Every page of this browser asks three times a second what it asks in seconds elsewhere."""
    context.add_init_script(OFTEN)
