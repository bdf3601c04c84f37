"""Blocks of content of all conventions: text, images, reasoning, files, calls and their results.

OpenAI's parts (``image_url``), Anthropic's blocks (``tool_use``), parts of OpenTelemetry's GenAI
conventions (``tool_call_response``), of Gemini (``functionCall``) and of Inspect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from annotation.chats.model import (
    FilePart,
    ImagePart,
    Part,
    ToolCall,
    clean_text,
    image_part,
    reasoning_part,
    result_part,
    text_part,
    tool_call,
    unknown_part,
)
from annotation.chats.readers.base import (
    Builder,
    as_text,
    dict_of,
    parse_json,
    plain_result,
    text_of,
    type_of,
)

Block = Mapping[str, Any]
Resolve = Callable[[str], str]  # an address of an attachment -> its content
ATTACHMENT = "attachment://"
FILE_KINDS = {
    "input_audio": "audio",
    "audio": "audio",
    "video": "video",
    "video_url": "video",
    "audio_url": "audio",
    "file": "",
    "input_file": "",
    "container_upload": "",
    "document": "",
    "search_result": "text",
    "resource_link": "",
    "resource": "",
}
IMAGES = {"image", "image_url", "input_image", "output_image", "image_file"}
TEXTS = {"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"}
CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call", "function"}
# Results of the AI SDK say in a value of its own whether they failed.
SDK_VALUES = {"text", "json", "content", "error-text", "error-json", "execution-denied"}
SDK_FAILED = {"error-text", "error-json", "execution-denied"}
MCP = {"content", "structuredContent", "isError", "_meta"}  # the fields of a result of MCP
RESULT_FILES = {"document", "resource", "resource_link"}  # blocks of a result that name a file
SILENT = {"step-start", "step_start", "token_budget"}  # blocks that say nothing
RESULTS = {"tool_result", "tool_call_response", "server_tool_call_response", "tool-result"}
# Fields that say nothing which a reader of the conversation would miss.
FORMAL = {
    "type",
    "id",
    "index",
    "signature",
    "cache_control",
    "status",
    "object",
    "internal",
    "state",
}


def add_content(builder: Builder, content: Any) -> None:
    """Add the content of a message: a text, a list of blocks, or null."""
    if content is None:
        return
    if isinstance(content, str):
        if content:
            builder.add(text_part(content))
    elif isinstance(content, list):
        for block in content:
            add_block(builder, block)
    elif isinstance(content, dict):
        add_block(builder, content)
    else:
        builder.add(text_part(as_text(content)))


def add_block(builder: Builder, block: Any) -> None:
    """Add one block: a part, a call, or the result of one."""
    if not isinstance(block, dict):
        if block is not None:
            add_content(builder, as_text(block))
        return
    if type_of(block) in SILENT:
        return
    if is_result(block):
        add_result(builder, block)
    elif (call := call_of(block)) is not None:
        builder.call(call)
    else:
        builder.add(*parts_of_block(builder, block))


def is_result(block: Block) -> bool:
    """Whether a block holds the result of a tool."""
    kind = type_of(block)
    return kind in RESULTS or kind.endswith("_tool_result") or "functionResponse" in block


def add_result(builder: Builder, block: Block) -> None:
    """Put the result in a block at its call."""
    if "functionResponse" in block:
        inner = dict_of(block["functionResponse"])
        builder.result(
            plain_result(inner.get("response")),
            id=text_of(inner, "id"),
            name=text_of(inner, "name"),
        )
        return
    kind = type_of(block)
    known = {*FORMAL, "tool_use_id", "tool_call_id", "content", "is_error", "name", "tool_name"}
    known |= {"response", "result", "output", "server_tool_call_response", "caller"}
    known |= {"toolCallId", "toolName", "isError"}
    builder.leave_out(block, known)
    names = ("content", "response", "result", "output", "server_tool_call_response")
    content = next((block[name] for name in names if block.get(name) is not None), None)
    failed = bool(block.get("is_error") or block.get("isError")) or is_failed(content)
    builder.result(
        result_parts(builder, content),
        id=text_of(block, "tool_use_id", "tool_call_id", "toolCallId", "id"),
        name=text_of(block, "name", "tool_name", "toolName")
        or (kind.removesuffix("_tool_result") if kind.endswith("_tool_result") else ""),
        is_error=failed,
    )


def result_parts(builder: Builder, content: Any) -> list[Part]:
    """Make the parts of a result: texts and images of its blocks, JSON of anything else."""
    content = _unwrapped_result(content)
    blocks = content if isinstance(content, list) else [content]
    shown: list[Part] = []
    for block in blocks:
        if block is None:
            continue
        if type_of(block) in TEXTS | IMAGES | RESULT_FILES:
            made = parts_of_block(builder, block)
            shown += [result_part(part.text) if part.kind == "text" else part for part in made]
        elif isinstance(block, dict) and isinstance(content, list) and set(block) == {"text"}:
            shown.append(result_part(as_text(block["text"])))
        elif isinstance(content, list) and not isinstance(block, str | dict):
            return plain_result(content)
        else:
            shown += plain_result(block)
    return shown


def is_failed(content: Any) -> bool:
    """Whether a result says itself that its tool failed."""
    if not isinstance(content, dict):
        return False
    kind = type_of(content)
    return kind.endswith("_error") or kind in SDK_FAILED or content.get("isError") is True


def _unwrapped_result(content: Any) -> Any:
    """Take the blocks out of a result of MCP, or the value out of one of the AI SDK."""
    if not isinstance(content, dict):
        return content
    if content.keys() == {"type", "value"} and type_of(content) in SDK_VALUES:
        return content["value"]
    blocks = content.get("content")
    if not (isinstance(blocks, list) and all(map(type_of, blocks)) and content.keys() <= MCP):
        return content
    structured = content.get("structuredContent")
    repeats = any(parse_json(dict_of(one).get("text")) == structured for one in blocks)
    return blocks if structured is None or repeats else [*blocks, structured]


def parts_of_block(builder: Builder, block: Block) -> Iterable[Part]:
    """Make the parts of a block that is no call and no result."""
    kind = type_of(block) or _untyped(block)
    if kind in TEXTS:
        return _texts(builder, block, kind)
    media = text_of(block, "mediaType")
    if kind in IMAGES or (kind == "file" and media.startswith("image/")):  # of the AI SDK
        return [_image(builder, block)]
    if kind in ("thinking", "reasoning", "redacted_thinking"):
        return _reasoning(builder, block)
    if kind in ("blob", "inlineData", "uri", "fileData"):
        return [_data_part(block)]
    if kind in FILE_KINDS:
        return _file(block, FILE_KINDS[kind])
    return [unknown_part(kind, block)]


def _untyped(block: Block) -> str:
    """The kind of a block without one, by its only fields."""
    for name in ("text", "inlineData", "fileData", "image_url", "image", "reasoning"):
        if name in block:
            return name
    return ""


def _texts(builder: Builder, block: Block, kind: str) -> list[Part]:
    names = ("text", "content", "refusal")
    value = next((block[name] for name in names if block.get(name) is not None), "")
    if isinstance(value, dict):  # {"value": ..., "annotations": [...]}
        builder.leave_out(value, {"value"})
        value = value.get("value", "")
    if kind == "refusal" or (block.get("refusal") is True):
        builder.notes["refusals"] += 1
    builder.leave_out(block, {*FORMAL, *names, "image", "mimeType", "logprobs", "thought"})
    found: list[Part] = [text_part(as_text(value))] if value else []
    if block.get("thought") is True and found:  # Gemini's reasoning
        return [reasoning_part(as_text(value))]
    return found


def _reasoning(builder: Builder, block: Block) -> list[Part]:
    """Make the reasoning of a block; what is encrypted is noted and holds no text."""
    kind = type_of(block)
    if kind == "redacted_thinking" or block.get("redacted") is True:
        builder.notes["redacted_reasoning"] += 1
        summary = as_text(block.get("summary"))
        return [reasoning_part(summary)]
    texts: list[str] = []
    for name in ("thinking", "reasoning", "summary", "content", "text"):
        value = block.get(name)
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            text = row.get("text") if isinstance(row, dict) else row
            if text:
                texts.append(as_text(text))
    if not texts and block.get("encrypted_content"):
        builder.notes["redacted_reasoning"] += 1
    return [reasoning_part(text) for text in texts] or [reasoning_part("")]


def _image(builder: Builder, block: Block) -> Part:
    alt = text_of(block, "alt", "alt_text", "title")
    source = block.get("source")
    if isinstance(source, dict):
        if source.get("type") == "base64" or "data" in source:
            media = text_of(source, "media_type", "mimeType") or "image/png"
            return image_part(f"data:{media};base64,{as_text(source.get('data'))}", alt)
        return image_part(text_of(source, "url", "file_id"), alt)
    for name in ("image_url", "image", "url", "path", "file_id", "image_file", "data"):
        value = block.get(name)
        if isinstance(value, dict):
            value = value.get("url") or value.get("file_id") or value.get("path")
        if isinstance(value, str) and value:
            media = text_of(block, "mimeType", "mime_type", "media_type", "mediaType")
            if name == "data" and not value.startswith(("data:", "http:", "https:")):
                value = f"data:{media or 'image/png'};base64,{value}"
            return image_part(builder_address(builder, value), alt)
    return ImagePart(alt=alt[:300], note="not kept: no address")


def builder_address(builder: Builder, address: str) -> str:
    """Name an attachment that its source does not hold."""
    if address.startswith(ATTACHMENT):
        builder.notes["attachments_missing"] += 1
    return address


def _data_part(block: Block) -> Part:
    """Make the part of bytes or an address with a media type, as in GenAI's parts and Gemini."""
    inner = dict_of(block.get("inlineData") or block.get("fileData")) or block
    media = text_of(inner, "mime_type", "mimeType")
    modality = text_of(inner, "modality")
    content = inner.get("content") or inner.get("data")
    address = text_of(inner, "uri", "fileUri", "file_id")
    is_image = media.startswith("image/") or modality == "image"
    if content and is_image:
        data = as_text(content)
        return image_part(data if data.startswith("data:") else f"data:{media};base64,{data}")
    if is_image:
        return image_part(address)
    return FilePart(name=clean_text(address)[:200], media_type=(media or modality)[:80])


def _file(block: Block, media: str) -> list[Part]:
    """Name a file; the text of a document stays."""
    kind = type_of(block)
    inner = block.get(kind)
    about: dict[str, Any] = {**block, **(inner if isinstance(inner, dict) else {})}
    source = block.get("source")
    if isinstance(source, dict):
        about |= source
    name = text_of(
        about, "filename", "file_name", "title", "name", "file_id", "url", "file_url", "uri"
    )
    given = text_of(about, "media_type", "mime_type", "mimeType", "mediaType", "format")
    if not given and str(about.get("file_data", "")).startswith("data:"):
        given = str(about["file_data"])[5:80].partition(";")[0]
    text = as_text(about["text"]) if kind == "resource" and about.get("text") else ""
    text = text or _document_text(block, source)
    made: list[Part] = [FilePart(name=name[:200], media_type=(given or media or kind)[:80])]
    transcript = text_of(about, "transcript")
    return made + [text_part(one) for one in (text, transcript) if one]


def _document_text(block: Block, source: Any) -> str:
    if isinstance(source, dict) and source.get("type") == "text":
        return as_text(source.get("data"))
    content = source.get("content") if isinstance(source, dict) else block.get("content")
    if isinstance(content, list):
        return "\n\n".join(text_of(row, "text") for row in content if isinstance(row, dict))
    return content if isinstance(content, str) else ""


# Calls -------------------------------------------------------------------------------------------


def call_of(block: Block) -> ToolCall | None:
    """Make the call that a block or an entry of ``tool_calls`` holds; None if it holds none."""
    kind = type_of(block)
    if "functionCall" in block:
        inner = dict_of(block["functionCall"])
        return tool_call(text_of(inner, "name"), inner.get("args", {}), id=text_of(inner, "id"))
    if kind == "tool_use" and "tool_type" in block:  # Inspect's calls that a server made
        return _finished_call(block)
    if kind == "tool-invocation":
        return sdk_call(dict_of(block.get("toolInvocation")))
    if "toolCallId" in block:
        return sdk_call(block)
    if kind not in CALLS:
        return None
    return read_call(block)


def sdk_call(raw: Mapping[str, Any]) -> ToolCall:
    """Read a call of Vercel's AI SDK, which holds its result once there is one."""
    name = text_of(raw, "toolName") or type_of(raw).removeprefix("tool-")
    asked: Any = next((raw[one] for one in ("input", "args", "rawInput") if one in raw), {})
    made = tool_call(name, asked, id=text_of(raw, "toolCallId"))
    given = ("errorText", "output", "result")
    result = next((raw[one] for one in given if raw.get(one) is not None), None)
    if result is None:
        return made
    failed = text_of(raw, "state") in ("output-error", "output-denied") or is_failed(result)
    parts = tuple(result_parts(Builder(), result))
    return made.model_copy(update={"result": parts, "is_error": failed})


def read_call(raw: Any) -> ToolCall:
    """Read an entry of ``tool_calls`` of OpenAI, Hugging Face, LangChain, Anthropic or Inspect."""
    if not isinstance(raw, dict):
        return tool_call("?", raw)
    inner = next(
        (
            raw[name]
            for name in ("function", "custom", "tool_call", "server_tool_call")
            if isinstance(raw.get(name), dict)
        ),
        raw,
    )
    name = text_of(inner, "name", "tool", "tool_name") or text_of(raw, "name", "function", "type")
    given = ("arguments", "args", "input", "parameters", "input_json")
    arguments = next((inner[one] for one in given if inner.get(one) is not None), None)
    if arguments is None and inner is not raw:
        rest = {key: value for key, value in inner.items() if key not in ("name", "type")}
        arguments = rest or {}
    if arguments is None:
        arguments = {}
    made = tool_call(name, arguments, id=text_of(raw, "id", "tool_call_id", "call_id"))
    if raw.get("parse_error"):
        return made.model_copy(update={"is_error": True})
    return made


def _finished_call(block: Block) -> ToolCall:
    made = tool_call(
        text_of(block, "name", "tool_type"),
        parse_json(block.get("arguments", {})),
        id=text_of(block, "id"),
    )
    error = block.get("error")
    result = as_text(error) if error else as_text(parse_json(block.get("result")))
    return made.model_copy(update={"result": (result_part(result),), "is_error": bool(error)})
