"""Items of OpenAI's Responses API: messages, reasoning, calls of tools and their outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.chats.model import Part, ToolCall, tool_call, unknown_part
from annotation.chats.readers.base import Builder, as_text, plain_result, text_of, type_of
from annotation.chats.readers.content import parts_of_block, result_parts

# Calls whose result comes as an item of its own; the fields that hold what was asked.
CALLS = {
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "mcp_approval_request": ("arguments",),
    "tool_search_call": ("arguments",),
}
# Calls that the provider made, with their results in the same item.
FINISHED = {
    "web_search_call": (("action",), ("results",)),
    "file_search_call": (("queries",), ("results",)),
    "code_interpreter_call": (("code",), ("outputs",)),
    "image_generation_call": (("prompt", "revised_prompt"), ("result",)),
    "mcp_call": (("arguments",), ("output", "error")),
    "mcp_list_tools": (("server_label",), ("tools", "error")),
}
OUTPUTS = {
    *(f"{name}_output" for name in CALLS if name.endswith("_call")),
    *("mcp_approval_response", "tool_search_output"),
}
KINDS = {*CALLS, *FINISHED, *OUTPUTS, "reasoning", "compaction", "item_reference"}


def is_item(raw: Any) -> bool:
    """Whether a value is an item other than a message, which has a role."""
    return isinstance(raw, dict) and "role" not in raw and type_of(raw) in KINDS


def add_item(builder: Builder, raw: Mapping[str, Any]) -> None:
    """Add one item; one of an unknown type is shown as JSON."""
    kind = type_of(raw)
    if kind in OUTPUTS:
        builder.end()
        content = raw.get("output", raw.get("tools", raw.get("approve")))
        builder.result(
            _output_parts(builder, content),
            id=text_of(raw, "call_id", "approval_request_id"),
            is_error=raw.get("status") == "failed" or bool(raw.get("error")),
        )
        return
    if not builder.is_open_as("assistant"):
        builder.begin("assistant")
    if kind == "reasoning":
        builder.add(*parts_of_block(builder, raw))
    elif kind in CALLS:
        asked = _first(raw, CALLS[kind])
        name = text_of(raw, "name") or kind.removesuffix("_call")
        builder.call(tool_call(name, asked, id=text_of(raw, "call_id", "id")))
    elif kind in FINISHED:
        builder.call(_finished(builder, raw, kind))
    else:
        builder.add(unknown_part(kind, raw))


def _finished(builder: Builder, raw: Mapping[str, Any], kind: str) -> ToolCall:
    asked, given = FINISHED[kind]
    name = text_of(raw, "name") or kind.removesuffix("_call")
    made = tool_call(name, _first(raw, asked), id=text_of(raw, "id"))
    outcome = _first(raw, given, None)
    failed = bool(raw.get("error")) or raw.get("status") == "failed"
    parts: tuple[Part, ...] | None = None
    if kind == "image_generation_call" and isinstance(outcome, str):
        image = {"type": "image", "data": outcome, "mimeType": "image/png"}
        parts = tuple(parts_of_block(builder, image))
    elif outcome is not None:
        parts = tuple(_output_parts(builder, outcome))
    return made.model_copy(update={"result": parts, "is_error": failed})


def _output_parts(builder: Builder, content: Any) -> list[Part]:
    if isinstance(content, dict) and "image_url" in content:  # of a computer's screen
        return list(parts_of_block(builder, {**content, "type": "image_url"}))
    if isinstance(content, list):
        return result_parts(builder, content)
    return plain_result(content if isinstance(content, str) else as_text(content))


def _first(raw: Mapping[str, Any], names: tuple[str, ...], default: Any = "") -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), default)
