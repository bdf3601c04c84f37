"""Exports of assistants' own apps (ChatGPT, Claude) and stored calls of Gemini.

The apps keep a tree: a question that was changed or an answer that was made again begins a branch.
The conversation is the branch that was shown last; the others are counted and named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from annotation.chats.model import (
    Chat,
    FilePart,
    ImagePart,
    Part,
    clean_text,
    image_part,
    reasoning_part,
    result_part,
    text_part,
    tool_call,
    unknown_part,
)
from annotation.chats.readers.base import (
    MAX_META,
    Builder,
    ChatRecord,
    as_text,
    dict_of,
    list_of,
    meta_of,
    moment_text,
    parse_json,
    text_of,
    type_of,
)
from annotation.chats.readers.content import add_block
from annotation.chats.readers.messages import ROLES, add_message, usage_of

OTHER_BRANCHES = "other_branches"  # a note, and a column with the beginning of each
LONGEST_NAME = 160  # characters of the text that names a branch
Tree = Mapping[str, str]  # a node -> its parent


# Trees -------------------------------------------------------------------------------------------


def path_to(leaf: str, tree: Tree) -> list[str]:
    """List the nodes from the root to a leaf: to the last one of the file where none is named."""
    inner = set(tree.values())
    at = leaf if leaf in tree else next((one for one in [*tree][::-1] if one not in inner), "")
    path: dict[str, None] = {}
    while at in tree and at not in path:
        path[at] = None
        at = tree[at]
    return [*reversed(path)]


def branches_beside(path: Sequence[str], tree: Tree) -> list[list[str]]:
    """Group the nodes that are not on a path by the node with which they leave it."""
    branch_of = dict.fromkeys(path, "")
    for node in tree:
        chain: dict[str, None] = {}
        at = node
        while at in tree and at not in branch_of and at not in chain:
            chain[at] = None
            at = tree[at]
        if chain:
            branch_of |= dict.fromkeys(chain, branch_of.get(at) or next(reversed(chain)))
    found: dict[str, list[str]] = {}
    for node in tree:
        if branch := branch_of[node]:
            found.setdefault(branch, []).append(node)
    return list(found.values())


def read_tree(
    tree: Tree, leaf: str, add: Callable[[Builder, str], None]
) -> tuple[Builder, dict[str, str]]:
    """Read the branch of a leaf by ``add``; return it with a column that names the others."""
    path = path_to(leaf, tree)
    return _read_beside(path, branches_beside(path, tree), add)


def _read_beside(
    path: Sequence[str], others: Sequence[Sequence[str]], add: Callable[[Builder, str], None]
) -> tuple[Builder, dict[str, str]]:
    builder, names = Builder(), []
    for node in path:
        add(builder, node)
    for nodes in others:
        branch = Builder()
        for node in nodes:
            add(branch, node)
        if name := _name_of(branch.chat()):
            names.append(name)
    builder.notes[OTHER_BRANCHES] += len(names)
    return builder, {OTHER_BRANCHES: "\n".join(names)[:MAX_META]} if names else {}


def _name_of(chat: Chat) -> str:
    """Name a branch by its first turn and the number of its turns; "" where it has none."""
    if not chat.turns:
        return ""
    first = chat.turns[0]
    text = " ".join(first.text.split())[:LONGEST_NAME]
    return f"{first.role}: {text} ({len(chat.turns)})"


# ChatGPT -----------------------------------------------------------------------------------------


def read_chatgpt(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a conversation of ChatGPT's export: the branch that ends at ``current_node``."""
    nodes = {str(key): dict_of(node) for key, node in dict_of(raw["mapping"]).items()}
    tree = {key: text_of(node, "parent") for key, node in nodes.items()}

    def add(builder: Builder, node: str) -> None:
        _add_chatgpt(builder, dict_of(nodes[node].get("message")))

    builder, others = read_tree(tree, text_of(raw, "current_node"), add)
    chat = builder.chat()
    models = [turn.model for turn in chat.turns if turn.model]
    used = {"mapping", "current_node", "conversation_id", "id"}
    return ChatRecord(
        "chatgpt",
        seen,
        chat,
        text_of(raw, "conversation_id", "id"),
        models[-1] if models else text_of(raw, "default_model_slug"),
        meta={**others, **meta_of(raw, used)},
    )


def _add_chatgpt(builder: Builder, raw: Mapping[str, Any]) -> None:
    """Add one message of the tree; what a model wrote up to a tool's result is one turn."""
    author, about = dict_of(raw.get("author")), dict_of(raw.get("metadata"))
    content = dict_of(raw.get("content"))
    parts = _chatgpt_parts(content) if content else []
    parts += _attachments(list_of(about.get("attachments")), parts)
    given = text_of(author, "role")
    role, name = ROLES.get(given.casefold()), text_of(author, "name")
    if about.get("is_visually_hidden_from_conversation") is True:
        builder.notes["hidden_messages"] += bool(parts)
        return
    if not parts and (role == "system" or not given):
        return  # the root, and the empty system prompt of every export
    if role == "tool":
        shown = [result_part(part.text) if part.kind == "text" else part for part in parts]
        failed = text_of(content, "content_type") == "system_error"
        builder.result(shown, name=name, is_error=failed)
        return
    facts: dict[str, Any] = {"started": moment_text(raw.get("create_time"))}
    if role is None:
        builder.notes["unknown_roles"] += 1
        role, name = "user", name or given
    if role == "assistant":
        facts["model"] = text_of(about, "model_slug")[:200]
    to = text_of(raw, "recipient")
    is_call = role == "assistant" and to not in ("", "all")
    continues = role == "assistant" and builder.is_reasoning()
    if not (builder.is_open_as("assistant") if is_call else continues):
        builder.begin(role, name, **facts)
    if is_call:
        builder.call(tool_call(to, "\n".join(_text_of_part(part) for part in parts)))
    else:
        builder.add(*parts)


def _text_of_part(part: Part) -> str:
    return getattr(part, "text", "") or getattr(part, "name", "") or getattr(part, "note", "")


def _chatgpt_parts(content: Mapping[str, Any]) -> list[Part]:
    kind = text_of(content, "content_type")
    if kind == "thoughts":
        return [
            reasoning_part("\n\n".join(filter(None, map(as_text, texts))))
            for one in map(dict_of, list_of(content.get("thoughts")))
            if any(texts := (one.get("summary"), one.get("content")))
        ]
    if kind == "reasoning_recap":
        return [reasoning_part(as_text(content.get("content")))]
    if isinstance(content.get("parts"), list):
        return [made for one in content["parts"] for made in _chatgpt_part(one)]
    text = next((content[one] for one in ("text", "result") if content.get(one)), "")
    if isinstance(text, str) and (text or not content.keys() - {"content_type", "text"}):
        return [text_part(text)] if text else []
    return [unknown_part(kind, content)]


def _chatgpt_part(part: Any) -> list[Part]:
    if isinstance(part, str):
        return [text_part(part)] if part else []
    about = dict_of(part)
    kind = text_of(about, "content_type")
    if kind == "image_asset_pointer":
        return [image_part(text_of(about, "asset_pointer"))]
    if kind == "audio_transcription":
        return [text_part(as_text(about.get("text")))]
    if "audio" in kind:
        return [FilePart(name=text_of(about, "asset_pointer")[:200], media_type="audio")]
    return [] if part is None else [unknown_part(kind, part)]


def _attachments(rows: Sequence[Any], parts: Sequence[Part]) -> list[Part]:
    """Name the files of a message; its images are among its parts as well."""
    has_images = any(isinstance(part, ImagePart) for part in parts)
    found: list[Part] = []
    for row in map(dict_of, rows):
        media = text_of(row, "mime_type", "file_type", "mimeType")[:80]
        name = text_of(row, "name", "file_name", "id")[:200]
        if not (has_images and media.startswith("image/")):
            found.append(FilePart(name=name, media_type=media))
        if text := as_text(row.get("extracted_content")):
            found.append(text_part(text))
    return found


# Claude ------------------------------------------------------------------------------------------


def read_claude(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a conversation of Claude's export: the branch that ends at its last message."""
    rows: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(map(dict_of, list_of(raw["chat_messages"]))):
        key = text_of(one, "uuid")
        rows[key if key and key not in rows else f"message {number}"] = one
    keys = list(rows)
    tree = {
        key: text_of(rows[key], "parent_message_uuid") or before
        for key, before in zip(keys, ["", *keys], strict=False)
    }
    leaf = text_of(raw, "current_leaf_message_uuid") or (keys[-1] if keys else "")

    def add(builder: Builder, node: str) -> None:
        _add_claude(builder, rows[node])

    builder, others = read_tree(tree, leaf, add)
    builder.notes["private_fields_left_out"] += bool(raw.get("account"))
    used = {"chat_messages", "uuid", "account", "current_leaf_message_uuid", "model"}
    return ChatRecord(
        "claude",
        seen,
        builder.chat(),
        text_of(raw, "uuid"),
        text_of(raw, "model"),
        meta={**others, **meta_of(raw, used)},
    )


def _add_claude(builder: Builder, raw: Mapping[str, Any]) -> None:
    given = text_of(raw, "sender")
    role = ROLES.get(given.casefold())
    if role is None:
        builder.notes["unknown_roles"] += 1
    builder.begin(
        role or "user",
        "" if role else given,
        started=moment_text(raw.get("created_at")),
    )
    blocks = [_without_times(one) for one in list_of(raw.get("content"))]
    text = as_text(raw.get("text"))
    if text and not any(type_of(one) == "text" for one in blocks):
        blocks.append({"type": "text", "text": text})
    for block in blocks:
        add_block(builder, block)
    files = [*list_of(raw.get("attachments")), *list_of(raw.get("files"))]
    if named := _attachments(files, []):
        builder.add(*named)
    known = {"uuid", "sender", "text", "content", "attachments", "files", "files_v2", "index"}
    known |= {"created_at", "updated_at", "parent_message_uuid"}
    builder.leave_out(raw, known)
    builder.end()


def _without_times(block: Any) -> Any:
    times = ("start_timestamp", "stop_timestamp")
    if not isinstance(block, dict):
        return block
    return {name: value for name, value in block.items() if name not in times}


# Gemini ------------------------------------------------------------------------------------------

PARTS = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "thought_signature": "thoughtSignature",
}
CODE = "code_execution"


def read_gemini(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read contents with parts, alone or as a stored request with its response."""
    asked = dict_of(raw.get("request")) or raw
    reply = dict_of(raw.get("response")) or raw
    contents = [_gemini_message(one) for one in list_of(asked.get("contents"))]
    if system := asked.get("systemInstruction") or asked.get("system_instruction"):
        system = system if isinstance(system, dict) else {"parts": [{"text": as_text(system)}]}
        contents.insert(0, {**_gemini_message(system), "role": "system"})
    candidates = [dict_of(one) for one in list_of(reply.get("candidates"))]
    answers = [
        _gemini_message({"role": "model", **dict_of(one.get("content"))}) for one in candidates
    ]
    rows = {str(number): one for number, one in enumerate([*contents, *answers])}
    path = list(rows)[: len(contents) + 1]

    def add(builder: Builder, node: str) -> None:
        add_message(builder, rows[node])

    builder, others = _read_beside(path, [[one] for one in rows if one not in path], add)
    for one in candidates:
        builder.leave_out(one, {"content", "index", "finishReason", "finish_reason"})
    usage = dict_of(reply.get("usageMetadata") or reply.get("usage_metadata"))
    model = text_of(reply, "modelVersion", "model_version") or text_of(raw, "model")
    builder.set_last(**usage_of(usage), model=model)
    used = {"request", "response", "contents", "candidates", "systemInstruction", "tools", "model"}
    used |= {"system_instruction", "usageMetadata", "usage_metadata", "modelVersion", "key", "id"}
    return ChatRecord(
        "gemini",
        seen,
        builder.chat(parse_json(asked.get("tools"))),
        text_of(raw, "key", "id"),
        model,
        meta={**others, **meta_of({**asked, **reply, **raw}, used | {"model_version"})},
    )


def _gemini_message(raw: Any) -> dict[str, Any]:
    about = dict_of(raw)
    parts = [_gemini_part(one) for one in list_of(about.get("parts"))]
    return {**about, "role": about.get("role") or "user", "parts": parts}


def _gemini_part(part: Any) -> Any:
    """Write a part in camelCase, as the libraries of some languages do not; code is a call."""
    if not isinstance(part, dict):
        return part
    named = {PARTS.get(name, name): one for name, one in part.items() if one is not None}
    named.pop("thoughtSignature", None)
    if code := dict_of(named.get("executableCode")):
        return {"type": "tool_use", "name": CODE, "input": as_text(code.get("code"))}
    if "codeExecutionResult" in named:
        done = dict_of(named["codeExecutionResult"])
        failed = not clean_text(as_text(done.get("outcome"))).endswith("OK")
        shown = as_text(done.get("output"))
        return {"type": "tool_result", "name": CODE, "content": shown, "is_error": failed}
    return named
