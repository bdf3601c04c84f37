"""Traces from an application to reviews by three people: by priority, masked, exported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from annotation.authoring.actions import tasks
from annotation.models import Project, Trace
from annotation.traces.actions.sources import change_settings
from tests.annotation.chats.made import SOLVED, make_chat_task
from tests.annotation.chats.test_training import BETTER
from tests.annotation.traces.conftest import chat_span, otlp_span
from tests.browser.sign_in import sign_in
from tests.evaluation.traces.conftest import make_source
from tests.evaluation.traces.test_queue import receive
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SECRETS = ("sk-proj-Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg", "maren@example.org", "4111 1111 1111 1111")


def failing_trace(number: int) -> list[dict[str, Any]]:
    """An agent whose tool fails; its judge says that the answer is bad."""
    score = {"gen_ai__evaluation__name": "quality", "gen_ai__evaluation__score__value": 0.1}
    return [
        otlp_span(1, number, gen_ai__operation__name="invoke_agent"),
        otlp_span(
            2, number, 1, error=True, gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="change_delivery",
        ),
        {**chat_span(3, number, f"I am {SECRETS[1]}, card {SECRETS[2]}, key {SECRETS[0]}"),
         "parentSpanId": f"{1:016x}"},
        otlp_span(4, number, 1, **score),
    ]  # fmt: skip


def reviews(browser: Browser, project: Project, url: str, outcomes: dict[str, str]) -> list[str]:
    """One person takes assignments until none is left; gives the texts in their order."""
    worker = factories.make_worker(project)
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    sign_in(context, worker.user, url)
    page, read = context.new_page(), []
    for _ in outcomes:
        page.goto(url + reverse("work_home"))
        page.get_by_role("button", name="tart").first.click()
        page.locator("[data-go]").click()
        read.append(answer(page, outcomes))
    context.close()
    return read


def answer(page: Page, outcomes: dict[str, str]) -> str:
    text = page.locator("[data-chat]").inner_text()
    [asked] = [one for one in outcomes if one in text]
    page.keyboard.press("1" if outcomes[asked] == "pass" else "2")
    if outcomes[asked] == "fail":
        page.locator("[data-field=where] label").last.click()
    page.locator("[data-next]").click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/done/**")
    return asked


def rows_that_hold(text: str) -> list[str]:
    """The tables of the database with a row that holds a text in any column."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        found = []
        for name in tables:
            cursor.execute(
                f'SELECT 1 FROM "{name}" AS one WHERE one::text LIKE %s LIMIT 1',  # noqa: S608
                [f"%{text}%"],
            )
            found += [name] if cursor.fetchone() else []
    return found


def test_three_people_review_traces_the_doubtful_first_and_blind(
    browser: Browser, live_server: Any, caplog: Any
) -> None:
    caplog.set_level("INFO")
    source = make_source(factories.make_project(), reviews=3)
    flagged = [{"kind": "attribute", "share": 1.0, "key": "gen_ai.operation.name"}]
    change_settings(by=source.created_by, source=source, settings={"rules": flagged})
    source.refresh_from_db()
    receive(source, chat_span(1, 1, "Where is my parcel?"))
    receive(source, *failing_trace(2))
    task = source.task
    assert task is not None
    tasks.publish(by=source.created_by, task=task)
    outcomes = {"Where is my parcel?": "pass", "[EMAIL]": "fail"}
    for _ in range(3):
        read = reviews(browser, source.project, live_server.url, outcomes)
        assert read == ["[EMAIL]", "Where is my parcel?"]  # though it came later
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    sign_in(context, source.project.owner, live_server.url)
    page = context.new_page()
    page.goto(live_server.url + reverse("trace_list", args=[source.project_id]))
    expect(page.get_by_role("row", name="Where is my parcel?")).to_contain_text("3 of 3")
    failed = page.get_by_role("row").filter(has_text="[EMAIL]")
    expect(failed).to_contain_text("3 fail")
    labels = reverse("task_export", args=[source.project_id, task.pk, "labels", "csv"])
    export = context.request.get(live_server.url + labels).text()
    assert export.count("fail") >= 3
    for secret in SECRETS:
        assert secret not in page.content() + export + caplog.text
    assert rows_that_hold("change_delivery")
    assert [(secret, rows_that_hold(secret)) for secret in SECRETS if rows_that_hold(secret)] == []
    assert Trace.objects.filter(masked__email__gte=1).count() == 1


def test_a_correction_written_in_the_browser_is_exported(
    browser: Browser, live_server: Any
) -> None:
    world = factories.make_world()
    task = make_chat_task(world.project, n=1, fields=[BETTER, SOLVED])
    found = factories.claim(task, world.worker)
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    sign_in(context, world.worker.user, live_server.url)
    page = context.new_page()
    page.goto(live_server.url + reverse("work_item", args=[found.pk, 1]))
    page.get_by_role("button", name="Start from this answer").click()
    box = page.locator("#turn-5 textarea[name]")
    expect(box).to_have_value("Done.")
    box.fill("I could not change it.")
    page.get_by_role("radio", name="No").check()
    page.locator("[data-next]").click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/done/**")
    staff = browser.new_context()
    sign_in(staff, world.project.owner, live_server.url)
    path = reverse("task_export", args=[world.project.pk, task.pk, "corrections", "jsonl"])
    rows = staff.request.get(live_server.url + path).text().splitlines()
    assert json.loads(rows[0])["messages"][-1]["content"] == "I could not change it."
