"""A requester writes a prompt in a real browser, previews it on an item and tries it there."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Task
from evaluation.models import Run
from evaluation.runs import engine as runs
from tests.browser.polling import polls_often
from tests.browser.sign_in import misfits, reporting, sign_in
from tests.support import factories
from tests.support.servers.llm import make_model, serving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def looked_at(page: Page, name: str) -> None:
    """Nothing serious for axe and nothing too wide, light and dark, at every width."""
    assert misfits(page, name) == []


@pytest.mark.long
def test_a_prompt_is_copied_changed_previewed_and_tried(
    context: BrowserContext, live_server: Any
) -> None:
    task: Task = factories.make_task(n=3)
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    with serving(lambda body: "The answer is: storks") as stub:
        make_model(task.project, stub.base_url)
        for page in reporting(context):
            page.goto(live_server.url + reverse("models_prompts", args=[task.project_id]))
            page.get_by_role("link", name="Write prompt").click()
            looked_at(page, "prompt-for")
            page.get_by_role("link", name="Answer a question: copy answer_concise@1").click()
            page.get_by_label("Title").fill("Short answer")
            page.get_by_label("Name").fill("short_answer")
            page.get_by_label("Prompt", exact=True).fill("Question: {{qestion}}")
            page.get_by_role("button", name="Save prompt").click()
            expect(page.locator("#field-user")).to_contain_text("Line 1, character 11: {{qestion}}")
            looked_at(page, "prompt-refused")
            page.get_by_label("Prompt", exact=True).fill("Question: {{question}}")
            page.get_by_role("button", name="Save prompt").click()
            expect(page.locator("h1")).to_have_text("Short answer")
            page.get_by_label("Item").select_option(index=1)
            page.get_by_role("button", name="Show preview").click()
            item = task.items.order_by("position")[1]
            expect(page.locator("pre.sent").last).to_have_text(f"Question: {item.question}")
            page.get_by_role("button", name="Ask 1 question").click()
            expect(page.locator("#tried")).to_be_visible()
            looked_at(page, "prompt-asking")
            runs.execute(Run.objects.get().pk)
            expect(page.locator("#tried")).to_contain_text("storks", timeout=15_000)
            looked_at(page, "prompt-tried")
            page.goto(live_server.url + reverse("models_prompts", args=[task.project_id]))
            expect(page.locator("main")).to_contain_text("short_answer")
            looked_at(page, "prompts-own")
