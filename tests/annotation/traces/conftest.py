"""What tests of traces share: a source with its token, and bodies of spans."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from annotation.models import Item, Project, TraceSource
from annotation.task_types.labels.rules import PREFIX
from annotation.traces.actions.sources import create_source
from tests.support import factories

Send = Callable[..., HttpResponse]


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def source_token(project: Project) -> tuple[TraceSource, str]:
    """A source that draws nothing yet, with its token."""
    return create_source(by=project.owner, project=project, name="shop", settings={"rules": []})


@pytest.fixture
def send(source_token: tuple[TraceSource, str]) -> Send:
    """Post an OTLP body of spans as JSON."""

    def post(*spans: dict[str, Any], token: str = "", **more: Any) -> HttpResponse:
        body = {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}
        headers = {"Authorization": f"Bearer {token or source_token[1]}"}
        return Client(enforce_csrf_checks=True).post(
            "/otel/v1/traces", json.dumps(body), "application/json", headers=headers, **more
        )

    return post


def review_draft(item: Item, outcome: str) -> dict[str, str]:
    """What a reviewer answers to an item of a queue; a failure begins at its first answer."""
    turns = item.settings["units"].get("assistant", []) if outcome == "fail" else []
    return {f"{PREFIX}outcome": outcome, **{f"{PREFIX}where": unit for unit in turns[:1]}}


def otlp_span(
    number: int = 1, trace: int = 1, parent: int = 0, error: bool = False, **attributes: Any
) -> dict[str, Any]:
    """A span of OTLP JSON; ``attributes`` with "__" for dots."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"step {number}",
        "startTimeUnixNano": str(1_764_410_000_000_000_000 + number * 10**9),
        "endTimeUnixNano": str(1_764_410_000_500_000_000 + number * 10**9),
        "status": {"code": 2 if error else 0},
        "attributes": [
            {
                "key": key.replace("__", "."),
                "value": {"doubleValue": value}
                if isinstance(value, float)
                else {"stringValue": value if isinstance(value, str) else json.dumps(value)},
            }
            for key, value in attributes.items()
        ],
    }


def chat_span(number: int = 1, trace: int = 1, text: str = "Hi", **more: Any) -> dict[str, Any]:
    """A model's span with a question and an answer."""
    return otlp_span(
        number,
        trace,
        gen_ai__operation__name="chat",
        gen_ai__input__messages=[{"role": "user", "parts": [{"type": "text", "content": text}]}],
        gen_ai__output__messages=[
            {"role": "assistant", "parts": [{"type": "text", "content": f"Answer to {text}"}]}
        ],
        **more,
    )
