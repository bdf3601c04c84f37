"""Conversations and a labels task about them, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.authoring.actions import tasks
from annotation.chats.model import (
    Chat,
    Span,
    ToolCall,
    Turn,
    dump_chat,
    result_part,
    text_part,
    tool_call,
)
from annotation.formats.actions.labels import import_label_items
from annotation.models import Project, Task
from tests.support.factories import make_project

HELPFUL = {
    "name": "helpful",
    "question": "Helpful?",
    "label": "Helpful",
    "kind": "scale",
    "low": 1,
    "high": 5,
    "per": "assistant",
}
PROBLEM = {
    "name": "problem",
    "question": "Problem?",
    "label": "Problem",
    "kind": "choose_one",
    "per": "assistant",
    "options": [
        {"value": "fact", "label": "Wrong fact"},
        {"value": "made_up", "label": "Made up"},
        {"value": "none", "label": "None"},
    ],
}
SOLVED = {
    "name": "solved",
    "question": "Was the problem solved?",
    "label": "Solved",
    "kind": "choose_one",
    "options": [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}],
}
FIELDS = (HELPFUL, PROBLEM, SOLVED)


def with_result(call: ToolCall, text: str, *, is_error: bool = False) -> ToolCall:
    """Return the call with a result."""
    return call.model_copy(update={"result": (result_part(text),), "is_error": is_error})


def make_chat(number: int = 1) -> Chat:
    """Six turns about an order, with two calls of which the second fails."""
    find = with_result(
        tool_call("find_order", {"order": 40718 + number}), '{"status": "in transit"}'
    )
    change = with_result(
        tool_call("change_delivery", {"to": "shop-118"}),
        '{"ok": false, "error": "no answer from carrier"}',
        is_error=True,
    )
    return Chat(
        turns=(
            Turn(role="system", parts=(text_part("You help customers of a shop."),)),
            Turn(role="user", parts=(text_part(f"Where is my order {40718 + number}?"),)),
            Turn(role="assistant", calls=(find,), parts=(text_part("It is on its **way**."),)),
            Turn(role="user", parts=(text_part("Send it to the shop instead."),)),
            Turn(role="assistant", calls=(change,), parts=(text_part("Done."),)),
        )
    )


def make_trace() -> Chat:
    """The conversation above with the steps of its last answer, of which two fail."""
    chat = make_chat()
    spans = (
        Span(id="1", name="turn", kind="agent", offset=0, seconds=8.4),
        Span(id="2", name="plan", kind="model", parent="1", depth=1, offset=0, seconds=0.9, turn=3),
        Span(
            id="3", name="change_delivery", kind="tool", parent="1", depth=1, offset=1.5,
            seconds=5.0, turn=5, is_error=True, message="no answer from carrier",
        ),
        Span(
            id="4", name="POST /deliveries", parent="3", depth=2, offset=1.6, seconds=4.9,
            is_error=True,
        ),
        Span(
            id="5", name="write_answer", kind="model", parent="1", depth=1, offset=6.5,
            seconds=1.6, turn=5,
        ),
        Span(
            id="6", name="check_policy", kind="retriever", parent="1", depth=1, offset=8.1,
            seconds=0.3,
        ),
    )  # fmt: skip
    return chat.model_copy(update={"spans": spans})


def make_chat_task(
    project: Project | None = None,
    n: int = 2,
    *,
    fields: Sequence[dict[str, Any]] = FIELDS,
    chats: Sequence[Chat] | None = None,
    publish: bool = True,
    **rules: Any,
) -> Task:
    """A published labels task about ``n`` conversations."""
    project = project or make_project()
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="labels", title="Rate conversations")
    settings = {"content": "conversation", "fields": [dict(one) for one in fields]}
    basic = {"redundancy": 2, "items_per_assignment": n, "order": "fixed", "pay": "0.90"}
    tasks.edit_draft(by=by, task=task, fields={**basic, **rules, "settings": settings})
    chats = chats or [make_chat(number) for number in range(n)]
    rows = [
        {"key": f"c-{at}", "text": "", "expected": {}, "meta": {}, "chat": dump_chat(chat)}
        for at, chat in enumerate(chats)
    ]
    import_label_items(by=by, task=task, rows=rows)
    if publish:
        tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task
