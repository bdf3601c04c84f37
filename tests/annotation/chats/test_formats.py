"""Each format is read from its documented example and from files of its own library."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from openai.types.responses import ResponseOutputItem

from annotation.chats.model import ImagePart
from annotation.chats.readers.base import UnreadableRecord
from annotation.chats.readers.dispatch import FORMATS, RecordReader, read_record, recognise_record
from annotation.chats.readers.files import LineRecord, open_chats
from annotation.files.reading.sources import of_bytes
from tests.annotation.chats.examples import CALL, ONE, TRACES, TWO, WEATHER, outline

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize(("slug", "raw", "expected"), ONE)
def test_an_example_of_a_format_becomes_its_turns(slug: str, raw: Any, expected: list[str]) -> None:
    record = read_record(raw)
    assert (record.format, outline(record.chat)) == (slug, expected)
    assert record.seen


@pytest.mark.parametrize(("slug", "raw", "left", "right", "winner"), TWO)
def test_a_pair_keeps_both_conversations_and_the_verdict(
    slug: str, raw: Any, left: list[str], right: list[str], winner: str
) -> None:
    record = read_record(raw)
    assert record.format == slug and record.pair
    assert (outline(record.pair.left), outline(record.pair.right)) == (left, right)
    assert record.pair.winner == winner


@pytest.mark.parametrize(("slug", "rows", "expected", "tree"), TRACES)
def test_steps_of_a_trace_become_one_conversation_without_repeated_history(
    slug: str, rows: list[Any], expected: list[str], tree: list[str]
) -> None:
    reader = RecordReader()
    early = [record for raw in rows for record in reader.read(raw)]
    (record,) = reader.finish()
    assert not early and record.format == slug
    assert outline(record.chat) == expected
    assert [" " * span.depth + span.kind for span in record.chat.spans] == tree


def test_every_format_has_an_example() -> None:
    examples = {row[0] for row in (*ONE, *TWO, *TRACES)} | {"otlp", "langsmith", "inspect"}
    assert examples == FORMATS.keys()


AGENT = ["system: Be brief.", "user: Weather in Paris?", f"assistant: {CALL}"]
TRACED = [
    *AGENT,
    "assistant: It is 18 degrees in Paris.",
    "user: And what is this? [image]",
    "assistant: A red pixel.",
]
SUMS = [
    [
        "user: What is 1 + 1?",
        'assistant: tool call for tool add > add({"x": 1, "y": 1}) = 2',
        "assistant: It is 2.",
    ],
    [
        "user: What is 101 + 1?",
        'assistant: tool call for tool add > add({"x": 101, "y": 1}) = !too large',
        "assistant: The tool refused: too large.",
    ],
    ["user: What is shown? [image]", "assistant: (thinks) A red pixel."],
]
WRITTEN = {
    "inspect.eval": SUMS,
    "inspect.json": [SUMS[1], SUMS[2], SUMS[0]],
    "openinference_otlp.json": [TRACED],
    "genai_otlp.json": [TRACED],
    "genai_base64.json": [TRACED],
    "genai_console.jsonl": [TRACED],
    "langsmith.jsonl": [[*AGENT, "assistant: It is 18 degrees."]],
    "langchain.json": [[*AGENT, "assistant: It is 18 degrees."]],
    "anthropic.json": [
        [
            "system: Be exact.",
            "user: What is 1 + 1? [image]",
            'assistant: (thinks) (thinks) Let me add. > add({"x": 1, "y": 1}) = 2'
            ' > draw({"color": "red"}) = !no pen',
            "user: Check it on the web, too.",
            'assistant: > web_search({"query": "one plus one"}) = {"encrypted_content": "eA==", '
            '"title": "Sums", "type": "web_search_result", "url": "https://example.org/sums"}',
            "assistant: It is 2.",
        ]
    ],
    "responses.json": [
        [
            "system: Be brief.",
            "user: Weather in Paris?",
            'assistant: (thinks) 18 degrees. > web_search({"type": "search", "query": "weather '
            'paris"}) = ? > get_weather({"city": "Paris"}) = ? > convert({"c": 18}) = 64F '
            '> code_interpreter(print(18*9/5+32)) = {"logs": "64.4", "type": "logs"}',
        ]
    ],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_of_the_library_itself_is_read_whole(name: str) -> None:
    file = open_chats(of_bytes((FIXTURES / name).read_bytes()), name)
    events = list(file.events)
    assert all(isinstance(one, LineRecord) for one in events), events
    records = [one.record for one in events if isinstance(one, LineRecord)]
    assert [outline(one.chat) for one in records] == WRITTEN[name]
    assert file.reasons


def test_inspect_keeps_scores_targets_models_and_metadata() -> None:
    file = open_chats(of_bytes((FIXTURES / "inspect.eval").read_bytes()), "inspect.eval")
    record = next(one.record for one in file.events if isinstance(one, LineRecord))
    assert (record.key, record.system, record.target) == ("sum", "mockllm/model", "2")
    assert [(one.name, one.value) for one in record.scores] == [("includes", "C")]
    assert record.meta["level"] == "easy" and record.meta["task"] == "sums"
    assert record.chat.turns[-1].tokens_out == 5


def test_a_trace_names_the_turn_that_each_step_made() -> None:
    raw = json.loads((FIXTURES / "openinference_otlp.json").read_text())
    spans = read_record(raw).chat.spans
    assert [(one.kind, one.depth, one.turn) for one in spans] == [
        ("agent", 0, None),
        ("model", 1, 3),
        ("tool", 1, 3),
        ("model", 1, 4),
        ("model", 1, 6),
    ]
    assert all(one.seconds is not None for one in spans)
    assert "weather" not in spans[1].attributes.casefold()  # it stands in the turns


def test_every_known_item_of_openai_is_read_and_none_is_lost() -> None:
    kinds = [
        get_args(one.model_fields["type"].annotation)[0]
        for one in get_args(get_args(ResponseOutputItem)[0])
    ]
    assert len(kinds) >= 28
    for kind in kinds:
        if kind == "message":
            continue
        raw = {"type": kind, "call_id": "c", "id": "c", "output": "out", "name": "n"}
        chat = read_record({"input": "q", "output": [raw]}).chat
        held = [turn for turn in chat.turns if turn.role != "user"]
        assert len(held) == 1 and (held[0].parts or held[0].calls), kind


def test_wildchat_tells_nothing_about_the_person() -> None:
    raw = next(raw for slug, raw, _ in ONE if slug == "wildchat")
    record = read_record(raw)
    assert "secret" not in repr(record)
    assert "private_fields_left_out:5" in record.chat.notes
    assert {one.name: one.value for one in record.scores} == {"toxic": "false", "redacted": "false"}


def test_ratings_of_steps_stand_at_their_turns() -> None:
    raw = next(raw for slug, raw, _ in ONE if slug == "prm800k")
    record = read_record(raw)
    rated = {one.turn: one.value for one in record.scores if one.name == "rating"}
    assert rated == {2: "1", 4: "-1"}
    others = [one for one in record.scores if one.name == "rating of another completion"]
    assert [(one.turn, one.value, one.explanation) for one in others] == [
        (2, "-1", "Guess."),
        (3, "-1", "It is 3."),
    ]
    assert record.chat.notes == ("steps_not_chosen:1",)


def test_the_first_turn_of_mt_bench_is_judged_without_the_second() -> None:
    raw = {**next(row[1] for row in TWO if row[1].get("question_id") == 81), "turn": 1}
    pair = read_record(raw).pair
    assert pair and len(pair.left.turns) == 2
    assert pair.left.notes == ("turns_after_judged:2",)


def test_what_was_not_kept_is_noted() -> None:
    raw = ONE[2][1]
    chat = read_record(raw).chat
    assert set(chat.notes) == {"files_not_kept:3", "images_not_kept:1", "refusals:1"} - {
        "files_not_kept:3"
    } | {"files_not_kept:3"}
    images = [part for part in chat.turns[1].parts if isinstance(part, ImagePart)]
    assert images[1].note == "not kept: https://example.org/a.png"
    named = read_record({"messages": [{"role": "user", "content": "q", "logprobs": [1]}]}).chat
    assert named.notes == ("unread_fields:logprobs",)


@pytest.mark.parametrize("raw", [{"a": 1}, 5, None, [], {"messages": []}, {"conversation": "x"}])
def test_what_is_no_conversation_is_refused_by_name(raw: Any) -> None:
    with pytest.raises(UnreadableRecord):
        recognise_record(raw)


def test_the_reason_names_the_fields() -> None:
    assert "messages" in recognise_record({"messages": WEATHER and ONE[0][1]["messages"]}).reason


MANUAL = Path(__file__).parents[3] / "docs" / "guides" / "conversations.md"


def test_each_sample_of_the_manual_is_read_as_a_format_of_its_own() -> None:
    samples = re.findall(r"\| `(\{.*?\})` \|", MANUAL.read_text())
    formats = []
    for sample in samples:
        record = read_record(json.loads(sample))
        assert record.chat.turns and "unread" not in " ".join(record.chat.notes), sample
        formats.append(record.format)
    assert sorted(formats) == sorted(FORMATS)
